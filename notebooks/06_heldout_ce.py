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

from echo_terminal.analysis import knowledge_pictures as pictures
from echo_terminal.analysis import prediction
from echo_terminal.analysis.names import label
from echo_terminal.analysis.sentences import arms, side, signed, with_bounds
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
ends = output[output["step"].isin([0, p.train.steps])]
gaps = prediction.gaps(ends, ["ce_token_mean"], ("start", "suite"))
for row in gaps.itertuples():
    floor = ends.loc[ends["suite"] == row.suite, "floor_token_mean"].iloc[0]
    say(
        f"* **{label(row.start)}, {row.suite}**: {arms(row)} ({side(row.low, row.high, 'ECHO lower', 'ECHO higher')}; seeds: {row.seeds}); floor {floor:.3f}"
    )
clear = gaps[(gaps["high"] < 0) | (gaps["low"] > 0)]
say(
    f"ECHO's CE is below GRPO's in {int((gaps['gap'] < 0).sum())} of {len(gaps)} cases, and the interval leaves out 0 in {len(clear)}. "
    f"GRPO alone leaves the CE above the starting policy's in {int((gaps['grpo'] > gaps['before']).sum())} of {len(gaps)}."
)

# %%
pictures.bars(
    ends,
    list(p.heldout.suites),
    "suite",
    "ce_token_mean",
    "CE of terminal output\n(nats a token)",
    "floor_token_mean",
)
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
    signs = ", ".join(
        f"{row.suite} {with_bounds(row.gap, row.low, row.high, 3)}" for row in group.itertuples()
    )
    say(f"* **{label(start)}**, {measure.replace('_', ' ')}, ECHO − GRPO: {signs}")
per_suite = averages.pivot_table(index=["start", "suite"], columns="measure", values="gap")
same = (per_suite.gt(0).nunique(axis=1) == 1).sum()
say(f"All three averages give the difference the same sign in {same} of {len(per_suite)} cases.")
display(averages.drop(columns="p").round(3))

# %% [markdown]
# ## When do the arms part?

# %%
curves = prediction.with_start(output, runs)
pictures.ce_curves(curves, list(p.heldout.suites))
plt.show()
steps = sorted(s for s in curves["step"].unique() if s > 0)
for start in p.matrix.starts:
    on_first = curves[(curves["suite"] == first_suite) & (curves["start"] == start)]
    wide = on_first.pivot_table(index="step", columns="objective", values="ce_token_mean")
    if {"grpo", "echo"} <= set(wide):
        apart = (wide["echo"] - wide["grpo"]).loc[steps]
        say(
            f"**{label(start)}**, {first_suite}: ECHO − GRPO is "
            + ", ".join(f"{signed(v, 3)} at step {s}" for s, v in apart.items())
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
at_ends = at_ends.drop_duplicates(["suite", "start", "objective", "seed", "token_class"])
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
            f"**{label(start)}, {suite}**: most of the difference lies in *{most['token_class'].replace('_', ' ')}* "
            f"({row.n_tokens} of {cell['n_tokens'].sum()} tokens; {signed(most['share'], 3)} of {signed(share['share'].sum(), 3)} nats a token): "
            f"{arms(row)}; floor {row.floor_token_mean:.3f}."
        )
        fact = cell[(cell["token_class"] == "fact") & (suite != first_suite)]
        for row in fact.itertuples():
            say(
                f"Facts of machines never seen ({row.n_tokens} tokens): {arms(row)}; floor {row.floor_token_mean:.3f}. "
                + ("ECHO expects the training machine's facts here, and pays for it." if row.low > 0 else "")
            )
        new = cell[cell["token_class"] == "name_new"]
        for name in new.itertuples():
            say(
                f"New names cost {name.grpo:.3f} after GRPO and {name.echo:.3f} after ECHO; nobody can do better than "
                f"{name.floor_token_mean:.3f} in expectation."
            )

# %%
pictures.classes(at_ends, shown_suites)
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
    say(
        f"* **{label(row.start)}**, {row.measure}: {arms(row, 1, 100, ' %')} points ({side(row.low, row.high, 'ECHO worse', 'ECHO better')}; seeds: {row.seeds})"
    )
