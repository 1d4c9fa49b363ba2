"""Transcripts written as strings of roles, and losses read from a table of token ids."""

from collections.abc import Callable, Sequence
from itertools import groupby

import pytest
import torch

from echo_terminal.agent.transcript import Role, Transcript, Turn
from echo_terminal.policy.model import ModelParams, Qwen3
from echo_terminal.training.batch import Batch
from echo_terminal.training.loss import attention_mask, loss_of, select, token_weights
from echo_terminal.training.objective import ObjectiveParams

ROLES = {"P": Role.PROMPT, "A": Role.ACTION, "O": Role.OUTPUT, "W": Role.WARNING, "G": Role.GLUE}


@pytest.fixture
def written() -> Callable[..., Transcript]:
    """``written("PPAAOO", first=1)``: ids count up from ``first``; each run of As opens a turn; log-probs are -1."""

    def build(
        roles: str, first: int = 1, ids: Sequence[int] | None = None, kind: str = "stdout"
    ) -> Transcript:
        transcript = Transcript()
        values = list(ids) if ids is not None else list(range(first, first + len(roles)))
        for letter, run in groupby(roles):
            count = len(list(run))
            part, values = values[:count], values[count:]
            if letter == "A":
                transcript.turns.append(Turn("ok", command="x", exit_code=0, action_tokens=count))
                transcript.append(part, Role.ACTION, logprobs=[-1.0] * count)
            else:
                transcript.append(part, ROLES[letter], kind=kind if letter == "O" else "")
        return transcript

    return build


@pytest.fixture
def tabled() -> Callable[..., float]:
    """The objective's value when the NLL of a target is ``table[id]``, summed over micro-batches."""

    def value(
        batch: Batch,
        params: ObjectiveParams,
        table: dict[int, float],
        split: Sequence[Sequence[int]] | None = None,
        lam: float = 1.0,
        packed: bool = False,
    ) -> float:
        nll = torch.zeros(1 + max(table))
        for token, loss in table.items():
            nll[token] = loss
        weights, total = token_weights(batch, params), 0.0
        for rows in split or [list(range(batch.size))]:
            s = select(batch, weights, rows, env=lam != 0, packed=packed)
            total += float(loss_of(-nll[s.target], s, params, lam).total)
        return total

    return value


@pytest.fixture
def tiny() -> Qwen3:
    """One layer, two heads, 64 tokens, in float64 so that the order of a sum hardly shows."""
    params = ModelParams(
        copying_heads=False,
        hidden_size=8,
        num_layers=1,
        num_heads=2,
        num_kv_heads=1,
        head_dim=4,
        intermediate_size=8,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Qwen3(params, 64).double()


@pytest.fixture
def gradients() -> Callable[..., tuple[float, torch.Tensor]]:
    """Value and flat gradient of an objective under a model, summed over micro-batches."""

    def compute(
        model: Qwen3,
        batch: Batch,
        params: ObjectiveParams,
        split: Sequence[Sequence[int]] | None = None,
        lam: float = 0.3,
        packed: bool = False,
    ) -> tuple[float, torch.Tensor]:
        model.zero_grad(set_to_none=True)
        weights, total = token_weights(batch, params), 0.0
        for rows in split or [list(range(batch.size))]:
            s = select(batch, weights, rows, env=params.has_env and lam != 0, packed=packed)
            mask = attention_mask(s) if packed else None
            hidden = model.hidden(s.ids, s.positions if packed else None, mask)
            logits = model.logits(hidden[s.row, s.col])
            new = logits.log_softmax(-1).gather(1, s.target[:, None])[:, 0]
            loss = loss_of(new, s, params, lam).total
            loss.backward()
            total += float(loss.detach())
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
        return total, torch.cat([g.flatten() for g in grads])

    return compute
