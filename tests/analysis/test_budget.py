"""The turn budget: attempts cut short, by hand."""

import pandas as pd

from echo_terminal.analysis import budget, results

PASSED_AT = {
    "grpo": (2, 3, 3, 0),
    "echo": (2, 2, 3, 3),
}  # turns of four tasks on every seed; 0: never, at 4 turns


def test_attempts_pass_within_their_budget() -> None:
    rows = [{"start": "sft", "objective": o, "suite": "val", "seed": s, "task_id": f"t{t}", "step": 1,
             "reward": float(turns > 0), "turns": turns or 4}
            for o, tasks in PASSED_AT.items() for s in (0, 1, 2) for t, turns in enumerate(tasks)]  # fmt: skip
    found = budget.rates(results.Results("s", {"attempts": pd.DataFrame(rows)}), "sft", "val")
    shown = {arm: [point.value for point in points.values()] for arm, points in found.items()}
    assert shown == {"grpo": [0, 25, 75, 75], "echo": [0, 50, 100, 100]}
    assert list(found["echo"]) == [1, 2, 3, 4]
    cut = budget.cut_short(pd.DataFrame({"reward": [1.0, 1.0, None], "turns": [3, 4, 3]}), 3)["reward"]
    assert cut.tolist()[:2] == [1.0, 0.0] and pd.isna(cut[2])  # no verdict stays no verdict
