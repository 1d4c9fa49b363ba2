"""The training loop of equation 1: roll out, grade, weigh, one update. GRPO, ECHO and env-only differ in
``objective`` alone.

Left out on purpose: no reference model, no critic, no reuse of a batch (one update a batch, so the ratio of
equation 2 is 1 up to rounding and its clip idle; both stay, since another engine or several updates a batch
need them). Everything random is a function of (seed, step, index): which prompts, which sampling streams. Two
arms with one seed therefore see the same prompts and streams, and a resumed run needs no random state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.transcript import Finish, Transcript
from echo_terminal.config import StrictModel
from echo_terminal.policy.engine import Engine
from echo_terminal.policy.groups import micro_batches
from echo_terminal.policy.model import fingerprint
from echo_terminal.policy.rollout import rollout
from echo_terminal.policy.scoring import action_scores, target_logprobs
from echo_terminal.policy.weights import Policy
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal
from echo_terminal.training.advantages import Advantages, group_advantages
from echo_terminal.training.batch import Batch, collate, row_of
from echo_terminal.training.filters import keep_rows
from echo_terminal.training.loss import Selected, loss_of, select, token_weights
from echo_terminal.training.monitors import (
    Metrics,
    TermGradients,
    Times,
    UpdateMonitor,
    class_indices,
    env_ce_metrics,
    observation_weights,
    rollout_metrics,
)
from echo_terminal.training.objective import ObjectiveParams
from echo_terminal.training.schedules import lambda_at, warm_up
from echo_terminal.training.sft import optimizer_of
from echo_terminal.training.targets import shuffled_outputs, unrelated_text


class TrainParams(StrictModel):
    """One run. The published run: 16 prompts x 16 rollouts, lr 1e-6 without warm-up, gradient clip 0.2,
    temperature 0.8, 500 steps. ``diagnostics_every``: steps between measurements of both gradients and of the
    env-CE by class; they cost a second backward pass and a second forward pass.
    """

    steps: int = Field(100, ge=1)
    prompts_per_step: int = Field(8, ge=1)
    group_size: int = Field(8, ge=2)
    temperature: float = Field(1.0, gt=0)
    lr: float = Field(4e-4, gt=0)
    warmup_steps: int = Field(5, ge=0)
    weight_decay: float = Field(0.01, ge=0)
    gradient_clip: float = Field(1.0, gt=0)
    token_budget: int = Field(1024, ge=64)
    diagnostics_every: int = Field(10, ge=1)


@dataclass
class Rollouts:
    """One step's episodes in prompt order, ``group_size`` of each prompt.

    A reward of None is a lost episode, or one that the objective may not grade. ``weights`` is the fingerprint of
    the weights that sampled them.
    """

    tasks: list[Task]
    transcripts: list[Transcript]
    rewards: list[float | None]
    groups: list[int]
    weights: int | None


@dataclass
class Adaptive:
    """What the adaptive weights of L_Env remember: the latest env-CE and gradient norms."""

    env_ce: float | None = None
    policy_norm: float | None = None
    env_norm: float | None = None


@dataclass(frozen=True)
class Part:
    """A batch and the terms that read it. A control that replaces outputs has a batch of its own."""

    batch: Batch
    policy: bool
    env: bool


class Trainer:
    """Holds the policy, its optimiser and terminals; ``step(k)`` is update number k (from 0).

    ``informative`` names the token ids of a task's facts, which the control ``informative_left_out`` spares;
    ``unrelated`` is the text that the control ``unrelated_text`` trains in place of outputs. ``precision`` of
    the forward passes: bfloat16 on CUDA, else float32, unless given; weights and optimiser keep the model's own.
    """

    def __init__(
        self,
        policy: Policy,
        objective: ObjectiveParams,
        params: TrainParams,
        harness: HarnessParams,
        tasks: Sequence[Task],
        open_terminal: Callable[[], Terminal],
        seed: int,
        *,
        informative: Callable[[Task], Collection[int]] = lambda task: (),
        unrelated: Sequence[int] = (),
        precision: torch.dtype | None = None,
    ) -> None:
        if not tasks:
            raise ValueError("no training tasks: generate them first")
        if objective.has_env and objective.env_term.control == "unrelated_text" and not unrelated:
            raise ValueError("control unrelated_text needs a text: pass its token ids as `unrelated`")
        self.policy, self.objective, self.params, self.harness = policy, objective, params, harness
        self.tasks, self.seed = list(tasks), seed
        self.informative, self.unrelated = informative, unrelated
        self.terminals = [open_terminal() for _ in range(params.prompts_per_step * params.group_size)]
        self.optimizer = optimizer_of(policy.model, params.lr, params.weight_decay)
        tokenizer = policy.tokenizer
        self.device = policy.model.embed.weight.device
        self.precision = precision or (torch.bfloat16 if self.device.type == "cuda" else torch.float32)
        self.engine = Engine(
            policy.model,
            tokenizer.stop_ids,
            tokenizer.forbidden_ids,
            harness.max_context,
            dtype=self.precision,
        )
        self.adaptive = Adaptive()

    def step(self, step: int) -> tuple[Metrics, Rollouts]:
        """One rollout and one update; the row of the metrics table, and the rollouts."""
        times = Times()
        with times("rollout"):
            rollouts = self.collect(step)
        with times("update"):
            parts, advantages = self.parts_of(rollouts, step)
            measured = self.update(parts, step)
        metrics = rollout_metrics(rollouts.transcripts, rollouts.rewards, advantages)
        if step % self.params.diagnostics_every == 0:
            with times("diagnostics"):
                metrics |= self.observation_metrics(rollouts)
        return {"step": step + 1, **metrics, **measured, **times.metrics()}, rollouts

    def prompts(self, step: int) -> list[Task]:
        """The tasks of a step: each epoch goes through all tasks in an order of its own."""
        count, total = self.params.prompts_per_step, len(self.tasks)
        orders: dict[int, np.ndarray] = {}
        chosen = []
        for i in range(step * count, (step + 1) * count):
            epoch, at = divmod(i, total)
            if epoch not in orders:
                orders[epoch] = np.random.default_rng([self.seed, epoch]).permutation(total)
            chosen.append(self.tasks[orders[epoch][at]])
        return chosen

    def collect(self, step: int) -> Rollouts:
        """Roll out ``group_size`` episodes of each prompt; graded only if the objective reads rewards."""
        size = self.params.group_size
        tasks = [task for task in self.prompts(step) for _ in range(size)]
        seeds = [stream(self.seed, step, i) for i in range(len(tasks))]
        episodes = [
            Episode(task, terminal, self.policy.tokenizer, self.harness, task.seed, policy_version=step)
            for task, terminal in zip(tasks, self.terminals, strict=True)
        ]
        rollout(self.engine, episodes, seeds, self.params.temperature)
        rewards: list[float | None] = [None] * len(tasks)
        if self.objective.needs_rewards:
            rewards = [None if lost(e.transcript) else float(e.grade().reward) for e in episodes]
        groups = [i // size for i in range(len(tasks))]
        return Rollouts(tasks, [e.transcript for e in episodes], rewards, groups, self.engine.weights)

    def parts_of(self, rollouts: Rollouts, step: int) -> tuple[list[Part], Advantages | None]:
        """Tensors of the rollouts that were not lost.

        Raises:
            RuntimeError: every episode was lost, or other weights than the present ones sampled them.
        """
        if rollouts.weights != fingerprint(self.policy.model):
            raise RuntimeError(
                f"step {step}: the rollouts were sampled by other weights than those to be updated: the engine is "
                "stale, or the rollouts belong to another step"
            )
        objective, env = self.objective, self.objective.env_term
        keep = [i for i, t in enumerate(rollouts.transcripts) if not lost(t)]
        if not keep:
            raise RuntimeError("every episode of this step was lost: the terminal engine does not work")
        transcripts = [rollouts.transcripts[i] for i in keep]
        pad = self.policy.tokenizer.pad_id
        group, values, policy_rows, env_rows = None, None, None, None
        if objective.has_policy:
            std = objective.policy_term.advantage_std
            group = group_advantages(rollouts.rewards, rollouts.groups, std=std)
            values = group.values[keep]
            if objective.policy_term.dynamic_sampling:
                policy_rows = ~group.trivial[keep]
        if objective.has_env:
            env_rows = keep_rows(env.filter, transcripts, [rollouts.rewards[i] for i in keep])
        spared = env.control == "informative_left_out"
        rows = [
            row_of(t, env.target, self.informative(rollouts.tasks[i]) if spared else ())
            for i, t in zip(keep, transcripts, strict=True)
        ]
        batch = collate(rows, values, pad_id=pad, policy_rows=policy_rows, env_rows=env_rows)
        if env.control not in ("shuffled_outputs", "unrelated_text"):
            return [Part(batch, objective.has_policy, objective.has_env)], group
        if env.control == "shuffled_outputs":
            rng, limit = np.random.default_rng([self.seed, step]), self.policy.model.params.max_positions
            replaced = shuffled_outputs(transcripts, rng, limit)
        else:
            replaced = unrelated_text(transcripts, self.unrelated, env.target, start=step * 4096)
        control = collate([row_of(t, env.target) for t in replaced], pad_id=pad, env_rows=env_rows)
        return [Part(batch, objective.has_policy, False), Part(control, False, objective.has_env)], group

    def update(self, parts: Sequence[Part], step: int) -> Metrics:
        """Forward, backward and one optimiser step over the micro-batches of every part."""
        params, objective = self.params, self.objective
        lam = self.weight_of_env(step)
        parameters = list(self.policy.model.parameters())
        monitor = UpdateMonitor(objective)
        apart = None
        by_ratio = objective.env_term.weight.kind == "gradient_ratio"  # 0 until the norms were measured once
        if objective.kind == "echo" and (lam or by_ratio) and step % params.diagnostics_every == 0:
            apart = TermGradients(parameters)
        scored = lam != 0 or apart is not None
        for part in parts:
            weights = token_weights(part.batch, objective)
            for rows in micro_batches(part.batch.lengths, params.token_budget):
                chosen = select(part.batch, weights, rows, env=part.env and scored, policy=part.policy)
                if not len(chosen.target):
                    continue
                chosen = chosen.to(self.device)
                new, entropies = self.score(chosen)
                loss = loss_of(
                    new,
                    chosen,
                    objective,
                    lam if apart is None else 1.0,
                    with_policy=part.policy,
                    entropies=entropies,
                )
                if apart is None:
                    loss.total.backward()
                else:
                    apart.add(loss)
                monitor.add(new, chosen, loss, entropies)
        measured: Metrics = {}
        if apart is not None:
            self.adaptive.policy_norm, self.adaptive.env_norm = apart.norms()
            lam = self.weight_of_env(step)
            apart.write(lam)
            measured |= apart.metrics(lam)
        measured |= {"lambda": lam, **monitor.metrics(lam)}
        norm = torch.nn.utils.clip_grad_norm_(parameters, params.gradient_clip)
        measured["gradient/norm"] = float(norm)
        for group in self.optimizer.param_groups:
            group["lr"] = params.lr * warm_up(step, params.warmup_steps)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return measured

    def weight_of_env(self, step: int) -> float:
        """Lambda of this step, 0 where the objective has no environment term."""
        if not self.objective.has_env:
            return 0.0
        return lambda_at(self.objective.env_term.weight, step, **asdict(self.adaptive))

    def score(self, chosen: Selected) -> tuple[Tensor, Tensor]:
        """Log-probs [N] at the selected positions and entropies [n_policy] of the actions, one forward pass.

        Actions are scored under the sampling distribution (temperature, forbidden ids removed), observations
        under the model's own at temperature 1.
        """
        model, n = self.policy.model, chosen.n_policy
        bonus = self.objective.policy_term.entropy_bonus > 0
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == torch.bfloat16):
            hidden = model.hidden(chosen.ids)[chosen.row, chosen.col]
            new, entropies = action_scores(
                model, hidden[:n], chosen.target[:n], self.engine.forbidden, self.params.temperature, bonus
            )
            if len(chosen.target) > n:
                new = torch.cat([new, target_logprobs(model, hidden[n:], chosen.target[n:])])
        return new, entropies

    @torch.inference_mode()
    def observation_metrics(self, rollouts: Rollouts) -> Metrics:
        """Env-CE by role and class on this step's rollouts, for every objective, after the update."""
        transcripts = [t for t in rollouts.transcripts if not lost(t)]
        batch = collate([row_of(t) for t in transcripts], pad_id=self.policy.tokenizer.pad_id)
        classes, weights = class_indices(transcripts, batch), observation_weights(batch)
        nll, kinds = [], []
        for rows in micro_batches(batch.lengths, self.params.token_budget):
            chosen = select(batch, weights, rows, policy=False)
            nll.append(-self.score(chosen.to(self.device))[0].cpu().numpy())
            kinds.append(classes[np.array(rows)[chosen.row.numpy()], chosen.col.numpy()])
        metrics = env_ce_metrics(np.concatenate(nll), np.concatenate(kinds))
        self.adaptive.env_ce = metrics["env_ce/output"]
        return metrics


def stream(seed: int, step: int, index: int) -> int:
    """The sampling seed of one rollout: no two (seed, step, index) share one."""
    return (seed * 1_000_000 + step) * 100_000 + index


def lost(transcript: Transcript) -> bool:
    """Whether the engine failed, so that the row leaves every statistic."""
    return transcript.finish is Finish.LOST
