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
# # 06 · What do policies know about the terminal?
#
# Every snapshot of every run reads the same fixed trajectories of a stronger agent (the scripted expert, who knows the machine and now and
# then errs) and is asked, token by token, what the terminal will say. Cross-entropy is $-\log p(x_t \mid x_{<t})$ in nats, over terminal
# output only; the harness's warnings are scored apart. Nothing is trained on these trajectories.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display

from echo_terminal.analysis.statistics import t_mean
from echo_terminal.evaluation.heldout_ce import WARNING_CLASS
from echo_terminal.lake.scoring_run import run_scoring
from echo_terminal.pipeline.processes import call_each, run_parallel
from echo_terminal.pipeline.stage import Stage
from echo_terminal.training.run import snapshots

stage = Stage.open("06_heldout_ce", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")

# %%
runs = stage.items("04_train")
folders = {
    ("start", start): stage.checkpoint_folder(f"03_starting_policies/{start}") for start in p.matrix.starts
}
for spec in runs:
    for step, folder in snapshots(stage.checkpoint_folder(f"04_train/{spec.key}")).items():
        folders[spec.key, step] = folder
arguments: dict[str, list] = {}
for (name, step), folder in folders.items():
    job = {
        "name": f"{name}-{step}",
        "policy_folder": folder,
        "tasks_path": stage.input("02_tasks/tasks.parquet"),
        "harness": p.harness,
        "suites": p.tasks.suites,
        "params": p.heldout,
        "terminal_options": {"params": p.terminal},
        "full": step == p.train.steps,
    }
    arguments.setdefault(name, []).append(job)
results = run_parallel(
    call_each, {name: {"function": run_scoring, "arguments": jobs} for name, jobs in arguments.items()}
)
scores = {
    job["name"]: result
    for name, jobs in arguments.items()
    for job, result in zip(jobs, results[name], strict=True)
}
digests = {s["digest"] for s in scores.values()}
assert len(digests) == 1, "policies were scored on different trajectories"

# %%
ce_rows, forecast_rows, free_rows = [], [], []
for spec in runs:
    run = {name: spec.item[name] for name in ("start", "objective", "seed")}
    steps = {0: f"start-{run['start']}"} | {
        step: f"{name}-{step}" for name, step in folders if name == spec.key
    }
    for step, name in steps.items():
        ce_rows += [run | {"step": step} | row for row in scores[name]["ce"]]
    last = scores[f"{spec.key}-{p.train.steps}"]
    forecast_rows += [run | row for row in last["forecast"]]
    free_rows.append(run | last["free_running"])
ce = pd.DataFrame(ce_rows)
ce.to_parquet(stage.output("heldout_ce.parquet"), index=False)
pd.DataFrame(forecast_rows).to_parquet(stage.output("forecast.parquet"), index=False)
free = pd.DataFrame(free_rows)
free.to_parquet(stage.output("free_running.parquet"), index=False)
first = ce[(ce["step"] == 0) & (ce["start"] == p.matrix.starts[0])].drop_duplicates(["suite", "token_class"])
display(
    Markdown(
        f"Corpus `{digests.pop()}`: {first['n_tokens'].sum():,} observation tokens, {p.heldout.tasks} trajectories at most from each of {', '.join(p.heldout.suites)}."
    )
)

# %% [markdown]
# ## Does RL alone teach what the terminal will say?
#
# Token mean over all terminal output. Bars: mean over seeds; whiskers: lowest and highest seed.

# %%
output = ce[ce["token_class"] != WARNING_CLASS]
keys = ["suite", "start", "objective", "seed", "step"]
nats = (
    output.assign(nats=output["ce_token_mean"] * output["n_tokens"])
    .groupby(keys)[["nats", "n_tokens", "n_bytes"]]
    .sum()
    .reset_index()
)
nats["ce"] = nats["nats"] / nats["n_tokens"]
nats["bits_per_byte"] = nats["nats"] / nats["n_bytes"] / 0.6931471805599453
ends = nats[nats["step"].isin([0, p.train.steps])].copy()
ends["policy"] = ends["objective"].where(ends["step"] > 0, "before RL")
grid = sns.catplot(
    ends,
    kind="bar",
    x="suite",
    order=p.heldout.suites,
    y="ce",
    hue="policy",
    hue_order=["before RL", *p.matrix.objectives],
    col="start",
    errorbar=("pi", 100),
    height=3.4,
    aspect=1.6,
)
grid.set_axis_labels("", "CE of terminal output (nats a token)").set_titles("{col_name}")
plt.show()

# %%
lines = []
for (start, suite), rows in ends.groupby(["start", "suite"]):
    wide = rows[rows["step"] > 0].pivot_table(index="seed", columns="objective", values="ce")
    before = rows.loc[rows["step"] == 0, "ce"].iloc[0]
    if {"grpo", "echo"} <= set(wide):
        gap, _ = t_mean((wide["echo"] - wide["grpo"]).to_numpy())
        lines.append(
            f"* {start}, {suite}: {before:.3f} before RL, {wide['grpo'].mean():.3f} after GRPO, {wide['echo'].mean():.3f} after ECHO; "
            f"ECHO − GRPO {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}] (t interval over {len(wide)} seeds)"
        )
display(Markdown("\n".join(lines)))

# %% [markdown]
# ## When do the arms part?
#
# Lines are means over seeds, bands reach from the lowest to the highest seed; each suite has its own scale.

# %%
grid = sns.relplot(
    nats,
    x="step",
    y="ce",
    hue="objective",
    hue_order=p.matrix.objectives,
    col="suite",
    col_order=p.heldout.suites,
    row="start",
    kind="line",
    errorbar=("pi", 100),
    height=2.6,
    facet_kws={"sharey": False},
)
grid.set_axis_labels("step", "nats a token").set_titles("{row_name} · {col_name}")
plt.show()

# %% [markdown]
# ## What kind of output became predictable?
#
# Every output token has exactly one class. `new name` cannot be known before it is seen: the floor column is the least that any
# predictor can reach in expectation.

# %%
classes = output[(output["suite"] == p.heldout.suites[0]) & output["step"].isin([0, p.train.steps])].copy()
classes["policy"] = classes["objective"].where(classes["step"] > 0, "before RL")
table = classes.pivot_table(
    index=["start", "token_class", "n_tokens"], columns="policy", values="ce_token_mean"
)
floor = classes.groupby(["start", "token_class", "n_tokens"])["floor_token_mean"].first().rename("floor")
display(table.join(floor).round(3))

# %% [markdown]
# ## Can it write the reply by itself?
#
# Teacher forcing flatters: here the policy writes the whole reply greedily, from the command alone.

# %%
display(free.groupby(["start", "objective"])[["exact", "similarity"]].agg(["mean", "min", "max"]).round(3))

# %% [markdown]
# ## Does it know beforehand whether a command will succeed?
#
# The exit code comes first in an observation, so the policy's own distribution right after its command is a forecast.

# %%
forecast = pd.DataFrame(forecast_rows).drop_duplicates(["start", "objective", "seed"])
display(forecast.groupby(["start", "objective"])[["auroc", "brier"]].agg(["mean", "min", "max"]).round(3))
display(
    Markdown(
        f"A forecast that always states the base rate has a Brier score of {forecast['brier_of_base_rate'].iloc[0]:.3f}."
        if "brier_of_base_rate" in forecast
        else ""
    )
)
