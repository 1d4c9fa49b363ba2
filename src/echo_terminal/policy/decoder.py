"""The key/value cache and the two forward passes over it: prefill of new ids, and one more id a row.

The cache is [2, rows, K, max_length + 1, D] a layer; its spare last place takes what padding writes. It is
never cleared: a query attends up to its own position, and what older sessions left behind is finite and weighs 0.

Decoding in fixed shapes (``fixed=True``) rounds rows and span up and works on buffers at fixed addresses.
On CUDA each pair of shapes is recorded once as a graph, so that a step costs one launch instead of some
hundred; on a CPU the recorded function is called, which is how a machine without a GPU tests that code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from echo_terminal.policy.model import Block, Qwen3

ROWS_GRAIN, SPAN_GRAIN = 32, 256


def action_logprobs(logits: Tensor, forbidden: Tensor, temperature: float | Tensor) -> Tensor:
    """Log-probs [N, V] of the sampling distribution: ``forbidden`` [F] ids removed, then divided by
    ``temperature``."""
    scaled = logits if logits.dtype == torch.float64 else logits.float()
    if isinstance(temperature, Tensor) or temperature != 1.0:
        scaled = scaled / temperature
    if len(forbidden):
        scaled = scaled.index_fill(-1, forbidden, float("-inf"))
    return scaled.log_softmax(-1)


class Decoder:
    """Cache and buffers of up to ``rows`` slots. Lists are in slot order; slot i is row i of the cache."""

    def __init__(self, model: Qwen3, forbidden: Tensor, rows: int, max_length: int, fixed: bool) -> None:
        self.model, self.forbidden = model, forbidden
        self.rows, self.max_length, self.fixed = rows, max_length, fixed
        p, weight = model.params, model.embed.weight
        shape = (2, rows, p.num_kv_heads, max_length + 1, p.head_dim)
        self.cache = [torch.zeros(shape, dtype=weight.dtype, device=weight.device) for _ in model.blocks]
        self.device = weight.device
        self.places = torch.arange(max(rows, max_length + 1), device=self.device)
        self.ids = torch.zeros(rows, dtype=torch.long, device=self.device)
        self.positions = torch.zeros(rows, dtype=torch.long, device=self.device)
        self.draws = torch.zeros(rows, dtype=torch.double, device=self.device)
        self.temperature = torch.ones((), dtype=torch.double, device=self.device)
        self.hidden = torch.zeros(rows, p.hidden_size, dtype=weight.dtype, device=self.device)
        self.recorded: dict[tuple[int, int], Callable[[], tuple[Tensor, Tensor]]] = {}
        self.pool = torch.cuda.graph_pool_handle() if self.device.type == "cuda" else None

    def prefill(self, slots: Sequence[int], starts: Sequence[int], ids: Sequence[Sequence[int]]) -> None:
        """Feed ``ids[i]`` from position ``starts[i]`` to slot ``slots[i]``; ``hidden`` gets each one's last
        state."""
        width, count = max(map(len, ids)), len(ids)
        batch = np.zeros((count, width), dtype=np.int64)
        for i, row in enumerate(ids):
            batch[i, : len(row)] = row
        at = torch.tensor(slots, device=self.device)
        ends = torch.tensor([len(row) - 1 for row in ids], device=self.device)
        first = torch.tensor(starts, device=self.device)
        positions = (first[:, None] + self.places[:width]).clamp(max=self.max_length)
        span = min(max(starts) + width, self.max_length + 1)
        fed = torch.from_numpy(batch).to(self.device)
        self.hidden[at] = self._forward(fed, positions, span, at, ends)[:, 0]

    def sample_prefilled(
        self, count: int, draws: np.ndarray, temperature: float
    ) -> tuple[list[int], list[float]]:
        """Draw an id for each of the leading ``count`` slots from what ``prefill`` left; ids and log-probs."""
        uniform = torch.from_numpy(draws).to(self.device)
        tokens, logprobs = self._draw(self.hidden[:count], uniform, temperature)
        return tokens.tolist(), logprobs.tolist()

    def step(
        self, ids: Sequence[int], positions: Sequence[int], draws: np.ndarray, temperature: float
    ) -> tuple[list[int], list[float]]:
        """Feed one id to each leading slot and draw the next: ids and log-probs."""
        count, span = len(ids), max(positions) + 1
        if not self.fixed:
            fed = torch.tensor([ids, positions], device=self.device)
            hidden = self._forward(fed[0][:, None], fed[1][:, None], span)[:, 0]
            tokens, logprobs = self._draw(hidden, torch.from_numpy(draws).to(self.device), temperature)
            return tokens.tolist(), logprobs.tolist()
        wide = min(-(-count // ROWS_GRAIN) * ROWS_GRAIN, self.rows)
        span = min(-(-span // SPAN_GRAIN) * SPAN_GRAIN, self.max_length + 1)
        spare = wide - count  # slots of others: what they write goes to the spare place
        fed = torch.tensor([[*ids, *[0] * spare], [*positions, *[self.max_length] * spare]])
        self.ids[:wide].copy_(fed[0])
        self.positions[:wide].copy_(fed[1])
        self.draws[:count].copy_(torch.from_numpy(draws))
        self.temperature.fill_(temperature)
        if (wide, span) not in self.recorded:
            self.recorded[wide, span] = record(lambda: self._fixed_step(wide, span), self.device, self.pool)
        tokens, logprobs = self.recorded[wide, span]()
        return tokens[:count].tolist(), logprobs[:count].tolist()

    def exchange(self, a: Sequence[int], b: Sequence[int], used: int) -> None:
        """Swap slots ``a[i]`` and ``b[i]``, of which ``used`` places are filled."""
        here, there = [*a, *b], [*b, *a]
        for cache in self.cache:
            cache[:, here, :, :used] = cache[:, there, :, :used]

    def _fixed_step(self, wide: int, span: int) -> tuple[Tensor, Tensor]:
        hidden = self._forward(self.ids[:wide, None], self.positions[:wide, None], span)[:, 0]
        return self._draw(hidden, self.draws[:wide], self.temperature)

    def _draw(self, hidden: Tensor, draws: Tensor, temperature: float | Tensor) -> tuple[Tensor, Tensor]:
        """One id a row by inverse transform, and its log-prob."""
        logp = action_logprobs(self.model.logits(hidden), self.forbidden, temperature)
        cumulative = logp.exp().cumsum(-1, dtype=torch.double)
        threshold = draws[:, None] * cumulative[:, -1:]
        tokens = torch.searchsorted(cumulative, threshold, right=True).clamp_(max=logp.shape[-1] - 1)
        return tokens[:, 0], logp.gather(1, tokens)[:, 0]

    def _forward(
        self,
        ids: Tensor,
        positions: Tensor,
        span: int,
        slots: Tensor | None = None,
        ends: Tensor | None = None,
    ) -> Tensor:
        """Hidden states [n, 1, C] after ``ids`` [n, T] at ``positions``: of column ``ends[i]``, whose queries
        alone the last layer computes. ``slots``: of the rows; None means the leading ones."""
        model, count = self.model, len(ids)
        rows = self.places[:count]
        at = (rows if slots is None else slots)[:, None]
        ahead = self.places[:span] > positions[:, :, None]
        bias = torch.zeros(ahead.shape, dtype=model.embed.weight.dtype, device=self.device)
        bias.masked_fill_(ahead, float("-inf"))  # [n, T, span]
        cos, sin = model.rope(positions.clamp(max=model.params.max_positions - 1), ids.shape[1])
        x = model.embed(ids)
        for block, cache in zip(model.blocks, self.cache, strict=True):
            q, k, v = block.project(x, cos, sin)
            cache[0].transpose(1, 2)[at, positions] = k
            cache[1].transpose(1, 2)[at, positions] = v
            if ends is not None and cache is self.cache[-1]:
                x, q, bias = x[rows, ends, None], q[rows, ends, None], bias[rows, ends, None]
            if slots is None:
                keys, values = cache[:, :count, :, :span]
            else:
                keys, values = cache[0, :, :, :span][slots], cache[1, :, :, :span][slots]
            x = x + block.out(attend(block, q, keys, values, bias))
            x = x + block.mlp(x)
        return model.norm(x)


def attend(block: Block, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Attention of queries [B, T, H, D] over cached keys and values [B, K, S, D]; ``bias`` [B, T, S] is 0
    or -inf. Returns [B, T, H·D].

    Written out for one query a row, at which the fused kernels are slow on a CPU.
    """
    batch, time, heads, dim = q.shape
    if time > 1:
        mixed = F.scaled_dot_product_attention(
            q.transpose(1, 2), k, v, attn_mask=bias[:, None], enable_gqa=heads != block.kv_heads
        )
        return mixed.transpose(1, 2).flatten(2)
    grouped = q.view(batch, block.kv_heads, heads // block.kv_heads, dim) * dim**-0.5
    weights = (torch.matmul(grouped, k.transpose(-1, -2)) + bias[:, None]).softmax(-1)
    return torch.matmul(weights, v).view(batch, 1, heads * dim)


def record(
    function: Callable[[], tuple[Tensor, Tensor]], device: torch.device, pool: tuple[int, int] | None
) -> Callable[[], tuple[Tensor, Tensor]]:
    """On CUDA a graph of ``function``, which must work on fixed addresses and shapes; elsewhere the function.

    Graphs of one ``pool`` share their memory: what one returns must be read before another is replayed.
    """
    if device.type != "cuda":
        return function
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # lazily made workspaces must exist before recording
        function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = function()

    def replay() -> tuple[Tensor, Tensor]:
        graph.replay()
        return result

    return replay
