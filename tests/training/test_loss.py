"""Equations 1 to 3 against numbers computed by hand."""

import math

import pytest
import torch

from echo_terminal.agent.transcript import Transcript
from echo_terminal.training.batch import make_batch
from echo_terminal.training.loss import Totals, loss_of, select, token_weights, totals_of
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams, PolicyTermParams
from echo_terminal.training.schedules import LambdaParams

SFT = ObjectiveParams(kind="sft")
GRPO = ObjectiveParams(kind="grpo")
ECHO = ObjectiveParams(kind="echo")
ENV = ObjectiveParams(kind="env_only")
WHOLE, HALVES, ONES = [[0, 1, 2]], [[0, 1], [2]], [[0], [1], [2]]


def env_only(**settings) -> ObjectiveParams:
    return ObjectiveParams(kind="env_only", env=EnvTermParams(**settings))


def test_token_mean_does_not_depend_on_the_split(written, tabled):
    """Case B01."""
    batch = make_batch([written("PA", 1), written("PAAA", 10)], pad_id=0)
    table = {2: 4.0, 11: 0.0, 12: 0.0, 13: 0.0}
    for split in ([[0, 1]], [[0], [1]]):
        assert tabled(batch, SFT, table, split) == 1.0  # 4 / 4; mean of means 2, divided again 0.5


@pytest.mark.parametrize("packed", [False, True])
def test_sequence_mean_packed_and_padded(written, tabled, packed):
    """Case B05."""
    # one action token of loss 4, three of loss 0 (ratio 1: the loss of a token is minus its advantage)
    params = ObjectiveParams(kind="grpo", policy=PolicyTermParams(aggregation="sequence_mean"))
    rows = [written("PA", 1), written("PAAA", 10), Transcript()]
    batch = make_batch(rows, [-4.0, 0.0, 0.0], pad_id=0)
    table = {2: 1.0, 11: 1.0, 12: 1.0, 13: 1.0}
    for split in (WHOLE, HALVES, ONES[:2]):
        assert tabled(batch, params, table, split, 0.0, packed) == 2.0  # (4 + 0) / 2; packed as one: 1


def test_packed_rows_predict_nothing_across_the_boundary(written):
    """Case B05."""
    batch = make_batch([written("PAO", 1), written("PAO", 10)], [1.0, 1.0], pad_id=0)
    s = select(batch, token_weights(batch, ECHO), packed=True)
    assert s.ids.tolist() == [[1, 2, 3, 10, 11, 12]]
    assert s.positions.tolist() == [[0, 1, 2, 0, 1, 2]]
    assert s.target.tolist() == [2, 11, 3, 12]  # actions first; never 10, the next row's first token
    assert s.col.tolist() == [0, 3, 1, 4]


@pytest.mark.parametrize("outputs", [8, 800])
def test_each_term_has_its_own_denominator(written, tabled, outputs):
    """Case B06."""
    batch = make_batch([written("PAA" + "O" * outputs)], [-1.0], pad_id=0)
    table = {2: 1.0, 3: 1.0} | {4 + k: 0.5 for k in range(outputs)}
    assert tabled(batch, ECHO, table, lam=0.0) == pytest.approx(1.0)
    assert tabled(batch, ECHO, table, lam=1.0) == pytest.approx(1.5)  # a shared denominator: 0.2 and 0.0025
    assert tabled(batch, ECHO, table, lam=0.05) == pytest.approx(1.025)


def test_rows_taken_out_leave_numerator_and_denominator(written, tabled):
    """Case B08."""
    batch = make_batch(
        [written("PAA", 1), written("PAA", 10)], [-1.0, -1.0], pad_id=0, policy_rows=[True, False]
    )
    table = {2: 1.0, 3: 1.0, 11: 1.0, 12: 1.0}
    assert tabled(batch, GRPO, table, lam=0.0) == 1.0  # counted in the denominator: 0.5
    batch = make_batch([written("PPP", 1), written("PA", 10)], pad_id=0)
    assert tabled(batch, SFT, {11: 2.0}, [[0], [1]]) == 2.0  # an empty micro-batch adds nothing


def test_env_term_over_sequences_and_tokens(written, tabled):
    """Case B08."""
    batch = make_batch([written("PAO", 1), written("PAOOOO", 10), written("PAA", 20)], pad_id=0)
    table = {3: 2.0, 12: 1.0, 13: 1.0, 14: 1.0, 15: 1.0}
    for split in (WHOLE, HALVES, ONES):
        assert tabled(batch, ENV, table, split) == pytest.approx(1.0)  # (2 + 1 + 0) / 3: all sequences count
        by_token = tabled(batch, env_only(reduction="token_mean"), table, split)
        assert by_token == pytest.approx(1.2)  # (2 + 4) / 5


