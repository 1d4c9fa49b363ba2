"""dvc.yaml read without DVC: what each stage reads and writes, and the same pipeline for another profile.

The top-level dvc.yaml is written by hand. ``profiles/<name>/dvc.yaml`` is derived from it:
``python -m echo_terminal.pipeline.dvcfile`` writes all of them anew.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.layout import DEFAULT_PROFILE, find_root, profiles

_TEMPLATE = re.compile(r"\$\{([^}]+)\}")
_SKIPPED = ("__pycache__", ".egg-info")
HEADER = "# Derived from ../../dvc.yaml by `python -m echo_terminal.pipeline.dvcfile`: change that one.\n"


@dataclass(frozen=True)
class StageSpec:
    """One stage, or one item of a matrix stage, with every template filled in."""

    stage: str
    item: dict[str, Any]
    cmd: str
    sections: tuple[str, ...]  # dotted keys of the params file that it reads
    deps: tuple[str, ...]
    outs: tuple[str, ...]

    @property
    def key(self) -> str:
        """The item's name in paths: ``base-echo-0``; empty for a stage without a matrix."""
        return "-".join(str(value) for value in self.item.values())

    @property
    def name(self) -> str:
        """``04_train-base-echo-0``: the name in file names."""
        return f"{self.stage}-{self.key}" if self.item else self.stage


def read_pipeline(dvc_yaml: Path, params: dict[str, Any]) -> list[StageSpec]:
    """Every stage and item of a dvc.yaml, in its order. ``params`` fills the templates."""
    specs = []
    for stage, entry in yaml.safe_load(dvc_yaml.read_text())["stages"].items():
        axes = {name: _fill(values, params) for name, values in entry.get("matrix", {}).items()}
        for values in itertools.product(*axes.values()):
            item = dict(zip(axes, values, strict=True))
            context = {**params, "item": item, "key": "-".join(str(v) for v in values)}
            sections = entry["params"]
            if isinstance(sections[0], dict):
                (sections,) = sections[0].values()
            specs.append(
                StageSpec(
                    stage,
                    item,
                    _fill(entry["cmd"], context),
                    tuple(_fill(section, context) for section in sections),
                    tuple(_fill(_path(dep), context) for dep in entry.get("deps", [])),
                    tuple(_fill(_path(out), context) for out in entry.get("outs", [])),
                )
            )
    return specs


def find_stage(specs: list[StageSpec], stage: str, item: dict[str, Any]) -> StageSpec:
    """One of ``specs`` by name and item.

    Raises:
        UserError: no such stage, or no such item of it.
    """
    items = [spec for spec in specs if spec.stage == stage]
    if not items:
        raise UserError(
            f"no stage {stage!r}: choose one of {', '.join(dict.fromkeys(s.stage for s in specs))}"
        )
    for spec in items:
        if spec.item == item:
            return spec
    known = ", ".join(
        " ".join(f"{k}={v}" for k, v in spec.item.items()) or "(no parameters)" for spec in items
    )
    raise UserError(f"stage {stage} has no item {item}: choose one of {known}")


def inputs(root: Path, spec: StageSpec, params: dict[str, Any]) -> dict[str, str]:
    """Hex digests of all that a stage depends on: its settings by section, its dependencies by path.

    Raises:
        UserError: a dependency is missing.
    """
    settings = {f"params: {name}": _digest(_look_up(params, name)) for name in spec.sections}
    return {"item": _digest(spec.item), **settings, **{dep: content_hash(root / dep) for dep in spec.deps}}


def stage_key(root: Path, spec: StageSpec, params: dict[str, Any]) -> str:
    """One hex digest of ``inputs``."""
    return _digest([spec.stage, inputs(root, spec, params)])


def content_hash(path: Path) -> str:
    """Hex digest of a file, or of all files below a folder with their relative names.

    Raises:
        UserError: there is nothing.
    """
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if not path.is_dir():
        raise UserError(f"{path} is missing: run the stage that makes it (dvc repro runs what is needed)")
    files = sorted(p for p in path.rglob("*") if p.is_file() and not any(s in str(p) for s in _SKIPPED))
    text = "\n".join(f"{p.relative_to(path).as_posix()} {content_hash(p)}" for p in files)
    return hashlib.sha256(text.encode()).hexdigest()


def derive(text: str, profile: str) -> str:
    """The dvc.yaml of a profile in ``profiles/<profile>/``, from the text of the top-level one."""
    pipeline = yaml.safe_load(text)
    file = f"profiles/{profile}/params.yaml"
    for name, stage in pipeline["stages"].items():
        changed = {"wdir": "../..", **stage, "params": [{file: stage["params"]}]}
        changed["cmd"] = stage["cmd"].replace("--params params.yaml", f"--params {file}")
        pipeline["stages"][name] = changed
    return HEADER + yaml.safe_dump(pipeline, sort_keys=False, width=10_000)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _path(entry: str | dict[str, Any]) -> str:
    return next(iter(entry)) if isinstance(entry, dict) else entry


def _fill(value: Any, context: dict[str, Any]) -> Any:
    """Replace ``${a.b}``; a text that is one template alone becomes the value itself."""
    if not isinstance(value, str):
        return value
    whole = _TEMPLATE.fullmatch(value)
    if whole:
        return _look_up(context, whole[1])
    return _TEMPLATE.sub(lambda match: str(_look_up(context, match[1])), value)


def _look_up(context: dict[str, Any], dotted: str) -> Any:
    for part in dotted.split("."):
        context = context[part]
    return context


def main() -> None:
    """Write every profile's dvc.yaml anew."""
    root = find_root()
    text = (root / "dvc.yaml").read_text()
    for profile in profiles(root):
        if profile != DEFAULT_PROFILE:
            (root / "profiles" / profile / "dvc.yaml").write_text(derive(text, profile))


if __name__ == "__main__":
    main()
