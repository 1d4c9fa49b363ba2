"""A decoder with Qwen3's architecture and parameter names, small enough for two CPU cores.

Weights are interchangeable with transformers' ``Qwen3ForCausalLM`` (``weights.py`` reads and writes its
folders). Inside, the query/key/value and gate/up projections are fused, since at these sizes the number of
kernel calls is the cost.

Random start: some heads are wired to copy (``init_copying_heads``), which stands in for what a large
pre-trained model brings: left to itself a model of this size spends most of its training on learning to
repeat a name. They are ordinary values of ordinary Qwen3 weights and are trained like all others.
"""

from __future__ import annotations

import hashlib
import math
from typing import Self

import torch
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from echo_terminal.config import StrictModel


class ModelParams(StrictModel):
    """Sizes of a model; names follow Qwen3's configuration."""

    hidden_size: int = 96
    num_layers: int = 3
    num_heads: int = 3
    num_kv_heads: int = 3
    head_dim: int = 32
    intermediate_size: int = 256
    max_positions: int = 512
    rope_theta: float = 1_000_000.0
    rms_norm_eps: float = 1e-6
    tie_embeddings: bool = True
    copying_heads: bool = True

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_heads {self.num_heads} must be a multiple of num_kv_heads {self.num_kv_heads}"
            )
        if self.head_dim % 2 or self.head_dim < 2:
            raise ValueError(f"head_dim {self.head_dim} must be even: rotary embedding works on pairs")
        if self.copying_heads and (
            self.num_layers < 2 or self.head_dim < 16 or self.hidden_size <= self.head_dim
        ):
            raise ValueError(
                "copying_heads needs num_layers >= 2 and 16 <= head_dim < hidden_size: set it to false"
            )
        return self