@pytest.mark.parametrize("split", [WHOLE, HALVES, ONES])
def test_token_mean_and_sequence_mean_are_two_numbers(written, tabled, split):
    """Case F06."""
    batch = make_batch(
        [written("PAO", 1), written("PA" + "O" * 99, 10), written("PAO", 200)],
        pad_id=0,
        env_rows=[True, True, False],
    )
    table = {3: 4.0, 202: 100.0} | {12 + k: 1.0 for k in range(99)}
    assert tabled(batch, env_only(reduction="token_mean"), table, split) == pytest.approx(1.03)  # 103 / 100
    assert tabled(batch, ENV, table, split) == pytest.approx(2.5)  # (4 + 1) / 2


def test_normaliser_counts_warnings_unless_selected(written, tabled):
    batch = make_batch([written("PAWWOO")], pad_id=0)
    table = {3: 7.0, 4: 7.0, 5: 1.0, 6: 3.0}
    assert tabled(batch, ENV, table) == pytest.approx(1.0)  # (1 + 3) / 4
    assert tabled(batch, env_only(normaliser="selected"), table) == pytest.approx(2.0)  # (1 + 3) / 2
    selected = env_only(normaliser="selected", reduction="token_mean")
    assert tabled(batch, selected, table) == pytest.approx(2.0)


def test_clip_is_asymmetric_and_pessimistic(written):
    # ratios 1.5 and 0.5 with advantages +1 and -1: min(1.5, 1.28) = 1.28; min(0.5, 0.8) = 0.5;
    # min(-1.5, -1.28) = -1.5; min(-0.5, -0.8) = -0.8
    batch = make_batch([written("PAA", 1), written("PAA", 10)], [1.0, -1.0], pad_id=0)
    s = select(batch, token_weights(batch, GRPO), env=False)
    new = torch.log(torch.tensor([1.5, 0.5, 1.5, 0.5])) + s.old_logprobs
    assert float(loss_of(new, s, GRPO, 0.0).total) == pytest.approx(-(1.28 + 0.5 - 1.5 - 0.8) / 4)


def test_entropy_bonus_and_kl(written):
    params = ObjectiveParams(kind="grpo", policy=PolicyTermParams(entropy_bonus=0.1, kl=0.5))
    batch = make_batch([written("PA")], [0.0], pad_id=0)
    s = select(batch, token_weights(batch, params), env=False)
    new, entropy = torch.tensor([-1.0]), torch.tensor([2.0])
    reference = torch.tensor([-1.0 + math.log(2.0)])
    loss = loss_of(new, s, params, 0.0, entropies=entropy, reference_logprobs=reference)
    # - 0.1 x 2 + 0.5 x (2 - ln 2 - 1) = -0.2 + 0.1534
    assert float(loss.total) == pytest.approx(-0.2 + 0.5 * (1 - math.log(2)))
    with pytest.raises(ValueError, match="entropies"):
        loss_of(new, s, params, 0.0)
    with pytest.raises(ValueError, match="reference"):
        loss_of(new, s, params, 0.0, entropies=entropy)


def test_nothing_selected_is_a_connected_zero(written):
    batch = make_batch([written("PPP")], [1.0], pad_id=0)
    for params in (GRPO, ECHO, ENV, SFT):
        s = select(batch, token_weights(batch, params))
        new = torch.ones(3, requires_grad=True)[:0]
        loss = loss_of(new, s, params, 1.0).total
        assert loss.item() == 0.0 and loss.requires_grad
        loss.backward()
    s = select(batch, token_weights(batch, ENV), env=False)
    assert loss_of(torch.ones(1, requires_grad=True)[:0], s, ENV, 0.0).total.requires_grad


def test_actobs_adds_the_env_term_to_the_nll_of_actions(written, tabled):
    batch = make_batch([written("PAAO")], pad_id=0)
    params = ObjectiveParams(kind="actobs", env=EnvTermParams(weight=LambdaParams(value=0.5)))
    assert tabled(batch, params, {2: 1.0, 3: 3.0, 4: 5.0}, lam=0.5) == pytest.approx(2.0 + 0.5 * 5.0)


def test_totals_add_up_over_ranks(written):
    one = make_batch([written("PAOW")], [1.0], pad_id=0)
    two = make_batch([written("PAAOO"), written("PAG")], [1.0, 1.0], pad_id=0)
    assert totals_of(one, ECHO) == Totals(1, 1, 2, 1)
    assert totals_of(one, ECHO) + totals_of(two, ECHO) == Totals(4, 3, 4, 3)


def test_misuse_is_refused(written):
    batch = make_batch([written("PAO")], [1.0], pad_id=0)
    s = select(batch, token_weights(batch, ECHO))
    with pytest.raises(ValueError, match="lambda is 0"):
        loss_of(torch.zeros(2), s, ECHO, 0.0)
    with pytest.raises(ValueError, match="log-probs for"):
        loss_of(torch.zeros(3), s, ECHO, 1.0)
    supervised = make_batch([written("PA")], pad_id=0)
    s = select(supervised, token_weights(supervised, GRPO))
    with pytest.raises(ValueError, match="advantages"):
        loss_of(torch.zeros(1), s, GRPO, 0.0)
