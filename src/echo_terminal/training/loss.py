"""The learner's loss, equations 1 to 3 of arXiv 2605.24517.

    L       = L_policy(A) + lambda L_Env(O')                                                             (1)
    L_GRPO  = - 1/sum_i |A_i|  sum_i sum_{t in A_i} min(r_t A_i, clip(r_t, 1 - lo, 1 + hi) A_i)          (2)
    L_Env   = - mean over sequences of  1/Z_i  sum_{t in O'_i} log p(x_t | x_<t),  Z_i = |O_i|           (3)

One idea: every token's weight is fixed for the GLOBAL batch before the first forward pass
(``token_weights``), so a micro-batch only sums weight x term. Any split, padded or packed, on any number of
ranks, then gives one loss and one gradient; across ranks gradients are SUMMED, not averaged. Each term has
its own denominator.

Choices where the paper is silent or ambiguous:
- (2) defaults to ``token_mean``; ``sequence_mean`` ("sequence-level aggregation" in the recipe) is a setting.
- (3) averages over ALL kept sequences of the batch, those without an observation included (they add 0).
  Rows that a filter rejected, and empty rows, leave numerator and denominator.
- ``token_mean`` of (3) divides by the sum of Z over the batch.
- With lambda = 0 no environment position is scored at all: the step is GRPO's bit for bit.
- Observation tokens have no importance ratio, no clip and no advantage. There is no dual clip on negative
  advantages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import torch
import torch.distributed as dist
from torch import Tensor

from echo_terminal.training.batch import Batch
from echo_terminal.training.objective import ObjectiveParams


@dataclass(frozen=True)
class Totals:
    """Denominators of one batch; add those of all ranks before computing weights."""

    policy_tokens: int
    policy_rows: int
    env_tokens: int  # sum of Z_i over the kept rows
    env_rows: int

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Weights:
    """Weight of every target in the two terms, [B, T-1] float32, denominators of the global batch
    included."""

    policy: Tensor
    env: Tensor


@dataclass(frozen=True)
class Selected:
    """One micro-batch: what to feed, where to read log-probs, and what they weigh.

    The N selected positions are listed with the ``n_policy`` action positions first, then the environment's.
    """

    ids: Tensor  # [b, t], or [1, sum of lengths] when packed
    positions: Tensor  # as ids: position within its own sequence
    sequences: Tensor  # as ids: index of the sequence within the micro-batch, -1 in padding
    row: Tensor  # [N] index into ids; hidden[row, col] predicts target
    col: Tensor  # [N]
    batch_row: Tensor  # [N] the same positions in the whole batch, as its masks are indexed
    batch_col: Tensor  # [N]
    target: Tensor  # [N] token ids
    weight: Tensor  # [N] float32
    n_policy: int
    old_logprobs: Tensor  # [n_policy]
    advantages: Tensor | None  # [n_policy]

    def to(self, device: torch.device) -> Selected:
        """The same on another device."""
        moved = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True)
class Loss:
    """``total`` is what to differentiate. ``env`` is None when no environment position was selected by
    construction."""

    total: Tensor
    policy: Tensor | None
    env: Tensor | None


def totals_of(batch: Batch, params: ObjectiveParams) -> Totals:
    """Denominators of one batch, this rank's part."""
    return Totals(
        int((batch.action_mask & batch.policy_rows[:, None]).sum()),
        int(batch.policy_rows.sum()),
        int(_z(batch, params).sum()),
        int(batch.env_rows.sum()),
    )


def sum_over_ranks(totals: Totals) -> Totals:
    """Totals over all ranks of the default process group."""
    tensor = torch.tensor(astuple(totals), dtype=torch.int64)
    dist.all_reduce(tensor)
    return Totals(*(int(v) for v in tensor))


def token_weights(batch: Batch, params: ObjectiveParams, totals: Totals | None = None) -> Weights:
    """Weights of the whole batch. ``totals`` defaults to the batch's own; give the sum over ranks if there
    are more."""
    totals = totals or totals_of(batch, params)
    action = batch.action_mask & batch.policy_rows[:, None]
    policy = action.float()
    if not params.has_policy:
        policy = torch.zeros_like(policy)
    elif params.policy_term.aggregation == "token_mean":
        policy /= max(1, totals.policy_tokens)
    else:
        policy /= action.sum(1, keepdim=True).clamp(min=1) * max(1, totals.policy_rows)
    env = (batch.env_mask & batch.env_rows[:, None]).float()
    if not params.has_env:
        env = torch.zeros_like(env)
    elif params.env_term.reduction == "token_mean":
        env /= max(1, totals.env_tokens)
    else:
        env /= _z(batch, params)[:, None].clamp(min=1) * max(1, totals.env_rows)
    return Weights(policy, env)


