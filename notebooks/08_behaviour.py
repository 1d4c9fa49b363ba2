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
# # 08 · How do the agents behave?
#
# Attempts and turns of the evaluation lie in Delta tables; Spark computes every statistic below (the embedded engine, or a cluster, by one
# setting). A statistic is a ratio of two sums; its interval resamples tasks, since the turns of one task are not independent. Suites are never
# pooled. Runs are compared at their last step.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
from functools import reduce

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display
from pyspark.sql import DataFrame

from echo_terminal.analysis.behaviour import report
from echo_terminal.analysis.statistics import t_mean
from echo_terminal.lake.spark import connect, load
from echo_terminal.pipeline.stage import Stage

stage = Stage.open("08_behaviour", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")

# %%
spark = connect(p.lake)
evaluated = stage.checkpoint_folder("05_evaluate")
runs = [spec.key for spec in stage.items("04_train")]
lakes = [evaluated / f"{start}-start" / "lake" for start in p.matrix.starts]
lakes += [evaluated / f"{run}-{p.train.steps:04d}" / "lake" for run in runs]
attempts, turns = (
    reduce(DataFrame.unionByName, [load(spark, lake, table) for lake in lakes])
    for table in ("attempts", "turns")
)
tables = report(attempts, turns)
for name, table in tables.items():
    table.to_parquet(stage.output(f"{name}.parquet"), index=False)
statistics = tables["statistics"]
statistics[["statistic", "start", "objective", "seed", "suite", "value", "low", "high"]].to_parquet(
    stage.output("behaviour.parquet"), index=False
)
display(Markdown(f"{attempts.count():,} attempts and {turns.count():,} turns of {len(lakes)} policies."))

# %% [markdown]
# ## Table 3: what does ECHO change in how an agent works?
#
# On `val`, mean over seeds; the change is ECHO − GRPO with Student's interval over the paired seeds.

# %%
val = statistics[(statistics["suite"] == "val") & (statistics["objective"] != "start")]
rows = []
for (start, statistic), cell in val.groupby(["start", "statistic"], sort=False):
    wide = cell.pivot_table(index="seed", columns="objective", values="value")
    if {"grpo", "echo"} <= set(wide) and wide.notna().all().all():
        change, _ = t_mean((wide["echo"] - wide["grpo"]).to_numpy())
        rows.append(
            {"start": start, "statistic": statistic, "grpo": wide["grpo"].mean(), "echo": wide["echo"].mean()}
            | {"change": change.value, "low": change.low, "high": change.high, "seeds": len(wide)}
        )
changes = pd.DataFrame(rows)
changes.to_csv(stage.output("changes.csv"), index=False)
display(changes.round(3))
clear = changes[(changes["low"] > 0) | (changes["high"] < 0)]
said = [f"{r.statistic} {r.change:+.3f} ({r.start})" for r in clear.itertuples()]
display(
    Markdown(
        f"Of {len(changes)} comparisons, {len(clear)} have an interval that leaves out 0: {'; '.join(said) or 'none'}. "
        "No correction for the number of comparisons: read single rows with care."
    )
)

# %% [markdown]
# ## Which commands?

# %%
mix = tables["command_mix"]
mix = mix[mix["suite"] == "val"].copy()
top = mix.groupby("program")["commands"].sum().nlargest(12).index
mix["program"] = mix["program"].where(mix["program"].isin(top), "others")
shares = mix.groupby(["start", "objective", "program"])["commands"].sum().rename("n").reset_index()
shares["share"] = shares["n"] / shares.groupby(["start", "objective"])["n"].transform("sum")
if shares.empty:
    display(Markdown("No command was run on `val`."))
else:
    grid = sns.catplot(shares, kind="bar", y="program", x="share", hue="objective", col="start", height=4)
    grid.set_axis_labels("share of commands on val", "").set_titles("{col_name}")
    plt.show()

# %% [markdown]
# ## What follows an error?
#
# After a command that failed: the same step done right (`repaired`), the same command again (`repeated`), another failure, a malformed call, or
# the end of the episode.

# %%
after = val[val["statistic"].str.startswith("after_error_")].copy()
after["then"] = after["statistic"].str.removeprefix("after_error_")
if after.empty:
    display(Markdown("No command failed on `val`."))
else:
    grid = sns.catplot(
        after, kind="bar", x="then", y="value", hue="objective", col="start", errorbar=("pi", 100), height=3.4
    )
    grid.set_axis_labels("", "share of errors").set_titles("{col_name}").tick_params(axis="x", rotation=30)
    plt.show()

# %% [markdown]
# ## Phases of work

# %%
phases = val[val["statistic"].str.startswith("phase_")].copy()
phases["phase"] = phases["statistic"].str.removeprefix("phase_")
display(phases.pivot_table(index=["start", "phase"], columns="objective", values="value").round(3))

# %% [markdown]
# ## Loops, repeats, and how much of the output was new
#
# A loop is one command run three times or more, word for word, in one attempt.

# %%
rest = val[val["statistic"].isin(["looping", "repeats", "new_output", "errors", "unfinished"])]
display(rest.pivot_table(index=["start", "statistic"], columns="objective", values="value").round(3))
