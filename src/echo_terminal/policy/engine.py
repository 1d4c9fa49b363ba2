"""Batched sampling with one ragged key/value cache: token ids in, ids and log-probs out.

Every row keeps its own length; nothing is padded on the left, and a turn feeds only the ids that the cache
has not seen. The cache has one slot a row (``decoder.py`` holds it). Rows that finish are exchanged for those
still active, so that the active ones are always a leading slice of the cache: compaction without copying it.

Sampling is by inverse transform: the token at position t of a rollout uses the t-th number of that
rollout's own stream, so what else is in the batch never changes a sample. Log-probs are those of the
distribution that was sampled: temperature applied, forbidden ids removed; the trainer uses the same
(``action_logprobs``), so that the ratio of equation 2 starts at 1.

Starts at 1 up to rounding: the cache feeds one id at a time where the trainer feeds whole rows, so that sums are
formed in another order. In float64 the two log-probs of a token agree to 1e-12, so that they are one function; in
float32 each is as far from the float64 value as they are from each other. Both grow with the scale of the logits
and with how sharply the heads attend, not with the rarity of the token: of a trained policy with logits up to 18,
99 tokens in 100 differ by less than 4e-6, the worst in some 10^5 by 1.4e-4.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from echo_terminal.policy.decoder import Decoder, action_logprobs
from echo_terminal.policy.groups import micro_batches
from echo_terminal.policy.model import Qwen3, fingerprint

PREFILL_TOKENS = {
    "cpu": 1024,
    "cuda": 16384,
}  # of one forward pass: what a core's cache holds, what fills a GPU
LIVE_SHARE = 0.75  # below it, finished rows leave the decoded slice


@dataclass
class Sample:
    """What one row said: ids (the stop id included), their log-probs, and whether a stop id ended it."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stopped: bool = False


def uniforms(seed: int, count: int) -> np.ndarray:
    """The stream of one rollout: ``count`` numbers in [0, 1), the same for the same seed on every machine."""
    return np.random.Generator(np.random.Philox(key=seed)).random(count)


class Engine:
    """Samples from ``model``. ``max_length`` bounds the tokens of one rollout (prompt included).

    ``dtype``: of the weights and the cache while sampling; another than the model's is a copy that ``start``
    brings up to date. ``graphs``: decode with fixed shapes, recorded once as CUDA graphs (the default on CUDA;
    on a CPU the same fixed-shape code runs without recording).
    """

    def __init__(
        self,
        model: Qwen3,
        stop_ids: Sequence[int],
        forbidden_ids: Sequence[int],
        max_length: int,
        *,
        dtype: torch.dtype | None = None,
        graphs: bool | None = None,
    ) -> None:
        if max_length > model.params.max_positions:
            raise ValueError(
                f"max_length {max_length} exceeds the model's max_positions {model.params.max_positions}"
            )
        weight = model.embed.weight
        self.source = model
        self.model = model if dtype in (None, weight.dtype) else copy.deepcopy(model).to(dtype)
        self.stop_ids, self.max_length = frozenset(stop_ids), max_length
        self.forbidden = torch.tensor(list(forbidden_ids), dtype=torch.long, device=weight.device)
        self.fixed = weight.is_cuda if graphs is None else graphs
        self.live: Session | None = None
        self.weights: int | None = None  # fingerprint of the weights that the latest session samples from
        self._decoder: Decoder | None = None

    def start(self, seeds: Sequence[int]) -> Session:
        """A session of ``len(seeds)`` empty rows; it ends an earlier one, whose cache it takes over."""
        if self.model is not self.source:
            with torch.no_grad():
                for mine, theirs in zip(self.model.parameters(), self.source.parameters(), strict=True):
                    mine.copy_(theirs)
        self.weights = fingerprint(self.source)
        self.live = Session(self, seeds)
        return self.live

    def decoder(self, rows: int) -> Decoder:
        """The cache, kept between sessions: fresh memory costs more than what is computed in it."""
        if self._decoder is None or self._decoder.rows < rows:
            self._decoder = None  # its memory first
            self._decoder = Decoder(self.model, self.forbidden, rows, self.max_length, self.fixed)
        return self._decoder


