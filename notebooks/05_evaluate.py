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

from echo_terminal.analysis.names import colour_of, in_order, label
from echo_terminal.analysis.sentences import side, signed, with_bounds
from echo_terminal.analysis.statistics import (
    bootstrap_difference,
    bootstrap_mean,
    pass_matrix,
    wilcoxon_tasks,
    wilson,
)
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
done = run_parallel(
    call_each, {run: {"function": run_evaluation, "arguments": of_run} for run, of_run in by_run.items()}
)

# %%
attempts = pd.concat(
    [pd.read_parquet(stage.run_folder / name / "attempts.parquet") for name in jobs], ignore_index=True
)
attempts.to_parquet(stage.output("attempts.parquet"), index=False)
tables = side_tables(attempts, p.objectives)  # of a profile with controls or a sweep of lambda
for name, table in tables.items():
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
# pass@k is the unbiased estimate from n tries, averaged over tasks, per seed; the table shows the mean over seeds. `low` and `high` bound
# pass@1 at 95 %, by a bootstrap over seeds and over tasks within their template. Wilson's interval over all attempts stands in the file: it
# takes tries of one task as independent, so it is too narrow for claims about seeds or tasks.

# %%
final = attempts[(attempts["step"] == p.train.steps) | (attempts["step"] == 0)]


def strata(rows: pd.DataFrame, matrix: pd.DataFrame) -> list[str]:
    """The template of each task of a matrix: the bootstrap draws tasks within it."""
    return rows.drop_duplicates("task_id").set_index("task_id")["template"].loc[matrix.columns].tolist()


rows = []
for (start, objective, suite), arm in final.groupby(["start", "objective", "suite"]):
    row = {
        "start": start,
        "objective": objective,
        "suite": suite,
        "seeds": arm["seed"].nunique(),
        "tasks": arm["task_id"].nunique(),
        "attempts": len(arm),
    }
    by_seed = [
        [(len(t), int(t["reward"].eq(1).sum())) for _, t in run.groupby("task_id")]
        for _, run in arm.groupby("seed")
    ]
    for k in (1, 3, 5):
        if all(n >= k for counts in by_seed for n, _ in counts):
            row[f"pass@{k}"] = sum(mean_pass_at_k(counts, k).value for counts in by_seed) / len(by_seed)
    matrix = pass_matrix(arm)
    interval = bootstrap_mean(matrix, strata(arm, matrix))
    of_attempts = wilson(int(arm["reward"].eq(1).sum()), len(arm))
    row |= {"low": interval.low, "high": interval.high}
    rows.append(row | {"wilson_low": of_attempts.low, "wilson_high": of_attempts.high})
table = pd.DataFrame(rows)
table.to_csv(stage.output("pass_at_k.csv"), index=False)
shown = table.drop(columns=["wilson_low", "wilson_high"]).round(3)
for suite in suites:
    part = shown[shown["suite"] == suite].sort_values(["start", "pass@1"], ascending=[True, False])
    display(Markdown(f"**{suite}**"), part.drop(columns="suite").reset_index(drop=True))

# %% [markdown]
# ## Does the environment term help?
#
# Each objective minus GRPO, in points of pass@1 at the last step: the same tasks and seeds in both arms, so the difference is paired. The test is
# Wilcoxon's over tasks, here without correction: it takes the seeds as given, so it can be small while the interval, which draws seeds too,
# holds zero. Notebook 09 corrects it and holds both against the claims.

# %%
others = [o for o in p.matrix.objectives if o != "grpo"]


def gains_by(keys: list[str]) -> pd.DataFrame:
    """Objective − GRPO in points for each value of ``keys``, with its interval and test."""
    found = []
    for key, group in final.groupby(["start", *keys]):
        arms = {o: group[group["objective"] == o] for o in ("grpo", *others)}
        for objective in others:
            if arms["grpo"].empty or arms[objective].empty:
                continue
            ours, base = (pass_matrix(arms[o]) for o in (objective, "grpo"))
            gain = bootstrap_difference(ours, base, strata(group, ours))
            row = dict(zip(["start", *keys], key, strict=True)) | {"objective": objective}
            row |= {
                name: 100 * getattr(gain, of)
                for name, of in (("gain", "value"), ("low", "low"), ("high", "high"))
            }
            row |= {"p": wilcoxon_tasks(ours, base), "seeds": len(ours), "tasks": ours.shape[1]}
            found.append(row)
    return pd.DataFrame(found)


gains = gains_by(["suite"])
gains.to_csv(stage.output("gains.csv"), index=False)
display(gains.round({"gain": 1, "low": 1, "high": 1, "p": 3}))
for row in gains[gains["objective"] == "echo"].to_dict("records"):
    known = side(row["low"], row["high"], "fewer", "more", "neither clearly more nor clearly fewer")
    display(
        Markdown(
            f"From {label(row['start'])}, ECHO solves {known} tasks than GRPO on **{row['suite']}**: "
            f"{with_bounds(row['gain'], row['low'], row['high'], 1, ' points')}, {row['seeds']} seeds, {row['tasks']} tasks."
        )
    )

