"""One run from its start to its last step, through kills: checkpoints, snapshots of the weights, the
metrics table.

folder/state/step-NNNNNN/     model, optimiser and metrics so far; the newest two are kept, until the end
folder/snapshots/NNNN/        a policy folder after NNNN steps, every ``snapshot_every`` steps and at the end
folder/metrics.jsonl          one row a step, written when the run is complete
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from pydantic import Field

from echo_terminal.config import StrictModel
from echo_terminal.policy.weights import Policy, save_policy
from echo_terminal.training.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint
from echo_terminal.training.grpo import Adaptive, Rollouts, Trainer
from echo_terminal.training.monitors import Metrics

OnStep = Callable[[int, Metrics, Rollouts], None]


class KeepParams(StrictModel):
    """What a run keeps: policies for the curves every ``snapshot_every`` steps, resume points every
    ``checkpoint_every``."""

    snapshot_every: int = Field(25, ge=1)
    checkpoint_every: int = Field(10, ge=1)


def train(
    trainer: Trainer,
    folder: Path,
    run_key: str,
    keep: KeepParams,
    *,
    on_step: OnStep | None = None,
) -> list[Metrics]:
    """Bring ``trainer`` to its last step, from the newest checkpoint in ``folder`` if there is one.

    A resumed run gives the same weights and the same metrics (but for seconds) as one that was never stopped.
    ``on_step`` may see a step again that an interrupted run had seen already: what it writes must be keyed.

    Raises:
        ValueError: the checkpoint there belongs to another run.
    """
    state, done, metrics = folder / "state", 0, list[Metrics]()
    model, optimizer = trainer.policy.model, trainer.optimizer
    newest = latest_checkpoint(state) if state.is_dir() else None
    if newest is not None:
        resumed = load_checkpoint(newest, run_key=run_key, model=model, optimizer=optimizer)
        done, metrics = resumed.step, resumed.extra["metrics"]
        trainer.adaptive = Adaptive(**resumed.extra["adaptive"])
    total = trainer.params.steps
    for step in range(done, total):
        row, rollouts = trainer.step(step)
        metrics.append(row)
        if on_step:
            on_step(step, row, rollouts)
        if (step + 1) % keep.snapshot_every == 0 or step + 1 == total:
            write_snapshot(trainer.policy, snapshot_folder(folder, step + 1))
        if (step + 1) % keep.checkpoint_every == 0 and step + 1 < total:
            extra = {"metrics": metrics, "adaptive": asdict(trainer.adaptive)}
            save_checkpoint(
                state, run_key=run_key, step=step + 1, model=model, optimizer=optimizer, extra=extra
            )
    lines = "".join(json.dumps(row) + "\n" for row in metrics)
    part = folder / "metrics.jsonl.part"
    part.write_text(lines)
    os.replace(part, folder / "metrics.jsonl")
    shutil.rmtree(state, ignore_errors=True)
    return metrics


def snapshot_folder(folder: Path, step: int) -> Path:
    """Where the policy after ``step`` steps is kept."""
    return folder / "snapshots" / f"{step:04d}"


def snapshots(folder: Path) -> dict[int, Path]:
    """Steps and policy folders of a run, in order."""
    return {int(p.name): p for p in sorted((folder / "snapshots").glob("[0-9]*")) if p.is_dir()}


def write_snapshot(policy: Policy, target: Path) -> None:
    """Save a policy so that it is there whole or not at all; one that is there already is replaced."""
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    save_policy(policy, part)
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
