"""Batched sampling with one ragged key/value cache: token ids in, ids and log-probs out.

Every row keeps its own length; nothing is padded on the left, and a turn feeds only the ids that the cache
has not seen. The cache has one slot a row. Rows that finish are swapped behind those still active, so that
the active ones are always the leading slice of the cache: compaction without copying it.

Sampling is by inverse transform: the token at position t of a rollout uses the t-th number of that
rollout's own stream, so what else is in the batch never changes a sample. Log-probs are those of the
distribution that was sampled: temperature applied, forbidden ids removed; the trainer uses the same
(``action_logprobs``), so that the ratio of equation 2 starts at 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from echo_terminal.policy.model import Block, Qwen3


@dataclass
class Sample:
    """What one row said: ids (the stop id included), their log-probs, and whether a stop id ended it."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stopped: bool = False


def uniforms(seed: int, count: int) -> np.ndarray:
    """The stream of one rollout: ``count`` numbers in [0, 1), the same for the same seed on every machine."""
    return np.random.Generator(np.random.Philox(key=seed)).random(count)


def action_logprobs(logits: Tensor, forbidden: Tensor, temperature: float) -> Tensor:
    """Log-probs [N, V] of the sampling distribution: ``forbidden`` [F] ids removed, then divided by
    ``temperature``."""
    scaled = logits.float() / temperature
    if len(forbidden):
        scaled = scaled.index_fill(-1, forbidden, float("-inf"))
    return scaled.log_softmax(-1)


class Engine:
    """Samples from ``model``. ``max_length`` bounds the tokens of one rollout (prompt included)."""

    def __init__(
        self, model: Qwen3, stop_ids: Sequence[int], forbidden_ids: Sequence[int], max_length: int
    ) -> None:
        if max_length > model.params.max_positions:
            raise ValueError(
                f"max_length {max_length} exceeds the model's max_positions {model.params.max_positions}"
            )
        self.model, self.stop_ids, self.max_length = model, frozenset(stop_ids), max_length
        self.forbidden = torch.tensor(list(forbidden_ids), dtype=torch.long, device=model.embed.weight.device)

    def start(self, seeds: Sequence[int]) -> Session:
        """A session of ``len(seeds)`` empty rows."""
        return Session(self, seeds)


