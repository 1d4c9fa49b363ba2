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
# # 02 · Tasks
#
# A task is an instruction, the files of an episode, and checks on its final state. It comes with an oracle (commands that solve it) and with
# wrong solutions (commands that must not). Tasks are generated from seeded templates; most happen on a *machine*, whose tools behave as they do
# nowhere else. A task enters a suite only through the gate below.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import json

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display

from echo_terminal.agent.solver import first_passes_parallel
from echo_terminal.pipeline.stage import Stage
from echo_terminal.progress import Progress
from echo_terminal.tasks.families import TEMPLATES, make_task
from echo_terminal.tasks.gate import gate_parallel, play
from echo_terminal.tasks.lexicon import VERBS
from echo_terminal.tasks.machine import FACT_KINDS, make_machine
from echo_terminal.tasks.split import leakage
from echo_terminal.tasks.store import write_tasks
from echo_terminal.tasks.suites import build_suites, describe_suites
from echo_terminal.terminal.terminal import EngineUnavailable, open_terminal

stage = Stage.open("02_tasks", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")
terminal = open_terminal("virtual", params=p.terminal)


def session(terminal, commands):
    """Commands and what the terminal says to them, as a block of text."""
    seen = [(command, terminal.run(command)) for command in commands]
    lines = [
        f"$ {c}\n{o.stdout}{o.stderr}" + (f"[exit code {o.exit_code}]\n" if o.exit_code else "")
        for c, o in seen
    ]
    return Markdown(f"````text\n{''.join(lines)}````")


# %% [markdown]
# ## What is a machine?
#
# Its facts: which sub-command each site tool wants, and in other settings flags, the order of arguments, services, folder conventions and build
# targets. They hold for all tasks on the machine, cannot be guessed, and can be learned by acting. The tools are bash scripts that run unchanged
# on every terminal engine. Here is the first training machine from the inside:

# %%
machine = p.tasks.machine(p.tasks.train_machines[0])
tool = next(iter(machine.tools.values()))
terminal.reset(machine.files | make_task("site_two", 0, machine).files, 0)
wrong = next(verb for verb in VERBS if verb != tool.verb)
session(
    terminal,
    ["ls /usr/local/bin | paste -sd' '", tool.name, "echo hello > note.txt", tool.call("note.txt", wrong)]
    + [tool.call("note.txt"), f"head -n 12 /usr/local/bin/{tool.name}"],
)

# %%
rows = []
for kind, seeds in [("training", p.tasks.train_machines), ("held out", p.tasks.held_out_machines)]:
    for seed in seeds:
        one = p.tasks.machine(seed)
        shared = set(one.tools) & set(machine.tools)
        same = sum(one.tools[t].verb == machine.tools[t].verb for t in shared)
        rows.append(
            {"machine": seed, "use": kind, "tools": len(one.tools), "facts": len(one.facts)}
            | {"tool names shared with the first": len(shared), "of them with the same sub-command": same}
        )
machines = pd.DataFrame(rows)
machines.to_csv(stage.output("machines.csv"), index=False)
display(machines)
display(
    Markdown(
        f"Someone who does not know a machine guesses a sub-command right once in {len(VERBS)} tries. What is learned about the first training "
        f"machine is of no use on another one: of its {len(machine.tools)} tools, those with the same name and sub-command there number "
        f"{', '.join(map(str, machines['of them with the same sub-command'].iloc[1:]))}."
    )
)

# %% [markdown]
# ## Which tasks are generated?

# %%
tasks = build_suites(p.tasks)
drawn = pd.Series([t.suite for t in tasks]).value_counts()
display(
    Markdown(f"{len(tasks):,} tasks: " + ", ".join(f"{n:,} in `{suite}`" for suite, n in drawn.items()) + ".")
)

# %% [markdown]
# ## Can a task be passed without solving it?
#
# The gate plays every task from fresh resets: doing nothing must score 0, looking around must score 0, the oracle must score 1 twice, every wrong
# solution must score 0, and every forger (an agent that writes the ledger or edits a tool instead of using it) must score 0 and be flagged.
# What fails is dropped and counted.

# %%
progress = Progress("gate", len(tasks), "task")
report = gate_parallel(
    tasks, part=50, options={"params": p.terminal}, on_part=lambda part: progress.update(part.gated)
)
kept = {t.task_id for t in report.kept}
gated = pd.DataFrame({"suite": t.suite, "template": t.template, "kept": t.task_id in kept} for t in tasks)
gate_table = gated.groupby(["suite", "template"])["kept"].agg(gated="count", kept="sum").reset_index()
gate_table.to_csv(stage.output("gate.csv"), index=False)
dropped = [{"reason": r, "tasks": n, "example": report.examples[r]} for r, n in report.dropped.items()]
stage.output("gate_dropped.json").write_text(json.dumps(dropped, indent=1) + "\n")
plays = sum(3 + len(t.wrong) for t in tasks)
display(
    Markdown(
        f"**{len(report.kept):,} of {report.gated:,} tasks pass the gate**; {report.gated - len(report.kept)} were dropped. "
        f"It played {plays:,} no-ops, oracles and wrong solutions, beside the forgers."
    )
)
pd.DataFrame(dropped) if dropped else None

# %% [markdown]
# ## Is every task solvable within its turns?
#
# The paper keeps a task if a strong solver passes at least one of 16 tries. Our solver is scripted: it knows the machine, errs at three in ten
# steps, and has the turns of the suite, of which the done signal takes one.

# %%
turns = {name: suite.turns for name, suite in p.tasks.suites.items()}
progress = Progress("solvability", len(report.kept), "task")
first = []
for found in first_passes_parallel(report.kept, turns, options={"params": p.terminal}):
    first.append(found)
    progress.update()
solved = pd.DataFrame({"suite": [t.suite for t in report.kept], "first_pass": pd.array(first, dtype="Int64")})
solvability = solved.groupby("suite")["first_pass"].agg(
    tasks="size",
    solvable="count",
    passed_first_try=lambda s: int((s == 1).sum()),
    most_tries_needed=lambda s: s.max(),
)
solvability = solvability.loc[list(p.tasks.suites)].reset_index()
solvability.to_csv(stage.output("solvability.csv"), index=False)
suite_tasks = [t for t, found in zip(report.kept, first, strict=True) if found is not None]
write_tasks(stage.output("tasks.parquet"), suite_tasks)
display(solvability)
display(
    Markdown(
        f"**{len(suite_tasks):,} of {len(report.kept):,} tasks are solvable** (at least 1 of 16 tries) and make up the suites."
    )
)

# %% [markdown]
# ## What is in the suites?

# %%
suites = pd.DataFrame(describe_suites(suite_tasks))
suites.to_csv(stage.output("suites.csv"), index=False)
display(suites.round(1))

# %%
table = pd.DataFrame(
    {"suite": t.suite, "template": t.template, "domain": t.domain, "commands": len(t.oracle)}
    | {"words": len(t.instruction.split()), "files": len(t.files)}
    for t in suite_tasks
)
order = [name for name in p.tasks.suites if name in set(table["suite"])]
fig, axes = plt.subplots(1, 3, figsize=(13, 0.45 * len(order) + 2.2), sharey=True)
kind = "domain" if table["domain"].nunique() > 1 else "template"
for ax, column, title in zip(
    axes[:2], [kind, "commands"], [f"by {kind}", "by length of the oracle (commands)"], strict=True
):
    share = pd.crosstab(table["suite"], table[column], normalize="index").loc[order[::-1]]
    colours = sns.color_palette("colorblind" if column == kind else "crest", share.shape[1])
    share.plot.barh(stacked=True, ax=ax, color=colours, width=0.75, edgecolor="white")
    ax.set(title=f"Tasks {title}", xlabel="share of the suite", ylabel="", xlim=(0, 1))
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=3 if column == kind else 4, frameon=False
    )
