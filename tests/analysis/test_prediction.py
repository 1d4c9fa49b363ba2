"""Tables on what policies know, against numbers worked out by hand."""

from math import log

import numpy as np
import pandas as pd
import pytest

from echo_terminal.analysis import prediction as p


def ce(trajectory: str, token_class: str, tokens: int, nll: float, **columns: object) -> dict[str, object]:
    row = {"start": "base", "objective": "grpo", "seed": 0, "step": 5, "suite": "val", "bytes": 2 * tokens}
    row |= {"trajectory_id": trajectory, "task_id": trajectory, "token_class": token_class}
    return row | {"tokens": tokens, "nll": nll, "floor": nll / 2} | columns


ROWS = pd.DataFrame(
    [
        ce("a", "error", 3, 6.0),
        ce("a", "number", 1, 2.0),
        ce("a", "warning", 50, 99.0),
        ce("b", "error", 16, 4.0),
    ]
)


def test_both_averages_bits_and_floor() -> None:
    (row,) = p.of_output(ROWS).to_dict("records")
    assert (row["n_tokens"], row["n_sequences"]) == (20, 2)
    assert row["ce_token_mean"] == pytest.approx(12 / 20)
    assert row["ce_sequence_mean"] == pytest.approx((8 / 4 + 4 / 16) / 2)
    assert row["bits_per_byte"] == pytest.approx(12 / log(2) / 40)
    assert row["floor_token_mean"] == pytest.approx(6 / 20)
    classes = p.by_class(ROWS).set_index("token_class")
    assert classes["ce_token_mean"].to_dict() == {"error": 10 / 19, "number": 2.0, "warning": 99 / 50}


def test_the_order_of_rows_does_not_matter() -> None:
    pd.testing.assert_frame_equal(p.by_class(ROWS), p.by_class(ROWS[::-1]), check_exact=True)


def test_each_run_begins_with_its_starting_policy() -> None:
    frame = pd.DataFrame(
        {"start": ["base", "base", "sft"], "objective": ["start", "echo", "start"], "seed": [0, 3, 0]}
        | {"step": [0, 9, 0], "x": [1.0, 2.0, 5.0]}
    )
    found = p.with_start(frame, [{"start": "base", "objective": "echo", "seed": 3}])
    assert found[["objective", "seed", "step", "x"]].to_numpy().tolist() == [
        ["echo", 3, 0, 1.0],
        ["echo", 3, 9, 2.0],
    ]


def test_gaps_are_paired_by_seed() -> None:
    frame = pd.DataFrame(
        [
            {"start": "base", "objective": o, "seed": s, "x": x}
            for o, s, x in [
                ("start", 0, 9.0),
                ("grpo", 0, 1.0),
                ("grpo", 1, 3.0),
                ("grpo", 2, 77.0),
                ("echo", 0, 2.0),
                ("echo", 1, 6.0),
            ]
        ]
    )
    (row,) = p.gaps(frame, ["x"]).to_dict("records")
    assert (row["before"], row["grpo"], row["echo"], row["gap"], row["seeds"]) == (9.0, 2.0, 4.0, 2.0, 2)
    assert row["high"] == pytest.approx(2 + 12.7062)  # t(0.975, 1) · sd √2 / √2 = 12.7062 · 1
    assert p.gaps(frame[frame["objective"] != "echo"], ["x"]).empty


def test_reranking_by_hand() -> None:
    rewards = {1: [1.0, 0.0, 0.0], 4: [1.0, 1.0, 0.0]}
    rows = pd.DataFrame(
        [
            {"start": "base", "objective": "echo", "seed": 0, "task_id": f"t{i}", "samples": k, "reward": r}
            | {"commands": 2 if k == 1 else 3, "errors": 1}
            for k, of_k in rewards.items()
            for i, r in enumerate(of_k)
        ]
    )
    (row,) = p.reranking_gains(rows).to_dict("records")
    assert (row["plain"], row["ranked"], row["gain"]) == (
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert (row["low"], row["high"]) == (0.0, 1.0)
    assert (row["commands_plain"], row["commands_ranked"], row["errors_ranked"]) == (2, 3, 1 / 3)


def solving(run: int, step: int, ces: list[float], passed: list[float]) -> list[dict[str, object]]:
    key = {"start": "base", "objective": "grpo" if run < 3 else "echo", "seed": run, "step": step}
    return [
        key | {"task_id": f"t{i}", "n_tokens": 10, "ce_token_mean": c, "floor_token_mean": 0.0, "passed": r}
        for i, (c, r) in enumerate(zip(ces, passed, strict=True))
    ]


def test_correlations_by_hand() -> None:
    """Tasks: lower CE, higher rate in every run (ρ = -1). Checkpoints: CE and rate rise together (ρ = 1)."""
    points = []
    for run in range(6):
        points += solving(run, 0, [1.0, 2.0], [0.5, 0.0])
        points += solving(run, 9, [2.0 + run, 4.0 + run], [1.0, 0.1 * run])
    found = p.correlations(pd.DataFrame(points)).set_index("over")
    assert found["value"].to_dict() == pytest.approx({"tasks": -1, "checkpoints": 1, "seeds": 1})
    assert found["runs"].to_dict() == {"tasks": 6, "checkpoints": 6, "seeds": 6}
    flat = p.correlations(pd.DataFrame(solving(0, 9, [1.0, 2.0], [1.0, 1.0]))).set_index("over")
    assert np.isnan(flat["value"]).all() and flat.loc["tasks", "left_out"] == 1


def test_fishers_interval() -> None:
    low, high = p._fisher(0.5, 27)[1:]
    assert (low, high) == (pytest.approx(0.1560, abs=1e-4), pytest.approx(0.7358, abs=1e-4))  # z ± 1.96 / 5


def test_tasks_with_both_are_joined() -> None:
    attempts = pd.DataFrame(
        [
            {
                "start": "base",
                "objective": "grpo",
                "seed": 0,
                "step": 5,
                "suite": s,
                "task_id": t,
                "reward": r,
            }
            for s, t, r in [("val", "a", 1.0), ("val", "a", None), ("val", "c", 1.0), ("itd", "b", 1.0)]
        ]
    )
    (row,) = p.knowing_and_solving(ROWS, attempts, "val").to_dict("records")
    assert (row["task_id"], row["passed"], row["ce_token_mean"]) == ("a", 0.5, 2.0)
    (policy,) = p.of_policies(p.knowing_and_solving(ROWS, attempts, "val")).to_dict("records")
    assert (policy["ce"], policy["passed"]) == (2.0, 0.5)
