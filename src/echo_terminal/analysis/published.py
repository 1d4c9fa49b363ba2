"""The paper's published tables and the arithmetic by which it compares arms; ours goes through it too.

All rates are percentages here, as published.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

TABLES = ("table1", "table2", "table3", "table4", "table5", "heldout_ce")


def load(name: str, folder: Path) -> pd.DataFrame:
    """One published table by name (``table1`` … ``table5``, ``heldout_ce``) from ``paper/published``."""
    if name not in TABLES:
        raise ValueError(f"no published table {name!r}; there are {', '.join(TABLES)}")
    return pd.read_csv(folder / f"{name}.csv")


def echo_lift(base_grpo: float, base_echo: float) -> float:
    """(base + ECHO) − (base + GRPO), in points."""
    return base_echo - base_grpo


def sft_gap(base_grpo: float, sft_grpo: float) -> float:
    """(SFT + GRPO) − (base + GRPO), in points."""
    return sft_grpo - base_grpo


def share_closed(base_grpo: float, base_echo: float, sft_grpo: float) -> float:
    """ECHO's lift as a percentage of the SFT gap. NaN where there is no gap to close."""
    gap = sft_gap(base_grpo, sft_grpo)
    return 100.0 * echo_lift(base_grpo, base_echo) / gap if gap else float("nan")


def whole_tasks(percent: float, tasks: int) -> float:
    """The percentage that a whole number of tasks gives, nearest to a rounded one.

    pass@5 at five tries is a count of tasks, so its exact value can be recovered from the printed one.
    """
    return 100.0 * round(percent / 100.0 * tasks) / tasks


def delta_percent(grpo: float, echo: float) -> float:
    """Relative change from GRPO to ECHO in percent. NaN where GRPO's value is 0."""
    return 100.0 * (echo - grpo) / grpo if grpo else float("nan")


def delta_range(grpo: float, echo: float, half_unit: float) -> tuple[float, float]:
    """Smallest and largest ``delta_percent`` that inputs rounded to ± ``half_unit`` allow."""
    corners = [
        delta_percent(grpo + g, echo + e) for g in (-half_unit, half_unit) for e in (-half_unit, half_unit)
    ]
    return min(corners), max(corners)


def best_step(steps: Sequence[int], scores: Sequence[float]) -> int:
    """First step at which a curve reaches its best score within the run."""
    best = max(scores)
    return next(step for step, score in sorted(zip(steps, scores, strict=True)) if score == best)


def step_above(steps: Sequence[int], scores: Sequence[float], target: float) -> int | None:
    """First step at which a curve exceeds ``target``; None if it never does."""
    return next((step for step, score in sorted(zip(steps, scores, strict=True)) if score > target), None)


def speed_up(grpo_step: int, echo_step: int | None) -> float:
    """GRPO's first step at its best over ECHO's first step above it. NaN if ECHO never gets there.

    A best score at step 0 means that training never helped: no step can be saved, NaN.
    """
    if echo_step is None or echo_step == 0 or grpo_step == 0:
        return float("nan")
    return grpo_step / echo_step
