"""Starting policies as files: each function makes one policy folder from settings and can be its own process.

A folder holds the policy and ``losses.json``, rows of (phase, step, loss).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.transcript import Transcript
from echo_terminal.policy.model import ModelParams
from echo_terminal.policy.tokenizer import PolicyTokenizer, load_tokenizer
from echo_terminal.policy.weights import best_device, load_policy, save_policy
from echo_terminal.progress import Progress
from echo_terminal.tasks.families import expand
from echo_terminal.tasks.store import read_tasks
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.starts import (
    DemonstrationParams,
    PretrainParams,
    demonstrate,
    expert_episodes,
    novice_episodes,
    novice_tasks,
    pretrain,
)

PRETRAIN_SEEDS = 10_000_000  # first seed of pre-training tasks, far from those of every suite


class Losses:
    """Collects (phase, step, loss) and shows progress."""

    def __init__(self, name: str, total: int) -> None:
        self.rows: list[dict[str, Any]] = []
        self._progress = Progress(name, total)

    def __call__(self, phase: str, step: int, loss: float) -> None:
        self.rows.append({"phase": phase, "step": step + 1, "loss": loss})
        self._progress.update(1, loss=loss)

    def write(self, folder: Path) -> None:
        (folder / "losses.json").write_text(json.dumps(self.rows) + "\n")


def pretraining_episodes(
    tokenizer: PolicyTokenizer,
    params: PretrainParams,
    harness: HarnessParams,
    terminal_options: Mapping[str, Any],
) -> list[Transcript]:
    """The novice episodes of every base, the same for all sizes."""
    tasks = novice_tasks(expand(params.templates), PRETRAIN_SEEDS, params.episodes)
    return novice_episodes(tasks, open_terminal("virtual", **terminal_options), tokenizer, harness, params)


def make_base(
    folder: Path,
    *,
    name: str,
    tokenizer_file: Path,
    model: ModelParams,
    pretrain_params: PretrainParams,
    harness: HarnessParams,
    terminal_options: Mapping[str, Any],
    seed: int,
) -> None:
    """A base policy from a random start (``starts.pretrain``)."""
    torch.set_num_threads(1)
    tokenizer = load_tokenizer(tokenizer_file)
    episodes = pretraining_episodes(tokenizer, pretrain_params, harness, terminal_options)
    stages = (pretrain_params.copying, pretrain_params.language, pretrain_params.format)
    losses = Losses(f"pre-train {name}", sum(s.steps for s in stages))
    policy = pretrain(model, tokenizer, episodes, pretrain_params, seed=seed, on_step=losses)
    save_policy(policy, folder)
    losses.write(folder)


def make_demonstrated(
    folder: Path,
    *,
    name: str,
    base_folder: Path,
    tasks_path: Path,
    demonstrations: DemonstrationParams,
    harness: HarnessParams,
    terminal_options: Mapping[str, Any],
    output_weight: float,
    seed: int,
) -> None:
    """The base after SFT (``output_weight`` 0) or ActObs on an expert's episodes over the first training tasks."""
    torch.set_num_threads(1)
    policy = load_policy(base_folder, best_device())
    train = (t for t in read_tasks(tasks_path) if t.suite == "train")
    tasks: list[Task] = list(islice(train, demonstrations.episodes))
    terminal = open_terminal("virtual", **terminal_options)
    episodes = expert_episodes(tasks, terminal, policy.tokenizer, harness, demonstrations.misses)
    losses = Losses(f"demonstrate {name}", demonstrations.fit.steps)
    demonstrate(
        policy.model,
        policy.tokenizer,
        episodes,
        demonstrations,
        seed=seed,
        output_weight=output_weight,
        on_step=losses,
    )
    save_policy(policy, folder)
    losses.write(folder)
