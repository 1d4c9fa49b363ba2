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
# # 03 · Starting policies
#
# The paper starts from Qwen3-8B, from Qwen3-14B, and from an 8B model after supervised fine-tuning on expert demonstrations.
# On two cores we make their counterparts from a random start:
#
# * **base small** and **base medium**: first a language model of terminal text, as a published base is, then given the form of a call.
#   Every pre-training episode happens on a machine of its own, so a base knows how terminals talk and no fact of the training machine;
# * **SFT**: base small after SFT on an expert's actions on training tasks, outputs masked, as agent SFT is commonly done;
# * **ActObs**, where a profile asks for it: the same demonstrations with the outputs trained too (arXiv 2609.20715).

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import json

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import HTML, Markdown, display

from echo_terminal.agent.annotate import coloured
from echo_terminal.analysis.statistics import wilson
from echo_terminal.lake.evaluation_run import run_evaluation
from echo_terminal.lake.rows import RunPoint
from echo_terminal.pipeline.processes import run_parallel
from echo_terminal.pipeline.runs import complete_runs
from echo_terminal.pipeline.stage import Stage
from echo_terminal.policy.model import parameter_count
from echo_terminal.policy.weights import load_policy
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.make_starts import PRETRAIN_SEEDS, make_base, make_demonstrated
from echo_terminal.training.starts import novice_episodes, novice_tasks

