"""Pictures of notebook 08: how agents behave. Frames in, figures out; nothing is measured here.

``changed`` are rows of ``behaviour_changes.changes``; ``titles`` says what a statistic is to a reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from echo_terminal.analysis import results as r
from echo_terminal.analysis.names import colour_of, in_order, label, marker_of
from echo_terminal.analysis.panels import LINE, legend_above, panels


def changes(changed: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """ECHO − GRPO of every share in points with intervals: a row a statistic in ``titles``' order, a panel a start."""
    starts = r.ordered(changed["start"].unique(), r.STARTS)
    order = [name for name in titles if name in set(changed["statistic"])][::-1]
    figure, axes = panels(1, max(1, len(starts)), 4.6, 0.27 * len(order) + 0.9, sharey=True)
    for axis, start in zip(axes.flat, starts, strict=False):
        rows = changed[changed["start"] == start].set_index("statistic").reindex(order)
        axis.axvline(0, color=LINE, lw=1)
        axis.hlines(range(len(order)), 100 * rows["low"], 100 * rows["high"], color=colour_of("echo"), lw=2)
        axis.plot(100 * rows["change"], range(len(order)), "o", color=colour_of("echo"), ms=5)
        axis.set(title=label(start), xlabel="ECHO − GRPO (points, 95 %)")
    axes[0, 0].set_yticks(range(len(order)), [titles[name] for name in order])
    return figure


def by_suite(changed: pd.DataFrame, statistics: Sequence[str], titles: Mapping[str, str]) -> Figure | None:
    """ECHO − GRPO of a few shares by suite: a panel a statistic, a colour a start; None if no arm has any of them."""
    rows = changed[changed["statistic"].isin(statistics)]
    shown = [s for s in statistics if s in set(rows["statistic"])]
    if not shown:
        return None
    starts = r.ordered(rows["start"].unique(), r.STARTS)
    suites = r.ordered(rows["suite"].unique(), r.SUITES)[::-1]
    figure, axes = panels(1, len(shown), 3.3, 0.5 * len(suites) + 0.9, sharey=True)
    for axis, statistic in zip(axes.flat, shown, strict=True):
        axis.axvline(0, color=LINE, lw=1)
        for place, start in enumerate(starts):
            cell = rows[(rows["statistic"] == statistic) & (rows["start"] == start)]
            at = [suites.index(s) + 0.2 * ((len(starts) - 1) / 2 - place) for s in cell["suite"]]
            axis.hlines(at, 100 * cell["low"], 100 * cell["high"], color=colour_of(start), lw=2)
            axis.plot(100 * cell["change"], at, "oDs^"[place % 4], color=colour_of(start), label=label(start))
        axis.set(xlabel="ECHO − GRPO (points, 95 %)", ylim=(-0.6, len(suites) - 0.4))
        axis.set_title(titles[statistic], fontsize=10)
    axes[0, 0].set_yticks(range(len(suites)), suites)
    legend_above(figure, axes.flat)
    return figure


def seeds(rows: pd.DataFrame, statistics: Sequence[str], titles: Mapping[str, str]) -> Figure:
    """A statistic of every seed with its interval over tasks: a row of panels a start, a panel a statistic."""
    starts = r.ordered(rows["start"].unique(), r.STARTS)
    lanes = {}
    for start in starts:
        found = rows[rows["start"] == start]
        arms = in_order(found["objective"].unique())
        lanes[start] = [
            (o, s) for o in arms for s in sorted(set(found.loc[found["objective"] == o, "seed"]))
        ][::-1]
    height = 0.24 * max(len(lane) for lane in lanes.values()) + 0.9
    figure, axes = panels(len(starts), len(statistics), 3.1, height, sharey="row")
    for line, start in zip(axes, starts, strict=True):
        for axis, statistic in zip(line, statistics, strict=True):
            cell = rows[(rows["start"] == start) & (rows["statistic"] == statistic)]
            for row in cell.to_dict("records"):
                at, colour = lanes[start].index((row["objective"], row["seed"])), colour_of(row["objective"])
                axis.plot([100 * row["low"], 100 * row["high"]], [at, at], color=colour, lw=2)
                axis.plot(100 * row["value"], at, marker_of(row["objective"]), color=colour)
            axis.set(xlabel="% (95 % over tasks)", xlim=(-3, 103))
            axis.set_title(f"{label(start)}: {titles[statistic]}", fontsize=9)
        names = [label(o) if o == "start" else f"{label(o)}, seed {seed}" for o, seed in lanes[start]]
        line[0].set_yticks(range(len(lanes[start])), names)
    return figure


