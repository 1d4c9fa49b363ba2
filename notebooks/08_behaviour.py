# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 · Behaviour
#
# Two policies with one pass rate can work in different ways. Every attempt and every turn of the evaluation lies in Delta tables; Spark computes the
# statistics below, on the embedded engine or a cluster by one setting. A statistic is a ratio of two sums (errors over commands, say). Suites are
# never pooled, and attempts that were lost to the engine are in no statistic. Intervals are 95 %: of one policy over tasks, of a difference over
# seeds and tasks, both arms together. None is corrected for the number of statistics.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
from functools import reduce

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from echo_terminal.analysis.behaviour import OUTCOMES, PHASES, collect, first_success, report
from echo_terminal.analysis.behaviour_changes import changes
from echo_terminal.analysis.statistics import bootstrap_difference
from echo_terminal.lake.spark import connect, load
from echo_terminal.pipeline.stage import Stage
from echo_terminal.tasks.lexicon import NAMES

stage = Stage.open("08_behaviour", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")

WORDS = {
    "pass": "passes", "no_verdict": "has no verdict", "turns": "turns an attempt", "action_tokens": "action tokens an attempt",
    "output_tokens": "output tokens an attempt", "unfinished": "runs out of turns, context or time", "timed_out": "has a time-out",
    "malformed_any": "has a malformed call", "looping": "loops (one command three times)", "errors": "commands that fail",
    "timeouts": "commands stopped at the time limit", "repeats": "commands run before", "new_output": "output that is new",
    "changed_state": "turns that change the state", **{f"phase_{x}": f"turns that {x}" for x in PHASES},
    "phase_malformed": "malformed turns", **{f"after_error_{o}": f"errors then {o.replace('_', ' ')}" for o in OUTCOMES},
}  # fmt: skip
COUNTS = ("turns", "action_tokens", "output_tokens")
COLOURS = {"start": "#7F7F7F", "grpo": "#D55E00", "echo": "#0072B2"}  # the arms in the pictures
NAMES_OF_ARMS = {"start": "before RL", "grpo": "GRPO", "echo": "ECHO"}


def number(statistic, value):
    """A count, or a share in percent."""
    return f"{value:.1f}" if statistic in COUNTS else f"{100 * value:.1f} %"


def change(row):
    """A change with its interval; of shares in points."""
    scale, unit = (1, "") if row.statistic in COUNTS else (100, " points")
    return f"{scale * row.change:+.1f}{unit} [{scale * row.low:+.1f}, {scale * row.high:+.1f}]"


def verdict(row):
    """What the interval says."""
    return "more under ECHO" if row.low > 0 else "less under ECHO" if row.high < 0 else "no clear difference"


def sentence(row):
    """One statistic of both arms, in words."""
    shares = number(row.statistic, row.grpo), number(row.statistic, row.echo)
    return f"*{WORDS[row.statistic]}*: GRPO {shares[0]}, ECHO {shares[1]}; {change(row)} ({verdict(row)})"


def say(*lines):
    display(Markdown("\n".join(lines)))


def legend_of_arms(grid):
    """The reader's names of the arms in a grid's legend, without a title."""
    grid.legend.set_title("")
    for text in grid.legend.texts:
        text.set_text(NAMES_OF_ARMS.get(text.get_text(), text.get_text()))


def by_suite(statistics, title):
    """Change of a few statistics by suite, a panel each, a colour a start."""
    rows = changed[changed["statistic"].isin(statistics)]
    shown = [s for s in statistics if s in set(rows["statistic"])]
    if not shown:
        return
    starts, suites = list(rows["start"].unique()), list(rows["suite"].unique())
    fig, axes = plt.subplots(
        1, len(shown), figsize=(2 + 2.9 * len(shown), 0.5 * len(suites) + 1.6), sharey=True, squeeze=False
    )
    colours = dict(zip(starts, sns.color_palette("colorblind", len(starts)), strict=True))
    for ax, statistic in zip(axes[0], shown, strict=True):
        ax.axvline(0, color="#444444", lw=1)
        for place, start in enumerate(starts):
            cell = rows[(rows["statistic"] == statistic) & (rows["start"] == start)]
            at = [suites[::-1].index(s) + 0.16 * (place - (len(starts) - 1) / 2) for s in cell["suite"]]
            ax.hlines(at, 100 * cell["low"], 100 * cell["high"], color=colours[start], lw=2)
            ax.plot(100 * cell["change"], at, "o", color=colours[start], label=start)
        ax.set(title=WORDS[statistic], xlabel="ECHO − GRPO (points, 95 %)")
        ax.title.set_fontsize(10)
    axes[0][0].set_yticks(range(len(suites)), suites[::-1])
    axes[0][0].set_ylim(-0.6, len(suites) - 0.4)
    if len(starts) > 1:
        fig.legend(
            *axes[0][0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=len(starts),
            frameon=False,
        )
    fig.tight_layout(rect=(0, 0, 1, 0.9 if len(starts) > 1 else 1))
    plt.show()
    say(title)


# %% [markdown]
# ## What lies in the lake?
#
# One lake a policy: the starting policies and every snapshot that notebook 05 evaluated. Behaviour is read at the last step; the snapshots serve the
# question of when a task was first solved.

# %%
spark = connect(p.lake)
evaluated = stage.checkpoint_folder("05_evaluate")
points = pd.read_parquet(
    stage.input("05_evaluate/attempts.parquet"), columns=["start", "objective", "seed", "step"]
)
points = points.drop_duplicates().sort_values(["start", "objective", "seed", "step"])
points["lake"] = [
    f"{r.start}-start" if r.objective == "start" else f"{r.start}-{r.objective}-{r.seed}-{r.step:04d}"
    for r in points.itertuples()
]
final = points[points["step"].isin([0, p.train.steps])]


def table(name, lakes):
    return reduce(DataFrame.unionByName, [load(spark, evaluated / lake / "lake", name) for lake in lakes])


attempts, turns = table("attempts", final["lake"]), table("turns", final["lake"])
tables = report(attempts, turns)
for name in ("command_mix", "phase_flow"):
    tables[name].to_parquet(stage.output(f"{name}.parquet"), index=False)
statistics = tables["statistics"]
arms = [o for o in COLOURS if o in set(statistics["objective"])]
statistics[["statistic", "start", "objective", "seed", "suite", "value", "low", "high"]].to_parquet(
    stage.output("behaviour.parquet"), index=False
)
counted = tables["attempt_sums"].groupby("suite")[["attempts"]].sum()
counted = counted.join(tables["turn_sums"].groupby("suite")[["turns", "commands"]].sum())
display(counted)
display(
    Markdown(
        f"{counted['attempts'].sum():,} attempts with {counted['turns'].sum():,} turns of {len(final)} policies at their last step."
    )
)

# %% [markdown]
# ## What does ECHO change in how an agent works?
#
# The paper's table 3 and more. The change is ECHO − GRPO over the common seeds; its 95 % interval resamples seeds and tasks, both arms together.

# %%
sums = [tables[name] for name in ("attempt_sums", "turn_sums", "repeat_sums")]
changed = changes([frame[frame["objective"] != "start"] for frame in sums])
changed.to_csv(stage.output("changes.csv"), index=False)
val = changed[changed["suite"] == "val"]
seeds = int(val["seeds"].min()) if len(val) else 0
caveat = (
    f"{seeds} seeds a start"
    if seeds > 1
    else "one seed a start: the interval speaks of tasks alone, and another seed may well turn the sign"
)
for start, rows in val.groupby("start"):
    clear = rows[(rows["low"] > 0) | (rows["high"] < 0)]
    lines = "\n".join(f"- {sentence(row)}" for row in clear.itertuples())
    display(
        Markdown(
            f"**{start}**, `val`: {len(clear)} of {len(rows)} statistics have an interval that leaves out 0"
            + (f":\n\n{lines}" if len(clear) else ".")
        )
    )
display(
    Markdown(
        f"Caveat: {caveat}; no correction for the number of statistics (one in twenty leaves out 0 by chance)."
    )
)

# %%
shares = val[~val["statistic"].isin(COUNTS) & (val["grpo"] + val["echo"] > 0)]
absent = sorted(set(val["statistic"]) - set(shares["statistic"]) - set(COUNTS), key=list(WORDS).index)
starts = list(val["start"].unique())
fig, axes = plt.subplots(
    1,
    max(1, len(starts)),
    figsize=(4.6 + 3.2 * len(starts), 0.27 * shares["statistic"].nunique() + 1.4),
    sharey=True,
    squeeze=False,
)
order = [name for name in WORDS if name in set(shares["statistic"])][::-1]
for ax, start in zip(axes[0], starts, strict=False):
    rows = shares[shares["start"] == start].set_index("statistic").reindex(order)
    ax.axvline(0, color="#444444", lw=1)
    ax.hlines(range(len(order)), 100 * rows["low"], 100 * rows["high"], color=COLOURS["echo"], lw=2)
    ax.plot(100 * rows["change"], range(len(order)), "o", color=COLOURS["echo"], ms=5)
    ax.set(title=start, xlabel="ECHO − GRPO (points, 95 %)")
axes[0][0].set_yticks(range(len(order)), [WORDS[name] for name in order])
fig.tight_layout()
plt.show()
say(f"Never happens in either arm: {', '.join(WORDS[name] for name in absent) or 'nothing of these'}.")

# %% [markdown]
# ## Is it the same on the other suites?
#
# The same statistics, by suite; never pooled.

# %%
for start, rows in changed.groupby("start"):
    for statistic in ("pass", "errors", "unfinished"):
        cell = rows[rows["statistic"] == statistic]
        sides = ", ".join(f"{r.suite} {change(r)}" for r in cell.itertuples())
        signs = {verdict(r) for r in cell.itertuples()}
        same = next(iter(signs)) if len(signs) == 1 else "suites differ"
        say(f"* **{start}**, *{WORDS[statistic]}*, ECHO − GRPO: {sides} ({same})")
by_suite(["pass", "errors", "unfinished"], "Points: change; lines: 95 % over seeds and tasks.")

# %%
shown = changed[
    changed["statistic"].isin(["pass", "turns", "errors", "repeats", "malformed_any", "unfinished"])
].copy()
shown["text"] = [
    f"{number(r.statistic, r.grpo)} → {number(r.statistic, r.echo)}, {change(r)}" for r in shown.itertuples()
]
shown["statistic"] = shown["statistic"].map(WORDS)
with pd.option_context("display.max_colwidth", 60):
    display(shown.pivot(index=["start", "suite"], columns="statistic", values="text").fillna("–"))
display(Markdown("GRPO → ECHO, change [95 % interval]."))

# %% [markdown]
# ## How far do seeds differ?
#
# One policy's statistic with the interval over its tasks: where two seeds of one arm do not overlap, the seed matters more than the tasks.

# %%
chosen = ["pass", "errors", "after_error_repaired", "unfinished"]
of_seeds = statistics[(statistics["suite"] == "val") & statistics["statistic"].isin(chosen)]
for (start, objective), arm in of_seeds[of_seeds["objective"] != "start"].groupby(["start", "objective"]):
    spans = []
    for statistic in chosen:
        of_arm = arm[arm["statistic"] == statistic]
        if len(of_arm) > 1:
            apart = of_arm["low"].max() > of_arm["high"].min()
            spans.append(
                f"*{WORDS[statistic]}* {100 * of_arm['value'].min():.0f} to {100 * of_arm['value'].max():.0f} %{' (apart)' if apart else ''}"
            )
    if spans:
        say(
            f"* **{start}, {NAMES_OF_ARMS.get(objective, objective)}**, lowest to highest seed: {', '.join(spans)}"
        )
starts = list(of_seeds["start"].unique())
fig, axes = plt.subplots(
    len(starts),
    len(chosen),
    figsize=(2.9 * len(chosen), 2.4 * len(starts) + 0.4),
    sharey="row",
    squeeze=False,
)
for line, start in zip(axes, starts, strict=True):
    lanes = of_seeds[of_seeds["start"] == start][["objective", "seed"]].drop_duplicates()
    lanes = [(o, s) for o in arms for s in sorted(lanes.loc[lanes["objective"] == o, "seed"])][::-1]
    for ax, statistic in zip(line, chosen, strict=True):
        for row in of_seeds[(of_seeds["start"] == start) & (of_seeds["statistic"] == statistic)].itertuples():
            if (row.objective, row.seed) in lanes:
                at = lanes.index((row.objective, row.seed))
                ax.plot([100 * row.low, 100 * row.high], [at, at], color=COLOURS[row.objective], lw=2)
                ax.plot(100 * row.value, at, "o", color=COLOURS[row.objective])
        head = f"{start}\n{WORDS[statistic]}" if len(starts) > 1 else WORDS[statistic]
        ax.set(title=head, xlabel="% (95 % over tasks)", xlim=(-3, 103))
        ax.title.set_fontsize(10)
    line[0].set_yticks(
        range(len(lanes)),
        [NAMES_OF_ARMS[o] if o == "start" else f"{NAMES_OF_ARMS[o]}, seed {seed}" for o, seed in lanes],
    )
fig.tight_layout()
plt.show()

# %% [markdown]
# ## Which commands do they run?
#
# Site tools have names that no other program has; they count as one.

# %%
mix = tables["command_mix"]
mix = mix[(mix["suite"] == "val") & mix["objective"].isin(arms)].assign(
    program=lambda d: d["program"].where(~d["program"].isin(NAMES), "site tool").replace("", "(unclear)")
)
of_all = mix.groupby("program")["commands"].sum()
common = of_all[of_all >= 0.005 * of_all.sum()].nlargest(10).index  # the rest is typing errors, most of it
mix["program"] = mix["program"].where(mix["program"].isin(common), "others")
by_program = mix.groupby(["start", "objective", "program"])[["commands", "errors"]].sum().reset_index()
of_arm = by_program.groupby(["start", "objective"])["commands"]
by_program["share"] = 100 * by_program["commands"] / of_arm.transform("sum")
for start, rows in by_program.groupby("start"):
    wide = rows.pivot(index="program", columns="objective", values="share").fillna(0.0)
    if {"grpo", "echo"} <= set(wide):
        gap = wide["echo"] - wide["grpo"]
        most = gap.abs().idxmax()
        say(
            f"**{start}**: {gap.abs().sum() / 2:.0f} % of the commands would have to be others for the two mixes to be equal "
            f"(total variation); *{most}* differs most, {wide.loc[most, 'grpo']:.1f} % under GRPO and {wide.loc[most, 'echo']:.1f} % under ECHO."
        )
if by_program.empty:
    say("No policy ran a command on `val`.")
else:
    ordered = by_program.groupby("program")["commands"].sum().sort_values(ascending=False)
    ordered = [*ordered.drop("others", errors="ignore").index, *(["others"] if "others" in ordered else [])]
    grid = sns.catplot(
        by_program,
        kind="bar",
        y="program",
        x="share",
        hue="objective",
        col="start",
        order=ordered,
        palette=COLOURS,
        hue_order=arms,
        height=0.36 * len(ordered) + 1.6,
        aspect=1.3,
    )
    legend_of_arms(grid)
    grid.set_axis_labels("share of the commands on val (%)", "").set_titles("{col_name}")
    plt.show()
    say(
        "All seeds of an arm together. Caveat: the mix follows from which tasks there are, so it compares arms, not models."
    )

# %% [markdown]
# ## How does an attempt go?
#
# *Look* reads, *edit* writes, *run* executes something else (site tools among them), *verify* is a test or a look after something was done, *stop* is the
# done signal. Height: share of the attempts that are still on in that turn.

# %%
for row in val[val["statistic"].str.startswith("phase_") & (val["grpo"] + val["echo"] > 0)].itertuples():
    say(f"* **{row.start}**, {sentence(row)}")
flow = tables["phase_flow"]
flow = (
    flow[flow["suite"] == "val"]
    .groupby(["start", "objective", "turn", "phase_of_turn"])["n"]
    .sum()
    .reset_index()
)
starts = list(flow["start"].unique())
fig, axes = plt.subplots(
    len(starts),
    len(arms),
    figsize=(3.6 * len(arms), 2.3 * len(starts) + 0.9),
    sharex=True,
    sharey=True,
    squeeze=False,
)
palette = dict(zip(PHASES, sns.color_palette("colorblind", len(PHASES)), strict=True))
for line, start in zip(axes, starts, strict=True):
    for ax, arm in zip(line, arms, strict=True):
        cell = flow[(flow["start"] == start) & (flow["objective"] == arm)]
        wide = (
            cell.pivot(index="turn", columns="phase_of_turn", values="n")
            .reindex(columns=list(PHASES))
            .fillna(0.0)
        )
        wide.index = wide.index + 1
        (100 * wide / wide.loc[1].sum()).plot.bar(
            stacked=True, ax=ax, color=palette, width=0.85, legend=False
        )
        ax.set(title=f"{start}, {NAMES_OF_ARMS[arm]}", xlabel="turn", ylabel="attempts (%)")
        ax.tick_params(axis="x", rotation=0)
        ax.grid(axis="x", visible=False)
fig.legend(
    *axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(PHASES), frameon=False
)
fig.tight_layout(rect=(0, 0, 1, 0.94))
plt.show()
say(
    "All seeds of an arm together. Caveat: a phase is read from the command's text, so a site tool that only prints counts as *run*."
)

# %% [markdown]
# ## What follows an error?
#
# After a command that failed: another that works (*repaired*), the same again (*repeated*), another failure, a malformed call, or the end.

# %%
for row in val[
    val["statistic"].isin(["errors", "after_error_repaired", "after_error_repeated", "after_error_gave_up"])
].itertuples():
    say(f"* **{row.start}**, {sentence(row)}")
one = statistics[
    (statistics["suite"] == "val") & statistics["statistic"].str.startswith("after_error_")
].copy()
one["then"] = one["statistic"].str.removeprefix("after_error_").str.replace("_", " ")
one["percent"] = 100 * one["value"]
if one.empty:
    say("No command failed on `val`.")
else:
    grid = sns.catplot(
        one,
        kind="bar",
        x="percent",
        y="then",
        hue="objective",
        col="start",
        errorbar=("pi", 100),
        palette=COLOURS,
        hue_order=arms,
        order=[o.replace("_", " ") for o in OUTCOMES],
        height=3.4,
        aspect=1.2,
    )
    legend_of_arms(grid)
    grid.set_axis_labels("share of the errors on val (%)", "").set_titles("{col_name}")
    plt.show()
by_suite(
    ["after_error_repaired", "after_error_failed_again", "after_error_gave_up"],
    "Above: bars are means over seeds, whiskers their range. Below: the change by suite, 95 % over seeds and tasks. Caveat: commands may fail on purpose; asking a "
    "tool for its usage is an error too.",
)

# %% [markdown]
# ## Do they go in circles, and how much of what they read is new?
#
# A loop is one command three times or more, word for word, in one attempt. Output is new in lines that the same attempt did not show before.

# %%
circles = ["repeats", "looping", "new_output"]
for row in val[val["statistic"].isin(circles)].itertuples():
    say(f"* **{row.start}**, {sentence(row)}")
by_suite(
    circles, "By suite; 95 % over seeds and tasks. Caveat: a command changed by one character is no repeat."
)

# %% [markdown]
# ## When was a task first solved?
#
# Share of `val` tasks with at least one passed attempt at an evaluated step up to then. A task never solved is censored at the last step; the curve
# depends on the number of tries at each step, which is the same for both arms.

# %%
on_val = table("attempts", points["lake"]).where(F.col("suite") == "val")
first = collect(first_success(on_val))
first.to_csv(stage.output("first_success.csv"), index=False)
trained = first[first["objective"].isin(arms[1:])]
steps = sorted(points.loc[points["objective"] != "start", "step"].unique())
for start, of_start in trained.groupby("start"):
    ever = {
        o: arm.assign(reward=arm["first_success"].notna().astype(float))
        for o, arm in of_start.groupby("objective")
    }
    medians = ", ".join(
        f"{NAMES_OF_ARMS[o]} {100 * arm['reward'].mean():.0f} % (median step of those {arm['first_success'].median():.0f})"
        for o, arm in ever.items()
    )
    text = f"**{start}**: solved at least once by step {steps[-1]}: {medians}."
    if {"grpo", "echo"} <= set(ever):
        gap = bootstrap_difference(
            *(ever[o].pivot(index="seed", columns="task_id", values="reward") for o in ("echo", "grpo"))
        )
        text += f" ECHO − GRPO {100 * gap.value:+.1f} points [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]."
    say(text)
solved = pd.DataFrame(
    {
        "start": start,
        "objective": objective,
        "seed": seed,
        "step": step,
        "solved": 100 * (run["first_success"] <= step).mean(),
    }
    for (start, objective, seed), run in trained.groupby(["start", "objective", "seed"])
    for step in steps
)
grid = sns.relplot(
    solved,
    x="step",
    y="solved",
    hue="objective",
    col="start",
    kind="line",
    marker="o",
    errorbar=("pi", 100),
    palette=COLOURS,
    hue_order=arms[1:],
    height=3.4,
    aspect=1.2,
)
legend_of_arms(grid)
grid.set_axis_labels("training step", "val tasks solved so far (%)").set_titles("{col_name}").set(
    ylim=(0, 100)
)
plt.show()
say(
    "Lines: means over seeds; bands: lowest to highest seed. Caveat: the last step has more tries a task than the others, so curves jump there."
)