say(
    f"{len(texts) // texts.groupby(['start', 'objective', 'seed']).ngroups} replies with text on {first_suite}; those that are an exit code alone are left out. "
    "Caveat: an exit code guessed wrong makes the whole reply wrong, which teacher forcing forgives."
)
long = alone.melt(["start", "objective", "seed"], kinds, var_name="measure", value_name="share")
pictures.bars(
    long.assign(share=100 * long["share"]), kinds, "measure", "share", "mean over replies with text (%)"
)
plt.show()

# %% [markdown]
# ## Does it know beforehand whether a command will succeed?
#
# The exit code comes first in an observation, so the policy's own distribution right after its command is a forecast, made before anything ran. AUROC:
# how often a success is forecast above a failure. Brier: mean squared error of the probability, lower is better.

# %%
scores = forecast.drop_duplicates(["start", "objective", "seed"])
for row in prediction.gaps(scores, ["auroc", "brier", "calibration_error"]).itertuples():
    words = ("ECHO worse", "ECHO better") if row.measure == "auroc" else ("ECHO better", "ECHO worse")
    name = {"auroc": "AUROC", "brier": "Brier score"}.get(row.measure, row.measure.replace("_", " "))
    say(
        f"* **{label(row.start)}**, {name}: {arms(row)} ({side(row.low, row.high, *words)}; seeds: {row.seeds})"
    )
rate = scores["brier_of_base_rate"].iloc[0]
mean_brier = scores[scores["objective"] != "start"].groupby(["start", "objective"])["brier"].mean()
worse = [f"{label(o)} from {label(s)} ({b:.3f})" for (s, o), b in mean_brier.items() if b >= rate]
say(
    f"{int(scores['commands'].iloc[0])} commands of the expert on {first_suite}, {scores['base_rate'].iloc[0]:.0%} of which succeed: "
    f"always stating that rate has a Brier score of {rate:.3f}, and no better than that are: {', '.join(worse) or 'none'}. Caveat: they are the expert's commands, not the policy's own."
)
pictures.calibration(forecast)
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
    sign = side(row.low, row.high, "hurts", "helps", "changes nothing that this many attempts show")
    say(
        f"* **{label(row.start)}, {label(row.objective)}**: pass@1 {100 * row.plain:.1f} % plain, {100 * row.ranked:.1f} % with "
        f"{row.samples} samples; {with_bounds(100 * row.gain, 100 * row.low, 100 * row.high, 1, ' points')} ({sign}); "
        f"commands that fail {100 * row.errors_plain:.1f} → {100 * row.errors_ranked:.1f} %, "
        f"{row.commands_plain:.2f} → {row.commands_ranked:.2f} commands an attempt"
    )
say(
    f"{int(gains['tasks'].max())} tasks of {first_suite}, one attempt a task and seed; the interval resamples seeds and tasks. Caveat: at temperature "
    f"{p.evaluate.temperature} the samples of a trained policy are often the same command, and then there is nothing to choose from."
)
pictures.reranking(gains)
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
        say(f"* **{label(row.start)}**, over {row.over}: no ρ, since CE or solve rate do not vary.")
        continue
    sign = side(row.low, row.high, "yes", "the other way", "not shown")
    left = f", {row.left_out} without variation left out" if row.left_out else ""
    say(
        f"* **{label(row.start)}**, over {row.over}: ρ = {with_bounds(row.value, row.low, row.high, 2)}: {sign} ({row.runs} runs{left})"
    )
say(
    f"On {first_suite}: {points['task_id'].nunique()} tasks that were both predicted and tried. Caveat: correlations. Tasks of one template share "
    "both what there is to predict and how hard they are, so the first level says more of templates than of tasks; and what is predicted are the expert's "
    "trajectories, what is solved are the policy's own."
)

# %%
pictures.knowing_and_solving(prediction.of_policies(points), points[points["step"] == p.train.steps])
plt.show()
say(
    f"Left: each run over its steps 0 to {p.train.steps}, the mark at its end. Right: means over seeds at the last step."
)
