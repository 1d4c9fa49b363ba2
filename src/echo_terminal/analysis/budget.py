"""Pass rates as a function of the turn budget, from the attempts of one evaluation.

A prompt does not state its budget, so an attempt under a smaller one is the same attempt cut short: it passes if it
passed and its done signal came in time. The policies were trained with the whole budget.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from echo_terminal.analysis import results as r
from echo_terminal.analysis import statistics, style
from echo_terminal.analysis.names import label
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.statistics import Interval


def cut_short(attempts: pd.DataFrame, turns: int) -> pd.DataFrame:
    """The attempts under a budget of ``turns``, the done signal included: later ones fail."""
    return attempts.assign(reward=attempts["reward"].where(attempts["turns"] <= turns, 0.0))


def rates(results: Results, start: str, suite: str) -> dict[str, dict[int, Interval]]:
    """Pass rate in percent, by arm and turn budget, with intervals over seeds and tasks.

    Raises:
        NotRun: an arm was not run from this start.
    """
    found = r.arms(results, start, suite)
    budgets = range(1, int(max(a["turns"].max() for a in found.values())) + 1)
    return {
        name: {
            b: _percent(statistics.bootstrap_mean(statistics.pass_matrix(cut_short(a, b)))) for b in budgets
        }
        for name, a in found.items()
    }


def _percent(share: Interval) -> Interval:
    return Interval(*(100 * value for value in share))


def budget(results: Results, paper: Path) -> Figure:
    """Pass rates of both arms against the turn budget, a panel a start, on the first suite.

    Raises:
        NotRun: no start has both arms.
    """
    panels = {}
    for start in results.starts:
        try:
            panels[start] = rates(results, start, results.suites[0])
        except NotRun:
            continue
    if not panels:
        raise NotRun("no start has both GRPO and ECHO in this profile")
    width = style.WIDE if len(panels) > 1 else style.NARROW
    figure, axes = style.grid(1, len(panels), 1.4, width)
    for axis, (start, arms) in zip(axes.flat, panels.items(), strict=True):
        for name, points in arms.items():
            at, colour = list(points), style.COLOURS[name]
            value, low, high = zip(*points.values(), strict=True)
            axis.plot(
                at, value, style.LINES[name], marker=style.MARKERS[name], color=colour, label=label(name)
            )
            axis.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
        axis.set(title=label(start), xlabel="turns allowed", ylim=(-3, 105))
        style.step_axis(axis)
    axes[0, 0].set_ylabel("pass rate, %")
    style.legend(figure, axes.flat)
    return figure
