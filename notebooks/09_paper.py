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
# # 09 · The paper
#
# Every figure and table, the verdict on every claim, and the PDF, from the committed results alone: no checkpoint is read and nothing is
# trained (`make figures`). Each figure names the notebook behind its numbers.

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import json
import os
from pathlib import Path

from IPython.display import Image, Markdown, display

from echo_terminal.analysis import claims, render, verdicts
from echo_terminal.analysis.catalogue import FIGURES
from echo_terminal.analysis.paper import build
from echo_terminal.pipeline.stage import Stage

stage = Stage.open("09_paper", params_file)
results = Path("results") / stage.profile
out = stage.output("claims.json").parent
weights = {name: o.env_term.weight.value for name, o in stage.params.objectives.items() if o.kind == "echo"}
policies = stage.params.objectives.values()
built = build(
    results,
    out,
    settings={
        "λ": weights.get("echo", next(iter(weights.values()), 0.0)),
        "steps": stage.params.train.steps,
        "rollouts a step": stage.params.train.prompts_per_step * stage.params.train.group_size,
        "learning rate": stage.params.train.lr,
        "aggregation of the policy term": ", ".join(
            dict.fromkeys(o.policy.aggregation for o in policies if o.policy)
        ),
    },
)

# %% [markdown]
# ## Which claims hold here?
#
# `paper/claims.yaml` was written before the runs. *Reproduced* or *reversed*: the interval lies on one side of the threshold, and a test, where there is
# one, agrees after Holm's correction; *inconclusive* otherwise. A claim that this profile does not run is shown as another profile judged it, if
# one did, with that profile's name. What nobody ran is counted by reason; `claims.json` keeps every row.

# %%
part = results / "claims.json.part"
part.write_text(json.dumps(built.claims, indent=1, ensure_ascii=False) + "\n")
os.replace(part, results / "claims.json")
others = {folder.name: verdicts.read(folder) for folder in verdicts.other_profiles(results)}
rows = verdicts.completed(stage.profile, built.claims, others)
display(Markdown(f"**{claims.summary(rows)}** (one judgement for each claim and starting policy)"))
display(Markdown(render.markdown(verdicts.table(rows))))
reasons = [f"* {count}: {reason}" for reason, count in verdicts.by_reason(rows, "not run")]
display(Markdown("Not run, by reason:\n\n" + "\n".join(reasons) if reasons else "Every claim was run."))

# %% [markdown]
# ## What do the runs look like?

# %%
for name in built.figures:
    said = built.captions[name]
    lent = "" if said["profile"] == stage.profile else f", profile `{said['profile']}`"
    display(Markdown(f"### {said['title']}\n\n{said['caption']} (notebook `{said['notebook']}`{lent})"))
    display(Image(str(out / "figures" / f"{name}.png"), width=760))

# %% [markdown]
# ## What do the paper's tables look like here?
#
# Ours beside the published values, which are those of 8B and 14B models on their own suites: directions compare, sizes do not.

# %%
for name in [name for name in built.tables if name != "claims"]:
    display(Markdown((out / "tables" / f"{name}.md").read_text()))

# %% [markdown]
# ## What is left out, and why?

# %%
titles = {name: built.captions[name]["title"] for name in FIGURES}
lines = [f"* {titles.get(name, name)}: {rule}" for name, rule in built.not_run.items()]
display(Markdown("\n".join(lines) or "Nothing."))
