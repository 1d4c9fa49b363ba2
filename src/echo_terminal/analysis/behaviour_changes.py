"""What one objective changes in how agents behave: paired differences of the ratios of ``analysis.behaviour``.

Both arms are resampled together, over their common seeds and over tasks, so the pairing is kept. With a single seed
the interval speaks of tasks alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from echo_terminal.analysis.behaviour import STATISTICS
from echo_terminal.analysis.statistics import DRAWS, Matrix, percentile, resample

Totals = tuple[Matrix, Matrix]  # numerators and denominators, [seed × task]


def changes(
    sums: Sequence[pd.DataFrame],
    base: str = "grpo",
    other: str = "echo",
    draws: int = DRAWS,
    seed: int = 0,
    templates: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """``other`` − ``base`` by start, suite and statistic.

    Args:
        sums: collected ``attempt_sums``, ``turn_sums`` and ``repeat_sums``, grouped by ``behaviour.BY``.
        templates: template by task: tasks are then drawn within their template, as pass rates' are.

    Returns: Rows of start, suite, statistic, ``base`` and ``other`` (their ratios over the common seeds), change, low,
    high (percentile interval), seeds, tasks. A statistic that one arm cannot have (denominator 0) has no row.
    """
    rows = []
    for frame in sums:
        present = {s: pair for s, pair in STATISTICS.items() if set(pair) <= set(frame.columns)}
        for (start, suite), group in frame.groupby(["start", "suite"], sort=True):
            arms = {o: group[group["objective"] == o] for o in (base, other)}
            seeds = sorted(set(arms[base]["seed"]) & set(arms[other]["seed"]))
            tasks = sorted(set(arms[base]["task_id"]) | set(arms[other]["task_id"]))
            if not seeds:
                continue
            rng = np.random.default_rng(seed)
            strata = [templates[t] for t in tasks] if templates else None
            weights = resample(len(seeds), None, draws, rng), resample(len(tasks), strata, draws, rng)
            for statistic, pair in present.items():
                totals = {o: _totals(arm, pair, seeds, tasks) for o, arm in arms.items()}
                if any(below.sum() == 0 for _, below in totals.values()):
                    continue
                values = {o: float(above.sum() / below.sum()) for o, (above, below) in totals.items()}
                drawn = _drawn(totals[other], weights) - _drawn(totals[base], weights)
                interval = percentile(values[other] - values[base], drawn[~np.isnan(drawn)])
                rows.append(
                    {"start": start, "suite": suite, "statistic": statistic, **values}
                    | {"change": interval.value, "low": interval.low, "high": interval.high}
                    | {"seeds": len(seeds), "tasks": len(tasks)}
                )
    order = list(STATISTICS)
    rows.sort(key=lambda r: (r["start"], r["suite"], order.index(r["statistic"])))
    columns = ("start", "suite", "statistic", base, other, "change", "low", "high", "seeds", "tasks")
    return pd.DataFrame(rows, columns=list(columns))


def command_shares(
    mix: pd.DataFrame, site_tools: Collection[str], least: float = 0.005, most: int = 10
) -> pd.DataFrame:
    """Share of each program in the commands of an arm, in percent, by start, objective and program.

    Site tools count as one program. Programs below ``least`` of all commands, and all but the ``most`` frequent, are
    ``others``: they are typing errors, most of them.

    Args:
        mix: rows of ``behaviour.report``'s ``command_mix``.
    """
    program = mix["program"].where(~mix["program"].isin(site_tools), "site tool").replace("", "(unclear)")
    of_all = mix["commands"].groupby(program).sum()
    common = of_all[of_all >= least * of_all.sum()].nlargest(most).index
    mix = mix.assign(program=program.where(program.isin(common), "others"))
    found = mix.groupby(["start", "objective", "program"])[["commands", "errors"]].sum().reset_index()
    totals = found.groupby(["start", "objective"])["commands"].transform("sum")
    return found.assign(share=100 * found["commands"] / totals)


def solved_by_step(first: pd.DataFrame, steps: Sequence[int]) -> pd.DataFrame:
    """Share of tasks solved at least once up to each step, in percent, by run.

    Args:
        first: rows of run and task with ``first_success``, the step of the first passed attempt (NaN: never).
    """
    return pd.DataFrame(
        {"start": start, "objective": objective, "seed": seed, "step": step}
        | {"solved": 100 * (run["first_success"] <= step).mean()}
        for (start, objective, seed), run in first.groupby(["start", "objective", "seed"])
        for step in steps
    )


def _totals(arm: pd.DataFrame, columns: tuple[str, str], seeds: list[int], tasks: list[str]) -> Totals:
    """A task without a row (it ran no command, say) adds nothing to either sum."""
    above, below = (
        arm.pivot(index="seed", columns="task_id", values=c)
        .reindex(index=seeds, columns=tasks)
        .fillna(0.0)
        .to_numpy(dtype=float)
        for c in columns
    )
    return above, below


def _drawn(totals: Totals, weights: tuple[Matrix, Matrix]) -> Matrix:
    runs, tasks = weights
    above, below = (((runs @ matrix) * tasks).sum(axis=1) for matrix in totals)
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
