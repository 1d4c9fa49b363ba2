"""Figures 1–7 in the paper's form, from results alone. Bands and whiskers are named in each caption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from echo_terminal.analysis import measures, published, style
from echo_terminal.analysis import results as r
from echo_terminal.analysis.names import FILTERS, PLAIN, label
from echo_terminal.analysis.render import number
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.tables import MODEL_OF, PUBLISHED_SUITE, SUITE_OF

CURVE_SUITES = ("val", "itd", "itd_machine", "lite")


def _pass_curves(results: Results, starts: list[str], paper: Path) -> Figure:
    """One row a start, one panel a suite that both arms were evaluated on; the paper's final rates at the right."""
    panels: dict[tuple[str, str], dict[str, pd.DataFrame]] = {}
    for start in starts:
        for suite in CURVE_SUITES:
            try:
                r.arms(results, start, suite)
            except NotRun:
                continue
            panels[start, suite] = {o: r.pass_curve(results, start, o, suite) for o in ("grpo", "echo")}
    if not panels:
        raise NotRun("no start of this figure has both GRPO and ECHO in this profile")
    rows = [s for s in starts if any(key[0] == s for key in panels)]
    columns = [c for c in CURVE_SUITES if any(key[1] == c for key in panels)]
    theirs = published.load("table1", paper).set_index(["model", "setup"])
    figure, axes = style.grid(len(rows), len(columns), 1.5)
    for i, start in enumerate(rows):
        for j, column in enumerate(columns):
            axis = axes[i, j]
            if (start, column) not in panels:
                axis.axis("off")
                continue
            for objective, runs in panels[start, column].items():
                style.curve(axis, runs, objective, label(objective), 100)
            end = axis.get_xlim()[1]
            model = MODEL_OF.get(start)
            for arm in ("grpo", "echo") if model and column in PUBLISHED_SUITE else ():
                axis.plot(
                    end * 1.06,
                    theirs.loc[(model, label(arm)), PUBLISHED_SUITE[column]],
                    style.MARKERS[arm],
                    color=style.COLOURS[arm],
                    fillstyle="none",
                    label=f"{model} {label(arm)}, {style.PUBLISHED_NOTE}" if len(rows) == 1 else None,
                )
            if all((runs == 0).all(axis=None) for runs in panels[start, column].values()):
                axis.text(0.5, 0.6, "no attempt passes", ha="center", transform=axis.transAxes, fontsize=7)
            axis.set_title(f"{label(start)}: {column}" if len(rows) > 1 else column)
            style.from_zero(axis)
            style.step_axis(axis)
            if i == len(rows) - 1:
                axis.set_xlabel("training step")
        axes[i, 0].set_ylabel("pass rate, %")
    style.legend(figure, axes.flat)
    return figure


def pass_curves(results: Results, paper: Path) -> Figure:
    """Figure 2: pass rates over training from the base starts."""
    return _pass_curves(results, [s for s in results.starts if s != "sft"], paper)


def sft_curves(results: Results, paper: Path) -> Figure:
    """Figure 7: pass rates over training from the SFT start."""
    return _pass_curves(results, [s for s in results.starts if s == "sft"], paper)


def _bars(
    axis: Axes, groups: dict[str, dict[str, tuple[float, float, float]]], colours: dict[str, str]
) -> None:
    """Grouped bars: group → bar → (value, low, high); whiskers where the bounds are numbers."""
    width = 0.8 / len(colours)
    for j, (bar, colour) in enumerate(colours.items()):
        for i, values in enumerate(groups.values()):
            if bar not in values:
                continue
            value, low, high = values[bar]
            x = i + (j - (len(colours) - 1) / 2) * width
            axis.bar(x, value, width * 0.92, color=colour, label=bar if i == 0 else None)
            if not np.isnan(low):
                axis.plot([x, x], [low, high], color="#333333", linewidth=0.8)
    axis.set_xticks(range(len(groups)), [name.replace("_", "_\n") for name in groups])
    axis.grid(axis="x", visible=False)


