"""The loop on the real terminal with a tiny policy: what must be equal is equal to the bit."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.transcript import Finish, Role
from echo_terminal.policy.model import ModelParams, fingerprint
from echo_terminal.policy.tokenizer import TokenizerParams, train_tokenizer
from echo_terminal.policy.weights import Policy
from echo_terminal.tasks.families import make_task
from echo_terminal.tasks.machine import make_machine
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.benchmarks import peak_bytes
from echo_terminal.training.grpo import Rollouts, Trainer, TrainParams, stream
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams, PolicyTermParams
from echo_terminal.training.run import KeepParams, snapshots, train
from echo_terminal.training.schedules import LambdaParams
from echo_terminal.training.sft import FitParams
from echo_terminal.training.starts import (
    PretrainParams,
    novice_episodes,
    novice_tasks,
    pretrain,
    terminal_text,
)

TEMPLATES = ["site_two", "move_containing"]
HARNESS = HarnessParams(max_turns=4, max_turn_tokens=24, max_context=300)
PARAMS = TrainParams(
    steps=3, prompts_per_step=3, group_size=3, lr=1e-3, diagnostics_every=2, token_budget=600
)
GRPO = ObjectiveParams(kind="grpo")


def echo(weight: float, **settings: object) -> ObjectiveParams:
    return ObjectiveParams(kind="echo", env=EnvTermParams(weight=LambdaParams(value=weight), **settings))


@pytest.fixture(scope="module")
def start() -> Policy:
    """A policy that has seen enough to make calls now and then."""
    torch.set_num_threads(1)
    terminal = open_terminal("virtual")
    texts = terminal_text(novice_tasks(TEMPLATES, 10**6, 60), terminal, seed=0)
    tokenizer = train_tokenizer(texts, TokenizerParams(vocab_size=700))
    short = FitParams(steps=40, rows_per_step=8, lr=3e-3, warmup_steps=5)
    params = PretrainParams(episodes=80, copying=short, language=short, format=short)
    episodes = novice_episodes(novice_tasks(TEMPLATES, 10**7, 80), terminal, tokenizer, HARNESS, params)
    small = ModelParams(
        hidden_size=32, num_layers=2, num_heads=2, num_kv_heads=2, head_dim=16, intermediate_size=64
    )
    return pretrain(small, tokenizer, episodes, params, seed=0)


def trainer(
    start: Policy,
    objective: ObjectiveParams,
    seed: int = 0,
    precision: torch.dtype | None = None,
    **changes: object,
) -> Trainer:
    machine = make_machine(1, n_tools=4)
    tasks = [make_task(TEMPLATES[i % 2], 2 * 10**7 + i, machine, "train") for i in range(8)]
    policy = Policy(copy.deepcopy(start.model), start.tokenizer)
    params = PARAMS.model_copy(update=changes)
    facts = lambda task: {i for word in task.tokens_of_facts for i in policy.tokenizer.encode(word)}  # noqa: E731
    return Trainer(
        policy, objective, params, HARNESS, tasks, lambda: open_terminal("virtual"), seed,
        informative=facts, unrelated=policy.tokenizer.encode("the quick brown fox " * 40), precision=precision,
    )  # fmt: skip


def weights(t: Trainer) -> list[torch.Tensor]:
    return [p.detach().clone() for p in t.policy.model.parameters()]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_lambda_zero_is_grpo_to_the_bit(start: Policy) -> None:
    grpo, zero = trainer(start, GRPO), trainer(start, echo(0.0))
    for step in range(3):
        (a, ra), (b, rb) = grpo.step(step), zero.step(step)
        assert [t.ids for t in ra.transcripts] == [t.ids for t in rb.transcripts]
        assert a["loss/total"] == b["loss/total"]
        assert a["gradient/norm"] == b["gradient/norm"]
    assert same(weights(grpo), weights(zero))


def test_arms_meet_the_same_prompts_and_streams_and_then_differ(start: Policy) -> None:
    grpo, arm = trainer(start, GRPO), trainer(start, echo(0.5))
    (_, first), (_, other) = grpo.step(0), arm.step(0)
    assert [t.task_id for t in first.tasks] == [t.task_id for t in other.tasks]
    assert [t.ids for t in first.transcripts] == [t.ids for t in other.transcripts]
    assert not same(weights(grpo), weights(arm))


def test_streams_and_prompts_never_repeat_by_accident(start: Policy) -> None:
    seen = {stream(s, k, i) for s in range(3) for k in range(50) for i in range(64)}
    assert len(seen) == 3 * 50 * 64
    t = trainer(start, GRPO)
    names = [task.task_id for step in range(8) for task in t.prompts(step)]  # 24 draws = three epochs of 8
    for epoch in range(3):
        assert len(set(names[epoch * 8 : epoch * 8 + 8])) == 8


def test_generation_and_training_logprobs_agree(start: Policy) -> None:
    row, _ = trainer(start, GRPO).step(0)
    assert row["mismatch/max"] < 1e-4
    assert row["policy/clip_fraction"] == 0


@pytest.mark.parametrize("precision", [None, torch.bfloat16], ids=["shared", "copied"])
def test_rollouts_of_other_weights_are_refused(start: Policy, precision: torch.dtype | None) -> None:
    """Case I03: an update on rollouts of the step before, and an engine whose copy was not brought up to date."""
    t = trainer(start, echo(0.5), precision=precision)
    _, first = t.step(0)
    with pytest.raises(RuntimeError, match="step 1: the rollouts were sampled by other weights"):
        t.parts_of(first, 1)
    second = t.collect(1)
    t.parts_of(second, 1)
    with torch.no_grad():
        t.policy.model.norm.weight[3] += 1e-6  # one value, its last bits
    with pytest.raises(RuntimeError, match="sampled by other weights"):
        t.parts_of(second, 1)


def test_peak_memory_is_that_of_the_largest_micro_batch(start: Policy) -> None:
    """A row by itself holds no more than the rows together, nor does an address that is used again hide bytes."""
    peaks = {}
    for budget in (64, 10**6):
        t = trainer(start, echo(0.5), token_budget=budget)
        rollouts = novice_rollouts(t)
        peaks[budget] = [peak_bytes(t, rollouts) for _ in range(2)]
        assert peaks[budget][0] == peaks[budget][1]
    assert peaks[64][0] < 0.5 * peaks[10**6][0]


def test_bfloat16_forward_passes_keep_float32_weights(start: Policy) -> None:
    """The path of a GPU: a bf16 copy samples, autocast scores. bf16 keeps 8 bits, so log-probs differ by some %."""
    t = trainer(start, echo(0.5), precision=torch.bfloat16)
    assert t.engine.model.embed.weight.dtype == torch.bfloat16
    before = weights(t)
    row, _ = t.step(0)
    assert 1e-5 < row["mismatch/mean"] < 0.05
    assert all(w.dtype == torch.float32 for w in weights(t)) and not same(before, weights(t))


def test_env_only_touches_neither_verifier_nor_reward(start: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(self: Episode) -> None:
        raise AssertionError("env_only graded an episode")

    monkeypatch.setattr(Episode, "grade", forbidden)
    objective = ObjectiveParams(
        kind="env_only", env=EnvTermParams(weight=LambdaParams(value=0.3), filter="valid")
    )
    t = trainer(start, objective)
    before = weights(t)
    row, rollouts = t.step(0)
    assert rollouts.rewards == [None] * 9
    assert np.isnan(row["rollout/reward"])
    assert not same(before, weights(t))
    with pytest.raises(AssertionError, match="graded"):
        trainer(start, GRPO).step(0)


def test_groups_without_variance_still_teach_the_terminal(start: Policy) -> None:
    """No rollout of this hopeless policy passes: GRPO's gradient is exactly 0, the environment's is not (B03)."""
    grpo, arm = trainer(start, GRPO, seed=5), trainer(start, echo(0.5), seed=5)
    for t in (grpo, arm):
        t.tasks = [make_task("site_three", 7 * 10**7 + i, make_machine(2), "train") for i in range(8)]
    (a, rollouts), (b, _) = grpo.step(0), arm.step(0)
    assert set(rollouts.rewards) == {0.0} and a["rollout/zero_variance"] == 1.0
    assert a["gradient/norm"] == 0.0
    assert b["gradient/env_norm"] > 0 and b["gradient/policy_norm"] == 0


def test_lost_episodes_leave_every_statistic(start: Policy) -> None:
    t = trainer(start, echo(0.5))
    rollouts = t.collect(0)
    rollouts.transcripts[0].finish, rollouts.rewards[0] = Finish.LOST, None
    (part,), advantages = t.parts_of(rollouts, 0)
    assert part.batch.size == 8
    assert advantages is not None and np.isnan(advantages.values[0])
    for transcript in rollouts.transcripts:
        transcript.finish = Finish.LOST
    with pytest.raises(RuntimeError, match="every episode of this step was lost"):
        t.parts_of(rollouts, 0)


def novice_rollouts(t: Trainer) -> Rollouts:
    """Episodes with calls that reveal facts, as if this policy had sampled them."""
    tasks = [task for task in t.tasks[:4] for _ in range(3)]
    terminal = open_terminal("virtual")
    transcripts = novice_episodes(tasks, terminal, t.policy.tokenizer, HARNESS, PretrainParams(episodes=1))
    for transcript in transcripts:
        transcript.scripted = False
        transcript.logprobs = [-1.0 if r == Role.ACTION else float("nan") for r in transcript.roles]
    version = fingerprint(t.policy.model)
    return Rollouts(
        tasks, transcripts, [float(i % 2) for i in range(12)], [i // 3 for i in range(12)], version
    )


@pytest.mark.parametrize("control", ["informative_left_out", "shuffled_outputs", "unrelated_text"])
def test_controls_change_the_environment_term_alone(start: Policy, control: str) -> None:
    plain, other = trainer(start, echo(0.5)), trainer(start, echo(0.5, control=control))
    rollouts = novice_rollouts(plain)
    a, b = (t.update(t.parts_of(rollouts, 0)[0], 0) for t in (plain, other))
    assert a["loss/policy"] == pytest.approx(b["loss/policy"], abs=1e-6)
    assert a["gradient/policy_norm"] == pytest.approx(b["gradient/policy_norm"], rel=1e-4)
    assert a["loss/env"] != b["loss/env"]


def test_informative_left_out_spares_exactly_the_facts(start: Policy) -> None:
    t = trainer(start, echo(0.5, control="informative_left_out"))
    rollouts = novice_rollouts(t)
    (part,), _ = t.parts_of(rollouts, 0)
    left_out = part.batch.output_mask & ~part.batch.env_mask
    facts = {i for task in rollouts.tasks for i in t.informative(task)}
    spared = set(part.batch.ids[:, 1:][left_out].tolist())
    assert spared and spared <= facts


def test_entropy_bonus_and_dynamic_sampling_run(start: Policy) -> None:
    objective = ObjectiveParams(
        kind="echo",
        policy=PolicyTermParams(entropy_bonus=0.01, dynamic_sampling=True, aggregation="sequence_mean"),
        env=EnvTermParams(weight=LambdaParams(kind="gradient_ratio", value=0.5, maximum=1.0)),
    )
    t = trainer(start, objective)
    rows = [t.step(k)[0] for k in range(3)]
    assert all(np.isfinite(r["loss/total"]) for r in rows)


class Killed(Exception):
    pass


def run(start: Policy, folder: Path, stop: int | None = None) -> Trainer:
    t = trainer(start, echo(0.3), steps=6)

    def on_step(step: int, row: dict, rollouts: object) -> None:
        if step == stop:
            raise Killed

    folder.mkdir(parents=True, exist_ok=True)
    train(t, folder, "key", KeepParams(snapshot_every=2, checkpoint_every=2), on_step=on_step)
    return t


def test_a_run_that_is_killed_and_resumed_is_the_same_run(start: Policy, tmp_path: Path) -> None:
    whole = run(start, tmp_path / "whole")
    stops = random.Random(0).sample(range(6), 3)
    for stop in sorted(stops):
        with pytest.raises(Killed):
            run(start, tmp_path / "killed", stop)
    resumed = run(start, tmp_path / "killed")
    assert same(weights(whole), weights(resumed))
    assert list(snapshots(tmp_path / "killed")) == [2, 4, 6]
    assert not (tmp_path / "killed" / "state").exists()


def test_observation_roles_reach_the_batch(start: Policy) -> None:
    rollouts = trainer(start, GRPO).collect(0)
    assert any(t.count(Role.OUTPUT) for t in rollouts.transcripts)


def test_no_tasks_is_an_error(start: Policy) -> None:
    policy: Policy = start
    with pytest.raises(ValueError, match="no training tasks"):
        Trainer(policy, GRPO, PARAMS, HARNESS, [], lambda: open_terminal("virtual"), 0)
