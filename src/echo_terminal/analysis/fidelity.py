"""How true and how fast the simulated terminal is: the table by family of commands and the pictures of notebook 01."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from echo_terminal.analysis.panels import panels
from echo_terminal.analysis.statistics import wilson

USED, FAILS, ALL = "families that tasks use", "commands that fail", "all"
TARGETS = {USED: 0.97, FAILS: 0.90, ALL: 0.93}
DARK, LIGHT, MEAN = "#0072B2", "#9CC9E5", "#D55E00"


def by_family(compared: pd.DataFrame, used: Collection[str], left_out: Sequence[str] = ()) -> pd.DataFrame:
    """Exact agreement by family of commands with Wilson's interval; the last three rows are the groups of ``TARGETS``.

    Args:
        compared: one row a command: ``family``, ``exact`` and ``fails`` (the reference's exit code is not 0).
        used: families whose programs the tasks' solutions call.
        left_out: the family of each command that could not be run here.
    """
    groups = {family: compared["family"] == family for family in sorted(compared["family"].unique())}
    groups |= {USED: compared["family"].isin(used), FAILS: compared["fails"], ALL: compared["family"].notna()}
    skipped = pd.Series(list(left_out), dtype=object).value_counts()
    rows = []
    for name, chosen in groups.items():
        exact, count = int(compared.loc[chosen, "exact"].sum()), int(chosen.sum())
        share = wilson(exact, count)
        missing = len(left_out) if name == ALL else int(skipped.get(name, 0))
        rows.append(
            {"family": name, "exact": exact, "commands": count, "share": share.value}
            | {"low": share.low, "high": share.high, "used by tasks": name in used, "not run": missing}
        )
    return pd.DataFrame(rows)


def agreement(fidelity: pd.DataFrame) -> str:
    """The three groups against their targets, in words."""
    said = []
    for row in fidelity[fidelity["family"].isin(list(TARGETS))].to_dict("records"):
        target = TARGETS[row["family"]]
        said.append(
            f"**{row['family']}: {row['share']:.1%}** [{row['low']:.1%}, {row['high']:.1%}] of {row['commands']:,} "
            f"(target {target:.0%}: {'reached' if row['share'] >= target else 'missed'})"
        )
    return "; ".join(said)


def picture(fidelity: pd.DataFrame) -> Figure:
    """Bars by family with intervals and counts, dark where tasks use the family; the dashed line is all commands."""
    shown = fidelity[~fidelity["family"].isin(list(TARGETS))].sort_values("share").reset_index(drop=True)
    figure, axis = plt.subplots(figsize=(9, 1.6 + 0.25 * len(shown)), layout="constrained")
    for used, colour, name in ((True, DARK, "tasks use it"), (False, LIGHT, "tasks do not use it")):
        rows = shown[shown["used by tasks"] == used]
        axis.barh(rows.index, 100 * rows["share"], color=colour, height=0.7, label=name)
    axis.hlines(shown.index, 100 * shown["low"], 100 * shown["high"], color="#222222", lw=1.2)
    axis.set_yticks(shown.index, shown["family"])
    for at, row in enumerate(shown.to_dict("records")):
        axis.text(101, at, f"{row['exact']} of {row['commands']}", va="center", fontsize=9)
    of_all = 100 * float(fidelity.loc[fidelity["family"] == ALL, "share"].iloc[0])
    axis.axvline(of_all, color=MEAN, ls="--", lw=1.2, label="all commands")
    axis.set(xlim=(0, 100), xlabel="exactly as real bash (%, with Wilson's 95 % interval)")
    axis.set_title("Fidelity by family of commands", loc="left")
    axis.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def speeds(timings: pd.DataFrame) -> Figure:
    """A panel a rate, a bar an engine, on logarithmic axes; the first column is ``engine``."""
    figure, axes = panels(1, len(timings.columns) - 1, 3.7, 0.5 + 0.5 * len(timings), sharey=True)
    for axis, column in zip(axes.flat, timings.columns[1:], strict=True):
        axis.barh(timings["engine"], timings[column], color=[DARK, "#7F7F7F"][: len(timings)], height=0.6)
        for at, value in enumerate(timings[column]):
            axis.text(value, at, f" {value:,.1f}", va="center", fontsize=10)
        axis.set(title=column, xscale="log", xlim=(timings[column].min() / 3, timings[column].max() * 8))
        axis.grid(axis="y", visible=False)
    axes[0, 0].invert_yaxis()
    return figure
