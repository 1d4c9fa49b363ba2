"""Metrics by hand; the same keys whatever the batch."""

import math

import numpy as np
import pytest
import torch

from echo_terminal.agent.transcript import Finish, Role, Transcript, Turn
from echo_terminal.training import monitors as m
from echo_terminal.training.advantages import group_advantages
from echo_terminal.training.batch import make_batch
from echo_terminal.training.loss import loss_of, select, token_weights
from echo_terminal.training.objective import ObjectiveParams

GRPO, ECHO = ObjectiveParams(kind="grpo"), ObjectiveParams(kind="echo")


def updated(batch, params, new, lam):
    s = select(batch, token_weights(batch, params), env=lam != 0)
    monitor = m.UpdateMonitor(params)
    monitor.add(new, s, loss_of(new, s, params, lam))
    return monitor.metrics(lam)


def test_mismatch_and_ratio_over_action_tokens_only(written):
    """Case I04."""
    transcript = written("PAAOO")
    transcript.logprobs = [math.nan, -1.0, -2.0, math.nan, math.nan]
    batch = make_batch([transcript], [1.0], pad_id=0)
    metrics = updated(batch, ECHO, torch.tensor([-1.0, -2.0, -3.0, -4.0]), 0.1)
    assert metrics["mismatch/mean"] == metrics["mismatch/max"] == 0.0  # over all tokens: 1.75
    assert metrics["policy/ratio_mean"] == metrics["policy/ratio_max"] == 1.0
    assert metrics["policy/nll"] == 1.5
    assert metrics["loss/env"] == pytest.approx(3.5) and metrics["loss/policy"] == pytest.approx(-1.0)
    assert metrics["loss/total"] == pytest.approx(-1.0 + 0.1 * 3.5)


def test_truncated_sampling_shows_as_mismatch(written):
    """Case I01."""
    # p = .5 .3 .2 cut at .8: the engine says ln(.5 / .8), the trainer ln(.5): ratio .8
    transcript = written("PA")
    transcript.logprobs[1] = math.log(0.625)
    metrics = updated(make_batch([transcript], [1.0], pad_id=0), GRPO, torch.tensor([math.log(0.5)]), 0.0)
    assert metrics["policy/ratio_mean"] == pytest.approx(0.8)
    assert metrics["mismatch/max"] == pytest.approx(0.2231, abs=1e-4)  # 0.6931 - 0.4700


def test_clip_fraction_counts_where_the_clip_acts(written):
    batch = make_batch([written("PAA", 1), written("PAA", 10)], [1.0, -1.0], pad_id=0)
    new = torch.log(torch.tensor([1.5, 0.5, 1.5, 0.5])) - 1.0
    metrics = updated(batch, GRPO, new, 0.0)
    assert metrics["policy/clip_fraction"] == 0.5  # 1.5 at +1 and 0.5 at -1; the other two are not held back
    assert metrics["policy/ratio_max"] == pytest.approx(1.5)


def test_keys_do_not_depend_on_the_batch(written):
    full = updated(make_batch([written("PAO")], [1.0], pad_id=0), ECHO, torch.tensor([-1.0, -1.0]), 0.1)
    empty = updated(make_batch([written("PP")], [1.0], pad_id=0), ECHO, torch.zeros(0), 0.1)
    assert set(full) == set(empty) and math.isnan(empty["policy/ratio_mean"])
    assert empty["loss/total"] == 0.0
    lam_zero = updated(make_batch([written("PAO")], [1.0], pad_id=0), ECHO, torch.tensor([-1.0]), 0.0)
    assert set(lam_zero) == set(full) and math.isnan(lam_zero["loss/env"]) and lam_zero["loss/total"] == -1.0
    diverged = updated(make_batch([written("PA")], [1.0], pad_id=0), GRPO, torch.tensor([math.nan]), 0.0)
    assert math.isnan(diverged["loss/total"])  # never summed away
    some = m.rollout_metrics([written("PAO")], [1.0])
    assert set(some) == set(m.rollout_metrics([])) and math.isnan(m.rollout_metrics([])["turn/malformed"])


def observed() -> Transcript:
    t = Transcript(finish=Finish.DONE)
    t.append([1], Role.PROMPT)
    t.turns.append(Turn("ok", exit_code=1))
    t.append([2], Role.ACTION, logprobs=[-1.0])
    t.append([3], Role.WARNING, kind="warning")
    t.append([4], Role.GLUE)
    t.append([5], Role.OUTPUT, kind="exit")
    t.append([6, 7], Role.OUTPUT, kind="stdout")
    t.append([8], Role.OUTPUT, kind="stderr")
    t.append([9], Role.WARNING, kind="notice")
    return t


