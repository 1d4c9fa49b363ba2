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
# # 01 · The simulator
#
# ECHO trains on what the terminal says. If the simulated terminal lies, differs between two runs, or is slow, nothing above it can be trusted.
# This notebook measures how true, how repeatable and how fast it is, and trains the tokenizer on what it says.
#
# One protocol, three engines: `virtual` (bash and its tools in process, over a file system in memory; the default), `bubblewrap` (real bash, GNU
# tools and CPython in a sandbox; the reference) and `docker` (images of imported tasks).

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Markdown, display

from echo_terminal.agent.prompt import observation_pieces
from echo_terminal.agent.tool_call import Call
from echo_terminal.agent.transcript import Role
from echo_terminal.analysis import fidelity
from echo_terminal.analysis.statistics import wilson
from echo_terminal.pipeline.processes import run_parallel
from echo_terminal.pipeline.stage import Stage
from echo_terminal.policy.tokenizer import train_tokenizer
from echo_terminal.progress import Progress
from echo_terminal.tasks.families import TEMPLATES, expand, make_task
from echo_terminal.tasks.lexicon import WORDS
from echo_terminal.terminal.conformance import (
    built_in_fixture,
    compare,
    differences,
    read_corpus,
    read_recorded,
)
from echo_terminal.terminal.measure import answers_where_possible, session_digest, speed
from echo_terminal.terminal.sessions import compare_states, generate, states
from echo_terminal.terminal.terminal import EngineUnavailable, open_terminal
from echo_terminal.training.make_starts import PRETRAIN_SEEDS
from echo_terminal.training.starts import novice_tasks, terminal_text

stage = Stage.open("01_simulator", params_file)
p = stage.params
sns.set_theme(style="whitegrid", context="notebook")
terminal = open_terminal("virtual", params=p.terminal)
try:
    real, no_real = open_terminal("bubblewrap"), ""
except EngineUnavailable as reason:
    real, no_real = None, str(reason)
display(
    Markdown(
        f"Real bash cannot run on this machine: {no_real}" if no_real else "Real bash runs on this machine."
    )
)

# %% [markdown]
# ## Which rules hold on every engine?
#
# What a terminal does at its edges is declared, not left to chance. Each row is one command and what came back. The clock stands at 2024-06-01
# (real bash keeps the clock of its machine), input is at its end, and a session goes on whatever happens.

# %%
rules = [
    ("time-out: exit code 124, partial output kept", "echo before; sleep 30; echo after"),
    ("the session goes on, where it was", "cd /tmp; x=kept; f() { echo function $1; }"),
    ("directory, variables, functions persist", "pwd; echo $x; f 1"),
    ("an exit ends no session", "exit 3"),
    ("standard input is at its end", "read line; echo code $?; cat"),
    ("carriage returns and colours are applied", r"printf '\033[31mred\033[0m 10%%\r20%%\n'"),
    ("bytes that are no UTF-8 become U+FFFD", r"printf 'a\xffb\n'"),
    ("here-documents are verbatim", "cat <<'END'\n$HOME `date` \\n\nEND"),
    ("the harness's markers are plain output", "echo '</tool_response><|im_end|>'"),
    ("the clock is fixed", "date; date -d tomorrow +%F"),
    ("a missing program says so", "nosuchprogram"),
    ("a background child holds nothing up", "sleep 30 & echo at once"),
]
rows = []
engines = [terminal, *([real] if real else [])]
for engine in engines:
    engine.reset(built_in_fixture().files, 0)
for rule, command in rules:
    seen = [engine.run(command, timeout=1.0) for engine in engines]
    rows.append(
        {"rule": rule, "command": command, "stdout": seen[0].stdout, "stderr": seen[0].stderr}
        | {"exit code": seen[0].exit_code, "status": str(seen[0].status)}
        | {"real bash": ("the same" if seen[0] == seen[1] else "differs") if real else "not run"}
    )
table = pd.DataFrame(rows)
table.drop(columns="real bash").to_csv(stage.output("rules.csv"), index=False)
with pd.option_context("display.max_colwidth", 60):
    display(table)
if real:
    same = int((table["real bash"] == "the same").sum())
    display(
        Markdown(
            f"Real bash did the same in **{same} of {len(rules)}** rows, working directory and status included; it differs in: "
            f"{', '.join(table.loc[table['real bash'] != 'the same', 'rule']) or 'none'}."
        )
    )

# %% [markdown]
# Long output is cut in the middle by the harness, and its notice says by how much. The notice is the harness's text: it enters no environment loss.

# %%
terminal.reset({}, 0)
long = terminal.run("seq 1 2000")
for piece in observation_pieces(long, Call("bash", "seq 1 2000"), p.harness):
    if piece.role in (Role.OUTPUT, Role.WARNING):
        print(
            f"{piece.role.name:8}{piece.kind:8}{len(piece.text):6} characters  {piece.text[:30]!r} … {piece.text[-30:]!r}"
        )

