"""Transcripts to tensors, and the one place where roles become masks.

A mask is indexed by its TARGET: entry [i, t] speaks of the prediction of ``ids[i, t + 1]`` from position t.
The first output token, predicted from the last token before it, is therefore in the output mask. Masks come
from roles, one value a token, so they are disjoint by construction; lengths come from the transcript and
never from comparing ids with pad.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from echo_terminal.agent.transcript import Finish, Role, Transcript
from echo_terminal.training.targets import Target, target_mask


class Row(NamedTuple):
    """One transcript as arrays of length T. ``logprobs`` is NaN where nothing was sampled; ``target`` marks
    O'."""

    ids: NDArray[np.int64]
    roles: NDArray[np.int8]
    logprobs: NDArray[np.float32]
    target: NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """B rollouts, right-padded to T. Masks are [B, T-1] bool, aligned to the targets ``ids[:, 1:]``.

    ``policy_rows`` and ``env_rows`` [B] say which rows enter a term and its denominators; rows of length 0
    enter none. ``advantages`` [B] is None in a supervised or reward-free batch.
    """

    ids: Tensor  # [B, T] int64
    roles: Tensor  # [B, T] int8; padding holds GLUE
    logprobs: Tensor  # [B, T] float32, 0 where no ACTION
    lengths: Tensor  # [B] int64
    action_mask: Tensor  # A
    output_mask: Tensor  # the terminal's own text
    observation_mask: Tensor  # OUTPUT and WARNING: Z of equation 3
    env_mask: Tensor  # O', the chosen target
    advantages: Tensor | None  # [B] float32
    policy_rows: Tensor  # [B] bool
    env_rows: Tensor  # [B] bool

    @property
    def size(self) -> int:
        """Number of rows, B."""
        return int(self.ids.shape[0])


def row_of(transcript: Transcript, target: Target = "output", exclude: Collection[int] = ()) -> Row:
    """The arrays of one transcript; worth keeping where a transcript is used more than once.

    Raises:
        ValueError: the transcript was lost, its columns differ in length, or it starts with a token to be
            trained.
    """
    n = len(transcript.ids)
    if not n == len(transcript.roles) == len(transcript.logprobs):
        raise ValueError(f"{n} ids, {len(transcript.roles)} roles, {len(transcript.logprobs)} log-probs")
    if transcript.finish is Finish.LOST:
        raise ValueError(
            "a lost transcript must leave the batch before training: drop rows whose reward is None"
        )
    roles = np.array(transcript.roles, dtype=np.int8)
    if n and roles[0] in (Role.ACTION, Role.OUTPUT, Role.WARNING):
        raise ValueError(
            "the first token has no context to be predicted from: start the transcript with a prompt"
        )
    logprobs = np.array(transcript.logprobs, dtype=np.float32)
    if transcript.scripted:
        logprobs[:] = np.nan  # nothing was sampled: no ratio may be made of it
    return Row(
        np.array(transcript.ids, dtype=np.int64),
        roles,
        logprobs,
        target_mask(transcript, target, exclude),
    )


def make_batch(
    transcripts: Sequence[Transcript],
    advantages: Sequence[float] | NDArray[np.float64] | None = None,
    *,
    pad_id: int,
    target: Target = "output",
    exclude: Collection[int] = (),
    policy_rows: Sequence[bool] | NDArray[np.bool_] | None = None,
    env_rows: Sequence[bool] | NDArray[np.bool_] | None = None,
) -> Batch:
    """Batch of transcripts. With ``advantages`` it is a batch for reinforcement learning, without it
    supervised.

    Raises:
        ValueError: as ``row_of`` and ``collate``; or the turns report terminal output and no token is
            marked OUTPUT.
    """
    rows = [row_of(transcript, target, exclude) for transcript in transcripts]
    batch = collate(rows, advantages, pad_id=pad_id, policy_rows=policy_rows, env_rows=env_rows)
    chars = sum(_shown_chars(transcript) for transcript in transcripts)
    if chars and not bool(batch.output_mask.any()):
        raise ValueError(
            f"the turns report {chars} characters of terminal output but no token is marked OUTPUT"
        )
    return batch