def shares(rows: pd.DataFrame, lanes: Sequence[str], by: str, value: str, xlabel: str) -> Figure:
    """Bars in percent: a lane a value of the column ``by``, a colour an objective, a panel a start.

    With several seeds a bar is their mean and its whisker reaches from the lowest to the highest.
    """
    starts = r.ordered(rows["start"].unique(), r.STARTS)
    figure, axes = panels(1, len(starts), 4.8, 0.36 * len(lanes) + 1.1, sharey=True)
    for axis, start in zip(axes.flat, starts, strict=True):
        of_start = rows[rows["start"] == start]
        arms = in_order(of_start["objective"].unique())
        width = 0.84 / len(arms)
        for k, arm in enumerate(arms):
            values = of_start[of_start["objective"] == arm].groupby(by)[value]
            at = [list(lanes).index(g) + (k - (len(arms) - 1) / 2) * width for g in values.groups]
            axis.barh(at, values.mean(), 0.94 * width, color=colour_of(arm), label=label(arm))
            if values.size().max() > 1:
                axis.hlines(at, values.min(), values.max(), color="black", lw=1)
        axis.set(title=label(start), xlabel=xlabel, ylim=(len(lanes) - 0.5, -0.5))
        axis.grid(axis="y", visible=False)
    axes[0, 0].set_yticks(range(len(lanes)), lanes)
    legend_above(figure, axes.flat)
    return figure


def phases(flow: pd.DataFrame, arms: Sequence[str], kinds: Sequence[str]) -> Figure:
    """Share of attempts in each phase by turn: a row of panels a start, a panel an arm; heights fall as they end."""
    starts = r.ordered(flow["start"].unique(), r.STARTS)
    figure, axes = panels(len(starts), len(arms), 3.6, 2.3, sharex=True, sharey=True)
    palette = dict(zip(kinds, sns.color_palette("Set2", len(kinds)), strict=True))
    for line, start in zip(axes, starts, strict=True):
        for axis, arm in zip(line, arms, strict=True):
            cell = flow[(flow["start"] == start) & (flow["objective"] == arm)]
            wide = cell.pivot(index="turn", columns="phase_of_turn", values="n").reindex(columns=list(kinds))
            wide = 100 * wide.fillna(0.0) / wide.fillna(0.0).iloc[0].sum()
            below = 0 * wide.iloc[:, 0]
            for kind in kinds:
                axis.bar(wide.index + 1, wide[kind], 0.85, bottom=below, color=palette[kind], label=kind)
                below = below + wide[kind]
            axis.set_title(f"{label(start)}, {label(arm)}")
            axis.grid(axis="x", visible=False)
        line[0].set_ylabel("attempts (%)")
    for axis in axes[-1]:
        axis.set_xlabel("turn")
    legend_above(figure, axes.flat, len(kinds))
    return figure


def solved_so_far(solved: pd.DataFrame) -> Figure:
    """Tasks solved at least once by a step (columns step, solved in percent): means over seeds, bands their range."""
    starts = r.ordered(solved["start"].unique(), r.STARTS)
    figure, axes = panels(1, len(starts), 4.3, 3.2, sharey=True)
    for axis, start in zip(axes.flat, starts, strict=True):
        of_start = solved[solved["start"] == start]
        for arm in in_order(of_start["objective"].unique()):
            runs = of_start[of_start["objective"] == arm].groupby("step")["solved"]
            axis.plot(runs.mean(), marker_of(arm) + "-", color=colour_of(arm), label=label(arm))
            axis.fill_between(
                list(runs.groups), runs.min(), runs.max(), color=colour_of(arm), alpha=0.18, lw=0
            )
        axis.set(title=label(start), xlabel="training step", ylim=(-3, 103))
    axes[0, 0].set_ylabel("val tasks solved so far (%)")
    legend_above(figure, axes.flat)
    return figure
