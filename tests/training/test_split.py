"""One loss and one gradient whatever the split, the packing and the number of ranks; lambda 0 is GRPO."""

import multiprocessing

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echo_terminal.agent.transcript import Role
from echo_terminal.training.advantages import group_advantages
from echo_terminal.training.batch import Row, collate, make_batch
from echo_terminal.training.loss import loss_of, select, sum_over_ranks, token_weights, totals_of
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams, PolicyTermParams

OBJECTIVES = [ObjectiveParams(kind=kind) for kind in ("sft", "actobs", "grpo", "echo", "env_only")] + [
    ObjectiveParams(
        kind="echo",
        policy=PolicyTermParams(aggregation="sequence_mean"),
        env=EnvTermParams(normaliser="selected", reduction="token_mean"),
    )
]


def random_rows(seed: int, count: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        roles = np.concatenate([[Role.PROMPT], rng.integers(0, 5, rng.integers(0, 12))]).astype(np.int8)
        logprobs = np.where(roles == Role.ACTION, rng.uniform(-6, -2, len(roles)), np.nan)
        rows.append(
            Row(rng.integers(0, 64, len(roles)), roles, logprobs.astype(np.float32), roles == Role.OUTPUT)
        )
    return rows


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), seed=st.integers(0, 10_000), params=st.sampled_from(OBJECTIVES))
def test_any_split_padded_or_packed_is_the_same_step(tiny, gradients, data, seed, params):
    rows = random_rows(seed, data.draw(st.integers(1, 6)))
    rng = np.random.default_rng(seed)
    flags = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    batch = collate(rows, rng.normal(size=len(rows)), pad_id=0, env_rows=flags)
    order = data.draw(st.permutations(range(len(rows))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows)), max_size=3)) - {len(rows)})
    split = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    value, grad = gradients(tiny, batch, params)
    for packed in (False, True):
        other, other_grad = gradients(tiny, batch, params, split, packed=packed)
        assert other == pytest.approx(value, abs=1e-6)
        torch.testing.assert_close(other_grad, grad, rtol=1e-6, atol=1e-6)


def test_named_splits(tiny, gradients):
    """Case B01: gradients too."""
    batch = collate(random_rows(3, 4), [1.0, -1.0, 0.5, 0.0], pad_id=0)
    params = OBJECTIVES[3]
    value, grad = gradients(tiny, batch, params, [[0, 1, 2, 3]])
    assert grad.norm() > 0.01
    for split in ([[0, 1], [2, 3]], [[0], [1], [2], [3]]):
        other, other_grad = gradients(tiny, batch, params, split)
        assert other == pytest.approx(value, abs=1e-7)
        torch.testing.assert_close(other_grad, grad, rtol=0, atol=1e-7)


def _rank(rank: int, folder: str, model, params) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    rows, advantages = random_rows(3, 5), [1.0, -1.0, 0.5, 0.0, 2.0]
    mine = [0, 1, 2] if rank == 0 else [3, 4]
    batch = collate([rows[i] for i in mine], [advantages[i] for i in mine], pad_id=0)
    weights = token_weights(batch, params, sum_over_ranks(totals_of(batch, params)))
    s = select(batch, weights)
    new = model.logits(model.hidden(s.ids)[s.row, s.col]).log_softmax(-1).gather(1, s.target[:, None])[:, 0]
    loss = loss_of(new, s, params, 0.3).total
    loss.backward()
    flat = torch.cat([p.grad.flatten() for p in model.parameters()] + [loss.detach()[None]])
    dist.all_reduce(flat)
    if rank == 0:
        torch.save(flat, f"{folder}/flat.pt")
    dist.destroy_process_group()


@pytest.mark.parametrize("params", OBJECTIVES[3:], ids=["echo", "env_only", "echo_other_denominators"])
def test_two_ranks_sum_to_the_same_step(tiny, gradients, tmp_path, params):
    """Case B01: over two ranks."""
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=_rank, args=(r, str(tmp_path), tiny, params)) for r in (0, 1)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(60)
        assert process.exitcode == 0
    flat = torch.load(tmp_path / "flat.pt")
    batch = collate(random_rows(3, 5), [1.0, -1.0, 0.5, 0.0, 2.0], pad_id=0)
    value, grad = gradients(tiny, batch, params)
    assert float(flat[-1]) == pytest.approx(value, abs=1e-6)
    torch.testing.assert_close(flat[:-1], grad, rtol=0, atol=1e-6)


