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
# # 05 · Evaluation
#
# Every finished run is evaluated on every suite with several tries a task; its snapshots on `val`, for the curves. Attempt *k* of a task uses
# one sampling stream whatever the policy, so arms are compared task by task and try by try. Suites are never pooled:
#
# * `val`: the templates of training, unseen content, the training machine (in distribution);
# * `itd`: templates that are never trained;
# * `itd_machine`: the templates of training on machines never seen;
# * `lite`, `hard`: longer compositions, where a profile has them.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display

from echo_terminal.analysis.statistics import wilson
from echo_terminal.evaluation.pass_at_k import mean_pass_at_k
from echo_terminal.lake.evaluation_run import run_evaluation, side_tables
from echo_terminal.lake.rows import RunPoint
from echo_terminal.pipeline.processes import call_each, run_parallel
from echo_terminal.pipeline.stage import Stage
from echo_terminal.training.run import snapshots

stage = Stage.open("05_evaluate", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")
suites = [name for name in p.tasks.suites if name != "train"]

# %% [markdown]
# ## Which policies are evaluated?
#
# The starting policies (step 0) and every snapshot of every run.

# %%
points = {}
for start in p.matrix.starts:
    points[f"{start}-start"] = (
        RunPoint(start, start, "start", 0, "eval", 0),
        stage.checkpoint_folder(f"03_starting_policies/{start}"),
        True,
    )
for spec in stage.items("04_train"):
    item = spec.item
    for step, folder in snapshots(stage.checkpoint_folder(f"04_train/{spec.key}")).items():
        point = RunPoint(spec.key, item["start"], item["objective"], item["seed"], "eval", step)
        points[f"{spec.key}-{step:04d}"] = (point, folder, step == p.train.steps)
jobs = {
    name: {
        "folder": stage.run_folder / name,
        "policy_folder": folder,
        "point": point,
        "tasks_path": stage.input("02_tasks/tasks.parquet"),
        "tries": dict.fromkeys(suites, p.evaluate.tries) if final else {"val": p.evaluate.curve_tries},
        "suites": p.tasks.suites,
        "harness": p.harness,
        "params": p.evaluate,
        "seed": p.seed,
        "terminal_options": {"params": p.terminal},
    }
    for name, (point, folder, final) in points.items()
}
by_run: dict[str, list] = {}
for job in jobs.values():
    by_run.setdefault(job["point"].run_id, []).append(job)
run_parallel(
    call_each, {run: {"function": run_evaluation, "arguments": of_run} for run, of_run in by_run.items()}
)

# %%
attempts = pd.concat(
    [pd.read_parquet(stage.run_folder / name / "attempts.parquet") for name in jobs], ignore_index=True
)
attempts.to_parquet(stage.output("attempts.parquet"), index=False)
for name, table in side_tables(
    attempts, p.objectives
).items():  # a profile with controls or a sweep of lambda
    table.to_parquet(stage.output(f"{name}.parquet"), index=False)
steps = pd.concat(
    [pd.read_parquet(stage.input(f"04_train/{spec.key}/steps.parquet")) for spec in stage.items("04_train")],
    ignore_index=True,
)
val = attempts[attempts["suite"] == "val"].assign(reward=lambda d: d["reward"].fillna(0.0))
curve = val.groupby(["start", "objective", "seed", "step"])["reward"].mean().rename("val_pass").reset_index()
steps.merge(curve, how="left").to_parquet(stage.output("train_steps.parquet"), index=False)
lost = int(attempts["reward"].isna().sum())
display(
    Markdown(
        f"{len(attempts):,} attempts; {lost} without a verdict (they count as failed in the headline rate)."
    )
)

# %% [markdown]
# ## How often does each arm solve a task?
#
# pass@k is the unbiased estimate from n tries, averaged over tasks, per seed; the table shows the mean over seeds. The interval is Wilson's over
# all attempts of the arm: it speaks of attempts, and is too narrow for claims about seeds or tasks (notebook 09 has the bootstrap over both).

# %%
final = attempts[(attempts["step"] == p.train.steps) | (attempts["step"] == 0)]
rows = []
for (start, objective, suite), arm in final.groupby(["start", "objective", "suite"]):
    row = {
        "start": start,
        "objective": objective,
        "suite": suite,
        "seeds": arm["seed"].nunique(),
        "attempts": len(arm),
    }
    by_seed = [
        [(len(t), int(t["reward"].eq(1).sum())) for _, t in run.groupby("task_id")]
        for _, run in arm.groupby("seed")
    ]
    for k in (1, 3, 5):
        if all(n >= k for counts in by_seed for n, _ in counts):
            row[f"pass@{k}"] = sum(mean_pass_at_k(counts, k).value for counts in by_seed) / len(by_seed)
    interval = wilson(int(arm["reward"].eq(1).sum()), len(arm))
    rows.append(row | {"low": interval.low, "high": interval.high})
table = pd.DataFrame(rows)
table.to_csv(stage.output("pass_at_k.csv"), index=False)
for suite in suites:
    display(
        Markdown(f"**{suite}**"),
        table[table["suite"] == suite].drop(columns="suite").round(3).reset_index(drop=True),
    )

# %% [markdown]
# ## When do the arms part?

# %%
trained = curve[curve["objective"] != "start"]
zero = curve[curve["objective"] == "start"].drop(columns=["objective", "seed"])
zero = zero.merge(trained[["start", "objective", "seed"]].drop_duplicates(), on="start")
grid = sns.relplot(
    pd.concat([zero, trained]),
    x="step",
    y="val_pass",
    hue="objective",
    col="start",
    kind="line",
    errorbar=("pi", 100),
    height=3.4,
)
grid.set_axis_labels("step", "pass rate on val").set_titles("{col_name}")
plt.show()
display(Markdown("Lines are means over seeds, bands reach from the lowest to the highest seed."))

# %% [markdown]
# ## On which templates?

# %%
last = val[val["step"] == p.train.steps]
by_template = last.groupby(["start", "objective", "template", "seed"])["reward"].mean().reset_index()
by_template.to_csv(stage.output("val_by_template.csv"), index=False)
grid = sns.catplot(
    by_template,
    kind="point",
    y="template",
    x="reward",
    hue="objective",
    col="start",
    linestyle="none",
    dodge=0.3,
    errorbar=("pi", 100),
    height=3.4,
)
grid.set_axis_labels("pass rate on val", "").set_titles("{col_name}")
plt.show()