class Session:
    """The cache and random streams of one batch of rollouts. ``lengths[r]`` tells how many ids of row r it
    has seen."""

    def __init__(self, engine: Engine, seeds: Sequence[int]) -> None:
        self.engine = engine
        model, count = engine.model, len(seeds)
        p = model.params
        weight = model.embed.weight
        self.cache = [
            weight.new_zeros(2, count, p.num_kv_heads, engine.max_length + 1, p.head_dim)
            for _ in model.blocks
        ]
        self.streams = (
            np.stack([uniforms(s, engine.max_length + 1) for s in seeds]) if count else np.zeros((0, 0))
        )
        self.lengths = [0] * count
        self.slot = list(range(count))  # row -> slot
        self.row = list(range(count))  # slot -> row

    @torch.inference_mode()
    def generate(
        self,
        rows: Sequence[int],
        new_ids: Sequence[Sequence[int]],
        temperature: float,
        max_new: Sequence[int],
    ) -> list[Sample]:
        """Feed ``new_ids[i]`` to row ``rows[i]``, then sample until a stop id or ``max_new[i]`` ids.

        The last sampled id of a row is not in the cache yet: it comes first in the next ``new_ids``
        (``lengths`` tells).

        Raises:
            ValueError: a row gets no new id, or would outgrow ``max_length``.
        """
        for row, ids, limit in zip(rows, new_ids, max_new, strict=True):
            if not ids:
                raise ValueError(f"row {row}: nothing new to feed")
            if self.lengths[row] + len(ids) + limit > self.engine.max_length or limit < 1:
                raise ValueError(
                    f"row {row}: {self.lengths[row]} + {len(ids)} + {limit} tokens do not fit {self.engine.max_length}"
                )
        samples = {row: Sample() for row in rows}
        limits = dict(zip(rows, max_new, strict=True))
        for slot, row in enumerate(rows):
            self._swap(self.slot[row], slot)
        last = self._prefill(len(rows), {row: list(ids) for row, ids in zip(rows, new_ids, strict=True)})
        active = len(rows)
        while True:
            tokens, scores = self._sample(last, temperature, active, samples)
            keep = []
            for slot in range(active):
                sample = samples[self.row[slot]]
                sample.ids.append(tokens[slot])
                sample.logprobs.append(scores[slot])
                sample.stopped = tokens[slot] in self.engine.stop_ids
                keep.append(not sample.stopped and len(sample.ids) < limits[self.row[slot]])
            survivors = sum(keep)
            if not survivors:
                return [samples[row] for row in rows]
            if survivors < active:
                holes = [s for s in range(survivors) if not keep[s]]
                movers = [s for s in range(survivors, active) if keep[s]]
                for hole, mover in zip(holes, movers, strict=True):
                    self._swap(hole, mover)
                active = survivors
            ids = torch.tensor([[samples[self.row[s]].ids[-1]] for s in range(active)], device=last.device)
            last = self._step(ids, active)[:, 0]
            for slot in range(active):
                self.lengths[self.row[slot]] += 1

    def _prefill(self, count: int, new_ids: dict[int, list[int]]) -> Tensor:
        """Feed each active row its new ids (right-padded); hidden state [count, C] of each row's last one."""
        ids = [new_ids[self.row[s]] for s in range(count)]
        width = max(map(len, ids))
        room = self.engine.max_length + 1
        width = min(width, room)
        device = self.engine.model.embed.weight.device
        batch = torch.tensor([x + [0] * (width - len(x)) for x in ids], device=device)
        hidden = self._step(batch, count)
        ends = torch.tensor([len(x) - 1 for x in ids], device=device)
        for slot in range(count):
            self.lengths[self.row[slot]] += len(ids[slot])
        return hidden[torch.arange(count, device=device), ends]

    def _sample(
        self, hidden: Tensor, temperature: float, active: int, samples: dict[int, Sample]
    ) -> tuple[list[int], list[float]]:
        """Draw one id a row by inverse transform; ids and log-probs of the active rows in slot order."""
        logp = action_logprobs(self.engine.model.logits(hidden), self.engine.forbidden, temperature)
        rows = self.row[:active]
        at = [self.lengths[r] for r in rows]
        draws = torch.from_numpy(self.streams[rows, at]).to(logp.device)
        cumulative = logp.exp().double().cumsum(-1)
        threshold = draws[:, None] * cumulative[:, -1:]
        tokens = torch.searchsorted(cumulative, threshold, right=True).clamp(max=logp.shape[-1] - 1)
        return tokens[:, 0].tolist(), logp.gather(1, tokens)[:, 0].tolist()

    def _step(self, ids: Tensor, count: int) -> Tensor:
        """Hidden states [count, T, C] of ``ids`` [count, T] fed at each row's length; the cache is written,
        lengths are not."""
        model, device = self.engine.model, ids.device
        start = torch.tensor([self.lengths[r] for r in self.row[:count]], device=device)
        positions = start[:, None] + torch.arange(ids.shape[1], device=device)
        positions = positions.clamp(
            max=self.engine.max_length
        )  # padding behind a full row goes to the spare last place
        span = int(positions.max()) + 1
        ahead = torch.arange(span, device=device) > positions[:, :, None]  # [count, T, span]
        bias = torch.zeros(ahead.shape, dtype=model.embed.weight.dtype, device=device).masked_fill_(
            ahead, float("-inf")
        )
        rope = positions.clamp(max=model.params.max_positions - 1)
        cos, sin = model.rope(rope, ids.shape[1])
        rows = torch.arange(count, device=device)[:, None]
        x = model.embed(ids)
        for block, cache in zip(model.blocks, self.cache, strict=True):
            q, k, v = block.project(x, cos, sin)
            cache[0, :count].transpose(1, 2)[rows, positions] = k
            cache[1, :count].transpose(1, 2)[rows, positions] = v
            x = x + block.out(attend(block, q, cache[0, :count, :, :span], cache[1, :count, :, :span], bias))
            x = x + block.mlp(x)
        return model.norm(x)

    def _swap(self, a: int, b: int) -> None:
        """Exchange two slots, their rows and their part of the cache."""
        if a == b:
            return
        used = max(self.lengths[self.row[a]], self.lengths[self.row[b]])
        for cache in self.cache:
            pair = cache[:, [a, b], :, :used]
            cache[:, [b, a], :, :used] = pair
        self.row[a], self.row[b] = self.row[b], self.row[a]
        self.slot[self.row[a]], self.slot[self.row[b]] = a, b


def attend(block: Block, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Attention of queries [B, T, H, D] over cached keys and values [B, K, S, D]; ``bias`` [B, T, S] is 0
    or -inf. Returns [B, T, H·D].

    Written out, since the fused kernels are slow at one query a row on a CPU.
    """
    batch, time, heads, dim = q.shape
    group = heads // block.kv_heads
    q = (
        q.view(batch, time, block.kv_heads, group, dim)
        .permute(0, 2, 3, 1, 4)
        .reshape(batch, block.kv_heads, -1, dim)
    )
    scores = torch.matmul(q * dim**-0.5, k.transpose(-1, -2)).view(batch, heads, time, -1)
    weights = (scores + bias[:, None]).softmax(-1).view(batch, block.kv_heads, group * time, -1)
    mixed = torch.matmul(weights, v).view(batch, heads, time, dim)
    return mixed.transpose(1, 2).reshape(batch, time, -1)
