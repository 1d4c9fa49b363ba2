"""Pictures of notebook 06: what policies know about the terminal. Frames in, figures out; nothing is measured here.

Frames have the columns ``start`` and ``objective`` (``start`` for the starting policy itself), one row a run and step.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from echo_terminal.analysis import results as r
from echo_terminal.analysis.names import colour_of, in_order, label, marker_of
from echo_terminal.analysis.panels import LINE, legend_above, panels


def bars(
    frame: pd.DataFrame, groups: Sequence[str], by: str, value: str, ylabel: str, floor: str | None = None
) -> Figure:
    """Bars of every objective by group, a panel a start: means over seeds, whiskers from lowest to highest seed.

    Args:
        groups: values of the column ``by``, in order.
        floor: a column whose first value a group is drawn as a black line.
    """
    starts = r.ordered(frame["start"].unique(), r.STARTS)
    figure, axes = panels(1, len(starts), 1.2 + 1.1 * len(groups), 3.2, sharey=True)
    for axis, start in zip(axes.flat, starts, strict=True):
        of_start = frame[frame["start"] == start]
        arms = in_order(of_start["objective"].unique())
        width = 0.84 / len(arms)
        for k, arm in enumerate(arms):
            values = of_start[of_start["objective"] == arm].groupby(by)[value]
            at = [groups.index(g) + (k - (len(arms) - 1) / 2) * width for g in values.groups]
            axis.bar(at, values.mean(), 0.94 * width, color=colour_of(arm), label=label(arm))
            axis.vlines(at, values.min(), values.max(), color="black", lw=1)
        for place, group in enumerate(groups) if floor else ():
            least = of_start.loc[of_start[by] == group, floor].iloc[0]
            axis.plot([place - 0.44, place + 0.44], [least, least], color="black", lw=2, label="floor")
        axis.set_xticks(range(len(groups)), groups)
        axis.set_title(label(start))
        axis.grid(axis="x", visible=False)
    axes[0, 0].set_ylabel(ylabel)
    legend_above(figure, axes.flat)
    return figure


def ce_curves(curves: pd.DataFrame, suites: Sequence[str]) -> Figure:
    """CE over training by start (rows) and suite: means over seeds, bands their range, dotted the floor."""
    starts = r.ordered(curves["start"].unique(), r.STARTS)
    figure, axes = panels(len(starts), len(suites), 3.0, 2.4)
    for line, start in zip(axes, starts, strict=True):
        for axis, suite in zip(line, suites, strict=True):
            cell = curves[(curves["start"] == start) & (curves["suite"] == suite)]
            for arm in in_order(cell["objective"].unique()):
                runs = cell[cell["objective"] == arm].groupby("step")["ce_token_mean"]
                axis.plot(runs.mean(), marker_of(arm) + "-", color=colour_of(arm), ms=4, label=label(arm))
                axis.fill_between(
                    list(runs.groups), runs.min(), runs.max(), color=colour_of(arm), alpha=0.18, lw=0
                )
            axis.axhline(cell["floor_token_mean"].iloc[0], color="black", lw=1, ls=":", label="floor")
            axis.set(title=f"{label(start)} · {suite}", ylim=(0, None))
        line[0].set_ylabel("nats a token")
    for axis in axes[-1]:
        axis.set_xlabel("training step")
    legend_above(figure, axes.flat)
    return figure


def classes(at_ends: pd.DataFrame, suites: Sequence[str]) -> Figure:
    """CE by class of output, a panel a start and suite: means over seeds, lines their range, ticks the floor."""
    starts = r.ordered(at_ends["start"].unique(), r.STARTS)
    figure, axes = panels(len(starts), len(suites), 4.9, 3.6, sharey=True)
    names = at_ends.groupby("token_class")["n_tokens"].sum().sort_values().index.tolist()
    offsets = {"start": 0.22, "grpo": 0.0, "echo": -0.22}
    for line, start in zip(axes, starts, strict=True):
        for axis, suite in zip(line, suites, strict=True):
            cell = at_ends[(at_ends["start"] == start) & (at_ends["suite"] == suite)]
            for arm, offset in offsets.items():
                of_arm = cell[cell["objective"] == arm].groupby("token_class")["ce_token_mean"]
                at = [names.index(c) + offset for c in of_arm.groups]
                axis.hlines(at, of_arm.min(), of_arm.max(), color=colour_of(arm), lw=1.5)
                axis.plot(of_arm.mean(), at, marker_of(arm), color=colour_of(arm), ms=5, label=label(arm))
            floor = cell.groupby("token_class")["floor_token_mean"].first()
            at = [names.index(c) for c in floor.index]
            axis.plot(floor, at, "|", color="black", ms=18, mew=2, label="floor")
            axis.set(title=f"{label(start)} · {suite}", xlabel="CE (nats a token)", xlim=(-0.1, None))
    axes[0][0].set_yticks(range(len(names)), [n.replace("_", " ") for n in names])
    legend_above(figure, axes.flat)
    return figure


def calibration(forecast: pd.DataFrame, least: int = 5) -> Figure:
    """Forecasts of success against successes, a panel a start: bins of all seeds with at least ``least`` commands."""
    rows = forecast[forecast["count"] > 0].assign(
        p=lambda d: d["mean_probability"] * d["count"], y=lambda d: d["success_rate"] * d["count"]
    )
    bins = rows.groupby(["start", "objective", "low"])[["p", "y", "count"]].sum().reset_index()
    bins = bins[bins["count"] >= least]
    starts = r.ordered(bins["start"].unique(), r.STARTS)
    figure, axes = panels(1, len(starts), 4.0, 3.6, sharey=True)
    for axis, start in zip(axes.flat, starts, strict=True):
        of_start = bins[bins["start"] == start]
        for arm in in_order(of_start["objective"].unique()):
            line = of_start[of_start["objective"] == arm]
            share = line["p"] / line["count"], line["y"] / line["count"]
            axis.plot(*share, marker_of(arm) + "-", color=colour_of(arm), ms=5, lw=1.2, label=label(arm))
        axis.plot([0, 1], [0, 1], ":", color="black", lw=1)
        axis.set(title=label(start), xlabel="forecast of success", xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))
    axes[0, 0].set_ylabel("share that succeeded")
    legend_above(figure, axes.flat)
    return figure


def reranking(gains: pd.DataFrame) -> Figure:
    """Gain by re-ranking of every objective, a panel a start, with intervals."""
    starts = r.ordered(gains["start"].unique(), r.STARTS)
    arms = in_order(gains["objective"].unique())[::-1]
    figure, axes = panels(1, len(starts), 4.4, 0.4 * len(arms) + 0.9, sharey=True, sharex=True)
    for axis, start in zip(axes.flat, starts, strict=True):
        for row in gains[gains["start"] == start].to_dict("records"):
            place = arms.index(row["objective"])
            colour = colour_of(row["objective"])
            axis.plot([100 * row["low"], 100 * row["high"]], [place, place], color=colour, lw=2)
            axis.plot(100 * row["gain"], place, marker_of(row["objective"]), color=colour)
        axis.axvline(0, color=LINE, lw=1)
        axis.set(title=label(start), xlabel="gain (points, 95 %)", ylim=(-0.6, len(arms) - 0.4))
    axes[0, 0].set_yticks(range(len(arms)), [label(a) for a in arms])
    return figure


def knowing_and_solving(policies: pd.DataFrame, tasks: pd.DataFrame) -> Figure:
    """Left: each run over its steps (``prediction.of_policies``), a mark at its end. Right: tasks at the last step.

    Args:
        tasks: rows of ``prediction.knowing_and_solving`` at the last step; means over seeds are drawn.
    """
    starts = r.ordered(policies["start"].unique(), r.STARTS)
    figure, axes = panels(len(starts), 2, 4.7, 3.2, sharey=True)
    for (left, right), start in zip(axes, starts, strict=True):
        for arm in in_order(policies["objective"].unique()):
            look = {"color": colour_of(arm), "marker": marker_of(arm), "ls": "none", "label": label(arm)}
            for _, run in policies[(policies["start"] == start) & (policies["objective"] == arm)].groupby(
                "seed"
            ):
                run = run.sort_values("step")
                left.plot(run["ce"], 100 * run["passed"], "-", color=colour_of(arm), lw=1, alpha=0.7)
                left.plot(run["ce"].iloc[-1:], 100 * run["passed"].iloc[-1:], **look)
            mine = tasks[(tasks["start"] == start) & (tasks["objective"] == arm)]
            means = mine.groupby("task_id")[["ce_token_mean", "passed"]].mean()
            right.plot(means["ce_token_mean"], 100 * means["passed"], ms=4, alpha=0.6, **look)
        left.set(title=f"{label(start)} · a line is a run", xlabel="CE of terminal output (nats a token)")
        left.set_ylabel("tasks solved (%)")
        right.set(
            title=f"{label(start)} · a point is a task", xlabel="CE of the task's output (nats a token)"
        )
    legend_above(figure, axes.flat)
    return figure
