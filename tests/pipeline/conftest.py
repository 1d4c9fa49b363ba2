"""A repository in miniature: the real runner, two short notebooks.

The settings classes import torch, which takes seconds in every process; the processes of these tests get a stand-in.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from echo_terminal.pipeline.dvcfile import derive

ROOT = Path(__file__).parents[2]

STAND_IN = """
import sys, types
from pydantic import BaseModel, ConfigDict

class Params(BaseModel):
    model_config = ConfigDict(extra="allow")
    profile: str
    seed: int

sections = types.ModuleType("echo_terminal.pipeline.sections")
sections.Params = Params
sys.modules[sections.__name__] = sections
"""

FIRST = """# %% [markdown]
# # First

# %% tags=["parameters"]
params_file = "params.yaml"

# %%
import json

from echo_terminal.pipeline.stage import Stage

stage = Stage.open("01_first", params_file)
stage.output("numbers.json").write_text(json.dumps([stage.params.seed, stage.params.train["steps"]]))
print("hello from", stage.profile)
"""

SECOND = """# %% [markdown]
# # Second

# %% tags=["parameters"]
params_file = "params.yaml"
seed = 0

# %%
import json

from echo_terminal.pipeline.stage import Stage

stage = Stage.open("02_second", params_file, seed=seed)
numbers = json.loads(stage.input("01_first/numbers.json").read_text())
(stage.run_folder / "weights").write_text(str(seed))
stage.output("sum.json").write_text(json.dumps(sum(numbers) + seed))
"""

PIPELINE = """
stages:
  01_first:
    cmd: python -m echo_terminal.pipeline.runner 01_first --params params.yaml
    params: [profile, seed, train]
    deps: [notebooks/01_first.py, code]
    outs:
      - results/${profile}/01_first: {cache: false}
      - executed/${profile}/01_first.ipynb: {cache: false}
      - results/${profile}/provenance/01_first.json: {cache: false}
  02_second:
    matrix:
      seed: ${matrix.seeds}
    cmd: python -m echo_terminal.pipeline.runner 02_second --params params.yaml -p seed=${item.seed}
    params: [profile]
    deps: [notebooks/02_second.py, "results/${profile}/01_first/numbers.json"]
    outs:
      - runs/${profile}/02_second/${key}: {persist: true}
      - results/${profile}/02_second/${key}: {cache: false}
      - executed/${profile}/02_second-${key}.ipynb: {cache: false}
      - results/${profile}/provenance/02_second-${key}.json: {cache: false}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed repository with the profiles cpu (matrix seeds 0 and 1) and smoke (seed 0)."""
    (tmp_path / "sitecustomize.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    root = tmp_path / "a repository"  # with a space, on purpose
    for folder in ("notebooks", "code", "profiles/smoke", ".dvc"):
        (root / folder).mkdir(parents=True)
    shutil.copy(ROOT / ".dvc/config", root / ".dvc/config")
    shutil.copy(ROOT / ".dvcignore", root / ".dvcignore")
    shutil.copy(ROOT / ".gitignore", root / ".gitignore")
    shutil.copy(ROOT / ".dvc/.gitignore", root / ".dvc/.gitignore")
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings["matrix"]["seeds"] = [0, 1]
    small = settings | {"profile": "smoke", "matrix": settings["matrix"] | {"seeds": [0]}}
    (root / "params.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    (root / "profiles/smoke/params.yaml").write_text(yaml.safe_dump(small, sort_keys=False))
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "profiles/smoke/dvc.yaml").write_text(derive(PIPELINE, "smoke"))
    (root / "notebooks/01_first.py").write_text(FIRST)
    (root / "notebooks/02_second.py").write_text(SECOND)
    (root / "code/module.py").write_text("x = 1\n")
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "start"], check=True)
    return root
