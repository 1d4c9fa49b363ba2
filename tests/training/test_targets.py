"""Targets of the environment term by role and turn, and the two control batches."""

import numpy as np
import pytest

from echo_terminal.agent.transcript import Role, Transcript, Turn
from echo_terminal.training.batch import make_batch
from echo_terminal.training.loss import token_weights
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams
from echo_terminal.training.targets import TARGETS, shuffled_outputs, target_mask, unrelated_text


@pytest.fixture
def two_turns() -> Transcript:
    """Ids 0 to 9: prompt 0 | action 1, exit 2, stdout 3, stderr 4 | action 5, warning 6, exit 7, stdout 8, notice 9."""
    t = Transcript()
    t.append([0], Role.PROMPT)
    t.turns.append(Turn("ok", exit_code=1, changed_state=False))
    t.append([1], Role.ACTION, logprobs=[-1.0])
    t.append([2], Role.OUTPUT, kind="exit")
    t.append([3], Role.OUTPUT, kind="stdout")
    t.append([4], Role.OUTPUT, kind="stderr")
    t.turns.append(Turn("ok", exit_code=0, changed_state=True))
    t.append([5], Role.ACTION, logprobs=[-1.0])
    t.append([6], Role.WARNING, kind="warning")
    t.append([7], Role.OUTPUT, kind="exit")
    t.append([8], Role.OUTPUT, kind="stdout")
    t.append([9], Role.WARNING, kind="notice")
    return t


@pytest.mark.parametrize(
    ("target", "tokens"),
    [
        ("output", [2, 3, 4, 7, 8]),
        ("full_observation", [2, 3, 4, 6, 7, 8, 9]),
        ("warnings", [6, 9]),
        ("errors", [4]),
        ("failing", [2, 3, 4]),
        ("changed_state", [7, 8]),
    ],
)
def test_tokens_of_each_target(two_turns, target, tokens):
    assert np.flatnonzero(target_mask(two_turns, target)).tolist() == tokens


def test_excluded_ids_leave_the_target_and_not_z(two_turns):
    assert np.flatnonzero(target_mask(two_turns, "output", exclude={3, 8, 5})).tolist() == [2, 4, 7]
    batch = make_batch([two_turns], [1.0], pad_id=0, exclude={3, 8})
    params = ObjectiveParams(kind="env_only")
    assert token_weights(batch, params).env.sum().item() == pytest.approx(3 / 7)  # Z: 5 output, 2 warning
    selected = ObjectiveParams(kind="env_only", env=EnvTermParams(normaliser="selected"))
    assert token_weights(batch, selected).env.sum().item() == pytest.approx(1.0)


def test_every_target_is_covered_and_unknown_ones_are_refused(two_turns):
    assert len(TARGETS) == 6
    with pytest.raises(ValueError, match="unknown target 'stdout': choose one of output, full_observation"):
        target_mask(two_turns, "stdout")


def outputs_of(transcripts):
    return sorted(
        tuple(t.ids[s.start : s.end]) for t in transcripts for s in t.segments if s.role is Role.OUTPUT
    )


def test_shuffled_outputs_come_from_another_rollout(written):
    rows = [written("PAOGAOO", 10), written("PAOOO", 20), written("PAOAOG", 30), written("PAGAOO", 40)]
    shuffled = shuffled_outputs(rows, np.random.default_rng(0), 99)
    assert outputs_of(shuffled) == outputs_of(rows)
    for true, new in zip(rows, shuffled, strict=True):
        assert [s.role for s in new.segments] == [s.role for s in true.segments]
        for a, b in zip(true.segments, new.segments, strict=True):
            kept = new.ids[b.start : b.end] == true.ids[a.start : a.end]
            assert kept == (a.role is not Role.OUTPUT)
            if a.role is Role.OUTPUT:  # ids of rollout k lie in 10k .. 10k + 9
                assert new.ids[b.start] // 10 != true.ids[0] // 10
    again = shuffled_outputs(rows, np.random.default_rng(0), 99)
    assert [t.ids for t in again] == [t.ids for t in shuffled]
    with pytest.raises(ValueError, match="without sampled log-probs"):
        make_batch(shuffled, [1.0] * 4, pad_id=0)


def test_a_kind_that_one_rollout_holds_most_of_is_emptied(written):
    rows = shuffled_outputs([written("PAOAO"), written("PAO")], np.random.default_rng(0), 99)
    assert [len(ids) for ids in outputs_of(rows)] == [0, 0, 0]
    assert [len(t.ids) for t in rows] == [3, 2]


def test_shuffled_rows_fit_the_policy(written):
    rows = [
        written("PAO", 10),
        written("PAOOOO", 20),
        written("PAO", 30),
        written("PAO", 40),
        written("PAO", 50),
    ]
    long = shuffled_outputs(rows, np.random.default_rng(0), 99)
    cut = shuffled_outputs(rows, np.random.default_rng(0), 3)
    assert max(len(t.ids) for t in long) == 6
    for whole, part in zip(long, cut, strict=True):
        assert part.ids == whole.ids[:3] and len(part.roles) == len(part.ids) == part.segments[-1].end


def test_unrelated_text_has_as_many_targets(written):
    rows = [written("PPAOOG", 10), written("PAG", 20), written("PAOOOWAO", 30)]
    control = unrelated_text(rows, [50, 51, 52, 53], start=1)
    assert [t.ids for t in control] == [[10, 51, 52], [20], [30, 53, 50, 51, 52]]
    true, unrelated = make_batch(rows, pad_id=0), make_batch(control, pad_id=0)
    assert true.env_mask.sum(1).tolist() == unrelated.env_mask.sum(1).tolist() == [2, 0, 4]
    with pytest.raises(ValueError, match="unrelated text is empty"):
        unrelated_text(rows, [])
