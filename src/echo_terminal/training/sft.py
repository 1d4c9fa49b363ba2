"""Supervised training: the weighted next-token loss behind the base policy, SFT and ActObs.

    L = - 1/sum_t w_t  sum_t w_t log p(x_t | x_<t)          (sums over the whole batch)

With w = 1 on all but the instruction it is language modelling of terminal text; with w = 1 on ACTION and 0
elsewhere it is SFT; adding OUTPUT tokens at some weight gives ActObs (arXiv 2609.20715).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.config import StrictModel
from echo_terminal.policy.groups import micro_batches
from echo_terminal.policy.model import Qwen3
from echo_terminal.policy.scoring import target_logprobs
from echo_terminal.training.schedules import warm_up

TERMINAL_TEXT: Mapping[Role, float] = {**dict.fromkeys(Role, 1.0), Role.PROMPT: 0.0}
ACTION_ONLY: Mapping[Role, float] = {Role.ACTION: 1.0}


class FitParams(StrictModel):
    """AdamW with linear warm-up, then a cosine to ``final_lr_share`` of ``lr`` at the last step."""

    steps: int = Field(300, ge=1)
    rows_per_step: int = Field(16, ge=1)
    lr: float = Field(1e-3, gt=0)
    warmup_steps: int = Field(30, ge=0)
    final_lr_share: float = Field(0.1, ge=0, le=1)
    weight_decay: float = Field(0.01, ge=0)
    gradient_clip: float = Field(1.0, gt=0)
    token_budget: int = Field(8192, ge=64)


@dataclass(frozen=True)
class WeightedRow:
    """Token ids [T] and the weight [T] of each as a target; the first token is never a target."""

    ids: NDArray[np.int64]
    weights: NDArray[np.float32]


def weighted_row(transcript: Transcript, weights: Mapping[Role, float]) -> WeightedRow:
    """One transcript with a weight a role (0 where the role is not named)."""
    table = np.zeros(len(Role), dtype=np.float32)
    for role, weight in weights.items():
        table[role] = weight
    return WeightedRow(
        np.array(transcript.ids, dtype=np.int64), table[np.array(transcript.roles, dtype=np.int64)]
    )


def copying_row(rng: np.random.Generator, vocab_size: int, first_id: int, length: int) -> WeightedRow:
    """Random ids, then pieces of them again and again: text whose only regularity is that it repeats itself.

    It teaches to copy from context, which a pre-trained model can do and a random start cannot.
    """
    ids = rng.integers(first_id, vocab_size, size=rng.integers(8, 24)).tolist()
    source = list(ids)
    while len(ids) < length:
        start = int(rng.integers(0, len(source) - 2))
        ids += source[start : start + int(rng.integers(2, 7))]
        if rng.random() < 0.5:
            ids.append(int(rng.integers(first_id, vocab_size)))
    array = np.array(ids[:length], dtype=np.int64)
    return WeightedRow(array, np.ones(length, dtype=np.float32))


def optimizer_of(model: torch.nn.Module, lr: float, weight_decay: float) -> torch.optim.AdamW:
    """AdamW with the paper's betas (0.9, 0.95)."""
    return torch.optim.AdamW(
        model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=weight_decay, foreach=True
    )


def fit(
    model: Qwen3,
    draw: Callable[[np.random.Generator, int], Sequence[WeightedRow]],
    params: FitParams,
    *,
    seed: int,
    pad_id: int,
    on_step: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train ``model`` in place; ``draw(rng, n)`` gives the rows of a step. Returns the loss by step, in
    nats a weighted token.

    Raises:
        ValueError: a step has no token with a weight.
    """
    rng = np.random.default_rng(seed)
    optimizer = optimizer_of(model, params.lr, params.weight_decay)
    losses = []
    for step in range(params.steps):
        progress = step / params.steps
        decay = params.final_lr_share + (1 - params.final_lr_share) * 0.5 * (1 + np.cos(np.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = params.lr * warm_up(step, params.warmup_steps) * decay
        rows = draw(rng, params.rows_per_step)
        total = float(sum(r.weights[1:].sum() for r in rows))
        if total <= 0:
            raise ValueError(
                f"step {step}: no token of the batch has a weight; nothing can be learnt from it"
            )
        loss = 0.0
        for group in micro_batches([len(r.ids) for r in rows], params.token_budget):
            loss += _accumulate(model, [rows[i] for i in group], total, pad_id)
        torch.nn.utils.clip_grad_norm_(model.parameters(), params.gradient_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss)
        if on_step:
            on_step(step, loss)
    return losses


def _accumulate(model: Qwen3, rows: Sequence[WeightedRow], total: float, pad_id: int) -> float:
    width = max(len(r.ids) for r in rows)
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)
    weights = np.zeros((len(rows), width), dtype=np.float32)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)], weights[i, : len(row.ids)] = row.ids, row.weights
    device = model.embed.weight.device
    batch, target_weights = torch.from_numpy(ids).to(device), torch.from_numpy(weights)[:, 1:].to(device)
    chosen = target_weights > 0
    logprobs = target_logprobs(model, model.hidden(batch)[:, :-1][chosen], batch[:, 1:][chosen])
    loss = -(logprobs * target_weights[chosen]).sum() / total
    loss.backward()
    return loss.item()


def sampler(rows: Sequence[WeightedRow]) -> Callable[[np.random.Generator, int], list[WeightedRow]]:
    """A ``draw`` for ``fit``: rows without replacement within an epoch, a fresh order each epoch."""
    queue: list[int] = []

    def draw(rng: np.random.Generator, count: int) -> list[WeightedRow]:
        while len(queue) < count:
            queue.extend(rng.permutation(len(rows)).tolist())
        taken, queue[:] = queue[:count], queue[count:]
        return [rows[i] for i in taken]

    return draw