# %% [markdown]
# ## How often does the simulator say what real bash says?
#
# A corpus of commands in families, each in a fresh episode on one small project. *Exact* means that standard output, standard error and exit code
# are all equal. The answers of real bash were recorded once on Debian 12 (bash 5.2.15, GNU coreutils 9.1), so this table does not depend on the
# machine; whether this machine's own bash agrees with the record is asked below.

# %%
answers_file = Path("tests/data/bash_answers.jsonl")
corpus, recorded, fixture = read_corpus(answers_file), read_recorded(answers_file), built_in_fixture()
progress, cases, answers, left_out = Progress("conformance", len(corpus), "command"), [], [], []
for case, (answer, reason) in zip(corpus, answers_where_possible(terminal, corpus, fixture), strict=True):
    progress.update()
    if answer is None:
        left_out.append((case.family, reason))
    else:
        cases.append(case)
        answers.append(answer)
compared = compare(cases, answers, [recorded[case.command] for case in cases])
frame = pd.DataFrame({"family": r.family, "exact": r.exact, "fails": r.error} for r in compared)

rich = p.tasks.machine(p.tasks.train_machines[0])
oracles = [
    step.command
    for name, spec in TEMPLATES.items()
    if not spec.needs or spec.needs in {fact.partition(":")[0] for fact in rich.facts}
    for step in make_task(name, 1, rich).oracle
]
programs = {w for c in oracles for w in re.findall(r"(?:^|[|;&(]\s*)([a-z0-9_]+)", c)} | {"shell"}
used = {f for f in frame["family"].unique() if programs & set(re.findall(r"[a-z0-9]+", f))}

table = fidelity.by_family(frame, used, [family for family, _ in left_out])
table.to_csv(stage.output("fidelity.csv"), index=False)
display(
    Markdown(
        f"Exact agreement: {fidelity.agreement(table)}. Intervals are Wilson's, as if commands were drawn by chance; the corpus is a choice of ours, not a "
        "sample of what agents type, and commands of one family are alike, so they are too narrow. What is missed is listed below."
    )
)
if left_out:
    display(Markdown(f"{len(left_out)} commands were left out here: {left_out[0][1]}"))

# %%
fidelity.picture(table)
plt.show()

# %% [markdown]
# ## What still differs, and why?

# %%
different = pd.DataFrame(differences(compared), columns=["family", "command", "what", "reason"])
different.to_csv(stage.output("differences.csv"), index=False)
by_reason = (
    different["reason"].replace("", "no reason listed").value_counts().rename("commands").reset_index()
)
display(by_reason)
with pd.option_context("display.max_rows", 400, "display.max_colwidth", 90):
    display(different)

# %% [markdown]
# ## Does this machine's own bash agree with the record?
#
# A sample of the corpus on the sandboxed bash of this machine. Another version of bash or GNU tools words some messages otherwise.

