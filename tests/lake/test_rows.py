"""Rows from transcripts, counted by hand."""

import itertools
import time
from pathlib import Path

import pytest

from echo_terminal.agent.transcript import Finish, Role, Transcript, Turn
from echo_terminal.evaluation.heldout_ce import CERow
from echo_terminal.lake import rows
from echo_terminal.lake.tables import append
from echo_terminal.tasks.task import Step, Task
from echo_terminal.terminal.terminal import open_terminal

POINT = rows.RunPoint("r", "base", "echo", 3, "eval", 40)
TASK = Task("sum", 7, "data", "Add it up.", {}, (), (Step("true"),), suite="val", machine=5, facts=("verb",))


def decode(ids: list[int]) -> str:
    return bytes(ids).decode()


def transcript() -> Transcript:
    t = Transcript(finish=Finish.DONE)
    t.append(list(b"Add it up."), Role.PROMPT)
    for turn, output in (
        (Turn("ok", "ls", 0, "ok", seconds=0.5), "a\nb\n"),
        (Turn("no_call"), ""),
        (Turn("ok", "ls -a", 124, "timeout", imagined=True), "b\nb\nccc\n"),
        (Turn("done"), ""),
    ):
        t.turns.append(turn)
        t.append([120, 121], Role.ACTION, logprobs=[-1.0, -1.0])
        if turn.command:
            t.append(list(b"0"), Role.OUTPUT, kind="exit")
        t.append(list(output.encode()), Role.OUTPUT, kind="stdout")
        t.append(list(b"w"), Role.WARNING, kind="warning")
    return t


def test_an_attempt() -> None:
    row = rows.attempt_row(POINT, TASK, 2, transcript(), 1)
    assert row["task_id"] == "val/sum/7" and row["template"] == "sum" and row["machine"] == 5
    assert (row["turns"], row["action_tokens"], row["output_tokens"], row["warning_tokens"]) == (4, 8, 14, 4)
    assert (row["timeouts"], row["malformed"], row["imagined"], row["done"]) == (1, 1, 1, True)
    assert (row["finish"], row["reward"], row["seconds"]) == ("done", 1, 0.5)


def test_new_output_is_counted_by_line() -> None:
    found = rows.turn_rows(POINT, TASK, 0, transcript(), decode)
    assert [(r["shown_chars"], r["new_chars"]) for r in found] == [(4, 4), (0, 0), (8, 4), (0, 0)]


def test_a_duration_does_not_follow_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:  # fault H04
    terminal = open_terminal("virtual")
    terminal.reset({}, seed=0)
    hours = itertools.count(1)
    monkeypatch.setattr(
        time, "time", lambda: 1_588_636_800.0 - 3600 * next(hours)
    )  # summer time ends, again and again
    assert 0 <= terminal.run("echo a").seconds < 60


def test_all_of_them_fit_their_tables(tmp_path: Path) -> None:
    batch = rows.rollout_rows(POINT, [TASK], [0], [transcript()], [None], decode)
    assert append(tmp_path, "tasks", [rows.task_row(TASK)]) == 1
    assert append(tmp_path, "attempts", batch["attempts"]) == 1
    assert append(tmp_path, "turns", batch["turns"]) == 4
    assert append(tmp_path, "steps", rows.step_rows(POINT, {"loss": 1, "env_ce": 0.5})) == 2
    ce = [CERow("x", "val/sum/7", "val", "error", 3, 1.5, 9, 0.0)]
    assert append(tmp_path, "ce", rows.ce_rows(POINT, "abc", ce)) == 1
