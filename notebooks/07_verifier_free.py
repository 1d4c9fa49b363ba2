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
# makes `val` optimistic as a starting level; the change from it is measured with the same tasks and sampling streams before and after, but a seed
# chosen for being high may also fall back by chance. One run for each target and filter: intervals are a bootstrap over tasks (95 %) and do not
# speak of seeds.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display

from echo_terminal.analysis.names import FILTERS
from echo_terminal.analysis.sentences import side, with_bounds
from echo_terminal.analysis.statistics import (
    bootstrap_difference,
    bootstrap_mean,
    pass_matrix,
    wilcoxon_tasks,
)
from echo_terminal.lake.evaluation_run import run_evaluation
from echo_terminal.lake.rows import RunPoint
from echo_terminal.lake.tables import read
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
# ## Does the target suite get better without a verifier?
#
# Change in points from step 0 to the last step, on the same tasks and sampling streams.

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
            "evaluated_on": suite,
            "before": before.to_numpy().mean(),
            "after": after.to_numpy().mean(),
            "change": gap.value,
        }
        | {"low": gap.low, "high": gap.high, "p": wilcoxon_tasks(after, before)}
        | {"tasks": before.shape[1], "tries": v.tries}
    )
pd.DataFrame(rows).to_parquet(stage.output("verifier_free.parquet"), index=False)
table = pd.DataFrame(changes)
table.rename(columns={"evaluated_on": "evaluated on"}).to_csv(stage.output("changes.csv"), index=False)


def points(value, low, high):
    """A difference in points with its interval."""
    return with_bounds(100 * value, 100 * low, 100 * high, 1, " points")


def verdict(low, high):
    return side(low, high, "worse", "better", "no clear change")


def sentence(row):
    return (
        f"* **{row.target}**, filter `{row.filter}`, on {row.evaluated_on}: {100 * row.before:.1f} → {100 * row.after:.1f} %, "
        f"{points(row.change, row.low, row.high)} ({verdict(row.low, row.high)}; {row.tasks} tasks × {row.tries} tries)"
    )


on_target = table[table["target"] == table["evaluated_on"]]
helped = [f"{r.target} (`{r.filter}`)" for r in on_target.itertuples() if r.low > 0]
hurt = [f"{r.target} (`{r.filter}`)" for r in on_target.itertuples() if r.high < 0]
display(
    Markdown(
        f"After {v.steps} steps of $L_\\text{{Env}}$ alone the target suite is better, interval above 0, for {', '.join(helped) or 'none'}; worse, "
        f"interval below 0, for {', '.join(hurt) or 'none'}; of {len(on_target)} runs.\n\n"
        + "\n".join(sentence(row) for row in on_target.itertuples())
    )
)
display(table.round(3))
arms = attempts[(attempts["start"] == v.start) & (attempts["step"].isin([0, p.train.steps]))]
for row in on_target[on_target["filter"] == v.filters[0]].itertuples():
    levels = arms[arms["suite"] == row.target].groupby("objective")["reward"].mean()
    known = ", ".join(
        f"{name} {levels[of]:.1%}"
        for of, name in (("start", "before RL"), ("grpo", "GRPO"), ("echo", "ECHO"))
        if of in levels
    )
    display(
        Markdown(
            f"For comparison, pass rates on {row.target} from the same start over all seeds: {known}; after ECHO and then {v.steps} steps without a verifier "
            f"{row.after:.1%} (one run)."
        )
    )
display(
    Markdown(
        "Caveat: the policy practises on the very tasks that it is then evaluated on, as in the paper, without their grading: what it learns may be those "
        "tasks and their machines, not how to meet new ones. One run a line; no interval speaks of seeds."
    )
)

# %%
curve = []
for (target, keep, step), cell in tried[tried["suite"] == tried["target_suite"]].groupby(
    ["target_suite", "filter", "step"]
):
    at = bootstrap_mean(pass_matrix(cell))
    curve.append({"target": target, "filter": keep, "step": step, **at._asdict()})
