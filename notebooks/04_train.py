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
# # 04 · Training
#
# $$L = L_\text{GRPO}(A) + \lambda\, L_\text{Env}(O')$$
#
# $$L_\text{GRPO} = -\,\text{mean}_{t \in A}\ \min\bigl(\rho_t \hat A_i,\ \text{clip}(\rho_t, 1-\epsilon_\text{lo}, 1+\epsilon_\text{hi})\, \hat A_i\bigr)
# \qquad L_\text{Env} = -\frac{1}{Z}\sum_{t \in O'} \log p_\theta(x_t \mid x_{<t}), \quad Z = |O|$$
#
# $A$ are the tokens that the policy sampled, $O'$ those that the terminal wrote, $O$ those and the harness's warnings. Both terms read one
# forward pass. The runs of one start and seed see the same tasks, prompts and sampling streams and differ in the objective alone; they are
# trained side by side, one process each. This notebook shows one of them next to its matched runs.

# %% tags=["parameters"]
params_file = "params.yaml"
start = "base_small"
objective = "echo"
seed = 0

# %%
import json

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import HTML, Markdown, display

from echo_terminal.agent.annotate import coloured
from echo_terminal.agent.episode import Episode
from echo_terminal.lake.training_run import read_suite, run_training, step_columns
from echo_terminal.pipeline.runs import complete_runs
from echo_terminal.pipeline.stage import Stage
from echo_terminal.policy.engine import Engine
from echo_terminal.policy.rollout import rollout
from echo_terminal.policy.weights import load_policy
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.grpo import stream
from echo_terminal.training.run import snapshots

stage = Stage.open("04_train", params_file, start=start, objective=objective, seed=seed)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")

# %%
matched = {spec.item["objective"]: spec for spec in stage.matched()}
limits = p.harness.model_copy(update={"max_turns": p.tasks.suites["train"].turns})
complete_runs(
    run_training,
    folders={name: stage.folder_of(spec) for name, spec in matched.items()},
    arguments={
        name: {
            "run_key": stage.run_key(spec),
            "name": spec.key,
            "start": start,
            "objective_name": name,
            "objective": p.objectives[name],
            "seed": seed,
            "start_folder": stage.checkpoint_folder(f"03_starting_policies/{start}"),
            "tasks_path": stage.input("02_tasks/tasks.parquet"),
            "train_params": p.train,
            "harness": limits,
            "keep": p.keep,
            "terminal_options": {"params": p.terminal},
        }
        for name, spec in matched.items()
    },
    keys={name: stage.run_key(spec) for name, spec in matched.items()},
)

# %%
tables = {
    name: [json.loads(line) for line in (stage.folder_of(spec) / "metrics.jsonl").read_text().splitlines()]
    for name, spec in matched.items()
}
frame = pd.DataFrame([row for name, rows in tables.items() for row in step_columns(rows, start, name, seed)])
frame[frame["objective"] == objective].to_parquet(stage.output("steps.parquet"), index=False)
assert set(snapshots(stage.run_folder)), "no snapshot was written"

# %% [markdown]
# ## One rollout, coloured by role
#
# A rollout of the first training task by the starting policy, sampled with this run's first stream. The role of a token, recorded when the
# token was made, decides which term it enters:
#
# | role | what it is | in $A$ | in $O'$ | in $Z$ |
# |---|---|---|---|---|
# | action | what the policy sampled, its stop token included | yes | | |
# | output | what the terminal wrote: exit code, stdout, stderr | | yes | yes |
# | warning | what the harness adds: format warnings, notices of cut output | | | yes |
# | prompt, glue | instruction, template and tags | | | |

# %%
policy = load_policy(stage.checkpoint_folder(f"03_starting_policies/{start}"))
tokenizer = policy.tokenizer
engine = Engine(policy.model, tokenizer.stop_ids, tokenizer.forbidden_ids, limits.max_context)
task = read_suite(stage.input("02_tasks/tasks.parquet"), "train")[0]
episode = Episode(task, open_terminal("virtual", params=p.terminal), tokenizer, limits, task.seed)
rollout(engine, [episode], [stream(seed, 0, 0)], p.train.temperature)
display(HTML(coloured(episode.transcript, tokenizer.decode)))

# %% [markdown]
# ## How did the matched runs go?

