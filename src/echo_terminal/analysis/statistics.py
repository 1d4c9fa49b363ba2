"""Statistics on (runs × tasks) matrices: every interval and test of the paper, as pure functions.

Rows are runs (seeds), columns are tasks, entries are pass rates in [0, 1]. Two arms are compared on the same
tasks and the same seeds, so every comparison is paired. Rewards are never pooled over suites.

Deviation from the paper: it gives Wilson intervals and paired Wilcoxon tests of single runs. Here runs are
repeated, so the interval of a difference resamples seeds and tasks (within templates), and Wilcoxon takes
each task's mean over seeds as its unit.

Bounds for attempts without a verdict and pass@k are in ``evaluation.pass_at_k``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

Matrix = NDArray[np.float64]

LEVEL = 0.95
DRAWS = 2000


class Interval(NamedTuple):
    """A value with its interval; ``low`` and ``high`` are in the value's unit."""

    value: float
    low: float
    high: float


def pass_matrix(attempts: pd.DataFrame) -> pd.DataFrame:
    """Runs × tasks: mean reward over a task's attempts, a missing verdict counting as a failure.

    Args:
        attempts: rows of one suite, start, objective and step, with ``seed``, ``task_id`` and ``reward``.

    Raises:
        ValueError: no rows, more than one suite, or a run that lacks a task another run has.
    """
    if attempts.empty:
        raise ValueError("no attempts for this matrix")
    if "suite" in attempts and attempts["suite"].nunique() > 1:
        raise ValueError("suites are never pooled: choose one")
    reward = attempts["reward"].astype("float64").fillna(0.0)
    matrix = reward.groupby([attempts["seed"], attempts["task_id"]]).mean().unstack("task_id")
    if matrix.isna().to_numpy().any():
        raise ValueError("ragged matrix: every seed must have attempts on every task")
    return matrix.sort_index(axis=0).sort_index(axis=1)


def paired(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The two matrices on their common seeds.

    Raises:
        ValueError: the arms were run on different tasks, or share no seed.
    """
    if list(a.columns) != list(b.columns):
        raise ValueError("the arms were evaluated on different tasks")
    seeds = a.index.intersection(b.index)
    if seeds.empty:
        raise ValueError("the arms share no seed")
    return a.loc[seeds], b.loc[seeds]


def wilson(passed: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson's score interval of a proportion. Treats the ``n`` attempts as independent."""
    if not 0 <= passed <= n or n == 0:
        raise ValueError(f"{passed} of {n} is not a proportion")
    interval = stats.binomtest(passed, n).proportion_ci(level, method="wilson")
    return Interval(passed / n, float(interval.low), float(interval.high))


def resample(count: int, strata: Sequence[object] | None, draws: int, rng: np.random.Generator) -> Matrix:
    """Bootstrap weights [draws, count], each row summing to 1; resampled within each stratum."""
    labels = (
        np.zeros(count, dtype=int) if strata is None else pd.factorize(np.asarray(strata, dtype=object))[0]
    )
    if len(labels) != count:
        raise ValueError(f"{len(labels)} strata for {count} columns")
    weights = np.empty((draws, count))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        weights[:, members] = rng.multinomial(
            len(members), np.full(len(members), 1 / len(members)), size=draws
        )
    return weights / count


def bootstrap_means(
    matrices: Sequence[Matrix], strata: Sequence[object] | None = None, draws: int = DRAWS, seed: int = 0
) -> Matrix:
    """Means [len(matrices), draws] of runs × tasks matrices under one shared resampling of seeds and tasks.

    Sharing the resampling keeps the pairing: the same seeds and the same tasks are drawn for every arm.
    """
    shape = matrices[0].shape
    if any(m.shape != shape for m in matrices):
        raise ValueError("matrices of different shapes cannot share a resampling")
    rng = np.random.default_rng(seed)
    runs = resample(shape[0], None, draws, rng)
    tasks = resample(shape[1], strata, draws, rng)
    return np.stack([((runs @ m) * tasks).sum(axis=1) for m in matrices])


def percentile(value: float, draws: Matrix, level: float = LEVEL) -> Interval:
    """The percentile interval of bootstrap draws around a point value."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value), float(low), float(high))


def bootstrap_mean(
    matrix: pd.DataFrame, strata: Sequence[object] | None = None, draws: int = DRAWS, seed: int = 0
) -> Interval:
    """Mean of a runs × tasks matrix with its stratified bootstrap interval over seeds and tasks."""
    values = matrix.to_numpy(dtype=float)
    return percentile(values.mean(), bootstrap_means([values], strata, draws, seed)[0])


def bootstrap_difference(
    a: pd.DataFrame,
    b: pd.DataFrame,
    strata: Sequence[object] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Mean of ``a − b``, paired by seed and task, with its percentile interval over both."""
    a, b = paired(a, b)
    difference = a.to_numpy(dtype=float) - b.to_numpy(dtype=float)
    return percentile(difference.mean(), bootstrap_means([difference], strata, draws, seed)[0])


def wilcoxon_tasks(a: pd.DataFrame, b: pd.DataFrame) -> float:
    """Two-sided p of the paired Wilcoxon signed-rank test; unit: a task's mean over the common seeds.

    Tasks without a difference are dropped (Wilcoxon's rule); if none differs, p is 1. Up to 50 differences the null
    distribution is exact, ties included (every sign equally likely, ranks as they are); above, it is normal.
    """
    a, b = paired(a, b)
    difference = np.round(a.to_numpy(dtype=float).mean(axis=0) - b.to_numpy(dtype=float).mean(axis=0), 12)
    difference = difference[difference != 0]
    if not difference.size:
        return 1.0
    if difference.size > 50:
        return float(stats.wilcoxon(difference, method="asymptotic").pvalue)
    ranks = np.round(2 * stats.rankdata(np.abs(difference))).astype(int)  # doubled: mid-ranks become whole
    ways = np.zeros(ranks.sum() + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[:-rank]
    positive = ranks[difference > 0].sum()
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return float(min(1.0, 2 * tail / ways.sum()))


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact two-sided McNemar p from the two discordant counts."""
    if only_a + only_b == 0:
        return 1.0
    return float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the given order."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return [float(p) for p in adjusted]


def t_mean(values: Sequence[float] | Matrix, level: float = LEVEL) -> tuple[Interval, float]:
    """Mean over runs with Student's interval and the two-sided p against 0; unit: a run.

    One run has no interval: its bounds and p are NaN. Runs that agree exactly have an interval of width 0.
    """
    x = np.asarray(values, dtype=float)
    if x.size == 0 or np.isnan(x).any():
        raise ValueError("t_mean needs values without gaps")
    if x.size == 1:
        return Interval(float(x[0]), float("nan"), float("nan")), float("nan")
    mean, error = float(x.mean()), float(x.std(ddof=1) / np.sqrt(x.size))
    if error == 0:
        return Interval(mean, mean, mean), 1.0 if mean == 0 else 0.0
    half = float(stats.t.ppf((1 + level) / 2, x.size - 1)) * error
    return Interval(mean, mean - half, mean + half), float(2 * stats.t.sf(abs(mean) / error, x.size - 1))


def iqm(matrix: pd.DataFrame) -> float:
    """Interquartile mean over all entries of a runs × tasks matrix."""
    return float(stats.trim_mean(matrix.to_numpy(dtype=float), 0.25, axis=None))