curve = pd.DataFrame(curve)
targets = list(dict.fromkeys(curve["target"]))
filters = [name for name in v.filters if name in set(curve["filter"])]
fig, axes = plt.subplots(1, len(targets), figsize=(4.2 * len(targets), 3.6), sharey=True, squeeze=False)
for ax, target in zip(axes[0], targets, strict=True):
    for place, keep in enumerate(filters):
        line = curve[(curve["target"] == target) & (curve["filter"] == keep)]
        nudge = 0.025 * v.steps * (place - (len(filters) - 1) / 2)
        spread = 100 * line["value"] - 100 * line["low"], 100 * line["high"] - 100 * line["value"]
        ax.errorbar(
            line["step"] + nudge,
            100 * line["value"],
            spread,
            fmt="os^D"[place % 4] + ("-" if place == 0 else "--"),
            color=FILTERS[keep][1] if keep in FILTERS else f"C{place}",
            capsize=2,
            label=FILTERS[keep][0] if keep in FILTERS else keep,
        )
    ax.set(title=f"target {target}", xlabel="env-only step", ylim=(0, 100))
axes[0][0].set_ylabel("pass rate on the target (%)")
fig.legend(
    *axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(filters), frameon=False
)
fig.tight_layout(rect=(0, 0, 1, 0.92))
plt.show()
display(
    Markdown(
        "Whiskers: 95 % over tasks of the level at each step; the change above is paired and so narrower. Filters are drawn side by side."
    )
)

# %% [markdown]
# ## What happens to the tasks that it was trained on before?

# %%
elsewhere = table[table["evaluated_on"] != table["target"]]
if elsewhere.empty:
    display(Markdown("Every target is `val` itself in this profile."))
else:
    display(Markdown("\n".join(sentence(row) for row in elsewhere.itertuples())))
    fig, ax = plt.subplots(figsize=(7.5, 0.5 * len(table) + 1.2))
    lanes = table.sort_values(["target", "evaluated_on", "filter"], ascending=False).reset_index(drop=True)
    for at, row in enumerate(lanes.itertuples()):
        colour = "#009E73" if row.target == row.evaluated_on else "#7F7F7F"
        ax.plot([100 * row.low, 100 * row.high], [at, at], color=colour, lw=2)
        ax.plot(100 * row.change, at, "o", color=colour)
    ax.axvline(0, color="#444444", lw=1)
    ax.set_yticks(
        range(len(lanes)), [f"target {r.target}, {r.filter}: on {r.evaluated_on}" for r in lanes.itertuples()]
    )
    ax.set_xlabel("change of pass rate (points, 95 %)")
    fig.tight_layout()
    plt.show()
    display(Markdown("Green: the target itself; grey: `val`, whose tasks the run began from."))

# %% [markdown]
# ## Does it matter which rollouts are learned from?

# %%
last = tried[(tried["step"] == v.steps) & (tried["suite"] == tried["target_suite"])]
for target in targets:
    plain = pass_matrix(last[(last["target_suite"] == target) & (last["filter"] == filters[0])])
    for keep in filters[1:]:
        other = pass_matrix(last[(last["target_suite"] == target) & (last["filter"] == keep)])
        gap = bootstrap_difference(other, plain)
        display(
            Markdown(
                f"* **{target}**: `{keep}` − `{filters[0]}` {points(*gap)} ({verdict(gap.low, gap.high)}, Wilcoxon p = {wilcoxon_tasks(other, plain):.2f})"
            )
        )
shares = []
for name, (target, keep) in runs.items():
    rolled = read(stage.run_folder / name / "lake", "attempts").to_pandas()
    clean = (rolled["malformed"] == 0) & (rolled["timeouts"] == 0)
    shares.append(f"{target} (`{keep}`) {clean.mean():.0%}")
display(
    Markdown(
        f"Rollouts without a malformed call or a time-out: {', '.join(shares)}. Caveat: where nearly all are clean, the filter has nothing to leave out, and "
        "the two runs are nearly one."
    )
)
