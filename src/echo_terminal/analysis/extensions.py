"""Figures beyond the paper's: when ECHO helps, what λ does, and whether prediction and success go together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from echo_terminal.analysis import measures, statistics, style
from echo_terminal.analysis import results as r
from echo_terminal.analysis.names import PLAIN, colour_of, in_order, label
from echo_terminal.analysis.results import NotRun, Results


def lambda_collapse(results: Results, paper: Path) -> Figure:
    """Pass rate and unfinished attempts against λ."""
    rows = measures.sweep_rows(results, factor="lambda")
    suites = r.ordered(rows["suite"].unique(), r.SUITES)
    figure, axes = style.grid(1, len(suites), 2.0, style.WIDE if len(suites) > 1 else style.NARROW)
    for axis, suite in zip(axes.flat, suites, strict=True):
        of_suite = rows[rows["suite"] == suite]
        levels = sorted(of_suite["level"].unique())
        for name, column, colour, line in (
            ("passed", "reward", "echo", "-"),
            ("not finished", "unfinished", "accent", "--"),
        ):
            points = []
            for level in levels:
                chosen = of_suite[of_suite["level"] == level]
                matrix = (
                    statistics.pass_matrix(chosen)
                    if column == "reward"
                    else measures.behaviour_matrix(chosen, "unfinished")
                )
                points.append(statistics.bootstrap_mean(matrix))
            at = np.arange(len(levels))
            axis.plot(
                at, [100 * p.value for p in points], line, marker="o", color=style.COLOURS[colour], label=name
            )
            axis.fill_between(
                at,
                [100 * p.low for p in points],
                [100 * p.high for p in points],
                color=style.COLOURS[colour],
                alpha=0.15,
                linewidth=0,
            )
        axis.set_xticks(range(len(levels)), [f"{v:g}" for v in levels])
        axis.set(title=suite, xlabel="λ (equally spaced)")
        style.from_zero(axis)
    axes[0, 0].set_ylabel("attempts, %")
    style.legend(figure, axes.flat)
    return figure


def objectives(results: Results, paper: Path) -> Figure:
    """Gain over GRPO of every other objective, by suite; ECHO's in its own colour."""
    gains = measures.objective_gains(results)
    panels = list(dict.fromkeys(zip(gains["start"], gains["suite"], strict=True)))
    names = in_order(gains["objective"])[::-1]
    columns = min(4, len(panels))
    figure, axes = style.grid(-(-len(panels) // columns), columns, 0.6 + 0.14 * len(names))
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for k, (axis, (start, suite)) in enumerate(zip(axes.flat, panels, strict=False)):
        for row in gains[(gains["start"] == start) & (gains["suite"] == suite)].to_dict("records"):
            colour = style.COLOURS.get(row["objective"], PLAIN)
            at = names.index(row["objective"])
            axis.plot([row["low"], row["high"]], [at, at], color=colour, linewidth=0.8)
            axis.plot(row["gain"], at, "o", color=colour)
        axis.axvline(0, color="#333333", linewidth=0.6)
        titles = [label(name) for name in names]
        axis.set_yticks(range(len(names)), titles if k % columns == 0 else [], fontsize=6)
        axis.set_ylim(-0.6, len(names) - 0.4)
        axis.set_title(suite if len(results.starts) == 1 else f"{label(start)}: {suite}")
    figure.supxlabel("gain over GRPO, points", fontsize=8)
    return figure


def ce_and_passing(results: Results, paper: Path) -> Figure:
    """Held-out CE against pass rate: a point is one run at one evaluated step."""
    points = measures.ce_and_pass(results)
    points = points[points.groupby("suite")["pass"].transform("max") > 0]
    if points.empty:
        raise NotRun("no attempt passes in this profile")
    suites = r.ordered(points["suite"].unique(), r.SUITES)
    figure, axes = style.grid(1, len(suites), 1.8)
    markers = dict(zip(r.ordered(points["start"].unique(), r.STARTS), "oD^vs", strict=False))
    for axis, suite in zip(axes.flat, suites, strict=True):
        for (start, objective), rows in points[points["suite"] == suite].groupby(["start", "objective"]):
            axis.scatter(
                rows["ce"],
                100 * rows["pass"],
                s=12,
                marker=markers[start],
                color=style.COLOURS.get(objective, style.COLOURS["start"]),
                alpha=0.75,
                linewidth=0,
                label=label(objective) if len(markers) == 1 else f"{label(start)}, {label(objective)}",
            )
        axis.set_title(suite)
        middle = sum(axis.get_xlim()) / 2  # a twentieth of a nat at least: less is no difference to show
        axis.set_xlim(min(axis.get_xlim()[0], middle - 0.025), max(axis.get_xlim()[1], middle + 0.025))
        style.from_zero(axis)
    axes[0, 0].set_ylabel("pass rate, %")
    figure.supxlabel("held-out cross-entropy, nats a token", fontsize=8)
    style.legend(figure, axes.flat, 4)
    return figure


def gradients(results: Results, paper: Path) -> Figure:
    """Cosine of the two terms' gradients, and the norm of the unweighted env term over the policy term's."""
    steps = r.select(results.get("train_steps"), objective="echo").dropna(subset=["grad_cosine"])
    if steps.empty:
        raise NotRun("gradient cosines are not logged in this profile")
    steps = steps.assign(ratio=measures.norm_ratio(steps))
    figure, axes = style.grid(1, 2, 1.6)
    for start in r.ordered(steps["start"].unique(), r.STARTS):
        for axis, column in zip(axes.flat, ("grad_cosine", "ratio"), strict=True):
            runs = steps[steps["start"] == start].pivot(index="seed", columns="step", values=column)
            axis.plot(runs.columns, runs.mean(axis=0), color=colour_of(start), label=label(start))
            axis.fill_between(
                runs.columns,
                runs.min(axis=0),
                runs.max(axis=0),
                color=colour_of(start),
                alpha=0.18,
                linewidth=0,
            )
    axes[0, 0].axhline(0, color="#333333", linewidth=0.6)
    axes[0, 0].set(xlabel="training step", ylabel="cosine", ylim=(-1, 1))
    axes[0, 1].set(xlabel="training step", ylabel="ratio of norms")
    style.log_scale(axes[0, 1])
    if steps["start"].nunique() > 1:
        style.legend(figure, axes.flat)
    return figure


def calibration(results: Results, paper: Path) -> Figure:
    """Forecast of a command's success against how often it succeeded, over all seeds."""
    rows = results.get("forecast").dropna(subset=["mean_probability", "success_rate"])
    rows = rows[(rows["count"] > 0) & rows["objective"].isin(("grpo", "echo"))]
    starts = r.ordered(rows["start"].unique(), r.STARTS)
    figure, axes = style.grid(1, len(starts), 1.9, style.WIDE if len(starts) > 1 else style.NARROW)
    for axis, start in zip(axes.flat, starts, strict=True):
        axis.plot([0, 1], [0, 1], ":", color="#999999", linewidth=0.8)
        for objective, of_arm in rows[rows["start"] == start].groupby("objective"):
            weight = of_arm["count"]
            bins = pd.DataFrame(
                {
                    "low": of_arm["low"].round(6),
                    "n": weight,
                    "p": of_arm["mean_probability"] * weight,
                    "y": of_arm["success_rate"] * weight,
                }
            )
            total = bins.groupby("low").sum()
            forecast, truth = total["p"] / total["n"], total["y"] / total["n"]
            colour = style.COLOURS.get(objective, style.COLOURS["start"])
            axis.plot(forecast, truth, style.LINES.get(objective, "-"), color=colour, linewidth=0.8)
            axis.scatter(
                forecast,
                truth,
                s=4 + 90 * total["n"] / total["n"].sum(),
                marker=style.MARKERS.get(objective, "o"),
                color=colour,
                alpha=0.8,
                linewidth=0,
                label=label(objective),
            )
        axis.set(title=label(start), xlabel="forecast", xlim=(-0.05, 1.06), ylim=(-0.05, 1.06))
    axes[0, 0].set_ylabel("share that succeeded")
    style.legend(figure, axes.flat)
    return figure


def controls(results: Results, paper: Path) -> Figure:
    """Pass rate of the controls beside GRPO and ECHO, by suite: mean with a 95 % interval, small points are seeds."""
    order = in_order(results.get("controls")["variant"].unique())
    found = measures.control_arms(results)
    suites = r.ordered({suite for _, suite in found}, r.SUITES)
    panels = {
        key: arms
        for key, arms in sorted(found.items(), key=lambda item: (item[0][0], suites.index(item[0][1])))
        if any(m.any(axis=None) for m in arms.values())
    }
    names = ["grpo", "echo", *order]
    figure, axes = style.grid(1, len(panels), 0.6 + 0.2 * len(names))
    for k, (axis, ((start, suite), arms)) in enumerate(zip(axes.flat, panels.items(), strict=True)):
        for at, name in enumerate(names):
            if name not in arms:
                continue
            value = statistics.bootstrap_mean(arms[name])
            shade = style.COLOURS.get(name, PLAIN)
            axis.plot([100 * value.low, 100 * value.high], [at, at], color=shade, linewidth=0.8)
            axis.plot(100 * value.value, at, "o", color=shade, markersize=4.5)
            axis.plot(
                100 * arms[name].mean(axis=1),
                [at + 0.22] * len(arms[name]),
                ".",
                color=shade,
                markersize=2.5,
            )
        axis.axvline(
            100 * arms["echo"].to_numpy().mean(), color=style.COLOURS["echo"], linewidth=0.6, linestyle=":"
        )
        titles = [label(n) for n in names]
        axis.set_yticks(range(len(names)), titles if k == 0 else [], fontsize=6)
        axis.set_ylim(len(names) - 0.5, -0.5)
        widest = max(5.0, axis.dataLim.xmax)
        axis.set_xlim(-0.05 * widest, 1.05 * widest)
        axis.set_title(suite if len({s for s, _ in panels}) == 1 else f"{label(start)}: {suite}")
    figure.supxlabel("pass rate, %", fontsize=8)
    return figure


def families(results: Results, paper: Path) -> Figure:
    """ECHO's gain over GRPO by template: tasks on a machine's own tools, and generic tasks."""
    gains = measures.template_gains(results)
    panels = list(dict.fromkeys(zip(gains["start"], gains["suite"], strict=True)))
    tallest = max(gains.groupby(["start", "suite"]).size())
    columns = min(2 if len(panels) in (2, 4) else 3, len(panels))
    figure, axes = style.grid(-(-len(panels) // columns), columns, 0.5 + 0.16 * tallest)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (start, suite) in zip(axes.flat, panels, strict=False):
        lines = gains[(gains["start"] == start) & (gains["suite"] == suite)]
        lines = lines.sort_values(["site", "gain"]).reset_index(drop=True)
        for site, name in ((True, "the machine's own tools"), (False, "generic tools")):
            part = lines[lines["site"] == site]
            shade = style.COLOURS["echo"] if site else "#333333"
            gain, low, high = part[["gain", "low", "high"]].to_numpy().T
            axis.errorbar(
                gain,
                part.index.to_numpy(),
                xerr=[gain - low, high - gain],
                fmt="o" if site else "D",
                color=shade,
                elinewidth=0.8,
                label=name,
            )
        axis.axvline(0, color="#333333", linewidth=0.6)
        axis.set_yticks(range(len(lines)), lines["template"], fontsize=6)
        axis.set_ylim(-0.5, tallest - 0.5)
        of_start = gains[gains["start"] == start]  # one scale a start, so that panels compare by eye
        low, high = min(0.0, of_start["low"].min()), max(0.0, of_start["high"].max())
        room = 0.05 * max(1.0, high - low)
        axis.set_xlim(low - room, high + room)
        axis.set_title(suite if len(results.starts) == 1 else f"{label(start)}: {suite}", fontsize=7)
    figure.supxlabel("ECHO − GRPO, points of pass@1", fontsize=8)
    style.legend(figure, axes.flat)
    return figure