axes[0].set_yticklabels([f"{name} ({drawn[name]:,})" for name in order[::-1]])
place = {name: i for i, name in enumerate(order[::-1])}
words = table.groupby("suite")["words"].quantile([0.05, 0.5, 0.95]).unstack()
for name, row in words.iterrows():
    axes[2].plot([row[0.05], row[0.95]], [place[name]] * 2, color="#0072B2", lw=3, solid_capstyle="round")
    axes[2].plot(row[0.5], place[name], "o", color="white", mec="#0072B2", ms=8)
axes[2].set(title="Words of the instruction\n(median, 5 to 95 %)", xlabel="words", xlim=(0, None))
for ax in axes:
    ax.grid(axis="y", visible=False)
fig.tight_layout()
plt.show()

# %% [markdown]
# ## Does anything leak from training into evaluation?
#
# Three walls: seed ranges never meet; a template of `itd` is in no other suite; and one in five sets of site tools is kept from training (the single
# tools are all trained: they are what is to be learned). A canonical hash over instruction, files and checks finds exact copies, MinHash over
# three-word shingles of instruction and files (Jaccard at least 0.8) near ones.

# %%
leaks = leakage(suite_tasks)
rows = [
    {"suite": suite, "tasks": leaks.sizes[suite], "near a training task": leaks.near[suite]}
    | {"of a trained template": f"{leaks.shared_templates[suite]:.0%}"}
    for suite in order
    if suite != "train"
]
leak_table = pd.DataFrame(rows)
leak_table.to_csv(stage.output("leakage.csv"), index=False)
stage.output("leakage.json").write_text(
    json.dumps(
        {"collisions": leaks.collisions, "threshold": leaks.threshold}
        | {"examples": [[e.task, e.train_task, e.similarity] for e in leaks.examples]},
        indent=1,
    )
    + "\n"
)
display(leak_table)
near = int(leak_table["near a training task"].sum())
display(
    Markdown(
        f"**{leaks.collisions} pairs of tasks have the same content.** {near} of {leak_table['tasks'].sum()} evaluation tasks resemble a training "
        f"task at {leaks.threshold} or more"
        + (
            f", the closest pair (`{leaks.examples[0].task}`, `{leaks.examples[0].train_task}`) at {leaks.examples[0].similarity:.2f}."
            if near
            else "."
        )
        + " Tasks of trained templates on a trained machine (`val`) are meant to be close in form; what they share with training is the machine."
    )
)

