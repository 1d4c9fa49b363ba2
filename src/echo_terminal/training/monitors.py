"""What is logged each step: how training goes, and the early signs of the ways in which it goes wrong.

Every function gives the same keys whatever the batch holds; a quantity that does not exist is NaN, never 0.
Lost rollouts leave every statistic. Ratios and log-prob gaps are taken over action tokens alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from echo_terminal.agent.transcript import Finish, Role, Transcript
from echo_terminal.training.advantages import Advantages
from echo_terminal.training.batch import Batch
from echo_terminal.training.loss import Loss, Selected, Weights
from echo_terminal.training.objective import ObjectiveParams

Metrics = dict[str, float]

CLASSES = ("exit", "stdout", "stderr", "warning", "notice")
_CALLS_THAT_RUN = ("ok", "done")
NAN = float("nan")


@dataclass
class UpdateMonitor:
    """Collects the detached results of the micro-batches of one update; ``metrics`` sums them up."""

    params: ObjectiveParams
    _policy: list[float] = field(default_factory=list)
    _env: list[float] = field(default_factory=list)
    _log_ratios: list[Tensor] = field(default_factory=list)
    _advantages: list[Tensor] = field(default_factory=list)
    _nll: list[Tensor] = field(default_factory=list)
    _entropies: list[Tensor] = field(default_factory=list)

    def add(
        self, new_logprobs: Tensor, selected: Selected, loss: Loss, entropies: Tensor | None = None
    ) -> None:
        """Take note of one micro-batch: log-probs [N], what was selected, its loss, entropies [n_policy]."""
        n = selected.n_policy
        new = new_logprobs.detach()[:n].float()
        if loss.policy is not None:
            self._policy.append(loss.policy.item())
        if loss.env is not None:
            self._env.append(loss.env.item())
        self._nll.append(-new)
        if selected.advantages is not None:
            self._log_ratios.append(new - selected.old_logprobs)
            self._advantages.append(selected.advantages)
        if entropies is not None:
            self._entropies.append(entropies.detach().float())

    def metrics(self, lam: float) -> Metrics:
        """Losses (nats; the total with ``lam``), action NLL and entropy, clip fraction, ratios, |generation
        - trainer log-prob|.

        Before the first optimiser step on a batch the ratios differ from 1 by the mismatch of the two
        engines alone.
        """
        log_ratio, advantage = _joined(self._log_ratios), _joined(self._advantages)
        ratio, p = np.exp(log_ratio), self.params.policy_term
        clipped = ((ratio > 1 + p.clip_high) & (advantage > 0)) | ((ratio < 1 - p.clip_low) & (advantage < 0))
        gap = np.abs(log_ratio)
        return {
            "loss/total": sum(self._policy) + lam * sum(self._env),
            "loss/policy": sum(self._policy) if self._policy else NAN,
            "loss/env": sum(self._env) if self._env else NAN,
            "policy/nll": _mean(_joined(self._nll)),
            "policy/entropy": _mean(_joined(self._entropies)),
            "policy/clip_fraction": _mean(clipped),
            "policy/ratio_mean": _mean(ratio),
            "policy/ratio_p95": _quantile(ratio, 0.95),
            "policy/ratio_max": _quantile(ratio, 1.0),
            "mismatch/mean": _mean(gap),
            "mismatch/p95": _quantile(gap, 0.95),
            "mismatch/max": _quantile(gap, 1.0),
        }


def observation_weights(batch: Batch) -> Weights:
    """Weights that make ``select(..., policy=False)`` list every observation token, trained or not."""
    return Weights(torch.zeros(batch.action_mask.shape), batch.observation_mask.float())


def class_indices(transcripts: Sequence[Transcript], batch: Batch) -> NDArray[np.int8]:
    """Index into ``CLASSES`` of every target [B, T-1]; -1 where it is no observation token.

    Terminal output of a kind other than exit and stderr counts as stdout, a warning other than a notice as
    warning.
    """
    table = np.full((batch.size, batch.ids.shape[1]), -1, dtype=np.int8)
    for row, transcript in enumerate(transcripts):
        for s in transcript.segments:
            if s.role is Role.OUTPUT:
                name = s.kind if s.kind in ("exit", "stderr") else "stdout"
            elif s.role is Role.WARNING:
                name = "notice" if s.kind == "notice" else "warning"
            else:
                continue
            table[row, s.start : s.end] = CLASSES.index(name)
    return table[:, 1:]


def env_ce_metrics(nll: NDArray[np.floating], classes: NDArray[np.int8]) -> Metrics:
    """Mean cross-entropy, nats a token, of OUTPUT, of WARNING and of each class, with its token counts.

    ``nll`` [M] and ``classes`` [M] belong to observation tokens.
    """
    output, warning = classes <= CLASSES.index("stderr"), classes > CLASSES.index("stderr")
    metrics = {"env_ce/output": _mean(nll[output]), "env_ce/all_warnings": _mean(nll[warning])}
    for index, name in enumerate(CLASSES):
        chosen = classes == index
        metrics[f"env_ce/{name}"] = _mean(nll[chosen])
        metrics[f"env_tokens/{name}"] = float(chosen.sum())
    return metrics


class TermGradients:
    """The gradients of the two terms apart, summed over micro-batches; costs one more backward pass."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = list(parameters)
        self.policy = [torch.zeros_like(p) for p in self.parameters]
        self.env = [torch.zeros_like(p) for p in self.parameters]

    def add(self, loss: Loss) -> None:
        """Differentiate both terms of one micro-batch, instead of ``loss.total.backward()``."""
        terms = [(t, into) for t, into in ((loss.policy, self.policy), (loss.env, self.env)) if t is not None]
        for index, (term, into) in enumerate(terms):
            grads = torch.autograd.grad(
                term, self.parameters, retain_graph=index + 1 < len(terms), allow_unused=True
            )
            for total, grad in zip(into, grads, strict=True):
                if grad is not None:
                    total += grad

    def write(self, lam: float) -> None:
        """Put policy + lambda x env into ``.grad``, replacing what is there."""
        for parameter, policy, env in zip(self.parameters, self.policy, self.env, strict=True):
            parameter.grad = policy + lam * env if lam else policy.clone()

    def norms(self) -> tuple[float, float]:
        """Euclidean norms of the policy's and the environment's gradient."""
        return _norm(self.policy), _norm(self.env)

    def metrics(self, lam: float) -> Metrics:
        """Norms, their cosine (NaN if one is 0) and lambda x |env| / |policy| (NaN if |policy| is 0)."""
        policy, env = self.norms()
        dot = sum(float((a.double() * b.double()).sum()) for a, b in zip(self.policy, self.env, strict=True))
        return {
            "gradient/policy_norm": policy,
            "gradient/env_norm": env,
            "gradient/cosine": dot / (policy * env) if policy and env else NAN,
            "gradient/ratio": lam * env / policy if policy else NAN,
        }