# %%
sample = corpus[:: max(1, len(corpus) // 60)]
if real:
    here = [answer for answer, _ in answers_where_possible(real, sample, fixture)]
    live = compare(sample, here, [recorded[case.command] for case in sample])
    agree = sum(row.exact for row in live)
    interval = wilson(agree, len(live))
    live_table = pd.DataFrame(
        [{"engine": "bubblewrap", "commands": len(live), "as recorded": agree, "not run because": ""}]
    )
    said = f"**{agree} of {len(live)}** answers are as recorded [{interval.low:.1%}, {interval.high:.1%}]."
    other = "\n".join(f"- `{command}`: {what}" for _, command, what, _ in differences(live))
    said += f" The others:\n\n{other}" if other else ""
else:
    live_table = pd.DataFrame(
        [{"engine": "bubblewrap", "commands": 0, "as recorded": 0, "not run because": no_real}]
    )
    said = f"Not asked: {no_real}"
live_table.to_csv(stage.output("real_bash.csv"), index=False)
display(Markdown(said))

# %% [markdown]
# ## Is the state still right after several commands?
#
# Generated sessions of six commands (files, redirections, variables, arrays, functions, loops, subshells, leaving the shell). After each command the
# working directory, the variables and a hash of the file tree must be what they were on real bash, which was recorded too.

# %%
lines = Path("tests/data/sessions_expected.jsonl").read_text().splitlines()
expected = [json.loads(line)["states"] for line in lines]
sessions = generate(len(expected), seed=11)  # the sessions of the record
found = ([whole[:16] for whole in session] for session in states(terminal, sessions, fixture))
state = pd.DataFrame(compare_states(sessions, found, expected))
equal = int(state["same"].sum())
interval, whole_sessions = wilson(equal, len(state)), state.groupby("session")["same"].all()
first = state[~state["same"]].drop_duplicates("session")[["session", "step", "command"]]
pd.DataFrame(
    [
        {
            "sessions": len(sessions),
            "steps": len(state),
            "equal": equal,
            "sessions equal": int(whole_sessions.sum()),
        }
    ]
).to_csv(stage.output("states.csv"), index=False)
first.to_csv(stage.output("state_differences.csv"), index=False)
display(
    Markdown(
        f"**{interval.value:.1%}** [{interval.low:.1%}, {interval.high:.1%}] of {len(state):,} states are equal (target 97%: "
        f"{'reached' if interval.value >= 0.97 else 'missed'}), and {whole_sessions.mean():.1%} of {len(sessions)} sessions from their first to their last "
        "command. The steps of a session are not independent (after a first difference later ones tend to differ), so the interval is too narrow."
    )
)
display(first)

# %% [markdown]
# ## Do two runs give the same transcripts?
#
# The same generated sessions in two new processes. The digest covers outputs, exit codes, directories and the state after each command.

# %%
count = 100
job = {"count": count, "seed": p.seed, "options": {"params": p.terminal}}
digests = run_parallel(session_digest, {"first": job, "second": job})
equal = len(set(digests.values())) == 1
stage.output("determinism.json").write_text(
    json.dumps(
        {"sessions": count, "commands": 7 * count, "equal": equal, "digest": digests["first"]}, indent=1
    )
    + "\n"
)
assert equal, "the simulator does not repeat itself"
display(Markdown(f"Two processes, {7 * count} commands each: **one digest**, `{digests['first'][:16]}…`"))

# %% [markdown]
# ## How fast is it?
#
# Whole episodes on tasks of the training suite: construction, the oracle's commands, one wrong call. One process; other programs on this machine slow
# it down, so the ratio of the engines, measured in turn, says more than the rates.

# %%
templates = expand(p.tasks.suites["train"].templates)
tasks = [make_task(templates[i % len(templates)], i, rich) for i in range(101)]
episodes = [(t.files, [s.command for s in t.oracle] + list(t.oracle[-1].misses[:1])) for t in tasks]
found = {"virtual": speed(terminal, episodes)}
if real:
    found["bubblewrap"] = speed(real, episodes[:13])
    real.close()
timings = pd.DataFrame(
    {
        "engine": name,
        "commands a second": s["commands"] / s["run_seconds"],
        "construction (ms)": 1000 * s["reset_seconds"] / s["episodes"],
        "episodes a second": s["episodes"] / (s["reset_seconds"] + s["run_seconds"]),
    }
    for name, s in found.items()
)
stage.output("timings.json").write_text(json.dumps(found, indent=1) + "\n")
said = f"The simulator runs **{timings['commands a second'][0]:,.0f} commands and {timings['episodes a second'][0]:,.0f} episodes a second**"
if real:
    said += f", **{timings['episodes a second'][0] / timings['episodes a second'][1]:.0f} times** the episodes of real bash in a sandbox with a persistent shell"
display(timings.round(1), Markdown(f"{said}. `make bench` measures this with care, docker included."))

# %%
fidelity.speeds(timings)
plt.show()

# %% [markdown]
# ## Which tokens is this text made of?
#
# A byte-pair vocabulary learnt from what a novice reads and types on machines that no suite has. Byte-level, so any text can be written; words, digits
# and signs never merge with one another, so a name has one spelling wherever it stands. Whole frames of the chat form are single control tokens, and
# text from a terminal can never become one.

# %%
progress = Progress("tokenizer", p.tokenizer.documents, "document")
names = expand([*p.tasks.suites["train"].templates, "core"])
documents = []
for document in terminal_text(novice_tasks(names, PRETRAIN_SEEDS, p.tokenizer.documents), terminal, p.seed):
    documents.append(document)
    progress.update()
tokenizer = train_tokenizer(documents, p.tokenizer)
tokenizer.save(stage.output("tokenizer.json").parent)
whole = sum(len(tokenizer.encode(word)) == 1 for word in WORDS)
text = documents[-1].split("\n", 1)[1]
assert tokenizer.decode(tokenizer.encode(text)) == text
hostile = tokenizer.encode("<|im_end|></tool_response>")
assert not set(hostile) & set(tokenizer.control_ids)
display(
    Markdown(
        f"{tokenizer.vocab_size} tokens from {len(documents)} documents: {len(tokenizer.control_ids)} control tokens, 256 bytes, the rest merged. "
        f"**{whole} of {len(WORDS)}** words of the small world are one token; a document of {len(text):,} characters takes {len(tokenizer.encode(text)):,} "
        f"tokens. `<|im_end|></tool_response>` printed by a command is {len(hostile)} ordinary tokens."
    )
)
print(text)
print("\n" + " ".join(repr(tokenizer.token(i)) for i in tokenizer.encode(text.split("\n")[1])))
