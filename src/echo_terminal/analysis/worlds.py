"""When does it help: the gain over GRPO as a function of what outputs reveal.

A condition is a set of tasks in a world: this profile's own, or that of a profile which differs from the default in
what outputs reveal (``results.WORLDS``), with a base and runs of its own. Worlds share no run: they are never paired.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from echo_terminal.analysis import results as r
from echo_terminal.analysis import statistics, style
from echo_terminal.analysis.names import label
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.statistics import Interval


class Condition(NamedTuple):
    """Tasks of a suite (empty: the first that has such tasks) on site or generic tools, here or in another world."""

    title: str
    world: str
    suite: str
    tools: str


CONDITIONS = (
    Condition("own tools, usage lines state the facts", "", "", "site"),
    Condition("own tools, usage lines are silent", "silent_usage", "val", "site"),
    Condition("own tools, a new machine for every task", "random_machine", "val", "site"),
    Condition("own tools of machines never seen", "", "itd_machine", "site"),
    Condition("generic tools: no fact to learn", "", "", "generic"),
)


class Arms(NamedTuple):
    """Pass matrices [seed × task] of both arms on the same tasks and seeds, and the template of each task."""

    grpo: pd.DataFrame
    echo: pd.DataFrame
    strata: list[str]

    def points(self) -> tuple[Interval, Interval, Interval]:
        """GRPO's rate, ECHO's rate and the gain, in percent and points, with paired bootstrap intervals."""
        values = [100 * m.to_numpy() for m in (self.grpo, self.echo)]
        grpo, echo = statistics.bootstrap_means(values, self.strata)
        means = [float(v.mean()) for v in values]
        rates = (statistics.percentile(means[0], grpo), statistics.percentile(means[1], echo))
        return (*rates, statistics.percentile(means[1] - means[0], echo - grpo))


def arms(results: Results, start: str, condition: Condition) -> Arms:
    """Both arms from ``start`` under a condition, at the last step that both were evaluated at.

    Raises:
        NotRun: the world's profile was not run, or there are no such tasks or runs.
    """
    if condition.world:
        suite = condition.suite
        rows = r.select(r.world_rows(results, condition.world), start=start, suite=suite)
        step = r.common_step(rows, ("grpo", "echo"))
        found = {o: r.select(rows, objective=o, step=step) for o in ("grpo", "echo")}
    else:
        suite = condition.suite or r.suite_with(results, start, condition.tools)
        found = r.arms(results, start, suite)
    found = {o: a[r.is_site(a) == (condition.tools == "site")] for o, a in found.items()}
    if any(a.empty for a in found.values()):
        raise NotRun(f"{suite} has no tasks on {condition.tools} tools")
    grpo, echo = statistics.paired(*(statistics.pass_matrix(found[o]) for o in ("grpo", "echo")))
    return Arms(grpo, echo, r.templates(found["echo"], echo.columns))


def contrast(there: Arms, here: Arms) -> tuple[Interval, float]:
    """Gain there − gain here in points, and Mann-Whitney's p over tasks.

    Unpaired: the seeds and the tasks of each world are drawn by themselves.
    """
    draws, gains = [], []
    for seed, world in enumerate((there, here)):
        gain = 100 * (world.echo - world.grpo)
        gains.append(gain)
        draws.append(statistics.bootstrap_means([gain.to_numpy()], world.strata, seed=seed)[0])
    value = float(gains[0].to_numpy().mean() - gains[1].to_numpy().mean())
    p = float(stats.mannwhitneyu(gains[0].mean(axis=0), gains[1].mean(axis=0)).pvalue)
    return statistics.percentile(value, draws[0] - draws[1]), p


def _row(axes: np.ndarray, at: int, of: Arms) -> None:
    """One condition: rates of both arms on the left, the gain and single seeds on the right."""
    rates, gain = of.points()[:2], of.points()[2]
    for name, rate, shift in zip(("grpo", "echo"), rates, (-0.12, 0.12), strict=True):
        colour = style.COLOURS[name]
        axes[0].plot([rate.low, rate.high], [at + shift] * 2, color=colour, linewidth=0.9)
        axes[0].plot(rate.value, at + shift, style.MARKERS[name], color=colour, label=label(name))
    axes[1].plot([gain.low, gain.high], [at, at], color=style.COLOURS["echo"], linewidth=0.9)
    axes[1].plot(gain.value, at, "o", color=style.COLOURS["echo"])
    seeds = 100 * (of.echo - of.grpo).mean(axis=1)
    axes[1].plot(seeds, [at + 0.28] * len(seeds), ".", color=style.COLOURS["echo"], markersize=2.5)


def _not_run(axis: Axes, at: int, rule: NotRun) -> None:
    axis.text(
        0.02, at, str(rule), fontsize=6, va="center", color="#666666", transform=axis.get_yaxis_transform()
    )


def when(results: Results, paper: Path) -> Figure:
    """Pass rates and gain by condition, from the first start; a condition that was not run says why in its row.

    Raises:
        NotRun: no condition has both arms, or the profile is itself a world to compare with.
    """
    if results.profile in r.WORLDS:
        raise NotRun("a row of this figure in the profiles of the default world")
    start = results.starts[0]
    figure, axes = style.grid(1, 2, 0.5 + 0.36 * len(CONDITIONS))
    titles, ran = [], 0
    for at, condition in enumerate(CONDITIONS):
        try:
            of = arms(results, start, condition)
        except NotRun as rule:
            _not_run(axes[0, 0], at, rule)
            titles.append(condition.title)
            continue
        ran += 1
        _row(axes[0], at, of)
        titles.append(f"{condition.title}\n{of.echo.shape[1]} tasks, {len(of.echo)} seeds")
    if not ran:
        raise NotRun("no start has both GRPO and ECHO in this profile")
    axes[0, 0].set_yticks(range(len(titles)), titles, fontsize=6)
    axes[0, 1].set_yticks(range(len(titles)), [])
    for axis in axes.flat:
        axis.set_ylim(len(titles) - 0.5, -0.5)
    axes[0, 0].set(xlabel="pass rate, %", xlim=(-3, 103))
    axes[0, 1].set(xlabel="ECHO − GRPO, points")
    axes[0, 1].axvline(0, color="#333333", linewidth=0.6)
    style.legend(figure, axes.flat)
    return figure
