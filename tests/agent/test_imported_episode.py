"""Imported tasks roll out like ours: prompt, turns, record and grading by their own tests, apart from the agent."""

from pathlib import Path

import pytest

from echo_terminal.agent import scripted
from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.record import from_record, to_record
from echo_terminal.agent.replay import drive
from echo_terminal.agent.transcript import Finish
from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.imported import read_task
from echo_terminal.terminal.terminal import EngineUnavailable

TEST = """#!/bin/bash
[ "$(cat /app/out)" = hello ] && r=1 || r=0
echo $r > /logs/verifier/reward.txt
"""


def foreign(folder: Path, image: str) -> Path:
    (folder / "environment").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "task.toml").write_text('version = "1.0"\n[environment]\nallow_internet = false\n')
    (folder / "instruction.md").write_text("Write hello to /app/out.\n")
    (folder / "environment" / "Dockerfile").write_text(f"FROM {image}\nWORKDIR /app\n")
    (folder / "tests" / "test.sh").write_text(TEST)
    return folder


def test_an_episode_asks_what_the_task_asks(tmp_path: Path, saying, codec) -> None:
    task = read_task(foreign(tmp_path / "t", "x"))
    terminal = saying("done\n")
    episode = Episode(task, terminal, codec, HarnessParams(), task.seed)
    drive(episode, ["echo hello > out", scripted.DONE])
    assert "Write hello to /app/out." in codec.decode(episode.transcript.ids)
    assert (terminal.files, terminal.commands) == ({}, ["echo hello > out"])
    record = to_record(episode.transcript, task)
    assert (record["task_id"], record["suite"], record["machine"]) == ("imported/t", "imported", None)
    assert from_record(record).finish is Finish.DONE


def test_what_no_rule_grades_is_refused(tmp_path: Path, saying) -> None:
    with pytest.raises(TypeError, match="no rule grades a str"):
        grade("task", saying())


@pytest.mark.docker
def test_rollouts_are_graded_by_the_tests_of_the_task(tmp_path: Path, char_codec) -> None:
    from echo_terminal.tasks.imported_run import open_imported
    from echo_terminal.terminal.docker import IMAGE, check_available

    try:
        check_available()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    task = read_task(foreign(tmp_path / "t", IMAGE))
    terminal = open_imported(task)
    try:
        found = {}
        for name, commands in {
            "solved": ["pwd", "echo hello > out", scripted.DONE],
            "not solved": ["echo bye > out", scripted.DONE],
            "never said so": ["echo hello > out"],
        }.items():
            params = HarnessParams(max_turns=len(commands), command_timeout_s=20.0, track_state=True)
            episode = Episode(task, terminal, char_codec, params, task.seed)
            drive(episode, commands)
            found[name] = (episode.grade().reward, episode.transcript.turns[0].exit_code)
        assert found == {"solved": (1, 0), "not solved": (0, 0), "never said so": (0, 0)}
    finally:
        terminal.close()
