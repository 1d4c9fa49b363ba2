"""Paired differences of behaviour statistics, against sums done by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from echo_terminal.analysis.behaviour_changes import changes


def sums(cells: dict[tuple[str, int, str], tuple[int, int]]) -> pd.DataFrame:
    """``turn_sums`` with errors and commands by (objective, seed, task)."""
    rows = [
        {"suite": "val", "start": "base", "objective": o, "seed": s, "task_id": t, "errors": e, "commands": c}
        for (o, s, t), (e, c) in cells.items()
    ]
    return pd.DataFrame(rows)


def test_the_change_is_the_difference_of_the_ratios_of_totals():
    frame = sums(
        {
            ("grpo", 0, "a"): (2, 4),
            ("grpo", 0, "b"): (1, 6),
            ("echo", 0, "a"): (0, 4),
            ("echo", 0, "b"): (1, 4),
            ("echo", 9, "b"): (7, 7),  # a seed without its pair is left out
        }
    )
    row = changes([frame]).iloc[0]
    assert (row["statistic"], row["seeds"], row["tasks"]) == ("errors", 1, 2)
    assert row["grpo"] == pytest.approx(3 / 10)
    assert row["echo"] == pytest.approx(1 / 8)
    assert row["change"] == pytest.approx(1 / 8 - 3 / 10)
    # two tasks: both a (-0.5), both b (1/4 - 1/6), or one of each (-0.175)
    assert (row["low"], row["high"]) == (pytest.approx(-0.5), pytest.approx(1 / 4 - 1 / 6))


def test_equal_arms_have_a_change_of_exactly_nothing():
    cells = {("grpo", s, t): (s + 1, 5) for s in range(3) for t in "abc"}
    frame = sums(cells | {("echo", s, t): v for (_, s, t), v in cells.items()})
    row = changes([frame]).iloc[0]
    assert (row["change"], row["low"], row["high"], row["seeds"]) == (0, 0, 0, 3)


def test_a_statistic_that_an_arm_cannot_have_is_left_out():
    frame = sums({("grpo", 0, "a"): (0, 0), ("echo", 0, "a"): (1, 2)})
    assert changes([frame]).empty


def test_a_start_with_one_arm_is_left_out():
    assert changes([sums({("echo", 0, "a"): (1, 2)})]).empty