def test_lambda_zero_is_grpo_bit_for_bit(tiny, gradients):
    batch = collate(random_rows(5, 6), np.linspace(-1, 1, 6), pad_id=0)
    start = {k: v.clone() for k, v in tiny.state_dict().items()}
    runs = []
    for params in (ObjectiveParams(kind="grpo"), ObjectiveParams(kind="echo")):
        tiny.load_state_dict(start)
        optimizer = torch.optim.AdamW(tiny.parameters(), lr=1e-2)
        seen = []
        for _ in range(3):
            value, grad = gradients(tiny, batch, params, [[0, 1, 2], [3, 4, 5]], lam=0.0)
            optimizer.step()
            seen += [
                torch.tensor([value]),
                grad,
                torch.cat([p.detach().flatten() for p in tiny.parameters()]),
            ]
        runs.append([t.clone() for t in seen])
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))
    assert not torch.equal(runs[0][2], runs[0][8])  # the weights did move


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_equal_rewards_keep_the_env_gradient(tiny, gradients, written, reward):
    """Case B03."""
    rows = [written("PPAOOOOO", first=1 + 8 * k) for k in range(4)]
    advantages = group_advantages([reward] * 4, [0] * 4)
    batch = make_batch(rows, advantages.values, pad_id=0)
    _, policy = gradients(tiny, batch, ObjectiveParams(kind="grpo"), lam=0.0)
    assert torch.count_nonzero(policy) == 0
    _, both = gradients(tiny, batch, ObjectiveParams(kind="echo"), lam=1.0)
    _, env = gradients(tiny, batch, ObjectiveParams(kind="env_only"), lam=1.0)
    assert both.norm() > 0.1
    torch.testing.assert_close(both, env)
    # taken out of the policy term by dynamic sampling: still there for the environment
    batch = make_batch(rows, advantages.values, pad_id=0, policy_rows=~advantages.trivial)
    torch.testing.assert_close(gradients(tiny, batch, ObjectiveParams(kind="echo"), lam=1.0)[1], env)
    assert totals_of(batch, ObjectiveParams(kind="echo")).env_tokens == 20


def test_trivial_groups_leave_the_policy_denominator_only(tiny, gradients, written):
    rows = [written("PPAAO", first=1 + 5 * k) for k in range(4)]
    advantages = group_advantages([1, 0, 1, 1], ["a", "a", "b", "b"])
    grpo, echo = ObjectiveParams(kind="grpo"), ObjectiveParams(kind="echo")
    dynamic = make_batch(rows, advantages.values, pad_id=0, policy_rows=~advantages.trivial)
    filtered = make_batch(rows[:2], advantages.values[:2], pad_id=0)
    value, grad = gradients(tiny, dynamic, echo, lam=0.0)
    plain, plain_grad = gradients(tiny, filtered, grpo, lam=0.0)
    assert value == plain and torch.equal(grad, plain_grad)


def test_gradient_of_the_env_term_is_softmax_minus_one_hot():
    # one output token whose logits are a leaf: d/dz of lambda x CE is lambda x (softmax - one-hot)
    rows = [
        Row(
            np.array([5, 2]),
            np.array([0, 2], np.int8),
            np.full(2, np.nan, np.float32),
            np.array([0, 1], bool),
        )
    ]
    batch, params = collate(rows, pad_id=0), ObjectiveParams(kind="env_only")
    s = select(batch, token_weights(batch, params))
    logits = torch.tensor([[0.0, 0.0, float(np.log(2.0))]], requires_grad=True)  # softmax 1/4 1/4 1/2
    loss_of(logits.log_softmax(-1).gather(1, s.target[:, None])[:, 0], s, params, 0.4).total.backward()
    torch.testing.assert_close(logits.grad, 0.4 * torch.tensor([[0.25, 0.25, -0.5]]))
