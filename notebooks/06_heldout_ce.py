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
# then errs) and is asked, token by token, what the terminal will say. Cross-entropy (CE) is $-\log p(x_t \mid x_{<t})$ in nats, over terminal
# output only; the harness's warnings are scored apart. Nothing is trained on these trajectories. Intervals are 95 %, Student's over seeds,
# paired, unless another is named; with three seeds they are wide.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import shutil
from math import exp

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display

from echo_terminal.analysis import prediction
from echo_terminal.evaluation.heldout_ce import WARNING_CLASS
from echo_terminal.lake.rows import RunPoint
from echo_terminal.lake.scoring_run import run_scoring
from echo_terminal.lake.tables import assert_unique, read
from echo_terminal.pipeline.processes import run_parallel
from echo_terminal.pipeline.stage import Stage
from echo_terminal.training.run import snapshots

stage = Stage.open("06_heldout_ce", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")
first_suite = p.heldout.suites[0]

NAMES = {"start": "before RL", "grpo": "GRPO", "echo": "ECHO"}
COLOURS = {"before RL": "#7F7F7F", "GRPO": "#D55E00", "ECHO": "#0072B2"}
MARKERS = {"before RL": "D", "GRPO": "s", "ECHO": "o"}


def named(frame):
    """With the column ``policy``: before RL, GRPO, ECHO, or the objective's own name."""
    return frame.assign(policy=frame["objective"].map(lambda o: NAMES.get(o, o)))


def order(frame):
    """The policies of a frame in one order, and their colours."""
    found = [name for name in COLOURS if name in set(frame["policy"])]
    found += sorted(set(frame["policy"]) - set(found))
    palette = dict(zip(found, sns.color_palette("colorblind", len(found)), strict=True)) | COLOURS
    return {"hue_order": found, "palette": {name: palette[name] for name in found}}


def interval(row, digits=3, scale=1.0):
    """A difference with its interval; without one seed more there is none."""
    low, high = scale * row.low, scale * row.high
    bounds = f"[{low:+.{digits}f}, {high:+.{digits}f}]" if low == low else "(one seed: no interval)"
    return f"{scale * row.gap:+.{digits}f} {bounds}"


def values(row, digits=3, scale=1.0, unit=""):
    """The three policies and the difference of the trained two, in words."""
    before = "" if row.before != row.before else f"{scale * row.before:.{digits}f}{unit} before RL, "
    return (
        f"{before}{scale * row.grpo:.{digits}f}{unit} after GRPO, {scale * row.echo:.{digits}f}{unit} after ECHO; "
        f"ECHO − GRPO {interval(row, digits, scale)}"
    )


def verdict(row, less="lower", more="higher"):
    """Which of the two is clearly below the other."""
    if row.high < 0:
        return less
    return more if row.low > 0 else "not clearly other"


def say(*lines):
    display(Markdown("\n".join(lines)))


# %%
runs = [
    {**{name: spec.item[name] for name in ("start", "objective", "seed")}, "key": spec.key}
    for spec in stage.items("04_train")
]
policies: dict[str, list] = {}
for start in p.matrix.starts:
    point = RunPoint(f"{start}-start", start, "start", 0, "eval", 0)
    policies[point.run_id] = [(point, stage.checkpoint_folder(f"03_starting_policies/{start}"), True)]
for run in runs:
    policies[run["key"]] = [
        (
            RunPoint(run["key"], run["start"], run["objective"], run["seed"], "eval", step),
            folder,
            step == p.train.steps,
        )
        for step, folder in snapshots(stage.checkpoint_folder(f"04_train/{run['key']}")).items()
    ]
lake = stage.run_folder / "lake"
shutil.rmtree(lake, ignore_errors=True)  # rows of an earlier run would be kept under the same keys
common = {
    "lake": lake,
    "tasks_path": stage.input("02_tasks/tasks.parquet"),
    "harness": p.harness,
    "world": p.tasks,
    "params": p.heldout,
    "evaluate": p.evaluate,
    "seed": p.seed,
    "terminal_options": {"params": p.terminal},
}
results = run_parallel(
    run_scoring, {name: common | {"policies": of_run} for name, of_run in policies.items()}
)
assert_unique(lake, "ce")
rows = read(lake, "ce").to_pandas()
(corpus,) = rows["corpus"].unique()  # every policy was scored on the same tokens

# %%
parts: dict[str, list] = {"forecast": [], "free_running": [], "reranking": []}
for name, of_run in policies.items():
    for (point, _, _), scores in zip(of_run, results[name], strict=True):
        run = {key: getattr(point, key) for key in ("start", "objective", "seed")}
        for table, found in scores.items():
            parts[table] += [run | row for row in found]
forecast, free, reranked = (pd.DataFrame(parts[name]) for name in parts)
ce = prediction.with_start(prediction.by_class(rows), runs)
ce.to_parquet(stage.output("heldout_ce.parquet"), index=False)
trained = forecast["objective"] != "start"
forecast[trained].to_parquet(stage.output("forecast.parquet"), index=False)
free.to_parquet(stage.output("free_running.parquet"), index=False)
reranked.to_parquet(stage.output("reranking.parquet"), index=False)
one = rows[(rows["run_id"] == f"{p.matrix.starts[0]}-start")]
say(
    f"Corpus `{corpus}`: {one['trajectory_id'].nunique()} trajectories with {one['tokens'].sum():,} observation tokens from "
    f"{', '.join(p.heldout.suites)}, read by {rows.groupby(['run_id', 'step']).ngroups} policies."
)

# %% [markdown]
# ## Does RL alone teach what the terminal will say?
#
# Nats a token over all terminal output, suites apart. The floor is what nobody can know: names, extensions and facts of new machines are drawn by
# chance, and whoever reads one for the first time pays at least the logarithm of what it could have been. The floor is a lower bound: values that
# are not known to be drawn, exit codes above all, are charged nothing.

# %%
output = prediction.of_output(rows)
ends = named(output[output["step"].isin([0, p.train.steps])])
gaps = prediction.gaps(ends, ["ce_token_mean"], ("start", "suite"))
for row in gaps.itertuples():
    floor = ends.loc[ends["suite"] == row.suite, "floor_token_mean"].iloc[0]
    say(f"* **{row.start}, {row.suite}**: {values(row)} ({verdict(row)}); floor {floor:.3f}")
clear = gaps[(gaps["high"] < 0) | (gaps["low"] > 0)]
say(
    f"ECHO's CE is below GRPO's in {int((gaps['gap'] < 0).sum())} of {len(gaps)} cases, and the interval leaves out 0 in {len(clear)}. "
    f"GRPO alone leaves the CE above the starting policy's in {int((gaps['grpo'] > gaps['before']).sum())} of {len(gaps)}."
)

# %%
grid = sns.catplot(
    ends,
    kind="bar",
    x="suite",
    y="ce_token_mean",
    hue="policy",
    col="start",
    order=list(p.heldout.suites),
    errorbar=("pi", 100),
    height=3.6,
    aspect=1.2,
    **order(ends),
)
for ax in grid.axes.flat:
    for place, suite in enumerate(p.heldout.suites):
        floor = ends.loc[ends["suite"] == suite, "floor_token_mean"].iloc[0]
        ax.plot([place - 0.42, place + 0.42], [floor, floor], color="black", lw=2, label="floor")
grid.legend.set_title("")
grid.set_axis_labels("", "CE of terminal output\n(nats a token)").set_titles("{col_name}")
plt.show()
say("Bars: mean over seeds; whiskers: lowest and highest seed; black lines: the entropy floor.")

# %% [markdown]
# ## Does the answer depend on how one averages?
#
# A token mean weighs long trajectories more, a sequence mean none; bits a byte compare across tokenizers.

# %%
measures = ["ce_token_mean", "ce_sequence_mean", "bits_per_byte"]
averages = prediction.gaps(ends, measures, ("start", "suite"))
averages.to_csv(stage.output("gaps.csv"), index=False)
for (start, measure), group in averages.groupby(["start", "measure"], sort=False):
    signs = ", ".join(f"{row.suite} {interval(row)}" for row in group.itertuples())
    say(f"* **{start}**, {measure.replace('_', ' ')}, ECHO − GRPO: {signs}")
per_suite = averages.pivot_table(index=["start", "suite"], columns="measure", values="gap")
same = (per_suite.gt(0).nunique(axis=1) == 1).sum()
say(f"All three averages give the difference the same sign in {same} of {len(per_suite)} cases.")
display(averages.drop(columns="p").round(3))

# %% [markdown]
# ## When do the arms part?

# %%
curves = named(prediction.with_start(output, runs))
grid = sns.relplot(
    curves,
    x="step",
    y="ce_token_mean",
    hue="policy",
    style="policy",
    markers=MARKERS | {o: "^" for o in set(curves["policy"]) - set(MARKERS)},
    dashes=False,
    col="suite",
    col_order=list(p.heldout.suites),
    row="start",
    kind="line",
    errorbar=("pi", 100),
    height=2.7,
    facet_kws={"sharey": False},
    **order(curves),
)
for (_, suite), ax in grid.axes_dict.items():
    ax.axhline(curves.loc[curves["suite"] == suite, "floor_token_mean"].iloc[0], color="black", lw=1, ls=":")
    ax.set_ylim(bottom=0)
grid.legend.set_title("")
grid.set_axis_labels("training step", "nats a token").set_titles("{row_name} · {col_name}")
plt.show()
steps = sorted(s for s in curves["step"].unique() if s > 0)
for start in p.matrix.starts:
    on_first = curves[(curves["suite"] == first_suite) & (curves["start"] == start)]
    wide = on_first.pivot_table(index="step", columns="objective", values="ce_token_mean")
    if {"grpo", "echo"} <= set(wide):
        apart = (wide["echo"] - wide["grpo"]).loc[steps]
        say(
            f"**{start}**, {first_suite}: ECHO − GRPO is "
            + ", ".join(f"{v:+.3f} at step {s}" for s, v in apart.items())
            + " (means over seeds)."
        )
say("Lines: means over seeds; bands: lowest to highest seed; dotted: the entropy floor.")

# %% [markdown]
# ## What kind of output became predictable?
#
# Every output token has exactly one class. A *new name* cannot be known before it is seen; a *fact* is a word that states how this machine's own tools
# are called, and can be known on the training machine only.

# %%
at_ends = ce[(ce["token_class"] != WARNING_CLASS) & ce["step"].isin([0, p.train.steps])]
at_ends = at_ends.assign(objective=at_ends["objective"].where(at_ends["step"] > 0, "start"))
at_ends = named(at_ends.drop_duplicates(["suite", "start", "objective", "seed", "token_class"]))
classes = prediction.gaps(at_ends, ["ce_token_mean"], ("start", "suite", "token_class"))
floors = at_ends.groupby(["suite", "token_class"])[["n_tokens", "floor_token_mean"]].first().reset_index()
classes = classes.merge(floors, on=["suite", "token_class"])
classes.to_csv(stage.output("classes.csv"), index=False)
shown_suites = [s for s in (first_suite, "itd_machine") if s in p.heldout.suites]
for start in p.matrix.starts:
    for suite in shown_suites:
        cell = classes[(classes["start"] == start) & (classes["suite"] == suite)]
        if cell.empty:
            continue
        weight = cell["n_tokens"] / cell["n_tokens"].sum()
        share = (weight * cell["gap"]).rename("share").to_frame().assign(token_class=cell["token_class"])
        most = share.loc[share["share"].abs().idxmax()]
        row = next(cell[cell["token_class"] == most["token_class"]].itertuples())
        say(
            f"**{start}, {suite}**: most of the difference lies in *{most['token_class'].replace('_', ' ')}* "
            f"({row.n_tokens} of {cell['n_tokens'].sum()} tokens; {most['share']:+.3f} of {share['share'].sum():+.3f} nats a token): "
            f"{values(row)}; floor {row.floor_token_mean:.3f}."
        )
        new = cell[cell["token_class"] == "name_new"]
        for name in new.itertuples():
            say(
                f"New names cost {name.grpo:.3f} after GRPO and {name.echo:.3f} after ECHO; nobody can do better than "
                f"{name.floor_token_mean:.3f} in expectation."
            )

# %%
fig, axes = plt.subplots(
    len(p.matrix.starts),
    len(shown_suites),
    figsize=(4.9 * len(shown_suites), 3.9 * len(p.matrix.starts)),
    sharey=True,
    squeeze=False,
)
names = classes.groupby("token_class")["n_tokens"].sum().sort_values().index
offsets = {"before RL": 0.22, "GRPO": 0.0, "ECHO": -0.22}
for line, start in zip(axes, p.matrix.starts, strict=True):
    for ax, suite in zip(line, shown_suites, strict=True):
        cell = at_ends[(at_ends["start"] == start) & (at_ends["suite"] == suite)]
        for policy, offset in offsets.items():
            of_policy = cell[cell["policy"] == policy].groupby("token_class")["ce_token_mean"]
            at = [list(names).index(c) + offset for c in of_policy.groups]
            ax.hlines(at, of_policy.min(), of_policy.max(), color=COLOURS[policy], lw=1.5)
            ax.plot(
                of_policy.mean(), at, MARKERS[policy], color=COLOURS[policy], ms=5, ls="none", label=policy
            )
        floor = cell.groupby("token_class")["floor_token_mean"].first()
        at = [list(names).index(c) for c in floor.index]
        ax.plot(floor, at, "|", color="black", ms=18, mew=2, label="floor")
        ax.set(title=f"{start} · {suite}", xlabel="CE (nats a token)", xlim=(-0.1, None))
axes[0][0].set_yticks(range(len(names)), [n.replace("_", " ") for n in names])
fig.legend(
    *axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(offsets) + 1, frameon=False
)
fig.tight_layout(rect=(0, 0, 1, 0.92))
plt.show()
say("Points: means over seeds; lines: lowest to highest seed; black ticks: the entropy floor of the class.")

# %% [markdown]
# ## Can it write the reply by itself?
#
# Teacher forcing shows the true reply up to each token. Here the policy writes the whole reply greedily from the command alone, as long as the
# terminal's; the harness's own line breaks are written for it. *Exact* is the share of replies right to the last token, *similarity* is 1 − edit
# distance ÷ longer length, *chance* is the probability of the true reply under teacher forcing ($e^{-\text{nats}}$).

# %%
texts = free[~free["exit_only"].astype(bool)].assign(chance=lambda d: d["teacher_nll"].map(lambda x: exp(-x)))
kinds = ["exact", "similarity", "chance"]
alone = texts.groupby(["start", "objective", "seed"])[kinds].mean().reset_index()
for row in prediction.gaps(alone, kinds).itertuples():
    say(f"* **{row.start}**, {row.measure}: {values(row, 1, 100, ' %')} points ({verdict(row)})")
say(
    f"{len(texts) // texts.groupby(['start', 'objective', 'seed']).ngroups} replies with text on {first_suite}; those that are an exit code alone are left out. "
    "Caveat: an exit code guessed wrong makes the whole reply wrong, which teacher forcing forgives."
)
long = named(alone).melt(["start", "policy"], kinds, var_name="measure", value_name="share")
grid = sns.catplot(
    long,
    kind="bar",
    x="measure",
    y="share",
    hue="policy",
    col="start",
    errorbar=("pi", 100),
    height=3.2,
    aspect=1.1,
    **order(long),
)
grid.set(ylim=(0, 1))
grid.legend.set_title("")
grid.set_axis_labels("", "mean over replies with text").set_titles("{col_name}")
plt.show()

# %% [markdown]
# ## Does it know beforehand whether a command will succeed?
#
# The exit code comes first in an observation, so the policy's own distribution right after its command is a forecast, made before anything ran. AUROC:
# how often a success is forecast above a failure. Brier: mean squared error of the probability, lower is better.

# %%
scores = forecast.drop_duplicates(["start", "objective", "seed"])
for row in prediction.gaps(scores, ["auroc", "brier", "calibration_error"]).itertuples():
    say(f"* **{row.start}**, {row.measure.replace('_', ' ')}: {values(row)} ({verdict(row)})")
say(
    f"{int(scores['commands'].iloc[0])} commands of the expert on {first_suite}, {scores['base_rate'].iloc[0]:.0%} of which succeed: "
    f"always stating that rate has a Brier score of {scores['brier_of_base_rate'].iloc[0]:.3f}. Caveat: they are the expert's commands, not the policy's own."
)
bins = named(forecast[forecast["count"] > 0]).assign(
    p=lambda d: d["mean_probability"] * d["count"], y=lambda d: d["success_rate"] * d["count"]
)
bins = bins.groupby(["start", "policy", "low"])[["p", "y", "count"]].sum().reset_index()
bins = bins[bins["count"] >= 5]
bins = bins.assign(forecast=bins["p"] / bins["count"], succeeded=bins["y"] / bins["count"])
grid = sns.relplot(
    bins,
    x="forecast",
    y="succeeded",
    hue="policy",
    style="policy",
    markers=MARKERS | {o: "^" for o in set(bins["policy"]) - set(MARKERS)},
    dashes=False,
    col="start",
    kind="line",
    height=3.4,
    **order(bins),
)
for ax in grid.axes.flat:
    ax.plot([0, 1], [0, 1], ":", color="black", lw=1)
grid.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
grid.legend.set_title("")
grid.set_axis_labels("forecast of success", "share that succeeded").set_titles("{col_name}")
plt.show()
say(
    "Commands of all seeds in ten bins of the forecast, those of at least five; dotted: a forecast that is right on average."
)

# %% [markdown]
# ## Is the forecast good for choosing?
#
# At each turn the policy samples several actions and runs the one whose success it thinks likeliest; when to stop stays with its first sample. What is
# budgeted is interaction: both ways have the same number of turns, only more is sampled. The first sample is the one that would have been run, so the
# two differ by the choice alone. Temperature and tasks are those of the evaluation.

# %%
gains = prediction.reranking_gains(reranked)
gains.to_csv(stage.output("reranking.csv"), index=False)
for row in gains.itertuples():
    sign = (
        "helps"
        if row.low > 0
        else "hurts"
        if row.high < 0
        else "changes nothing that this many attempts show"
    )
    say(
        f"* **{row.start}, {NAMES.get(row.objective, row.objective)}**: pass@1 {100 * row.plain:.1f} % plain, {100 * row.ranked:.1f} % with "
        f"{row.samples} samples; {100 * row.gain:+.1f} points [{100 * row.low:+.1f}, {100 * row.high:+.1f}] ({sign}); "
        f"commands that fail {100 * row.errors_plain:.1f} → {100 * row.errors_ranked:.1f} %, "
        f"{row.commands_plain:.2f} → {row.commands_ranked:.2f} commands an attempt"
    )
say(
    f"{int(gains['tasks'].max())} tasks of {first_suite}, one attempt a task and seed; the interval resamples seeds and tasks. Caveat: at temperature "
    f"{p.evaluate.temperature} the samples of a trained policy are often the same command, and then there is nothing to choose from."
)
fig, axes = plt.subplots(
    1,
    len(p.matrix.starts),
    figsize=(4.4 * len(p.matrix.starts), 0.6 * gains["objective"].nunique() + 1.2),
    sharey=True,
    sharex=True,
    squeeze=False,
)
arms = [o for o in NAMES if o in set(gains["objective"])]
arms += sorted(set(gains["objective"]) - set(arms))
for ax, start in zip(axes[0], p.matrix.starts, strict=True):
    for place, arm in enumerate(reversed(arms)):
        for row in gains[(gains["start"] == start) & (gains["objective"] == arm)].itertuples():
            colour = COLOURS.get(NAMES.get(arm, arm), "#009E73")
            ax.plot([100 * row.low, 100 * row.high], [place, place], color=colour, lw=2)
            ax.plot(100 * row.gain, place, "o", color=colour)
    ax.axvline(0, color="#444444", lw=1)
    ax.set(title=start, xlabel="gain by re-ranking (points, 95 %)")
axes[0][0].set_yticks(range(len(arms)), [NAMES.get(a, a) for a in reversed(arms)])
axes[0][0].set_ylim(-0.6, len(arms) - 0.4)
fig.tight_layout()
plt.show()

# %% [markdown]
# ## Does a lower CE go with a higher solve rate?
#
# Three levels that must not be mixed: tasks (is a task whose outputs the policy predicts well one that it solves?), checkpoints (does a run solve more
# as it predicts better?), seeds (does the run that predicts better at the end solve more, arm means aside?). Spearman's ρ; negative means that better
# prediction goes with more solving.

# %%
attempts = pd.read_parquet(stage.input("05_evaluate/attempts.parquet"))
points = prediction.with_start(prediction.knowing_and_solving(rows, attempts, first_suite), runs)
related = prediction.correlations(points)
related.to_csv(stage.output("knowing_and_solving.csv"), index=False)
for row in related.itertuples():
    if row.value != row.value:
        say(f"* **{row.start}**, over {row.over}: no ρ, since CE or solve rate do not vary.")
        continue
    bounds = f"[{row.low:+.2f}, {row.high:+.2f}]" if row.low == row.low else "(too few runs for an interval)"
    sign = "yes" if row.high < 0 else "the other way" if row.low > 0 else "not shown"
    left = f", {row.left_out} without variation left out" if row.left_out else ""
    say(f"* **{row.start}**, over {row.over}: ρ = {row.value:+.2f} {bounds}: {sign} ({row.runs} runs{left})")
say(
    f"On {first_suite}: {points['task_id'].nunique()} tasks that were both predicted and tried. Caveat: correlations. Tasks of one template share "
    "both what there is to predict and how hard they are, so the first level says more of templates than of tasks; and what is predicted are the expert's "
    "trajectories, what is solved are the policy's own."
)

# %%
of_policies = named(prediction.of_policies(points))
last = named(points[points["step"] == p.train.steps])
fig, axes = plt.subplots(
    len(p.matrix.starts), 2, figsize=(9.4, 3.5 * len(p.matrix.starts)), sharey=True, squeeze=False
)
for (left, right), start in zip(axes, p.matrix.starts, strict=True):
    for (policy, _), run in of_policies[of_policies["start"] == start].groupby(["policy", "seed"]):
        run = run.sort_values("step")
        left.plot(run["ce"], 100 * run["passed"], "-", color=COLOURS.get(policy, "#009E73"), lw=1, alpha=0.7)
        left.plot(
            run["ce"].iloc[-1],
            100 * run["passed"].iloc[-1],
            MARKERS.get(policy, "^"),
            color=COLOURS.get(policy, "#009E73"),
            label=policy,
        )
    of_task = last[last["start"] == start].groupby(["policy", "task_id"])[["ce_token_mean", "passed"]].mean()
    for policy, group in of_task.groupby("policy"):
        right.plot(
            group["ce_token_mean"],
            100 * group["passed"],
            MARKERS.get(policy, "^"),
            color=COLOURS.get(policy, "#009E73"),
            ms=4,
            alpha=0.6,
            label=policy,
        )
    left.set(
        title=f"{start} · a line is a run",
        xlabel="CE of terminal output (nats a token)",
        ylabel="tasks solved (%)",
    )
    right.set(title=f"{start} · a point is a task", xlabel="CE of the task's output (nats a token)")
handles, labels = axes[0][0].get_legend_handles_labels()
legend = dict(zip(labels, handles, strict=True))
fig.legend(legend.values(), legend.keys(), loc="outside upper center", ncols=len(legend), frameon=False)
fig.tight_layout(rect=(0, 0, 1, 0.93))
plt.show()
say(
    f"Left: each run over its steps 0 to {p.train.steps}, the mark at its end. Right: means over seeds at the last step."
)
