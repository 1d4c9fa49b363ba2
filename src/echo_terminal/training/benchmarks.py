"""The learner's speed: what the environment term costs, and the engine against transformers' ``generate``.

Ratios come from alternating pairs in one process on one thread; times are CPU seconds, so that a busy machine
disturbs both sides alike. Each benchmark returns rows of name, value, unit, target and whether it holds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.policy.engine import Engine
from echo_terminal.policy.model import ModelParams, fingerprint
from echo_terminal.policy.rollout import rollout
from echo_terminal.policy.tokenizer import TokenizerParams, train_tokenizer
from echo_terminal.policy.weights import Policy, save_policy
from echo_terminal.tasks.families import make_task
from echo_terminal.tasks.machine import make_machine
from echo_terminal.terminal.terminal import Terminal, open_terminal
from echo_terminal.training.grpo import Rollouts, Trainer, TrainParams
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams
from echo_terminal.training.schedules import LambdaParams
from echo_terminal.training.sft import FitParams
from echo_terminal.training.starts import (
    PretrainParams,
    novice_episodes,
    novice_tasks,
    pretrain,
    terminal_text,
)

Row = dict[str, Any]
TEMPLATES = ("site_two", "site_three", "site_find", "move_containing")
HARNESS = HarnessParams(max_turns=5, max_turn_tokens=32, max_context=400)
PARAMS = TrainParams(diagnostics_every=10**9, lr=1e-9)
GRPO = ObjectiveParams(kind="grpo")
ECHO = ObjectiveParams(kind="echo", env=EnvTermParams(weight=LambdaParams(value=0.05)))


def row(name: str, value: float, unit: str, target: str = "", holds: bool | None = None) -> Row:
    """One line of the benchmark table."""
    return {"name": name, "value": round(value, 4), "unit": unit, "target": target, "holds": holds}


def a_policy() -> Policy:
    """The cpu profile's small model, trained just enough to make calls."""
    terminal = open_terminal("virtual")
    texts = terminal_text(novice_tasks(TEMPLATES, 10**6, 200), terminal, seed=0)
    tokenizer = train_tokenizer(texts, TokenizerParams())
    params = PretrainParams(
        copying=FitParams(steps=30, rows_per_step=16, lr=3e-3),
        language=FitParams(steps=60, rows_per_step=16, lr=3e-3),
        format=FitParams(steps=10, rows_per_step=16, lr=1e-3),
    )
    episodes = novice_episodes(novice_tasks(TEMPLATES, 10**7, 400), terminal, tokenizer, HARNESS, params)
    return pretrain(ModelParams(), tokenizer, episodes, params, seed=0)


def a_trainer(policy: Policy, objective: ObjectiveParams) -> Trainer:
    """A trainer on one machine, at the cpu profile's batch of 64 rollouts."""
    machine = make_machine(1, n_tools=10)
    tasks = [make_task(TEMPLATES[i % 4], 2 * 10**7 + i, machine, "train") for i in range(64)]
    return Trainer(policy, objective, PARAMS, HARNESS, tasks, lambda: open_terminal("virtual"), 0)