# %%
window = max(1, p.train.steps // 10)
# As in analysis.names, written out: a new label there must not train everything anew.
SHOWN = {
    "grpo": ("GRPO", "#D55E00"),
    "echo_05": ("ECHO, λ = 0.05", "#74B9E0"),
    "echo_1": ("ECHO, λ = 0.1", "#56B4E9"),
    "echo_2": ("ECHO, λ = 0.2", "#3690C8"),
    "echo": ("ECHO", "#0072B2"),
    "echo_full": ("ECHO, warnings too", "#44AA99"),
    "masked_facts": ("ECHO without facts", "#7B3294"),
    "shuffled": ("ECHO, shuffled outputs", "#A6761D"),
    "unrelated": ("ECHO, unrelated text", "#999933"),
}
fig, axes = plt.subplots(2, 2, figsize=(11, 6), sharex=True, layout="constrained")
panels = [
    ("reward_mean", "training pass rate"),
    ("env_ce_output", "CE of terminal output, own rollouts (nats)"),
    ("entropy", "entropy of actions (nats)"),
    ("failing_rate", "share of commands that fail"),
]
for ax, (column, title) in zip(axes.flat, panels, strict=True):
    for name, rows in frame.groupby("objective"):
        series = rows.set_index("step")[column].dropna()
        series = series.rolling(window if len(series) > window else 1, min_periods=1).mean()
        shown_as, colour = SHOWN.get(name, (name, "#7F7F7F"))
        ax.plot(series, color=colour, lw=2.2 if name == objective else 1.2, label=shown_as)
    ax.set_title(title)
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
for ax in axes[1]:
    ax.set_xlabel("step")
plt.show()

# %%
last = frame[frame["step"] > p.train.steps - window].groupby("objective")["reward_mean"].mean()
said = ", ".join(f"{SHOWN.get(name, (name,))[0]} {value:.1%}" for name, value in last.items())
display(
    Markdown(
        f"Mean training pass rate over the last {window} steps (temperature {p.train.temperature}, start {start}, seed {seed}): {said}. One seed, on training tasks: whether the arms "
        "differ is asked over seeds in notebooks 05 and 09. Lines are running means; a thick one is this notebook's run."
    )
)

# %% [markdown]
# ## How do the two gradients relate?
#
# Measured every few steps, before clipping. What compares across scales is $\lambda\,\lVert\nabla L_\text{Env}\rVert / \lVert\nabla L_\text{GRPO}\rVert$.
# A group whose rewards are all equal gives GRPO nothing; with the environment term its outputs still teach.

# %%
columns = [
    "step",
    "lambda",
    "grad_norm_policy",
    "grad_norm_env",
    "grad_ratio",
    "grad_cosine",
    "zero_variance_share",
]
shown = frame[frame["objective"] == objective].dropna(subset=["grad_norm_policy"])[columns]
display(shown.round(3) if len(shown) else Markdown("This objective has one term only."))

# %% [markdown]
# ## What does the environment term cost?
#
# No rollout, no second forward pass: the output layer is read at the positions of $O'$ too, and the backward pass is one. Medians of steps
# without diagnostics, for a thousand tokens of rollouts. The runs were trained side by side and disturb each other; `make bench` takes the
# ratio of the updates on the same rollouts, in alternating pairs.

# %%
cost = pd.DataFrame(
    {"objective": name, "plain": "seconds/diagnostics" not in row}
    | {part: 1e6 * row[f"seconds/{part}"] / row["tokens/total"] for part in ("rollout", "update")}
    for name, rows in tables.items()
    for row in rows
)
cost = cost[cost["plain"]] if cost["plain"].any() else cost
cost = cost.groupby("objective")[["rollout", "update"]].median()
cost = cost.rename(index=lambda name: SHOWN.get(name, (name,))[0])
ax = cost.plot.barh(stacked=True, figsize=(7, 0.9 + 0.4 * len(cost)), color=["#B0B0B0", "#555555"])
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
ax.set(xlabel="milliseconds for 1,000 tokens", ylabel="")
plt.show()

# %% [markdown]
# ## Do the sampler and the trainer agree?
#
# The ratio $\rho_t$ of equation 2 starts at 1 if the log-probs recorded while sampling equal those of the training pass.

# %%
gap = frame[frame["objective"] == objective]["logprob_gap_max"].max()
display(
    Markdown(
        "This objective computes no ratio."
        if gap != gap
        else f"Largest difference over all action tokens of all steps: **{gap:.1e}** nats."
    )
)
