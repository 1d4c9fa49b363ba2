"""Checkpoints that survive being killed at any moment.

A checkpoint is one folder, written beside its place, flushed to disk, then renamed: a reader sees a whole
checkpoint or none. ``state.json`` names the run it belongs to; another run's checkpoint is refused. What is
kept suffices for a resumed run to be bit-identical: weights, optimiser, every random state, the step, and
the loop's own small state.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

_WEIGHTS, _OPTIMIZER, _STATE = "model.safetensors", "optimizer.pt", "state.json"


@dataclass(frozen=True)
class Resumed:
    """Where a run goes on: ``step`` updates are done; ``extra`` is what the loop had saved."""

    step: int
    extra: dict[str, Any]


def save_checkpoint(
    folder: Path,
    *,
    run_key: str,
    step: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generators: Mapping[str, np.random.Generator] | None = None,
    extra: Mapping[str, Any] | None = None,
    keep: int = 2,
) -> Path:
    """Write ``folder/step-NNNNNN`` after ``step`` updates and drop all but the ``keep`` newest.

    ``run_key`` digests everything that makes the run what it is. ``generators`` are numpy generators by
    name; the global states of torch, CUDA, numpy and random are kept too. ``extra`` must be JSON.

    Raises:
        ValueError: ``folder`` holds a checkpoint of this or a later step already.
    """
    if keep < 1:
        raise ValueError(f"keep must be at least 1, got {keep}")
    newest = latest_checkpoint(folder)
    if newest is not None and _step_of(newest) >= step:
        raise ValueError(f"{newest} exists already: resume from it, or delete {folder} to start again")
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(".part-*"):  # of a run that was killed while it wrote or deleted
        shutil.rmtree(leftover)
    target = folder / f"step-{step:06d}"
    part = folder / f".part-{step:06d}"
    part.mkdir()
    tensors = {name: t.detach().cpu().contiguous() for name, t in _unshared(model).items()}
    save_file(tensors, part / _WEIGHTS)
    random_states = {"torch": torch.get_rng_state(), "cuda": _cuda_states()}
    torch.save({"optimizer": optimizer.state_dict(), "random": random_states}, part / _OPTIMIZER)
    state = {
        "run_key": run_key,
        "step": step,
        "generators": {name: g.bit_generator.state for name, g in (generators or {}).items()},
        "python": random.getstate(),
        "numpy": _numpy_state(),
        "extra": dict(extra or {}),
    }
    (part / _STATE).write_text(json.dumps(state, sort_keys=True))
    for file in part.iterdir():
        _flush(file)
    _flush(part)
    os.rename(part, target)
    _flush(folder)
    for old in _steps(folder)[:-keep]:
        gone = folder / f".part-{old.name}"  # half a checkpoint never bears a checkpoint's name
        os.rename(old, gone)
        shutil.rmtree(gone)
    return target


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint of ``folder``, or None."""
    steps = _steps(folder)
    return steps[-1] if steps else None


def load_checkpoint(
    path: Path,
    *,
    run_key: str,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generators: Mapping[str, np.random.Generator] | None = None,
) -> Resumed:
    """Restore everything that ``save_checkpoint`` kept, in place.

    Raises:
        ValueError: the checkpoint is another run's, or its generators have other names.
    """
    state = json.loads((path / _STATE).read_text())
    if state["run_key"] != run_key:
        raise ValueError(
            f"{path} belongs to run {state['run_key']}, not to {run_key}: use another folder or delete it"
        )
    generators = generators or {}
    if set(state["generators"]) != set(generators):
        raise ValueError(
            f"{path} holds generators {sorted(state['generators'])}, the run has {sorted(generators)}"
        )
    names = _unshared(model)
    weights = load_file(path / _WEIGHTS)
    if set(weights) != set(names):
        raise ValueError(
            f"{path} holds other weights than the model: {sorted(set(weights) ^ set(names))[:4]}"
        )
    with torch.no_grad():
        for name, tensor in names.items():
            tensor.copy_(weights[name])
    saved = torch.load(path / _OPTIMIZER, weights_only=True)
    optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["random"]["torch"])
    if saved["random"]["cuda"]:
        torch.cuda.set_rng_state_all(saved["random"]["cuda"])
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    np.random.set_state(state["numpy"])
    for name, generator in generators.items():
        generator.bit_generator.state = state["generators"][name]
    return Resumed(state["step"], state["extra"])


def _unshared(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and saved buffers by name; a tensor with two names (tied weights) goes under its first."""
    seen: set[int] = set()
    tensors = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            tensors[name] = tensor
    return tensors


def _cuda_states() -> list[Tensor]:
    return torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _numpy_state() -> dict[str, Any]:
    """State of numpy's global generator with its key as a list, so that it can be JSON."""
    state: Any = np.random.get_state(legacy=False)
    return {**state, "state": {**state["state"], "key": state["state"]["key"].tolist()}}


def _steps(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"), key=_step_of)


def _step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
