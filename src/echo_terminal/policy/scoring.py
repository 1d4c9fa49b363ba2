"""Log-probs and entropies at chosen positions, in blocks, so that [N, V] is never whole in memory.

A vocabulary of 152k at 16k positions is 10 GB of logits in float32, and the graph holds several copies. Above
``LOGITS`` values the positions are scored block by block, and each block is computed again in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from echo_terminal.policy.decoder import action_logprobs
from echo_terminal.policy.model import Qwen3

LOGITS = 2**27  # values of one block: 512 MiB in float32


def target_logprobs(model: Qwen3, hidden: Tensor, targets: Tensor) -> Tensor:
    """log p(targets) [N] from hidden states [N, C], temperature 1 and full vocabulary."""

    def block(h: Tensor, t: Tensor) -> Tensor:
        return -F.cross_entropy(model.logits(h).float(), t, reduction="none")[:, None]

    return in_blocks(block, hidden, targets, model.vocab_size)[:, 0]


def action_scores(
    model: Qwen3,
    hidden: Tensor,
    targets: Tensor,
    forbidden: Tensor,
    temperature: float,
    entropy_gradient: bool = False,
) -> tuple[Tensor, Tensor]:
    """Log-probs [N] of ``targets`` under the sampling distribution, and its entropies [N], from hidden states
    [N, C]; the entropies are differentiable on request."""

    def block(h: Tensor, t: Tensor) -> Tensor:
        logp = action_logprobs(model.logits(h), forbidden, temperature)
        with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
            entropies = -(logp.exp() * logp.clamp(min=-100.0)).sum(-1, keepdim=True)
        return torch.cat([logp.gather(1, t[:, None]), entropies], 1)

    scores = in_blocks(block, hidden, targets, model.vocab_size)
    return scores[:, 0], scores[:, 1] if entropy_gradient else scores[:, 1].detach()


def in_blocks(
    function: Callable[[Tensor, Tensor], Tensor], hidden: Tensor, targets: Tensor, vocab_size: int
) -> Tensor:
    """``function`` [n, ...] over all positions, at most ``LOGITS`` logits at a time."""
    size = max(1, LOGITS // vocab_size)
    if len(targets) <= size:
        return function(hidden, targets)
    blocks = zip(hidden.split(size), targets.split(size), strict=True)
    if not torch.is_grad_enabled():
        return torch.cat([function(h, t) for h, t in blocks])
    again = {"use_reentrant": False, "preserve_rng_state": False}  # nothing in a block is random
    return torch.cat([checkpoint(function, h, t, **again) for h, t in blocks])