def collate(
    rows: Sequence[Row],
    advantages: Sequence[float] | NDArray[np.float64] | None = None,
    *,
    pad_id: int,
    policy_rows: Sequence[bool] | NDArray[np.bool_] | None = None,
    env_rows: Sequence[bool] | NDArray[np.bool_] | None = None,
) -> Batch:
    """Pad rows on the right and build every mask.

    Raises:
        ValueError: no rows, another number of advantages or flags, an advantage that is not finite, or a
            row without sampled log-probs (a scripted one) in a batch with advantages.
    """
    if not rows:
        raise ValueError("a batch needs at least one row")
    count, width = len(rows), max(2, *(len(row.ids) for row in rows))
    ids = np.full((count, width), pad_id, dtype=np.int64)
    roles = np.full((count, width), int(Role.GLUE), dtype=np.int8)
    logprobs = np.full((count, width), np.nan, dtype=np.float32)
    target = np.zeros((count, width), dtype=np.bool_)
    lengths = np.array([len(row.ids) for row in rows], dtype=np.int64)
    for index, row in enumerate(rows):
        n = lengths[index]
        ids[index, :n], roles[index, :n], logprobs[index, :n], target[index, :n] = row
    action, output = roles == Role.ACTION, roles == Role.OUTPUT
    observation = output | (roles == Role.WARNING)
    if advantages is not None:
        _check_sampled(advantages, action, logprobs)
    present = lengths > 0
    return Batch(
        ids=torch.from_numpy(ids),
        roles=torch.from_numpy(roles),
        logprobs=torch.from_numpy(np.where(action & ~np.isnan(logprobs), logprobs, np.float32(0))),
        lengths=torch.from_numpy(lengths),
        action_mask=_targets(action),
        output_mask=_targets(output),
        observation_mask=_targets(observation),
        env_mask=_targets(target & observation),
        advantages=None if advantages is None else torch.tensor(np.asarray(advantages), dtype=torch.float32),
        policy_rows=torch.from_numpy(present & _flags(policy_rows, count)),
        env_rows=torch.from_numpy(present & _flags(env_rows, count)),
    )


def _shown_chars(transcript: Transcript) -> int:
    """Characters of terminal output that the policy read; what did not fit the context any more is not in
    it."""
    turns = transcript.turns[:-1] if transcript.finish is Finish.CONTEXT else transcript.turns
    return sum(turn.output_chars - turn.omitted_chars for turn in turns)


def _targets(mask: NDArray[np.bool_]) -> Tensor:
    """Token-aligned [B, T] to target-aligned [B, T-1]. The only shift in the package."""
    return torch.from_numpy(np.ascontiguousarray(mask[:, 1:]))


def _flags(flags: Sequence[bool] | NDArray[np.bool_] | None, count: int) -> NDArray[np.bool_]:
    if flags is None:
        return np.ones(count, dtype=np.bool_)
    if len(flags) != count:
        raise ValueError(f"{count} rows but {len(flags)} row flags")
    return np.asarray(flags, dtype=np.bool_)


def _check_sampled(
    advantages: Sequence[float] | NDArray[np.float64],
    action: NDArray[np.bool_],
    logprobs: NDArray[np.float32],
) -> None:
    if len(advantages) != len(action):
        raise ValueError(f"{len(action)} rows but {len(advantages)} advantages")
    if not np.isfinite(np.asarray(advantages, dtype=np.float64)).all():
        raise ValueError("an advantage is not finite: drop lost rows (reward None) before building the batch")
    scripted = np.flatnonzero((action & np.isnan(logprobs)).any(axis=1))
    if scripted.size:
        raise ValueError(
            f"rows {scripted.tolist()} hold actions without sampled log-probs (scripted?): "
            "train them with sft or actobs"
        )
