"""Roles to target-aligned masks, padding, micro-batches, and what may not enter a batch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.agent.transcript import Finish, Role, Transcript, Turn
from echo_terminal.policy.groups import micro_batches
from echo_terminal.training.batch import Row, collate, make_batch
from echo_terminal.training.loss import select, token_weights
from echo_terminal.training.objective import ObjectiveParams


def test_masks_are_indexed_by_target(written):
    """Case A01."""
    batch = make_batch([written("PPAAOO")], [1.0], pad_id=0)
    assert batch.action_mask.int().tolist() == [[0, 1, 1, 0, 0]]
    assert batch.output_mask.int().tolist() == [[0, 0, 0, 1, 1]]
    nll = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])
    assert nll[batch.action_mask[0]].mean() == 3.0  # (2 + 4) / 2; sliced on the wrong side: 6
    assert nll[batch.output_mask[0]].mean() == 12.0  # (8 + 16) / 2; sliced on the wrong side: 16


def test_tokens_the_harness_appends_are_in_no_term(written):
    """Case A05."""
    batch = make_batch([written("PAAGGGG")], [1.0], pad_id=0)
    assert batch.action_mask.int().tolist() == [[1, 1, 0, 0, 0, 0]]
    assert not batch.observation_mask.any()
    assert batch.logprobs.tolist() == [[0, -1, -1, 0, 0, 0, 0]]


def test_pad_equal_to_the_end_token_loses_no_token(written):
    """Case A06."""
    # pad = eos = 2; the first eos was sampled, what follows is padding
    batch = make_batch([written("PAAA", ids=[9, 7, 8, 2]), written("PAAAAA")], [1.0, 1.0], pad_id=2)
    assert batch.ids[0].tolist() == [9, 7, 8, 2, 2, 2]
    assert batch.action_mask[0].int().tolist() == [1, 1, 1, 0, 0]
    assert batch.lengths.tolist() == [4, 6]


def test_warning_counts_in_z_and_is_not_output(written):
    """Case A07."""
    batch = make_batch([written("PAGWOOG")], [1.0], pad_id=0)
    assert batch.output_mask.int().tolist() == [[0, 0, 0, 1, 1, 0]]
    assert batch.observation_mask.int().tolist() == [[0, 0, 1, 1, 1, 0]]
    assert torch.equal(batch.env_mask, batch.output_mask)


def test_three_turns_one_without_output(written):
    """Case A09."""
    batch = make_batch([written("PPAOAGAO")], [1.0], pad_id=0)
    assert batch.action_mask.int().tolist() == [[0, 1, 0, 1, 0, 1, 0]]
    assert batch.env_mask.int().tolist() == [[0, 0, 1, 0, 0, 0, 1]]


def test_reported_output_without_output_tokens_is_an_error(written):
    """Case A07."""
    wrong = written("PAGG")  # an environment whose reply was recorded as template text
    wrong.turns[0].output_chars = 6
    with pytest.raises(ValueError, match="6 characters of terminal output but no token"):
        make_batch([wrong], [1.0], pad_id=0)
    wrong.finish = Finish.CONTEXT  # the last reply did not fit: nothing is missing
    assert not make_batch([wrong], [1.0], pad_id=0).output_mask.any()


def test_scripted_rows_are_for_supervised_batches_only(written):
    scripted = Transcript(scripted=True)
    scripted.append([1], Role.PROMPT)
    scripted.turns.append(Turn("ok"))
    scripted.append([2, 3], Role.ACTION, logprobs=[0.0, 0.0])
    with pytest.raises(ValueError, match=r"rows \[1\] hold actions without sampled log-probs"):
        make_batch([written("PAAO"), scripted], [1.0, -1.0], pad_id=0)
    batch = make_batch([written("PAAO"), scripted], pad_id=0)
    assert batch.advantages is None
    assert batch.logprobs[1].tolist() == [0, 0, 0, 0]


def test_what_a_batch_refuses(written):
    lost = written("PAO")
    lost.finish = Finish.LOST
    with pytest.raises(ValueError, match="lost transcript"):
        make_batch([lost], [1.0], pad_id=0)
    with pytest.raises(ValueError, match="no context"):
        make_batch([written("AO")], [1.0], pad_id=0)
    with pytest.raises(ValueError, match="not finite"):
        make_batch([written("PA")], [float("nan")], pad_id=0)
    with pytest.raises(ValueError, match="1 rows but 2 advantages"):
        make_batch([written("PA")], [1.0, 1.0], pad_id=0)
    with pytest.raises(ValueError, match="1 rows but 2 row flags"):
        make_batch([written("PA")], [1.0], pad_id=0, env_rows=[True, True])
    with pytest.raises(ValueError, match="at least one row"):
        make_batch([], [], pad_id=0)


def test_empty_rows_enter_no_term(written):
    batch = make_batch([written("PAO"), Transcript()], [1.0, 1.0], pad_id=0)
    assert batch.policy_rows.tolist() == batch.env_rows.tolist() == [True, False]


@given(st.lists(st.text("PAOWG", min_size=1, max_size=12), min_size=1, max_size=6))
def test_every_target_has_exactly_its_role(texts):
    code = {"P": 0, "A": 1, "O": 2, "W": 3, "G": 4}
    rows = []
    for text in texts:
        roles = np.array([code[c] for c in "P" + text], dtype=np.int8)
        n = len(roles)
        rows.append(Row(np.arange(n), roles, np.full(n, -1, np.float32), roles == Role.OUTPUT))
    batch = collate(rows, [0.0] * len(rows), pad_id=0)
    assert not (batch.action_mask & batch.observation_mask).any()
    assert not (batch.output_mask & ~batch.observation_mask).any()
    for index, text in enumerate(texts):
        padding = batch.ids.shape[1] - 1 - len(text)
        assert batch.action_mask[index].tolist() == [c == "A" for c in text] + [False] * padding
        assert batch.output_mask[index].tolist() == [c == "O" for c in text] + [False] * padding


@given(
    st.lists(st.text("PAOWG", max_size=10), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=5),
    st.data(),
)
def test_selection_takes_every_masked_target_once_and_reads_its_own_context(texts, flags, data):
    code = {"P": 0, "A": 1, "O": 2, "W": 3, "G": 4}
    rows = []
    for index, text in enumerate(texts):
        roles = np.array([code[c] for c in "P" + text], dtype=np.int8)
        n = len(roles)
        rows.append(Row(np.arange(n) + 100 * index, roles, np.full(n, -1, np.float32), roles == Role.OUTPUT))
    batch = collate(rows, [1.0] * len(rows), pad_id=7, env_rows=flags[: len(rows)])
    weights = token_weights(batch, ObjectiveParams(kind="echo"))
    order = data.draw(st.permutations(range(len(rows))))
    cut = data.draw(st.integers(0, len(rows)))
    seen = {"policy": [], "env": []}
    for part in filter(None, (order[:cut], order[cut:])):
        for packed in (False, True):
            s = select(batch, weights, part, packed=packed)
            # ids count up within a row: the token read from is the target's predecessor, of the same row
            assert torch.equal(s.ids[s.row, s.col] + 1, s.target)
            assert torch.equal(batch.ids[s.batch_row, s.batch_col + 1], s.target)
        places = list(zip(s.batch_row.tolist(), s.batch_col.tolist(), strict=True))
        seen["policy"] += places[: s.n_policy]
        seen["env"] += places[s.n_policy :]
    env = batch.env_mask & batch.env_rows[:, None]
    assert sorted(seen["policy"]) == [tuple(x) for x in batch.action_mask.nonzero().tolist()]
    assert sorted(seen["env"]) == [tuple(x) for x in env.nonzero().tolist()]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 120))
def test_micro_batches_hold_every_row_within_the_budget(lengths, budget):
    groups = micro_batches(lengths, budget)
    assert sorted(i for g in groups for i in g) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[i] for i in group) <= budget


def test_micro_batches_by_hand():
    # longest first: 7 alone (2 x 7 > 12), then 5 and 5 (10), then 2 and 1
    assert micro_batches([5, 1, 7, 5, 2], 12) == [[2], [0, 3], [4, 1]]
    with pytest.raises(ValueError, match="at least 1"):
        micro_batches([1], 0)
