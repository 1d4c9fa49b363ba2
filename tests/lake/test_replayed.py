"""Recorded episodes run again: what is counted where an engine answers otherwise than the record or than another."""

from dataclasses import replace
from pathlib import Path

import pytest

from echo_terminal.agent.transcript import Transcript, Turn
from echo_terminal.lake.replayed import Recorded, Step, recorded_episodes, replay, report
from echo_terminal.lake.rows import RunPoint, turn_rows
from echo_terminal.lake.tables import append
from echo_terminal.tasks.suites import TaskParams, build_suite
from echo_terminal.terminal.virtual import VirtualTerminal

PARAMS = TaskParams()
SMALL = PARAMS.model_copy(update={"suites": {"val": PARAMS.suites["val"].model_copy(update={"size": 1})}})
TASK = build_suite(SMALL, "val")[0]


class Other(VirtualTerminal):
    """Answers ``pwd`` in capitals, and forgets every command of the oracle."""

    def run(self, command, timeout=10.0):
        seen = super().run("true" if command in [s.command for s in TASK.oracle] else command, timeout)
        return replace(seen, stdout=seen.stdout.upper()) if command == "pwd" else seen


def record(lake: Path, seed: int, *attempts: list[tuple[str | None, int, int]]) -> None:
    for number, turns in enumerate(attempts):
        transcript = Transcript()
        transcript.turns = [Turn("ok", c, code, "ok", output_chars=chars) for c, code, chars in turns]
        rows = turn_rows(
            RunPoint("r", "base", "echo", seed, "eval", 40), TASK, number, transcript, lambda ids: ""
        )
        append(lake, "turns", rows)


def test_the_same_commands_are_one_episode_and_turns_without_any_are_left_out(tmp_path: Path) -> None:
    looks = [("pwd", 0, 11), (None, 0, 0), ("ls /nosuch", 2, 58)]
    record(tmp_path / "a-0-0040/lake", 0, looks, [("pwd", 0, 11)])
    record(tmp_path / "b-1-0040/lake", 1, looks)
    assert recorded_episodes(tmp_path) == [
        Recorded("val", TASK.task_id, (Step("pwd", 0, 11),)),
        Recorded("val", TASK.task_id, (Step("pwd", 0, 11), Step("ls /nosuch", 2, 58))),
    ]


def test_a_folder_without_a_record_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run the pipeline"):
        recorded_episodes(tmp_path)


def test_what_differs_is_counted() -> None:
    looks = (Step("pwd", 0, 11), Step("ls /nosuch", 2, 99))  # its message has 58 characters, not 99
    solved = tuple(Step(s.command, 0, -1) for s in TASK.oracle)
    episodes = [Recorded("val", TASK.task_id, looks), Recorded("val", TASK.task_id, solved)]
    alone = replay({TASK.task_id: TASK}, episodes[:1], VirtualTerminal())
    assert (alone.episodes, alone.steps, alone.unlike_record, alone.differences) == (1, 2, 1, [])
    both = replay({TASK.task_id: TASK}, episodes, VirtualTerminal(), Other())
    silent = [s.command for s in TASK.oracle]
    assert [command for command, _, _ in both.differences if command not in silent] == ["pwd"]
    assert both.rewards == 1  # of the episode that the oracle solves, which Other does not
    assert report(alone, None) == [
        "2 commands of 1 episodes",
        "virtual: 1 with another exit code or length than recorded",
    ]