def rollout_metrics(
    transcripts: Sequence[Transcript],
    rewards: Sequence[float | None] | None = None,
    advantages: Advantages | None = None,
) -> Metrics:
    """How a batch of rollouts went; ``rewards`` and ``advantages`` are None where no reward may be read.

    Rates of turns: malformed (nothing could be run), over-long (cut at the token limit), warned, imagined
    (the action imitates a reply), failing (exit code not 0, of the commands that ran). Never finished:
    ended without the done signal. ``env_share_zero_variance``: share of the output tokens in groups with
    equal rewards, which GRPO learns nothing from.
    """
    kept = [i for i, t in enumerate(transcripts) if t.finish is not Finish.LOST]
    rows = [transcripts[i] for i in kept]
    turns = [turn for t in rows for turn in t.turns]
    codes = [turn.exit_code for turn in turns if turn.exit_code is not None]
    values = None if rewards is None else [r for i in kept if (r := rewards[i]) is not None]
    output = np.array([t.count(Role.OUTPUT) for t in rows], dtype=np.float64)
    metrics = {
        "rollout/count": float(len(rows)),
        "rollout/lost": float(len(transcripts) - len(rows)),
        "rollout/reward": NAN if values is None else _mean(values),
        "rollout/zero_variance": NAN if advantages is None else advantages.zero_variance_share,
        "rollout/env_share_zero_variance": NAN,
        "rollout/turns": _mean([len(t.turns) for t in rows]),
        "rollout/never_finished": _mean([t.finish is not Finish.DONE for t in rows]),
        "rollout/out_of_context": _mean([t.finish is Finish.CONTEXT for t in rows]),
        "turn/malformed": _mean([turn.call not in _CALLS_THAT_RUN for turn in turns]),
        "turn/over_long": _mean([turn.call == "truncated" for turn in turns]),
        "turn/warned": _mean([turn.warned for turn in turns]),
        "turn/imagined": _mean([turn.imagined for turn in turns]),
        "turn/failing": _mean([code != 0 for code in codes]),
        "tokens/total": float(sum(len(t.ids) for t in rows)),
    }
    for role in Role:
        metrics[f"tokens/{role.name.lower()}"] = float(sum(t.count(role) for t in rows))
    if advantages is not None and output.sum() > 0:
        metrics["rollout/env_share_zero_variance"] = float(
            output[advantages.trivial[kept]].sum() / output.sum()
        )
    return metrics


@dataclass
class Times:
    """Seconds of named parts of a step: ``with times("rollout"): ...``. Never part of a digest."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the duration of the block to ``name``."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun

    def metrics(self) -> Metrics:
        """``seconds/NAME`` of every part seen."""
        return {f"seconds/{name}": value for name, value in self.seconds.items()}


def _joined(parts: Sequence[Tensor]) -> NDArray[np.float64]:
    return torch.cat(list(parts)).double().cpu().numpy() if parts else np.zeros(0)


def _mean(values: Sequence[float] | NDArray[np.floating] | NDArray[np.bool_]) -> float:
    return float(np.mean(values)) if len(values) else NAN


def _quantile(values: NDArray[np.floating], q: float) -> float:
    return float(np.quantile(values, q)) if len(values) else NAN


def _norm(tensors: Sequence[Tensor]) -> float:
    return float(torch.stack([t.double().square().sum() for t in tensors]).sum().sqrt())