class RMSNorm(nn.Module):
    """Root-mean-square norm over the last axis, with a gain."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding in the half-split form: ``x`` [..., D], ``cos`` and ``sin`` [..., D/2]."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Block(nn.Module):
    """One decoder layer."""

    def __init__(self, p: ModelParams, qk_norm: bool) -> None:
        super().__init__()
        self.qk_norm = qk_norm
        self.heads, self.kv_heads, self.head_dim = p.num_heads, p.num_kv_heads, p.head_dim
        self.input_norm = RMSNorm(p.hidden_size, p.rms_norm_eps)
        self.post_norm = RMSNorm(p.hidden_size, p.rms_norm_eps)
        if qk_norm:
            self.q_norm = RMSNorm(p.head_dim, p.rms_norm_eps)
            self.k_norm = RMSNorm(p.head_dim, p.rms_norm_eps)
        self.qkv = nn.Linear(p.hidden_size, (p.num_heads + 2 * p.num_kv_heads) * p.head_dim, bias=False)
        self.out = nn.Linear(p.num_heads * p.head_dim, p.hidden_size, bias=False)
        self.gate_up = nn.Linear(p.hidden_size, 2 * p.intermediate_size, bias=False)
        self.down = nn.Linear(p.intermediate_size, p.hidden_size, bias=False)

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [B, T, H, D], keys and values [B, T, K, D] of residual ``x`` [B, T, C]; ``cos``/``sin``
        [B or 1, T, 1, D/2]."""
        batch, time, _ = x.shape
        qkv = self.qkv(self.input_norm(x)).view(batch, time, self.heads + 2 * self.kv_heads, self.head_dim)
        qk, v = qkv.split([self.heads + self.kv_heads, self.kv_heads], 2)
        if self.qk_norm:  # both at once: half the calls
            gain = torch.cat(
                [self.q_norm.weight.expand(self.heads, -1), self.k_norm.weight.expand(self.kv_heads, -1)]
            )
            qk = F.rms_norm(qk, (self.head_dim,), None, self.q_norm.eps) * gain
        q, k = rotate(qk, cos, sin).split([self.heads, self.kv_heads], 2)
        return q, k, v

    def mlp(self, x: Tensor) -> Tensor:
        """Gated feed-forward part on residual ``x`` [..., C]."""
        gate, up = self.gate_up(self.post_norm(x)).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class Qwen3(nn.Module):
    """Token ids to hidden states to logits. ``params``, ``vocab_size`` and ``qk_norm`` rebuild it; without
    ``qk_norm`` it is a Llama (SmolLM2)."""

    cos: Tensor
    sin: Tensor

    def __init__(self, params: ModelParams, vocab_size: int, qk_norm: bool = True) -> None:
        super().__init__()
        self.params, self.vocab_size, self.qk_norm = params, vocab_size, qk_norm
        self.embed = nn.Embedding(vocab_size, params.hidden_size)
        self.blocks = nn.ModuleList(Block(params, qk_norm) for _ in range(params.num_layers))
        self.norm = RMSNorm(params.hidden_size, params.rms_norm_eps)
        self.head = None if params.tie_embeddings else nn.Linear(params.hidden_size, vocab_size, bias=False)
        half = params.head_dim // 2
        inverse = params.rope_theta ** -(torch.arange(half, dtype=torch.float64) / half)
        angle = torch.outer(torch.arange(params.max_positions, dtype=torch.float64), inverse)
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def hidden(self, ids: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Final hidden states [B, T, C] of ``ids`` [B, T], padded on the right.

        ``positions`` [B, T] and ``mask`` [B, T, T] (True = may attend) are for packed rows; by default
        positions count from 0 and attention is causal, so that right padding needs no mask.
        """
        time = ids.shape[1]
        if time > self.params.max_positions:
            raise ValueError(
                f"{time} tokens do not fit max_positions={self.params.max_positions}: raise it or shorten"
            )
        cos, sin = self.rope(positions, time)
        x = self.embed(ids)
        repeat = self.params.num_heads // self.params.num_kv_heads
        for block in self.blocks:
            q, k, v = (t.transpose(1, 2) for t in block.project(x, cos, sin))
            if repeat > 1:
                k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
            if mask is None:
                mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
            x = x + block.out(mixed.transpose(1, 2).flatten(2))
            x = x + block.mlp(x)
        return self.norm(x)

    def rope(self, positions: Tensor | None, time: int) -> tuple[Tensor, Tensor]:
        """Rotary tables shaped [B or 1, T, 1, D/2] for ``positions`` [B, T] (None: 0 … time-1)."""
        if positions is None:
            return self.cos[None, :time, None], self.sin[None, :time, None]
        return self.cos[positions][:, :, None], self.sin[positions][:, :, None]

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits [..., V] of hidden states [..., C]; gather the positions you need first."""
        return F.linear(hidden, self.embed.weight) if self.head is None else self.head(hidden)


def new_model(params: ModelParams, vocab_size: int, seed: int) -> Qwen3:
    """A random start, the same for the same arguments."""
    generator = torch.Generator().manual_seed(seed)
    model = Qwen3(params, vocab_size)
    width = params.hidden_size
    with torch.no_grad():
        model.embed.weight.normal_(0, width**-0.5, generator=generator)
        if model.head is not None:
            model.head.weight.normal_(0, width**-0.5, generator=generator)
        for block in model.blocks:
            for linear in (block.qkv, block.gate_up, block.out, block.down):
                linear.weight.normal_(0, linear.in_features**-0.5, generator=generator)
            for linear in (block.out, block.down):  # residual branches start small (GPT-2's rule)
                linear.weight.mul_((2 * params.num_layers) ** -0.5)
        if params.copying_heads:
            init_copying_heads(model, generator)
    return model


LOOK_BACK = (1, 2, 4)  # tokens


def init_copying_heads(model: Qwen3, generator: torch.Generator) -> None:
    """Wire heads so that the random start can copy: "the token after the last place where this token stood".

    Head i of layer 0 attends ``LOOK_BACK[i]`` tokens back (as many heads as there are): channel 0 of every
    embedding is the constant 1, so its query and key are constant vectors; with the query at angle 0 and the
    key at angle d theta_j in rotary pair j, their score at distance x is the sum of cos((x - d) theta_j), the
    largest at x = d. It writes a projection of the token there into the residual. Head 0 of layer 1 matches
    the projection of the token before against the current token (in slow rotary pairs, where content is not
    washed out by distance) and writes the matched position's own token. The longer looks back are not matched
    by wiring; with them every start learns to go on in a list of names, without them one in two does.
    """
    p, (first, second) = model.params, model.blocks[:2]
    dim, width, half, gain = p.head_dim, p.hidden_size, p.head_dim // 2, 2.5
    group = p.num_heads // p.num_kv_heads
    key_row, value_row = p.num_heads * dim, (p.num_heads + p.num_kv_heads) * dim

    def projection() -> Tensor:
        rows = torch.empty(width, dim).normal_(0, 1, generator=generator)
        rows[0] = 0  # the constant channel carries no content
        return torch.linalg.qr(rows).Q.T  # [dim, width], orthonormal rows

    def look_back(head: int, distance: int, read: Tensor, write: Tensor) -> None:
        at = head * group * dim
        query = first.qkv.weight[at : at + dim]
        key = first.qkv.weight[key_row + head * dim : key_row + (head + 1) * dim]
        query.zero_()
        key.zero_()
        for i in range(3):
            angle = distance * p.rope_theta ** -(i / half)
            query[i, 0], key[i, 0], key[i + half, 0] = 1.0, math.cos(angle), math.sin(angle)
        first.qkv.weight[value_row + head * dim : value_row + (head + 1) * dim] = read
        first.out.weight[:, at : at + dim] = 0.5 * write.T

    read, write, copy = projection(), projection(), projection()
    with torch.no_grad():
        model.embed.weight[:, 0] = 1.0
        for norm in (first.q_norm, first.k_norm):
            norm.weight[[0, 1, 2, half, half + 1, half + 2]] = gain
        look_back(0, LOOK_BACK[0], read, write)
        for head, distance in enumerate(LOOK_BACK[1 : p.num_kv_heads], 1):
            look_back(head, distance, projection(), projection())
        slow = [i for i in range(half) if p.rope_theta ** -(i / half) < 0.02]
        slow += [i + half for i in slow]
        query, key = second.qkv.weight[:dim], second.qkv.weight[key_row : key_row + dim]
        query.zero_()
        key.zero_()
        query[slow], key[slow] = read[: len(slow)], write[: len(slow)]
        for norm in (second.q_norm, second.k_norm):
            norm.weight[slow] = gain
        second.qkv.weight[value_row : value_row + dim] = copy
        second.out.weight[:, :dim] = copy.T


def fingerprint(model: nn.Module) -> int:
    """A number that changes with the weights: the exact sum of each parameter's bits, read as integers, hashed.

    Costs one pass over the weights. It is there to find weights that were not the expected ones, not to resist
    an adversary: exchanging two values of one parameter leaves it as it is.
    """
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    sums = torch.stack([p.detach().view(whole[p.element_size()]).sum() for p in model.parameters()])
    return int.from_bytes(hashlib.sha256(sums.cpu().numpy().tobytes()).digest()[:8])


def parameter_count(model: nn.Module) -> int:
    """Number of trained values."""
    return sum(p.numel() for p in model.parameters())
