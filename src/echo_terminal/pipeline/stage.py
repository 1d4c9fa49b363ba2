"""A stage as its notebook sees it: the settings it may read, the results it may use, the place to write its own.

    # %% tags=["parameters"]
    params_file = "params.yaml"
    seed = 0

    # %%
    stage = Stage.open("04_train", params_file, seed=seed)
    stage.params.train            # only sections that dvc.yaml declares for this stage
    stage.input("02_tasks/tasks.parquet")   # only what it declares as a dependency
    stage.output("metrics.parquet")         # moved into results/ when the stage has succeeded
    stage.run_folder                        # checkpoints, kept between runs

What is not declared raises, so DVC knows every parameter and file on which a result depends.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from echo_terminal.pipeline.dvcfile import StageSpec, find_stage, read_pipeline, stage_key
from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.layout import find_root
from echo_terminal.pipeline.params import load_params, read_params
from echo_terminal.pipeline.processes import die_with_parent
from echo_terminal.progress import log_to_file

if TYPE_CHECKING:
    from echo_terminal.pipeline.sections import Params

STAGING_VARIABLE = "ECHO_TERMINAL_STAGING"
OPENED = "opened.json"


class Sections:
    """A view of ``Params`` that shows the declared sections alone."""

    def __init__(self, params: Params, spec: StageSpec) -> None:
        self._params, self._spec = params, spec

    def __getattr__(self, name: str) -> Any:
        if name not in (section.partition(".")[0] for section in self._spec.sections):
            raise AttributeError(
                f"stage {self._spec.stage} does not declare the section {name!r}: add it to its params in dvc.yaml"
            )
        return getattr(self._params, name)


class Stage:
    """Open one with ``Stage.open``; see the module's text."""

    def __init__(self, root: Path, params_file: str, spec: StageSpec, params: Params, staging: Path) -> None:
        self.root, self.params_file, self.spec, self.staging = root, params_file, spec, staging
        self.params = Sections(params, spec)
        self.profile = params.profile
        self.values = read_params(root / params_file)
        self.pipeline = pipeline_of(root, params_file, self.values)

    @classmethod
    def open(cls, name: str, params_file: str, **item: Any) -> Stage:
        """The stage ``name`` of the pipeline beside ``params_file``; ``item`` picks one of its matrix.

        Raises:
            UserError: no such stage or item, or a params file with faults.
        """
        root = find_root()
        os.chdir(root)  # a notebook opened by hand starts in notebooks/
        params = load_params(root / params_file)
        spec = find_stage(pipeline_of(root, params_file, read_params(root / params_file)), name, item)
        staging = os.environ.get(STAGING_VARIABLE)
        if staging is None:  # opened by hand: nothing of it is ever taken for a result
            folder = root / ".staging" / "by-hand" / spec.name
            shutil.rmtree(folder, ignore_errors=True)
        else:
            folder = Path(staging)
            die_with_parent()
        (folder / "results").mkdir(parents=True, exist_ok=True)
        log_to_file()
        (folder / OPENED).write_text(json.dumps({"params_file": params_file, **item}))
        return cls(root, params_file, spec, params, folder)

    def output(self, name: str) -> Path:
        """Where to write a result file of this stage."""
        path = self.staging / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def input(self, name: str) -> Path:
        """A result of an earlier stage, by its path below ``results/<profile>/``.

        Raises:
            UserError: dvc.yaml does not declare it as a dependency of this stage, or it is missing.
        """
        return self._declared(f"results/{self.profile}/{name}", self.spec.deps, "deps")

    def checkpoint_folder(self, name: str) -> Path:
        """The run folder of an earlier stage (``03_starting_policies``) or of an item (``04_train/base-echo-0``).

        Raises:
            UserError: dvc.yaml does not declare it as a dependency of this stage, or it is missing.
        """
        return self._declared(f"runs/{self.profile}/{name}", self.spec.deps, "deps")

    @property
    def run_folder(self) -> Path:
        """This stage's own folder for checkpoints and rollouts; what an interrupted run left is still there.

        Raises:
            UserError: dvc.yaml does not declare it as an output.
        """
        path = f"runs/{self.profile}/{self.spec.stage}" + (f"/{self.spec.key}" if self.spec.item else "")
        if path not in self.spec.outs:
            raise UserError(
                f"stage {self.spec.stage} does not declare {path}: add it to its outs in dvc.yaml"
            )
        (self.root / path).mkdir(parents=True, exist_ok=True)
        return self.root / path

    def items(self, stage: str) -> list[StageSpec]:
        """Every item of a matrix stage under these settings, in order (never what an old run left in a folder)."""
        return [spec for spec in self.pipeline if spec.stage == stage]

    def matched(self) -> list[StageSpec]:
        """The items that differ from this one in the objective alone, this one included."""
        same = {k: v for k, v in self.spec.item.items() if k != "objective"}
        return [s for s in self.items(self.spec.stage) if same.items() <= s.item.items()]

    def folder_of(self, spec: StageSpec) -> Path:
        """Run folder of an item of this stage's matrix."""
        return self.root / f"runs/{self.profile}/{spec.stage}/{spec.key}"

    def run_key(self, spec: StageSpec) -> str:
        """Digest of the item, settings, code and results that a run depends on.

        The notebook is left out, so that a changed sentence does not train anew.
        """
        deps = tuple(dep for dep in spec.deps if not dep.startswith("notebooks/"))
        return stage_key(self.root, replace(spec, deps=deps), self.values)

    def _declared(self, path: str, declared: tuple[str, ...], kind: str) -> Path:
        if not any(path == entry or path.startswith(f"{entry}/") for entry in declared):
            raise UserError(
                f"stage {self.spec.stage} does not declare {path}: add it to its {kind} in dvc.yaml"
            )
        if not (self.root / path).exists():
            raise UserError(f"{path} is missing: run the stage that makes it (dvc repro runs what is needed)")
        return self.root / path


def pipeline_of(root: Path, params_file: str, values: dict[str, Any]) -> list[StageSpec]:
    """The stages of the dvc.yaml beside ``params_file``, whose values are given."""
    return read_pipeline((root / params_file).with_name("dvc.yaml"), values)
