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

from echo_terminal.analysis import behaviour_pictures as pictures
from echo_terminal.analysis.behaviour import OUTCOMES, PHASES, collect, first_success, report
from echo_terminal.analysis.behaviour_changes import changes, command_shares, solved_by_step
from echo_terminal.analysis.names import label
from echo_terminal.analysis.sentences import side, with_bounds
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
ARMS = ("start", "grpo", "echo")  # of the pictures; the tables have every objective


def number(statistic, value):
    """A count, or a share in percent."""
    return f"{value:.1f}" if statistic in COUNTS else f"{100 * value:.1f} %"


def change(row):
    """A change with its interval; of shares in points."""
    scale, unit = (1, "") if row.statistic in COUNTS else (100, " points")
    return with_bounds(scale * row.change, scale * row.low, scale * row.high, 1, unit)


def verdict(row):
    """What the interval says."""
    return side(row.low, row.high, "less under ECHO", "more under ECHO")


def sentence(row):
    """One statistic of both arms, in words."""
    shares = number(row.statistic, row.grpo), number(row.statistic, row.echo)
    return f"*{WORDS[row.statistic]}*: GRPO {shares[0]}, ECHO {shares[1]}; {change(row)} ({verdict(row)})"


def say(*lines):
    display(Markdown("\n".join(lines)))


def by_suite(statistics, said):
    """The change of a few statistics by suite, and what the picture shows."""
    if pictures.by_suite(changed, statistics, WORDS):
        plt.show()
        say(said)


# %% [markdown]
# ## What lies in the lake?
#
# One lake a policy: the starting policies and every snapshot that notebook 05 evaluated. Behaviour is read at the last step; the snapshots serve the
# question of when a task was first solved.

# %%
spark = connect(p.lake)
evaluated = stage.checkpoint_folder("05_evaluate")
known = pd.read_parquet(stage.input("05_evaluate/attempts.parquet"))
templates = known.drop_duplicates("task_id").set_index("task_id")["template"].to_dict()
run = ["start", "objective", "seed", "step"]
points = known[run].drop_duplicates().sort_values(run)
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
arms = [o for o in ARMS if o in set(statistics["objective"])]
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
# The paper's table 3 and more. The change is ECHO − GRPO over the common seeds; its 95 % interval resamples seeds and tasks within
# their template, both arms together.

# %%
sums = [tables[name] for name in ("attempt_sums", "turn_sums", "repeat_sums")]
changed = changes([frame[frame["objective"] != "start"] for frame in sums], templates=templates)
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
            f"**{label(start)}**, `val`: {len(clear)} of {len(rows)} statistics have an interval that leaves out 0"
            + (f":\n\n{lines}" if len(clear) else ".")
        )
    )
display(
    Markdown(
        f"Caveat: {caveat}; no correction for the number of statistics (where nothing differs, one in twenty still leaves out 0)."
    )
)

# %%
shares = val[~val["statistic"].isin(COUNTS) & (val["grpo"] + val["echo"] > 0)]
absent = sorted(set(val["statistic"]) - set(shares["statistic"]) - set(COUNTS), key=list(WORDS).index)
pictures.changes(shares, WORDS)
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
        say(f"* **{label(start)}**, *{WORDS[statistic]}*, ECHO − GRPO: {sides} ({same})")
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
        say(f"* **{label(start)}, {label(objective)}**, lowest to highest seed: {', '.join(spans)}")
pictures.seeds(of_seeds[of_seeds["objective"].isin(arms)], chosen, WORDS)
plt.show()

# %% [markdown]
# ## Which commands do they run?
#
# Site tools have names that no other program has; they count as one.

# %%
mix = tables["command_mix"]
by_program = command_shares(mix[(mix["suite"] == "val") & mix["objective"].isin(arms)], NAMES)
for start, rows in by_program.groupby("start"):
    wide = rows.pivot(index="program", columns="objective", values="share").fillna(0.0)
    if {"grpo", "echo"} <= set(wide):
        gap = wide["echo"] - wide["grpo"]
        most = gap.abs().idxmax()
        say(
            f"**{label(start)}**: {gap.abs().sum() / 2:.0f} % of the commands would have to be others for the two mixes to be equal "
            f"(total variation); *{most}* differs most, {wide.loc[most, 'grpo']:.1f} % under GRPO and {wide.loc[most, 'echo']:.1f} % under ECHO."
        )
if by_program.empty:
    say("No policy ran a command on `val`.")
else:
    ordered = by_program.groupby("program")["commands"].sum().sort_values(ascending=False)
    ordered = [*ordered.drop("others", errors="ignore").index, *(["others"] if "others" in ordered else [])]
    pictures.shares(by_program, ordered, "program", "share", "share of the commands on val (%)")
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
    say(f"* **{label(row.start)}**, {sentence(row)}")
flow = tables["phase_flow"].query("suite == 'val'")
flow = flow.groupby(["start", "objective", "turn", "phase_of_turn"])["n"].sum().reset_index()
pictures.phases(flow, arms, PHASES)
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
    say(f"* **{label(row.start)}**, {sentence(row)}")
one = statistics[
    (statistics["suite"] == "val") & statistics["statistic"].str.startswith("after_error_")
].copy()
one["then"] = one["statistic"].str.removeprefix("after_error_").str.replace("_", " ")
one["percent"] = 100 * one["value"]
if one.empty:
    say("No command failed on `val`.")
else:
    pictures.shares(
        one[one["objective"].isin(arms)],
        [o.replace("_", " ") for o in OUTCOMES],
        "then",
        "percent",
        "share of the errors on val (%)",
    )
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
    say(f"* **{label(row.start)}**, {sentence(row)}")
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
trained = first[first["objective"].isin([o for o in arms if o != "start"])]
steps = sorted(points.loc[points["objective"] != "start", "step"].unique())
for start, of_start in trained.groupby("start"):
    ever = {
        o: arm.assign(reward=arm["first_success"].notna().astype(float))
        for o, arm in of_start.groupby("objective")
    }
    medians = ", ".join(
        f"{label(o)} {100 * arm['reward'].mean():.0f} % (median step of those {arm['first_success'].median():.0f})"
        for o, arm in sorted(ever.items(), reverse=True)
    )
    text = f"**{label(start)}**: solved at least once by step {steps[-1]}: {medians}."
    if {"grpo", "echo"} <= set(ever):
        gap = bootstrap_difference(
            *(ever[o].pivot(index="seed", columns="task_id", values="reward") for o in ("echo", "grpo")),
            [templates[task] for task in sorted(ever["echo"]["task_id"].unique())],
        )
        text += f" ECHO − GRPO {with_bounds(*(100 * v for v in gap), 1, ' points')}."
    say(text)
pictures.solved_so_far(solved_by_step(trained, steps))
plt.show()
say(
    "Lines: means over seeds; bands: lowest to highest seed. Caveat: the last step has more tries a task than the others, so curves jump there."
)