def test_env_ce_by_class():
    transcript = observed()
    batch = make_batch([transcript], [1.0], pad_id=0)
    classes = m.class_indices([transcript], batch)
    s = select(batch, m.observation_weights(batch), policy=False)
    assert s.target.tolist() == [3, 5, 6, 7, 8, 9]
    nll = s.target.double().numpy()  # the loss of a token is its id
    metrics = m.env_ce_metrics(nll, classes[s.batch_row, s.batch_col])
    assert metrics["env_ce/output"] == 6.5  # (5 + 6 + 7 + 8) / 4
    assert metrics["env_ce/all_warnings"] == 6.0  # (3 + 9) / 2
    assert [metrics[f"env_ce/{c}"] for c in m.CLASSES] == [5.0, 6.5, 8.0, 3.0, 9.0]
    assert [metrics[f"env_tokens/{c}"] for c in m.CLASSES] == [1, 2, 1, 1, 1]


def test_term_gradients_add_up_to_the_backward_pass(tiny, gradients, written):
    batch = make_batch([written("PPAAOO", 1), written("PAOAO", 20)], [1.0, -0.5], pad_id=0)
    _, whole = gradients(tiny, batch, ECHO, lam=0.3)
    _, env = gradients(tiny, batch, ObjectiveParams(kind="env_only"), lam=1.0)
    _, policy = gradients(tiny, batch, GRPO, lam=0.0)
    weights, terms = token_weights(batch, ECHO), m.TermGradients(list(tiny.parameters()))
    for rows in ([0], [1]):
        s = select(batch, weights, rows)
        logits = tiny.logits(tiny.hidden(s.ids)[s.row, s.col])
        new = logits.log_softmax(-1).gather(1, s.target[:, None])[:, 0]
        terms.add(loss_of(new, s, ECHO, 0.3))
    terms.write(0.3)
    torch.testing.assert_close(torch.cat([p.grad.flatten() for p in tiny.parameters()]), whole)
    metrics = terms.metrics(0.3)
    assert metrics["gradient/policy_norm"] == pytest.approx(float(policy.norm()))
    assert metrics["gradient/env_norm"] == pytest.approx(float(env.norm()))
    cosine = float(policy @ env / policy.norm() / env.norm())
    assert metrics["gradient/cosine"] == pytest.approx(cosine)
    assert metrics["gradient/ratio"] == pytest.approx(0.3 * float(env.norm() / policy.norm()))


def test_rollout_rates(written):
    done, cut, wild, lost = (written("PAOAO", 10 * k) for k in range(4))
    done.finish, cut.finish, wild.finish, lost.finish = Finish.DONE, Finish.CONTEXT, Finish.TURNS, Finish.LOST
    cut.turns[1].call, cut.turns[1].exit_code = "truncated", None
    wild.turns[0].call, wild.turns[0].exit_code, wild.turns[0].imagined = "no_call", None, True
    wild.turns[1].exit_code = 2
    rewards = [1.0, 0.0, 0.0, None]
    metrics = m.rollout_metrics([done, cut, wild, lost], rewards, group_advantages(rewards, [0, 1, 1, 0]))
    assert metrics["rollout/count"] == 3 and metrics["rollout/lost"] == 1
    assert metrics["rollout/reward"] == pytest.approx(1 / 3)
    assert metrics["rollout/never_finished"] == pytest.approx(2 / 3)
    assert metrics["rollout/out_of_context"] == pytest.approx(1 / 3)
    assert metrics["rollout/turns"] == 2.0
    assert metrics["turn/malformed"] == pytest.approx(2 / 6)
    assert metrics["turn/over_long"] == metrics["turn/imagined"] == pytest.approx(1 / 6)
    assert metrics["turn/failing"] == pytest.approx(1 / 4)
    assert metrics["tokens/action"] == metrics["tokens/output"] == 6
    assert metrics["tokens/total"] == 15
    # the lost row leaves its group with one row, which is trivial: all three kept rows are
    assert metrics["rollout/zero_variance"] == metrics["rollout/env_share_zero_variance"] == 1.0


def test_times_add_up():
    times = m.Times()
    with times("rollout"):
        pass
    with pytest.raises(KeyError), times("rollout"):
        raise KeyError
    assert set(times.metrics()) == {"seconds/rollout"} and times.seconds["rollout"] >= 0


def test_quantiles_of_the_gap(written):
    batch = make_batch([written("P" + "A" * 20)], [1.0], pad_id=0)
    new = -1.0 + torch.arange(20) / 100  # gaps 0, .01 ... .19: the 95th percentile lies at .1805
    metrics = updated(batch, GRPO, new, 0.0)
    assert metrics["mismatch/p95"] == pytest.approx(0.1805, abs=1e-5)
    assert metrics["mismatch/max"] == pytest.approx(0.19, abs=1e-5)
    assert np.isfinite(metrics["loss/total"])