stage = Stage.open("03_starting_policies", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")
# The colours of analysis.names, written out: a new label there must not train everything anew.
SHADES = {"base_small": "#222222", "base_medium": "#7570B3", "sft": "#8C564B", "actobs": "#E7298A"}

# %% [markdown]
# ## How is a base made?
#
# Three supervised stages, each with the loss $-\sum_t w_t \log p(x_t \mid x_{<t}) / \sum_t w_t$:
#
# | stage | text | weights |
# |---|---|---|
# | copying | random tokens that repeat themselves | all tokens |
# | language | episodes of a *novice*, each on its own machine: it guesses, and reads a usage line now and then | all but the instruction |
# | format | the same episodes without malformed calls | actions only |
#
# Copying comes first because a random start spends most of its time on learning to repeat a name it has just read, which any
# pre-trained model can do; for the same reason some heads of the random start are wired to look back 1, 2 and 4 tokens.

# %%
common = {"harness": p.harness, "terminal_options": {"params": p.terminal}, "seed": p.seed}
sizes = {"base_small": p.models.small, "base_medium": p.models.medium}
demonstrated = {"sft": 0.0, "actobs": p.sft.output_weight}
starts = list(p.matrix.starts)
bases = sorted({s if s in sizes else "base_small" for s in starts})
folder = {name: stage.run_folder / name for name in [*bases, *starts]}
key = stage.run_key(stage.spec)
complete_runs(
    make_base,
    folders={name: folder[name] for name in bases},
    arguments={
        name: common
        | {
            "name": name,
            "tokenizer_file": stage.input("01_simulator/tokenizer.json"),
            "model": sizes[name],
            "pretrain_params": p.pretrain,
        }
        for name in bases
    },
    keys=dict.fromkeys(bases, key),
)

# %%
tasks_path = stage.input("02_tasks/tasks.parquet")
complete_runs(
    make_demonstrated,
    folders={name: folder[name] for name in starts if name in demonstrated},
    arguments={
        name: common
        | {"name": name, "base_folder": folder["base_small"], "tasks_path": tasks_path}
        | {"demonstrations": p.sft, "output_weight": demonstrated[name]}
        for name in starts
        if name in demonstrated
    },
    keys=dict.fromkeys(starts, key),
)

# %%
losses = pd.concat(
    pd.DataFrame(json.loads((folder[name] / "losses.json").read_text())).assign(policy=name)
    for name in dict.fromkeys([*bases, *starts])
)
losses.to_csv(stage.output("losses.csv"), index=False)
grid = sns.relplot(
    losses,
    x="step",
    y="loss",
    hue="policy",
    palette=SHADES,
    col="phase",
    kind="line",
    height=2.6,
    facet_kws={"sharex": False, "sharey": False},
)
grid.set_axis_labels("update", "nats a token").set_titles("{col_name}")
plt.show()

# %% [markdown]
# ## What does a pre-training episode look like?
#
# A machine that no other task has. The novice guesses a sub-command; the usage line states the right one. The language stage trains every
# colour but the instruction's; the format stage and SFT train actions alone; ActObs adds the terminal's output at its own weight.

# %%
policy = load_policy(folder[bases[0]])
task = next(novice_tasks(["site_two"], PRETRAIN_SEEDS, 1))
terminal = open_terminal("virtual", params=p.terminal)
episode = novice_episodes([task], terminal, policy.tokenizer, p.harness, p.pretrain)[0]
display(HTML(coloured(episode, policy.tokenizer.decode)))

# %% [markdown]
# ## What can each start do before any reinforcement learning?
#
# One attempt a task at the evaluation temperature. `val` has the templates of training with unseen content, on the training machine;
# `itd` has templates that are never trained; `itd_machine` the training templates on machines never seen. They are never pooled.

# %%
suites = [name for name in p.tasks.suites if name != "train"]
run_parallel(
    run_evaluation,
    {
        name: {
            "folder": stage.run_folder / "evaluation" / name,
            "policy_folder": folder[name],
            "point": RunPoint(name, name, "start", p.seed, "eval", 0),
            "tasks_path": tasks_path,
            "tries": dict.fromkeys(suites, 1),
            "suites": p.tasks.suites,
            "harness": p.harness,
            "params": p.evaluate,
            "seed": p.seed,
            "terminal_options": {"params": p.terminal},
        }
        for name in starts
    },
)
attempts = pd.concat(
    pd.read_parquet(stage.run_folder / "evaluation" / name / "attempts.parquet") for name in starts
)
attempts.to_parquet(stage.output("start_attempts.parquet"), index=False)
table = attempts.groupby(["start", "suite"])["reward"].agg(["mean", "count"]).reset_index()
table.to_csv(stage.output("starts.csv"), index=False)
display(table.pivot(index="start", columns="suite", values="mean").map("{:.3f}".format))
val = table[table["suite"] == "val"].set_index("start")
texts = []
for name, row in val.iterrows():
    share = wilson(round(row["mean"] * row["count"]), int(row["count"]))
    texts.append(
        f"**{name}** passes {share.value:.1%} [{share.low:.1%}, {share.high:.1%}] of {row['count']:.0f} tasks"
    )
display(Markdown(f"On `val`, one attempt each: {', '.join(texts)} (Wilson's intervals over tasks)."))

# %% [markdown]
# ## By template
#
# Site-tool templates need facts of the machine (which sub-command each tool wants). The generic ones need none.

# %%
of_val = attempts[attempts["suite"] == "val"].assign(reward=lambda d: d["reward"].eq(1))
by_template = of_val.groupby(["start", "template"])["reward"].agg(["sum", "count"]).reset_index()
templates = sorted(by_template["template"].unique())
fig, ax = plt.subplots(figsize=(8, 0.9 + 0.5 * len(templates)), layout="constrained")
for k, (name, rows) in enumerate(by_template.groupby("start")):
    bounds = [wilson(row["sum"], row["count"]) for row in rows.to_dict("records")]
    at = [templates.index(t) + 0.4 * (k - (len(starts) - 1) / 2) for t in rows["template"]]
    ax.barh(at, [100 * b.value for b in bounds], 0.38, color=SHADES[name], alpha=0.55, label=name)
    ax.hlines(at, [100 * b.low for b in bounds], [100 * b.high for b in bounds], color="black", lw=1)
ax.set_yticks(range(len(templates)), templates)
ax.set(xlabel="pass rate on val (%), one attempt a task", xlim=(0, 100))
ax.grid(axis="y", visible=False)
fig.legend(loc="outside right upper", frameon=False)
plt.show()
counts = by_template["count"]
display(
    Markdown(
        f"Lines: Wilson's 95 % intervals over the tasks of a template (at least {counts.min()}); one policy a start, so they do not speak of seeds."
    )
)

# %% [markdown]
# ## How large are they?

# %%
count = pd.DataFrame(
    [
        {
            "start": s,
            "parameters": parameter_count(load_policy(folder[s]).model),
            "vocabulary": policy.tokenizer.vocab_size,
        }
        for s in starts
    ]
)
count.to_csv(stage.output("sizes.csv"), index=False)
count
