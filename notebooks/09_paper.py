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

import pandas as pd
from IPython.display import Image, Markdown, display

from echo_terminal.analysis import claims, render
from echo_terminal.analysis.paper import FIGURES, build
from echo_terminal.pipeline.stage import Stage

stage = Stage.open("09_paper", params_file)
results = Path("results") / stage.profile
out = stage.output("claims.json").parent
weights = {name: o.env_term.weight.value for name, o in stage.params.objectives.items() if o.kind == "echo"}
built = build(
    results,
    out,
    settings={
        "lambda": weights.get("echo", next(iter(weights.values()), 0.0)),
        "steps": stage.params.train.steps,
    },
)

# %% [markdown]
# ## Which claims hold here?
#
# `paper/claims.yaml` was written before the runs. *Reproduced* or *reversed*: the interval lies on one side of the threshold; *inconclusive*:
# it does not; *not run*: this profile lacks what the claim needs, by the rule that the row states.

# %%
part = results / "claims.json.part"
part.write_text(json.dumps(built.claims, indent=1, ensure_ascii=False) + "\n")
os.replace(part, results / "claims.json")
display(Markdown(f"**{claims.summary(built.claims)}**"))
run = [row for row in built.claims if row["verdict"] != "not run"]
display(Markdown(render.markdown(claims.table(run))))
frame = pd.DataFrame(built.claims)
skipped = frame[frame["verdict"] == "not run"].groupby("reason", sort=False)["id"].agg(["count", ", ".join])
if len(skipped):
    lines = [f"* {row['count']}: {reason} ({row['join']})" for reason, row in skipped.iterrows()]
    display(Markdown("Not run, by the rule:\n\n" + "\n".join(lines)))

# %% [markdown]
# ## Figures

# %%
for name, entry in FIGURES.items():
    if name in built.figures:
        display(Markdown(f"### {entry.title}\n\n{entry.caption} Numbers: `{entry.notebook}`."))
        display(Image(str(out / "figures" / f"{name}.png"), width=760))

# %% [markdown]
# ## Tables
#
# Ours beside the published values, which are those of 8B and 14B models.

# %%
for name in [name for name in built.tables if name != "claims"]:
    display(Markdown((out / "tables" / f"{name}.md").read_text()))

# %% [markdown]
# ## What this profile leaves out

# %%
display(Markdown("\n".join(f"* {name}: {rule}" for name, rule in built.not_run.items()) or "Nothing."))