def heldout_ce(results: Results, paper: Path) -> Figure:
    """Figure 3: held-out cross-entropy of terminal output before RL, after GRPO and after ECHO."""
    colours = {
        "before RL": style.COLOURS["start"],
        "after GRPO": style.COLOURS["grpo"],
        "after ECHO": style.COLOURS["echo"],
    }
    panels: dict[str, dict[str, dict[str, tuple[float, float, float]]]] = {}
    for start in results.starts:
        for suite in r.ordered(results.get("heldout_ce")["suite"].unique(), r.SUITES):
            try:
                arms = measures.ce_arms(results, start, suite)
            except NotRun:
                continue
            panels.setdefault(label(start), {})[suite] = {
                f"{'before' if k == 'start' else 'after'} {'RL' if k == 'start' else label(k)}": (
                    v.mean(),
                    v.min(),
                    v.max(),
                )
                for k, v in arms.items()
            }
    if not panels:
        raise NotRun("no start has held-out CE of both GRPO and ECHO in this profile")
    ours = len(panels)
    for model, rows in published.load("heldout_ce", paper).groupby("model", sort=False):
        panels[f"{model}\n{style.PUBLISHED_NOTE}"] = {
            line["suite"]: {
                "before RL": (line["before_rl"], np.nan, np.nan),
                "after ECHO": (line["after_echo"], np.nan, np.nan),
            }
            for line in rows.to_dict("records")
        }
    columns = 3 if len(panels) in (3, 5) else 2
    figure, axes = style.grid(-(-len(panels) // columns), columns, 1.5)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for i, (axis, (title, groups)) in enumerate(zip(axes.flat, panels.items(), strict=False)):
        _bars(axis, groups, colours)
        axis.set_title(title, style="normal" if i < ours else "italic")
        axis.set_ylabel("nats a token")
    style.legend(figure, axes.flat)
    return figure


def gap_closed(results: Results, paper: Path) -> Figure:
    """Figure 4: share of the SFT gap closed by ECHO, by suite; the paper's values as diamonds."""
    theirs = published.load("table5", paper).set_index("configuration").loc["share_closed_pct"]
    shares = {}
    for base in [s for s in results.starts if s.startswith("base")]:
        for suite in results.suites:
            try:
                shares[base, suite] = measures.share_closed(results, base, suite)
            except NotRun:
                continue
    known = {k: s for k, s in shares.items() if not np.isnan(s.share.low)}
    if not known:
        raise NotRun("no suite of this profile has a gap between SFT+GRPO and base+GRPO that excludes zero")
    bases = list(dict.fromkeys(base for base, _ in shares))
    suites = [s for s in results.suites if any(k[1] == s for k in shares)]
    figure, axes = style.grid(1, len(bases), 2.1, style.WIDE if len(bases) > 1 else style.NARROW)
    for axis, base in zip(axes.flat, bases, strict=True):
        for i, suite in enumerate(suites):
            closed = known.get((base, suite))
            if closed is not None:
                axis.bar(i, closed.share.value, 0.6, color=style.COLOURS["echo"], label="here")
                axis.plot([i, i], closed.share[1:], color="#333333", linewidth=0.8)
            else:
                axis.text(i, 3, "gap may\nbe zero", ha="center", va="bottom", fontsize=6, color="#666666")
            if suite in PUBLISHED_SUITE:
                there = float(theirs[PUBLISHED_SUITE[suite]])
                axis.plot(i, there, "D", color=style.COLOURS["published"], label=style.PUBLISHED_NOTE)
        axis.axhline(100, color="#999999", linewidth=0.7, linestyle=":")
        axis.axhline(0, color="#333333", linewidth=0.6)
        axis.set_xticks(range(len(suites)), suites)
        axis.set_xlim(-0.6, len(suites) - 0.4)
        axis.grid(axis="x", visible=False)
        axis.set(title=label(base), ylabel="share of the SFT gap, %")
    style.legend(figure, axes.flat)
    return figure


def env_only(results: Results, paper: Path) -> Figure:
    """Figure 5: training on the environment loss alone; bands are Wilson intervals of the attempts."""
    rows = results.get("verifier_free")
    targets = r.ordered(rows["target_suite"].unique(), r.SUITES)
    figure, axes = style.grid(1, len(targets), 1.6)
    theirs = published.load("table4", paper)
    names = r.ordered(rows["filter"].unique(), tuple(FILTERS))
    for axis, target in zip(axes.flat, targets, strict=True):
        for i, name in enumerate(names):
            run = rows[(rows["target_suite"] == target) & (rows["filter"] == name)].sort_values("step")
            if run.empty:
                continue
            bounds = [measures.wilson_of(row) for row in run.to_dict("records")]
            low, high = ([100 * b[k] for b in bounds] for k in (1, 2))
            text, colour = FILTERS.get(name, (name.replace("_", " "), PLAIN))
            axis.plot(run["step"], 100 * run["pass_rate"], marker="^s"[i % 2], color=colour, label=text)
            axis.fill_between(run["step"], low, high, color=colour, alpha=0.15, linewidth=0)
        first = rows[(rows["target_suite"] == target) & (rows["step"] == 0)]["pass_rate"].iloc[0]
        for line in theirs[theirs["target"].map(SUITE_OF) == target].to_dict("records"):
            level, colour = 100 * first + line["delta_target_pp"], style.COLOURS["published"]
            axis.axhline(level, linestyle=":", color=colour, label="the paper's change")
            text = f"{number(line['delta_target_pp'], sign=True)} ({line['target']})"
            axis.text(
                0.98, level, text, color=colour, fontsize=6, ha="right", va="bottom",
                transform=axis.get_yaxis_transform(),
                bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5},
            )  # fmt: skip
        axis.set(title=target, xlabel="env-only step")
        style.step_axis(axis)
    axes[0, 0].set_ylabel("pass rate, %")
    style.legend(figure, axes.flat)
    return figure


def warning_ce(results: Results, paper: Path) -> Figure:
    """Figure 6: cross-entropy of warnings and of terminal output on the training rollouts of ECHO and GRPO."""
    steps = results.get("train_steps")
    starts = [s for s in results.starts if ((steps["start"] == s) & (steps["objective"] == "echo")).any()]
    if not starts:
        raise NotRun("no ECHO run in this profile")
    figure, axes = style.grid(1, len(starts), 2.0, style.WIDE if len(starts) > 1 else style.NARROW)
    for axis, start in zip(axes.flat, starts, strict=True):
        for objective in ("grpo", "echo"):
            for column, line, name in (("env_ce_warning", ":", "warnings"), ("env_ce_output", "-", "output")):
                chosen = steps[(steps["start"] == start) & (steps["objective"] == objective)]
                runs = chosen.pivot(index="seed", columns="step", values=column).dropna(axis=1, how="all")
                if runs.empty:
                    continue
                mean = runs.mean(axis=0)
                axis.plot(
                    mean.index,
                    mean,
                    line,
                    color=style.COLOURS[objective],
                    label=f"{label(objective)}, {name}",
                )
                colour = style.COLOURS[objective]
                low, high = runs.min(axis=0), runs.max(axis=0)
                axis.fill_between(mean.index, low, high, color=colour, alpha=0.15, linewidth=0)
        axis.set(title=label(start), xlabel="training step", ylabel="nats a token")
        style.log_scale(axis)
        style.step_axis(axis)
    style.legend(figure, axes.flat, 2)
    return figure