# %% [markdown]
# ## Does training help at all?
#
# Each trained arm minus the policy that it started from, on the same tasks. There is one starting policy, so only the trained runs' seeds are drawn.

# %%
for start, of_start in final.groupby("start"):
    for suite, group in of_start.groupby("suite"):
        before = pass_matrix(group[group["objective"] == "start"])
        said = []
        for objective in in_order(o for o in group["objective"].unique() if o in ("grpo", "echo")):
            after = pass_matrix(group[group["objective"] == objective])
            base = pd.concat([before] * len(after)).set_axis(after.index)
            change = [100 * v for v in bootstrap_difference(after, base, strata(group, after))]
            verdict = side(change[1], change[2], "worse than before", "better than before", "no clear change")
            said.append(f"{label(objective)} {with_bounds(*change, 1, ' points')} ({verdict})")
        display(Markdown(f"From {label(start)}, **{suite}**: {'; '.join(said)}."))

# %% [markdown]
# ## When do the arms part?
#
# Snapshots are evaluated on `val` with fewer tries than the last step.

# %%
trained = curve[curve["objective"] != "start"]
zero = curve[curve["objective"] == "start"].drop(columns=["objective", "seed"])
zero = zero.merge(trained[["start", "objective", "seed"]].drop_duplicates(), on="start")
pairs = pd.concat([zero, trained])
starts = list(p.matrix.starts)
figure, axes = plt.subplots(
    1, len(starts), figsize=(4.6 * len(starts) + 2, 3.6), sharey=True, squeeze=False, layout="constrained"
)
for axis, start in zip(axes.flat, starts, strict=True):
    for objective in in_order(p.matrix.objectives):
        runs = pairs[(pairs["start"] == start) & (pairs["objective"] == objective)].groupby("step")[
            "val_pass"
        ]
        axis.plot(100 * runs.mean(), "o-", ms=4, color=colour_of(objective), label=label(objective))
        axis.fill_between(
            list(runs.groups),
            100 * runs.min(),
            100 * runs.max(),
            color=colour_of(objective),
            alpha=0.18,
            lw=0,
        )
    axis.set(title=label(start), xlabel="training step", ylim=(0, 103))
axes[0, 0].set_ylabel("pass rate on val (%)")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
plt.show()
by_seed = trained[trained["step"] == p.train.steps].groupby(["start", "objective"])["val_pass"]
spread = "; ".join(
    f"{label(objective)} from {label(start)} {rates.min():.0%} to {rates.max():.0%} over {len(rates)} seeds"
    for (start, objective), rates in by_seed
)
display(
    Markdown(
        f"Lines are means over seeds, bands reach from the lowest to the highest seed. At the end: {spread}."
    )
)

# %% [markdown]
# ## On which templates?
#
# The same difference, template by template and suite by suite. `site_…` needs the machine's own tools, whose verbs must be learnt; the other
# templates need generic commands alone. One template has few tasks and no interval here is corrected for their number (where nothing
# differs, one in twenty still leaves out 0), so single lines say little: look for what all of a kind do.

# %%
by_template = gains_by(["suite", "template"])
by_template.to_csv(stage.output("gains_by_template.csv"), index=False)
by_template["label"] = by_template["suite"] + ": " + by_template["template"]
for start, of_start in by_template.groupby("start"):
    names = list(dict.fromkeys(of_start["label"]))[::-1]
    figure, axis = plt.subplots(
        figsize=(7.5, 0.8 + (0.2 + 0.09 * len(others)) * len(names)), layout="constrained"
    )
    for k, objective in enumerate(in_order(others)):
        of_arm = of_start[of_start["objective"] == objective]
        at = [names.index(n) - 0.7 * ((k + 0.5) / len(others) - 0.5) for n in of_arm["label"]]
        spans = [of_arm["gain"] - of_arm["low"], of_arm["high"] - of_arm["gain"]]
        axis.errorbar(
            of_arm["gain"],
            at,
            xerr=spans,
            fmt="o",
            markersize=4,
            elinewidth=1,
            color=colour_of(objective),
            label=label(objective),
        )
    axis.axvline(0, color="0.2", linewidth=0.8)
    axis.set_yticks(range(len(names)), names)
    axis.set(
        title=label(start), xlabel="gain over GRPO, points of pass@1 (95 % intervals over seeds and tasks)"
    )
    if len(others) > 1:
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    plt.show()
for start, of_start in by_template[by_template["objective"] == "echo"].groupby("start"):
    sure = {
        word: [f"{r['label']} ({signed(r['gain'])})" for r in of_start.to_dict("records") if test(r)]
        for word, test in (("gains", lambda r: r["low"] > 0), ("loses", lambda r: r["high"] < 0))
    }
    lines = [
        f"ECHO {word} where the interval leaves out 0: {', '.join(of) or 'nowhere'}."
        for word, of in sure.items()
    ]
    display(Markdown(f"From {label(start)}, of {len(of_start)} templates: " + " ".join(lines)))