def select(
    batch: Batch,
    weights: Weights,
    rows: Sequence[int] | None = None,
    *,
    env: bool = True,
    policy: bool = True,
    packed: bool = False,
) -> Selected:
    """Positions of a micro-batch (default: all rows) whose weight is not 0, trimmed to its longest row.

    ``env=False`` is the case lambda = 0. Packed rows lie end to end in one row of ids: restart positions
    and keep attention within ``sequences``; no position that predicts the next sequence's first token is
    ever selected.
    """
    index = torch.arange(batch.size) if rows is None else torch.as_tensor(rows, dtype=torch.int64)
    lengths = batch.lengths[index]
    width = max(2, int(lengths.max()))
    ids = batch.ids[index, :width]
    parts = []
    if policy:
        parts.append(weights.policy[index, : width - 1].nonzero(as_tuple=True))
    n_policy = len(parts[0][0]) if parts else 0
    if env:
        parts.append(weights.env[index, : width - 1].nonzero(as_tuple=True))
    row = torch.cat([p[0] for p in parts]) if parts else torch.zeros(0, dtype=torch.int64)
    col = torch.cat([p[1] for p in parts]) if parts else torch.zeros(0, dtype=torch.int64)
    batch_row, batch_col = index[row], col
    of_policy = (batch_row[:n_policy], batch_col[:n_policy])
    of_env = (batch_row[n_policy:], batch_col[n_policy:])
    inside = torch.arange(width)[None, :] < lengths[:, None]
    positions = torch.arange(width).expand(len(index), width)
    sequences = torch.where(inside, torch.arange(len(index))[:, None], -1)
    target = ids[row, col + 1]
    if packed:
        offsets = lengths.cumsum(0) - lengths
        ids, positions, sequences = (x[inside][None] for x in (ids, positions, sequences))
        row, col = torch.zeros_like(row), offsets[row] + col
    return Selected(
        ids=ids,
        positions=positions,
        sequences=sequences,
        row=row,
        col=col,
        batch_row=batch_row,
        batch_col=batch_col,
        target=target,
        weight=torch.cat([weights.policy[of_policy], weights.env[of_env]]),
        n_policy=n_policy,
        old_logprobs=batch.logprobs[of_policy[0], of_policy[1] + 1],
        advantages=None if batch.advantages is None else batch.advantages[of_policy[0]],
    )


def attention_mask(selected: Selected) -> Tensor:
    """[b, t, t] bool, True where a position may attend: causal and within one sequence. Needed for packed
    rows only."""
    t = selected.ids.shape[1]
    causal = torch.ones(t, t, dtype=torch.bool).tril()
    return causal & (selected.sequences[:, :, None] == selected.sequences[:, None, :])


def loss_of(
    new_logprobs: Tensor,
    selected: Selected,
    params: ObjectiveParams,
    lam: float,
    *,
    with_policy: bool = True,
    entropies: Tensor | None = None,
    reference_logprobs: Tensor | None = None,
) -> Loss:
    """This micro-batch's share of equation 1; sum over micro-batches and ranks.

    ``new_logprobs`` [N] at the selected positions, action positions first, each under the distribution it
    belongs to: actions at the sampling temperature (the ratio's two sides must agree), observations at
    temperature 1. ``entropies`` and ``reference_logprobs`` [n_policy] are needed by the entropy bonus and
    the KL term (k3 estimator). ``with_policy=False`` is for a batch that carries the environment term alone (a
    control that replaces outputs). With nothing selected the terms are zeros that stay connected to the graph.

    Raises:
        ValueError: log-probs of another length, or an input that the settings need is missing.
    """
    n = selected.n_policy
    if new_logprobs.shape != selected.target.shape:
        raise ValueError(
            f"{tuple(new_logprobs.shape)} log-probs for {tuple(selected.target.shape)} positions"
        )
    policy = env = None
    if params.has_policy and with_policy:
        policy = _policy_loss(new_logprobs[:n], selected, params, entropies, reference_logprobs)
    if params.has_env and lam != 0.0:
        env = -(selected.weight[n:] * new_logprobs[n:]).sum()
    elif new_logprobs.numel() > n:
        raise ValueError("environment positions were selected but lambda is 0: call select(env=False)")
    if policy is None:
        total = new_logprobs.sum() * 0.0 if env is None else lam * env
    else:
        total = policy if env is None else policy + lam * env
    return Loss(total, policy, env)


def _policy_loss(
    new: Tensor,
    selected: Selected,
    params: ObjectiveParams,
    entropies: Tensor | None,
    reference: Tensor | None,
) -> Tensor:
    """Equation 2, or the NLL of actions for sft and actobs."""
    weight = selected.weight[: selected.n_policy]
    if params.kind in ("sft", "actobs"):
        return -(weight * new).sum()
    if selected.advantages is None:
        raise ValueError(f"kind {params.kind} needs a batch with advantages")
    p = params.policy_term
    ratio = (new - selected.old_logprobs).exp()
    clipped = ratio.clamp(1.0 - p.clip_low, 1.0 + p.clip_high)
    gain = torch.minimum(ratio * selected.advantages, clipped * selected.advantages)
    if p.entropy_bonus:
        if entropies is None:
            raise ValueError("entropy_bonus needs the entropies of the action positions")
        gain = gain + p.entropy_bonus * entropies
    if p.kl:
        if reference is None:
            raise ValueError("kl needs the reference policy's log-probs of the action positions")
        log_ratio = reference - new
        gain = gain - p.kl * (log_ratio.exp() - log_ratio - 1.0)
    return -(weight * gain).sum()


def _z(batch: Batch, params: ObjectiveParams) -> Tensor:
    """Z_i of equation 3 [B] int64: 0 in rows that a filter took out."""
    mask = batch.observation_mask if params.env_term.normaliser == "all_observation" else batch.env_mask
    return (mask & batch.env_rows[:, None]).sum(1)
