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
# # 07 · Learning from the terminal alone
#
# From an ECHO run we go on with $L_\text{Env}$ only, on the tasks of a target suite: rollouts, no grading, no reward, no policy term. The policy is
# evaluated on those tasks and on `val`. With the filter `clean`, only rollouts whose every call was well formed are learned from.
# The starting checkpoint is the last one of the ECHO run with the highest pass rate on `val` among the seeds; that choice is made on `val` and
# makes `val` optimistic as a starting level, but not the change from it.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display

from echo_terminal.analysis.statistics import bootstrap_difference, pass_matrix
from echo_terminal.lake.evaluation_run import run_evaluation
from echo_terminal.lake.rows import RunPoint
from echo_terminal.lake.training_run import run_training
from echo_terminal.lake.verifier_free import env_only
from echo_terminal.pipeline.processes import call_each, run_parallel
from echo_terminal.pipeline.runs import complete_runs
from echo_terminal.pipeline.stage import Stage
from echo_terminal.training.run import KeepParams, snapshot_folder, snapshots

stage = Stage.open("07_verifier_free", params_file)
p = stage.params
v = p.verifier_free
sns.set_theme(style="whitegrid", context="notebook")

# %%
attempts = pd.read_parquet(stage.input("05_evaluate/attempts.parquet"))
final = attempts[
    (attempts["suite"] == "val")
    & (attempts["objective"] == "echo")
    & (attempts["start"] == v.start)
    & (attempts["step"] == p.train.steps)
]
by_seed = final.groupby("seed")["reward"].mean()
seed = int(by_seed.idxmax())
item = next(
    s for s in stage.items("04_train") if s.item == {"start": v.start, "objective": "echo", "seed": seed}
)
origin = snapshot_folder(stage.checkpoint_folder(f"04_train/{item.key}"), p.train.steps)
display(
    Markdown(
        f"Starting from `{item.key}` after {p.train.steps} steps (pass rate on `val` {by_seed.max():.1%}; other seeds: {', '.join(f'{x:.1%}' for x in by_seed.drop(seed))})."
    )
)

# %% [markdown]
# ## The runs

# %%
common = {
    "tasks_path": stage.input("02_tasks/tasks.parquet"),
    "harness": p.harness,
    "terminal_options": {"params": p.terminal},
}
runs = {f"{target}-{keep}": (target, keep) for target in v.targets for keep in v.filters}
steps = p.train.model_copy(update={"steps": v.steps, "lr": v.lr})
complete_runs(
    run_training,
    folders={name: stage.run_folder / name for name in runs},
    arguments={
        name: common
        | {
            "run_key": stage.run_key(stage.spec),
            "name": f"env_only-{name}",
            "start": v.start,
            "objective_name": "env_only",
            "objective": env_only(v, keep),
            "seed": seed,
            "start_folder": origin,
            "train_params": steps,
            "keep": KeepParams(snapshot_every=v.snapshot_every, checkpoint_every=p.keep.checkpoint_every),
            "suite": target,
            "harness": p.harness.model_copy(update={"max_turns": p.tasks.suites[target].turns}),
        }
        for name, (target, keep) in runs.items()
    },
    keys=dict.fromkeys(runs, stage.run_key(stage.spec)),
)

# %%
jobs = {}
for name, (target, _) in runs.items():
    for step, folder in {0: origin, **snapshots(stage.run_folder / name)}.items():
        jobs[f"{name}-{step:04d}"] = common | {
            "folder": stage.run_folder / "evaluation" / f"{name}-{step:04d}",
            "policy_folder": folder,
            "point": RunPoint(f"env_only-{name}", v.start, "env_only", seed, "eval", step),
            "tries": dict.fromkeys({target: 1, "val": 1}, v.tries),
            "suites": p.tasks.suites,
            "params": p.evaluate,
            "seed": p.seed,
        }
by_run: dict[str, list] = {}
for job in jobs.values():
    by_run.setdefault(job["point"].run_id, []).append(job)
run_parallel(
    call_each, {run: {"function": run_evaluation, "arguments": of_run} for run, of_run in by_run.items()}
)
tried = pd.concat(
    [
        pd.read_parquet(job["folder"] / "attempts.parquet").assign(
            target_suite=name.split("-")[0], filter=name.split("-")[1]
        )
        for name, job in jobs.items()
    ],
    ignore_index=True,
)
tried.to_parquet(stage.output("env_only_attempts.parquet"), index=False)

# %% [markdown]
# ## Does the target suite get better, and what happens to `val`?
#
# Change in points from step 0 to the last step, on the same tasks and sampling streams; the interval is a bootstrap over tasks. One training run
# each: it does not speak of seeds.

# %%
rows, changes = [], []
for (target, keep, suite), cell in tried.groupby(["target_suite", "filter", "suite"]):
    if suite == target:
        for step, at in cell.groupby("step"):
            rows.append(
                {
                    "target_suite": target,
                    "filter": keep,
                    "step": step,
                    "pass_rate": at["reward"].eq(1).mean(),
                    "n": len(at),
                }
            )
    before, after = (pass_matrix(cell[cell["step"] == s]) for s in (0, v.steps))
    gap = bootstrap_difference(after, before)
    changes.append(
        {
            "target": target,
            "filter": keep,
            "evaluated on": suite,
            "before": before.to_numpy().mean(),
            "change": gap.value,
        }
        | {"low": gap.low, "high": gap.high, "tasks": before.shape[1], "tries": v.tries}
    )
pd.DataFrame(rows).to_parquet(stage.output("verifier_free.parquet"), index=False)
table = pd.DataFrame(changes)
table.to_csv(stage.output("changes.csv"), index=False)
display(table.round(3))

# %%
grid = sns.relplot(
    pd.DataFrame(rows),
    x="step",
    y="pass_rate",
    hue="filter",
    style="filter",
    col="target_suite",
    kind="line",
    markers=True,
    height=3.2,
)
grid.set_axis_labels("env-only step", "pass rate on the target").set_titles("{col_name}")
plt.show()

# %%
helped = [f"{r.target} ({r.filter})" for r in table.itertuples() if r.target == r._3 and r.low > 0]
hurt = [f"{r.target} ({r.filter})" for r in table.itertuples() if r.target == r._3 and r.high < 0]
display(
    Markdown(
        f"Target pass rate up, interval above 0: {', '.join(helped) or 'none'}. Down, interval below 0: {', '.join(hurt) or 'none'}."
    )
)
