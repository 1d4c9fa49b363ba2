"""Equation 1 on NeMo-RL v0.7.0: a policy that adds each token's weight to the batch, and a loss that sums
them.

NeMo-RL's ``ClippedPGLossFn`` gives equation 2 and the log-probs of every position, so the environment term
costs one gather. Weights are those of ``training.loss.token_weights``, normalised over each global batch of
``train_global_batch_size`` rows on the driver; workers add up their shares, so any sharding, micro-batching
and packing gives the same sum. Rows with ``sample_mask`` 0 leave both terms.

Import this module only where NeMo-RL is installed; worker processes need the package on PYTHONPATH.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from nemo_rl.algorithms.loss import ClippedPGLossConfig, ClippedPGLossFn
from nemo_rl.distributed.batched_data_dict import BatchedDataDict
from torch import Tensor

from echo_terminal.agent.transcript import Role
from echo_terminal.scale_out.layout import row_roles
from echo_terminal.training.batch import Batch
from echo_terminal.training.loss import token_weights
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams

WEIGHT = "echo_weight"


class EchoLossFn(ClippedPGLossFn):
    """``ClippedPGLossFn`` plus ``lam`` x sum of weight x NLL. With ``lam`` 0 the loss is the parent's bit
    for bit."""

    def __init__(self, config: ClippedPGLossConfig, lam: float) -> None:
        super().__init__(config)
        self.lam = lam

    def __call__(
        self,
        next_token_logprobs: Tensor,
        data: BatchedDataDict[Any],
        global_valid_seqs: Tensor,
        global_valid_toks: Tensor,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Loss and metrics of one micro-batch; ``echo_ce`` is its share of equation 3.

        Raises:
            KeyError: the weights did not reach the worker.
        """
        loss, metrics = super().__call__(next_token_logprobs, data, global_valid_seqs, global_valid_toks)
        if WEIGHT not in data:
            raise KeyError(f"{WEIGHT} is not in the batch: train with EchoPolicy, and keep data_plane off")
        weight = data[WEIGHT][:, 1:].to(next_token_logprobs)
        ce = -(torch.where(weight > 0, next_token_logprobs, 0.0) * weight).sum()
        metrics["echo_ce"] = ce.item()
        if self.lam:
            loss = loss + self.lam * ce
            metrics["loss"] = loss.item()
        return loss, metrics


def echo_weights(
    data: BatchedDataDict[Any], vocabulary: list[bytes], echo: EnvTermParams, global_batch: int
) -> Tensor:
    """Weights [B, S] float32; ``weight[:, t]`` speaks of the prediction of token t, each global batch sums
    to at most 1."""
    params = ObjectiveParams(kind="echo", env=echo)
    weight = torch.zeros(data["input_ids"].shape)
    for start in range(0, len(weight), global_batch):
        rows = slice(start, start + global_batch)
        batch = batch_of(data, rows, vocabulary, echo)
        weight[rows, 1:] = token_weights(batch, params).env
    return weight


def batch_of(data: BatchedDataDict[Any], rows: slice, vocabulary: list[bytes], echo: EnvTermParams) -> Batch:
    """Our view of some rows of NeMo-RL's training batch, roles read back from the ids."""
    ids, lengths = data["input_ids"][rows], data["input_lengths"][rows]
    sampled = (data["token_mask"][rows] > 0).numpy()
    roles = torch.from_numpy(
        np.stack(
            [
                row_roles(row, mask, int(length), vocabulary)
                for row, mask, length in zip(ids.tolist(), sampled, lengths, strict=True)
            ]
        )
    )
    valid = data["sample_mask"][rows] > 0
    target = roles[:, 1:]
    output, warning = target == Role.OUTPUT, target == Role.WARNING
    chosen = {"output": output, "full_observation": output | warning, "warnings": warning}[echo.target]
    return Batch(
        ids=ids,
        roles=roles,
        logprobs=torch.zeros(ids.shape),
        lengths=lengths,
        action_mask=target == Role.ACTION,
        output_mask=output,
        observation_mask=output | warning,
        env_mask=chosen,
        advantages=None,
        policy_rows=valid,
        env_rows=valid,
    )
