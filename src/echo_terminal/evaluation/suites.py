"""Attempts on suites of tasks: what a policy does, several tries a task, on fixed random streams.

Attempt k of a task samples with a stream that depends on (seed, task, k) alone, so two policies meet the same
tasks with the same streams, and a task's attempts do not depend on what else is evaluated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import Field

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.transcript import Finish, Transcript
from echo_terminal.config import StrictModel
from echo_terminal.evaluation.reranking import rollout_reranked
from echo_terminal.policy.engine import Engine
from echo_terminal.policy.rollout import rollout
from echo_terminal.policy.weights import Policy
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal


class EvaluateParams(StrictModel):
    """The published evaluation: temperature 0.6, 8 tries (5 on TB2). ``curve_tries`` are those of a policy
    in mid-training."""

    temperature: float = Field(0.6, gt=0)
    tries: int = Field(5, ge=1)
    curve_tries: int = Field(1, ge=1)
    batch: int = Field(96, ge=1)


@dataclass(frozen=True)
class Attempt:
    """One try at one task; ``reward`` is None where the engine failed and there is no verdict."""

    task: Task
    number: int
    transcript: Transcript
    reward: float | None


def attempt_seed(seed: int, task: Task, number: int) -> int:
    """The sampling stream of one attempt (64 bits)."""
    name = f"{seed}/{task.task_id}/{number}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big")


def attempts(
    policy: Policy,
    tasks: Sequence[Task],
    harness: HarnessParams,
    params: EvaluateParams,
    terminals: Sequence[Terminal],
    *,
    tries: int,
    seed: int,
    samples: int = 1,
    on_batch: Callable[[list[Attempt]], None] | None = None,
) -> list[Attempt]:
    """``tries`` attempts at every task, in task order; ``terminals`` bounds how many run at once.

    ``samples`` > 1: each action is chosen among so many by the policy's own forecast (``reranking``); the first of them
    is the one that would have been taken without.
    """
    tokenizer = policy.tokenizer
    engine = Engine(policy.model, tokenizer.stop_ids, tokenizer.forbidden_ids, harness.max_context)
    todo = [(task, k) for task in tasks for k in range(tries)]
    size = min(params.batch, len(terminals))
    result: list[Attempt] = []
    for first in range(0, len(todo), size):
        batch = todo[first : first + size]
        episodes = [
            Episode(task, terminal, tokenizer, harness, task.seed)
            for (task, _), terminal in zip(batch, terminals, strict=False)
        ]
        streams = [attempt_seed(seed, task, k) for task, k in batch]
        if samples == 1:
            rollout(engine, episodes, streams, params.temperature)
        else:
            rollout_reranked(engine, policy, episodes, streams, params.temperature, samples)
        finished = [
            Attempt(
                task, k, e.transcript, None if e.transcript.finish is Finish.LOST else float(e.grade().reward)
            )
            for (task, k), e in zip(batch, episodes, strict=True)
        ]
        if on_batch:
            on_batch(finished)
        result += finished
    return result


def pass_rate_of(tries: Sequence[Attempt]) -> float:
    """Share of attempts with reward 1; an attempt without a verdict counts as failed."""
    return sum(a.reward == 1.0 for a in tries) / len(tries)