# %% [markdown]
# ## What does a task look like?
#
# The first task of every template in the suites, with the oracle's session.

# %%
shown = {}
for task in suite_tasks:
    shown.setdefault(task.template, task)
for template, task in shown.items():
    display(Markdown(f"**`{template}`** ({task.domain}, suite `{task.suite}`): *{task.instruction}*"))
    terminal.reset(task.files, task.seed)
    display(session(terminal, [step.command for step in task.oracle]))

# %% [markdown]
# ## What other templates are there?
#
# A profile chooses its suites from this catalogue. One task of each template is drawn here, on a machine with every kind of fact, and gated.

# %%
rich = make_machine(p.tasks.train_machines[0], p.tasks.tools, FACT_KINDS)
catalogue = [
    make_task(name, 1, None if spec.domain == "pyterm" else rich, "catalogue")
    for name, spec in TEMPLATES.items()
]
try:
    passed = {t.template for t in gate_parallel(catalogue, part=14, options={"params": p.terminal}).kept}
    no_python = ""
except EngineUnavailable as reason:  # python3 cannot be sandboxed on this machine
    catalogue, no_python = [t for t in catalogue if t.domain != "pyterm"], str(reason)
    passed = {t.template for t in gate_parallel(catalogue, part=14, options={"params": p.terminal}).kept}
used = {t.template for t in tasks}
templates = pd.DataFrame(
    {"template": t.template, "domain": t.domain, "levels": len(TEMPLATES[t.template].levels)}
    | {"needs": TEMPLATES[t.template].needs or "–", "in this profile": t.template in used}
    | {"gate": "passed" if t.template in passed else "failed", "instruction": t.instruction}
    for t in catalogue
)
templates.to_csv(stage.output("templates.csv"), index=False)
counts = templates.groupby("domain").size()
display(
    Markdown(
        f"**{len(passed)} of {len(templates)} templates pass the gate** on this draw: "
        + ", ".join(f"{n} of {domain}" for domain, n in counts.items())
        + f". This profile uses {len(used)} of them."
        + (f" The templates of `pyterm` were left out: {no_python}" if no_python else "")
    )
)
with pd.option_context("display.max_rows", 100, "display.max_colwidth", 70):
    display(templates)

# %% [markdown]
# ## Does real bash agree about the verdicts?
#
# The first task of each template is played on real bash in a bubblewrap sandbox as well: doing nothing and the oracle.

# %%
try:
    real = open_terminal("bubblewrap")
    rows = [
        {"template": name, "no-op": play(task, [], real).reward}
        | {"oracle": play(task, [s.command for s in task.oracle], real).reward}
        for name, task in shown.items()
    ]
    real.close()
    agree = sum(row["no-op"] == 0 and row["oracle"] == 1 for row in rows)
    said = f"**{agree} of {len(rows)} templates get the same verdicts on real bash.**"
except EngineUnavailable as reason:
    rows = [{"template": name, "no-op": None, "oracle": None} for name in shown]
    said = f"Not played on real bash: {reason}"
pd.DataFrame(rows).to_csv(stage.output("real_bash.csv"), index=False)
display(Markdown(said))