def seconds(function: Callable[[], object]) -> float:
    """CPU seconds of one call in this process."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


def cost_of_the_term(pairs: int = 30) -> list[Row]:
    """Update of ECHO over GRPO on the same rollouts, alternating; and one whole 64-rollout step.

    The two alternate on a quarter of the rollouts at a time, so that what disturbs the machine for longer than a
    fifth of a second meets both sides; the ratio is the median over ``4 x pairs`` such pairs.
    """
    torch.set_num_threads(1)
    policy = a_policy()
    grpo, echo = a_trainer(policy, GRPO), a_trainer(policy, ECHO)
    rollouts = grpo.collect(0)
    rollouts.rewards = [float(i % 2) for i in range(len(rollouts.tasks))]  # every row has an advantage
    for trainer in (grpo, echo):
        plain_update(trainer, rollouts)
    ratios = []
    for i in range(pairs):
        for part in quarters(rollouts):
            order = (grpo, echo) if i % 2 else (echo, grpo)
            took = {t: seconds(partial(plain_update, t, part)) for t in order}
            ratios.append(took[echo] / took[grpo])
    ratios.sort()
    ratio, low, high = statistics.median(ratios), ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    memory = peak_bytes(echo, rollouts) / peak_bytes(grpo, rollouts)
    step = min(seconds(partial(echo.step, k)) for k in range(1, 4))
    return [
        row("update_time_echo_over_grpo", ratio, "ratio", "<= 1.02", ratio <= 1.02),
        row("update_time_echo_over_grpo_p10", low, "ratio"),
        row("update_time_echo_over_grpo_p90", high, "ratio"),
        row("update_memory_echo_over_grpo", memory, "ratio", "<= 1.02", memory <= 1.02),
        row("step_of_64_rollouts", step, "CPU s", "<= 1.5", step <= 1.5),
    ]


def quarters(rollouts: Rollouts) -> list[Rollouts]:
    """Four times a quarter of the prompts."""
    size = len(rollouts.tasks) // 4
    cuts = [slice(i * size, (i + 1) * size) for i in range(4)]
    return [
        Rollouts(
            rollouts.tasks[c],
            rollouts.transcripts[c],
            rollouts.rewards[c],
            rollouts.groups[c],
            rollouts.weights,
        )
        for c in cuts
    ]


def plain_update(trainer: Trainer, rollouts: Rollouts) -> None:
    """Step 1, in which nothing is measured beside the update itself (step 0 is a step of diagnostics). The same
    rollouts serve again and again, so they pass for those of the present weights."""
    rollouts.weights = fingerprint(trainer.policy.model)
    trainer.update(trainer.parts_of(rollouts, 1)[0], 1)


def peak_bytes(trainer: Trainer, rollouts: Rollouts) -> float:
    """Bytes that the largest micro-batch holds for its backward pass, weights included.

    A storage is known by its address, which is its own while the graph lives and may be another's afterwards: what
    is held is counted anew for each graph.
    """
    held: dict[int, int] = {}
    sums = [0]
    over = [False]  # whether the backward pass of the graph that is counted has begun

    def keep(tensor: Tensor) -> Tensor:
        if over[0]:
            held.clear()
            over[0] = False
        held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        sums.append(sum(held.values()))
        return tensor

    def give(tensor: Tensor) -> Tensor:
        over[0] = True
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, give):
        plain_update(trainer, rollouts)
    return float(max(sums))


def rollouts_against_generate() -> list[Row]:
    """Sampled tokens a CPU second, 64 multi-turn episodes: our engine, and transformers' ``generate`` fed
    turn by turn.

    The other side samples from the same weights with its own cache, anew each turn, since it keeps none
    across calls.
    """
    import transformers

    torch.set_num_threads(1)
    policy = a_policy()
    with tempfile.TemporaryDirectory() as folder:
        save_policy(policy, Path(folder))
        other = transformers.Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = policy.tokenizer
    engine = Engine(policy.model, tokenizer.stop_ids, tokenizer.forbidden_ids, HARNESS.max_context)
    terminals = [open_terminal("virtual") for _ in range(64)]
    ours: list[float] = []
    theirs: list[float] = []
    for k in range(3):
        episodes = fresh_episodes(policy, terminals, k)
        begun = time.process_time()
        times = rollout(engine, episodes, [k * 64 + i for i in range(64)], 1.0)
        ours.append(times.sampled / (time.process_time() - begun))
        theirs.append(generate_turn_by_turn(other, fresh_episodes(policy, terminals, k), tokenizer, seed=k))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return [
        row("rollout_tokens_per_second", statistics.median(ours), "tokens/CPU s"),
        row("generate_tokens_per_second", statistics.median(theirs), "tokens/CPU s"),
        row("rollout_over_generate", ratio, "ratio", ">= 3", ratio >= 3),
    ]


def fresh_episodes(policy: Policy, terminals: list[Terminal], k: int) -> list[Episode]:
    """64 episodes on one machine."""
    machine = make_machine(1, n_tools=10)
    tasks = [make_task(TEMPLATES[i % 4], 3 * 10**7 + 64 * k + i, machine, "val") for i in range(64)]
    return [Episode(t, terminals[i], policy.tokenizer, HARNESS, t.seed) for i, t in enumerate(tasks)]


def generate_turn_by_turn(model: Any, episodes: list[Episode], tokenizer: Any, seed: int) -> float:
    """Tokens a CPU second of ``model.generate`` (left-padded, its own cache within a turn) on the same
    episodes."""
    torch.manual_seed(seed)
    begun, sampled = time.process_time(), 0
    while live := [e for e in episodes if not e.done]:
        rows = [e.transcript.ids for e in live]
        width = max(map(len, rows))
        pad = tokenizer.pad_id
        ids = torch.tensor([[pad] * (width - len(r)) + r for r in rows])
        mask = torch.tensor([[0] * (width - len(r)) + [1] * len(r) for r in rows])
        limit = min(e.budget for e in live)
        out = model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=limit,
            do_sample=True,
            top_k=0,
            eos_token_id=list(tokenizer.stop_ids),
            pad_token_id=pad,
            suppress_tokens=list(tokenizer.forbidden_ids),
        )[:, width:].tolist()
        for episode, row_ids in zip(live, out, strict=True):
            stops = [i for i, t in enumerate(row_ids) if t in tokenizer.stop_ids]
            action = row_ids[: stops[0] + 1] if stops else row_ids
            sampled += len(action)
            episode.act(action, [0.0] * len(action), stopped=bool(stops))
    return sampled / (time.process_time() - begun)
