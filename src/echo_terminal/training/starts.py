"""Starting policies: what a published checkpoint is to the paper, made here from a random start.

1. *copying*: rows whose only regularity is repetition (a pre-trained model can copy; a random start cannot);
2. *language*: what novices type and terminals answer, each episode on a machine of its own: how terminals
talk,
   and no fact of any one machine (instructions are read and not learnt: their names are drawn at random);
3. *format*: the actions of novice episodes without mistakes of form, so that calls are well formed.

The SFT start adds the actions of an expert on the training tasks, observations masked, as common agent SFT
does; ``actobs`` trains the observations of the same episodes too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from echo_terminal.agent import scripted
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.replay import replay
from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.config import StrictModel
from echo_terminal.policy.model import ModelParams, Qwen3, new_model
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.policy.weights import Policy, best_device
from echo_terminal.tasks.families import make_task
from echo_terminal.tasks.lexicon import WORDS
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal
from echo_terminal.training.sft import (
    ACTION_ONLY,
    TERMINAL_TEXT,
    FitParams,
    WeightedRow,
    copying_row,
    fit,
    sampler,
    weighted_row,
)

FOREIGN_SEEDS = 30_000_000  # first seed of the tasks behind ``foreign_outputs``
OnStep = Callable[[str, int, float], None]


class PretrainParams(StrictModel):
    """How a base is made: novice episodes of ``templates`` in turn, each on a machine of its own.

    ``noise`` and ``reads_usage`` describe the novice (``agent.scripted.novice``).
    """

    templates: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = ("site_two", "fetch_value")
    episodes: int = Field(2400, ge=1)
    noise: float = Field(0.1, ge=0, le=1)
    reads_usage: float = Field(0.5, ge=0, le=1)
    copying_length: int = Field(96, ge=16)
    copying: FitParams = FitParams(steps=250, rows_per_step=24, lr=3e-3)
    language: FitParams = FitParams(steps=400, rows_per_step=16, lr=2e-3)
    format: FitParams = FitParams(steps=60, rows_per_step=16, lr=5e-4)


class DemonstrationParams(StrictModel):
    """SFT on an expert's episodes: their number, how often it errs first, and the training settings."""

    episodes: int = Field(200, ge=1)
    misses: float = Field(0.3, ge=0, le=1)
    output_weight: float = Field(0.5, gt=0)  # of outputs in ActObs; SFT masks them
    fit: FitParams = FitParams(steps=100, rows_per_step=16, lr=5e-4)


def novice_tasks(templates: Sequence[str], first_seed: int, count: int) -> Iterator[Task]:
    """Tasks on machines that no other task has; templates in turn."""
    for i in range(count):
        yield make_task(templates[i % len(templates)], first_seed + i, "random", "pretrain")


def novice_episodes(
    tasks: Iterable[Task],
    terminal: Terminal,
    tokenizer: PolicyTokenizer,
    harness: HarnessParams,
    params: PretrainParams,
) -> list[Transcript]:
    """One novice episode a task, replayed in ``terminal``."""
    result = []
    for task in tasks:
        rng = random.Random(f"novice {task.seed}")
        commands = scripted.novice(task, rng, params.noise, params.reads_usage)
        result.append(replay(task, commands, terminal, tokenizer, harness, task.seed))
    return result


def foreign_outputs(
    templates: Sequence[str], terminal: Terminal, tokenizer: PolicyTokenizer, harness: HarnessParams
) -> list[int]:
    """Terminal output, as token ids, of 500 novice episodes on machines that no task of any suite is on: the text
    of the control ``unrelated_text``. Its form is that of the true outputs, its facts are not."""
    tasks = novice_tasks(templates, FOREIGN_SEEDS, 500)
    episodes = novice_episodes(tasks, terminal, tokenizer, harness, PretrainParams())
    return [i for e in episodes for i, role in zip(e.ids, e.roles, strict=True) if role == Role.OUTPUT]


def expert_episodes(
    tasks: Iterable[Task],
    terminal: Terminal,
    tokenizer: PolicyTokenizer,
    harness: HarnessParams,
    misses: float,
) -> list[Transcript]:
    """One expert episode a task, sometimes trying what a stranger would try first (probability ``misses`` a
    step)."""
    result = []
    for task in tasks:
        commands = scripted.expert(task, random.Random(f"expert {task.seed}"), misses)
        result.append(replay(task, commands, terminal, tokenizer, harness, task.seed))
    return result


def terminal_text(tasks: Iterable[Task], terminal: Terminal, seed: int) -> Iterator[str]:
    """What novices read and type, as plain text: the corpus of the tokenizer. Each document lists the
    lexicon once."""
    rng = random.Random(seed)
    for task in tasks:
        terminal.reset(task.files, task.seed)
        lines = [" ".join(WORDS), task.instruction]
        for command in scripted.novice(task, rng):
            if command != scripted.DONE:
                seen = terminal.run(command)
                lines += [command, f"exit code: {seen.exit_code}", seen.stdout + seen.stderr]
        yield "\n".join(lines)


def pretrain(
    model_params: ModelParams,
    tokenizer: PolicyTokenizer,
    episodes: Sequence[Transcript],
    params: PretrainParams,
    *,
    seed: int,
    on_step: OnStep | None = None,
) -> Policy:
    """A base policy from a random start, by the three stages above."""
    model = new_model(model_params, tokenizer.vocab_size, seed).to(best_device())
    first_plain = len(tokenizer.control_ids)

    def copying(rng: np.random.Generator, count: int) -> list[WeightedRow]:
        return [
            copying_row(rng, tokenizer.vocab_size, first_plain, params.copying_length) for _ in range(count)
        ]

    clean = [t for t in episodes if all(turn.call in ("ok", "done") for turn in t.turns)]
    stages = [
        ("copying", params.copying, copying),
        ("language", params.language, sampler([weighted_row(t, TERMINAL_TEXT) for t in episodes])),
        ("format", params.format, sampler([weighted_row(t, ACTION_ONLY) for t in clean])),
    ]
    for index, (name, settings, draw) in enumerate(stages):
        fit(
            model,
            draw,
            settings,
            seed=seed * 10 + index,
            pad_id=tokenizer.pad_id,
            on_step=_named(name, on_step),
        )
    return Policy(model, tokenizer)


def demonstrate(
    model: Qwen3,
    tokenizer: PolicyTokenizer,
    episodes: Sequence[Transcript],
    params: DemonstrationParams,
    *,
    seed: int,
    output_weight: float = 0.0,
    on_step: OnStep | None = None,
) -> None:
    """Train ``model`` in place on demonstrations: actions, and outputs at ``output_weight`` (0: SFT, above:
    ActObs)."""
    weights = ACTION_ONLY if output_weight == 0 else {**ACTION_ONLY, Role.OUTPUT: output_weight}
    draw = sampler([weighted_row(t, weights) for t in episodes])
    fit(model, draw, params.fit, seed=seed, pad_id=tokenizer.pad_id, on_step=_named("sft", on_step))


def _named(name: str, on_step: OnStep | None) -> Callable[[int, float], None] | None:
    return None if on_step is None else lambda step, loss: on_step(name, step, loss)