class Session:
    """The slots and random streams of one batch of rollouts. ``lengths[r]`` tells how many ids of row r the
    cache has seen."""

    def __init__(self, engine: Engine, seeds: Sequence[int]) -> None:
        count = len(seeds)
        self.engine, self.decoder = engine, engine.decoder(count)
        self.streams = (
            np.stack([uniforms(s, engine.max_length + 1) for s in seeds]) if count else np.zeros((0, 0))
        )
        self.lengths = [0] * count
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
            RuntimeError: the engine has started another session since.
        """
        if self.engine.live is not self:
            raise RuntimeError("the engine has started another session: it holds the cache of one")
        for row, ids, limit in zip(rows, new_ids, max_new, strict=True):
            if not ids:
                raise ValueError(f"row {row}: nothing new to feed")
            if self.lengths[row] + len(ids) + limit > self.engine.max_length or limit < 1:
                raise ValueError(
                    f"row {row}: {self.lengths[row]} + {len(ids)} + {limit} tokens do not fit {self.engine.max_length}"
                )
        samples = {row: Sample() for row in rows}
        limits = dict(zip(rows, max_new, strict=True))
        live = set(rows)
        self._lead(live, len(rows))
        self._prefill(dict(zip(rows, new_ids, strict=True)))
        active, decoder = len(rows), self.decoder
        tokens, scores = decoder.sample_prefilled(active, self._draws(active), temperature)
        while True:
            for row, token, score in zip(self.row[:active], tokens, scores, strict=True):
                if row in live:
                    sample = samples[row]
                    sample.ids.append(token)
                    sample.logprobs.append(score)
                    sample.stopped = token in self.engine.stop_ids
                    if sample.stopped or len(sample.ids) == limits[row]:
                        live.remove(row)
            if not live:
                return [samples[row] for row in rows]
            if len(live) <= LIVE_SHARE * active:
                active = len(live)
                self._lead(live, active)
            slots = self.row[:active]
            positions = [self.lengths[r] for r in slots]
            for row in live:
                self.lengths[row] += 1
            last = [samples[r].ids[-1] for r in slots]
            tokens, scores = decoder.step(last, positions, self._draws(active), temperature)

    def _prefill(self, new_ids: dict[int, Sequence[int]]) -> None:
        """Feed every leading slot the new ids of its row, right-padded within groups of like length."""
        ids = [new_ids[row] for row in self.row[: len(new_ids)]]
        budget = PREFILL_TOKENS[self.engine.model.embed.weight.device.type]
        for slots in micro_batches([len(x) for x in ids], budget):
            starts = [self.lengths[self.row[s]] for s in slots]
            self.decoder.prefill(slots, starts, [ids[s] for s in slots])
        for row, fed in new_ids.items():
            self.lengths[row] += len(fed)

    def _draws(self, active: int) -> np.ndarray:
        """The number [active] with which each leading slot draws its next id."""
        rows = self.row[:active]
        return self.streams[rows, [self.lengths[r] for r in rows]]

    def _lead(self, live: set[int], count: int) -> None:
        """Exchange slots until the ``count`` live rows hold the leading ones."""
        holes = [s for s in range(count) if self.row[s] not in live]
        movers = [s for s in range(count, len(self.row)) if self.row[s] in live]
        if not holes:
            return
        used = max(self.lengths[self.row[s]] for s in holes + movers)
        self.decoder.exchange(holes, movers, used)
        for a, b in zip(holes, movers, strict=True):
            self.row[a], self.row[b] = self.row[b], self.row[a]


__all__ = ["Engine", "Sample", "Session", "action_logprobs", "uniforms"]
