"""Behaviour on hand-made attempts (every number counted by hand), on the embedded engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from echo_terminal.analysis import behaviour as b
from echo_terminal.lake import spark as lake
from echo_terminal.lake.tables import append

RUN = {
    "run_id": "r",
    "start": "base",
    "objective": "grpo",
    "seed": 0,
    "phase": "eval",
    "step": 0,
    "suite": "val",
}


@pytest.fixture(scope="module")
def spark() -> Any:
    return lake.connect()


Cases = dict[tuple[str, int], Sequence[tuple[str | None, int | None]]]


def frames(spark: Any, root: Path, cases: Cases, **columns: Any) -> tuple[Any, Any]:
    """attempts and turns of {(task, attempt): [(command, exit code)]}; None is malformed, "DONE" the done signal.

    ``columns`` changes the attempt of that name, task and number joined.
    """
    attempts, turns = [], []
    for (task, attempt), commands in cases.items():
        key = RUN | {"task_id": task, "attempt": attempt}
        done = commands[-1:] == [("DONE", None)]
        row = key | {"reward": float(done), "finish": "done" if done else "turns", "turns": len(commands)}
        row |= {"timeouts": 0, "action_tokens": 10, "output_tokens": 5}
        row["malformed"] = sum(c is None for c, _ in commands)
        attempts.append(row | columns.get(f"{task}{attempt}", {}))
        for i, (command, code) in enumerate(commands):
            call = "done" if command == "DONE" else "no_call" if command is None else "ok"
            row = key | {"turn": i, "call": call, "command": command if call == "ok" else None}
            turns.append(row | {"exit_code": code, "status": "ok", "new_chars": 5, "shown_chars": 10})
    append(root, "attempts", attempts)
    append(root, "turns", turns)
    return lake.load(spark, root, "attempts"), lake.load(spark, root, "turns")


def value(table: pd.DataFrame, statistic: str) -> float:
    (found,) = table.loc[table["statistic"] == statistic, "value"]
    return float(found)


@pytest.mark.parametrize(
    ("command", "name", "phase"),
    [
        ("ls -la", "ls", "look"),
        ("cd a && LC_ALL=C /usr/bin/sort x", "sort", "look"),
        ("cd a; cd b; ls", "ls", "look"),
        ("cat x 2>/dev/null", "cat", "look"),
        ("ls nothing 2>&1", "ls", "look"),
        ("awk '$1 > 3' x", "awk", "look"),
        ("frob --help", "frob", "look"),
        ("echo hi > out.txt", "echo", "edit"),
        ("cat <<EOF >> a\nx\nEOF", "cat", "edit"),
        ("sed -i s/a/b/ x", "sed", "edit"),
        ("sudo mkdir -p d", "mkdir", "edit"),
        ("python3 main.py", "python3", "run"),
        ("./build.sh", "build.sh", "run"),
        ("frob knit x", "frob", "run"),
        ("python3 -m pytest -q", "python3", "verify"),
        ("sh run_tests.sh", "sh", "verify"),
        ("(ls)", "", "run"),
    ],
)
def test_program_and_phase_of_one_command(
    spark: Any, tmp_path: Path, command: str, name: str, phase: str
) -> None:
    _, turns = frames(spark, tmp_path, {("t", 0): [(command, 0)]})
    row = b.annotate(turns).first()
    assert (row["program"], row["phase_of_turn"]) == (name, phase)


CASES = {
    # look, run fails -> another succeeds, look after a run is verify, done
    ("a", 0): [("ls", 0), ("frob pack x", 2), ("frob sync x", 0), ("cat out", 0), ("DONE", None)],
    # the same failing command three times, then a malformed turn, then the limit
    ("a", 1): [("frob", 2), ("frob", 2), ("frob", 2), (None, None)],
    # fails, gives up
    ("b", 0): [("echo x > y", 0), ("frob", 1), ("DONE", None)],
    # fails, another fails, and that was the last turn
    ("b", 1): [("frob a", 1), ("frob b", 1)],
}


def test_statistics_by_hand(spark: Any, tmp_path: Path) -> None:
    attempts, turns = frames(spark, tmp_path, CASES)
    table = b.report(attempts, turns)["statistics"]
    assert value(table, "pass") == 2 / 4
    assert value(table, "turns") == (5 + 4 + 3 + 2) / 4
    assert value(table, "action_tokens") == 10
    assert value(table, "unfinished") == 2 / 4
    assert value(table, "malformed_any") == 1 / 4
    assert value(table, "looping") == 1 / 4
    assert value(table, "phase_look") == 1 / 14  # ls
    assert value(table, "phase_verify") == 1 / 14  # cat out
    assert value(table, "phase_edit") == 1 / 14  # echo x > y
    assert value(table, "phase_run") == 8 / 14
    assert value(table, "phase_stop") == 2 / 14
    assert value(table, "phase_malformed") == 1 / 14
    assert value(table, "errors") == 7 / 11
    assert value(table, "after_error_repaired") == 1 / 7
    assert value(table, "after_error_repeated") == 2 / 7
    assert value(table, "after_error_malformed") == 1 / 7
    assert value(table, "after_error_failed_again") == 1 / 7
    assert value(table, "after_error_gave_up") == 2 / 7  # done, and the last turn of all
    assert value(table, "repeats") == 2 / 11
    assert value(table, "new_output") == 0.5
    assert "changed_state" not in set(table["statistic"])  # it was not tracked: no row rather than a zero
    assert set(table["tasks"]) == {2}
    shares = table[table["statistic"].str.startswith(("phase", "after_error"))].groupby(table["denominator"])
    assert all(total == pytest.approx(1) for total in shares["value"].sum())


def test_intervals(spark: Any, tmp_path: Path) -> None:
    attempts, turns = frames(spark, tmp_path, CASES)
    table = b.report(attempts, turns)["statistics"].set_index("statistic")
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()
    assert (table.loc["turns", "low"], table.loc["turns", "high"]) == (2.5, 4.5)  # task b, task a
    assert table.loc["pass", "wilson_low"] == pytest.approx(0.15003, abs=1e-5)  # 2 of 4, z = 1.96
    assert table.loc["pass", "wilson_high"] == pytest.approx(0.84997, abs=1e-5)
    assert np.isnan(table.loc["turns", "wilson_low"])
    sums = [b.collect(b.attempt_sums(attempts))]
    assert b.summarise(sums, seed=1).equals(b.summarise(sums, seed=1))


def test_lost_attempts_are_in_no_statistic(spark: Any, tmp_path: Path) -> None:
    lost = {("c", 0): [("frob", 1), ("frob", 1)]}
    attempts, turns = frames(spark, tmp_path, CASES | lost, c0={"finish": "lost", "reward": None})
    with_lost = b.report(attempts, turns)
    without = b.report(*frames(spark, tmp_path / "x", CASES))
    for name, table in without.items():
        pd.testing.assert_frame_equal(with_lost[name], table)


def test_a_missing_verdict_is_not_a_pass(spark: Any, tmp_path: Path) -> None:
    attempts, turns = frames(spark, tmp_path, {("a", 0): [("DONE", None)]}, a0={"reward": None})
    table = b.report(attempts, turns)["statistics"]
    assert (value(table, "pass"), value(table, "no_verdict")) == (0.0, 1.0)


def test_mix_and_changes(spark: Any, tmp_path: Path) -> None:
    attempts, turns = frames(spark, tmp_path, CASES)
    tables = b.report(attempts, turns)
    mix = tables["command_mix"].set_index("program")
    assert mix["commands"].to_dict() == {"ls": 1, "cat": 1, "echo": 1, "frob": 8}
    assert mix.loc["frob", "errors"] == 7
    flow = tables["phase_flow"]
    changes = flow.groupby(["from_phase", "phase_of_turn"])["n"].sum().to_dict()
    assert changes[("start", "run")] == 2 and changes[("run", "run")] == 4 and changes[("run", "stop")] == 1
    assert sum(changes.values()) == 14
    assert flow.loc[flow["turn"] == 0, "n"].sum() == 4


def test_first_success(spark: Any, tmp_path: Path) -> None:
    rows = [
        RUN | {"task_id": task, "attempt": 0, "step": step, "reward": reward, "finish": "done"}
        for task, step, reward in [
            ("a", 0, 0.0),
            ("a", 40, 1.0),
            ("a", 80, 1.0),
            ("b", 0, 1.0),
            ("c", 80, 0.0),
        ]
    ]
    append(tmp_path, "attempts", rows)
    attempts = lake.load(spark, tmp_path, "attempts")
    first = b.first_success(attempts)
    found = b.collect(first).set_index("task_id")["first_success"]
    assert (found["a"], found["b"]) == (40, 0) and pd.isna(found["c"])
    (summary,) = b.collect(b.first_success_summary(first)).to_dict("records")
    assert (summary["tasks"], summary["solved"], summary["median_first_success"]) == (3, 2, 20.0)


def test_suites_are_not_pooled(spark: Any, tmp_path: Path) -> None:
    attempts, turns = frames(spark, tmp_path, CASES)
    for call in (b.attempt_sums, b.first_success, b.turn_sums, b.repeat_sums, b.command_mix, b.phase_flow):
        with pytest.raises(ValueError, match="never pooled"):
            call(attempts, by=("objective",))


def test_a_done_signal_to_be_confirmed_is_a_stop_and_the_time_limit_leaves_an_attempt_unfinished(
    spark: Any, tmp_path: Path
) -> None:
    case: Cases = {("a", 0): [("frob", 1), (None, None), ("ls", 0)], ("b", 0): [("ls", 0)]}
    attempts, turns = frames(spark, tmp_path, case, a0={"finish": "time", "malformed": 0})
    asked = turns.withColumn("call", F.when(F.col("turn") == 1, "confirm").otherwise(F.col("call")))
    table = b.report(attempts, asked)["statistics"]
    assert value(table, "phase_malformed") == value(table, "after_error_malformed") == 0
    assert value(table, "phase_stop") == 1 / 4
    assert value(table, "after_error_gave_up") == 1  # the only error, then the call that asks
    assert value(table, "unfinished") == 1  # one by time, one by turns
