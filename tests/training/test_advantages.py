"""Group advantages by hand, equal rewards, lost rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.training.advantages import group_advantages


def test_by_hand():
    # group a: 1 0 0 0, mean 1/4, sample variance 3/4 / 3 = 1/4, std 1/2: 0.75 / 0.5, -0.25 / 0.5
    # group b: 1 0, mean 1/2, sample variance 1/2: +-0.5 / 0.7071
    result = group_advantages([1, 1, 0, 0, 0, 0], ["a", "b", "a", "a", "b", "a"])
    root = np.sqrt(0.5)
    np.testing.assert_allclose(result.values, [1.5, root, -0.5, -0.5, -root, -0.5])
    assert not result.trivial.any()
    # population: variance 3/4 / 4 = 3/16, std 0.4330: 0.75 / 0.4330 = 1.7321
    population = group_advantages([1, 0, 0, 0], [0] * 4, std="population")
    np.testing.assert_allclose(population.values, [1.7320508, -0.5773503, -0.5773503, -0.5773503])


@pytest.mark.parametrize("reward", [0.0, 0.1, 1.0])
def test_equal_rewards_give_exactly_zero(reward):
    """Case B04."""
    # in float64 the mean of three 0.1 is 0.10000000000000002: residual over std would be -1
    result = group_advantages([reward] * 3, [0] * 3)
    assert result.values.tolist() == [0.0, 0.0, 0.0]
    assert result.trivial.all() and result.zero_variance_share == 1.0


def test_lost_rows_leave_the_group():
    result = group_advantages([1.0, None, 0.0, 1.0, None], [0, 0, 0, 1, 1])
    root = np.sqrt(0.5)
    np.testing.assert_allclose(result.values, [root, np.nan, -root, 0.0, np.nan])
    assert result.lost.tolist() == [False, True, False, False, True]
    assert result.zero_variance_share == pytest.approx(1 / 3)  # rows 0, 2 and 3 are kept, 3 is trivial


def test_errors():
    with pytest.raises(ValueError, match="group 'b' holds one rollout"):
        group_advantages([1.0, 0.0, 1.0], ["a", "a", "b"])
    with pytest.raises(ValueError, match="finite"):
        group_advantages([1.0, float("inf")], [0, 0])
    with pytest.raises(ValueError, match="1 rewards but 2"):
        group_advantages([1.0], [0, 0])


@given(
    st.lists(st.floats(-10, 10, allow_nan=False), min_size=2, max_size=16),
    st.floats(0.5, 3),
    st.floats(-5, 5),
)
def test_shift_and_scale_of_rewards_change_nothing(rewards, scale, shift):
    base = group_advantages(rewards, [0] * len(rewards))
    if max(rewards) - min(rewards) < 1e-3:
        return
    moved = group_advantages([scale * r + shift for r in rewards], [0] * len(rewards))
    np.testing.assert_allclose(base.values, moved.values, rtol=1e-6, atol=1e-9)
    assert abs(base.values.sum()) < 1e-6
    assert base.values.std(ddof=1) == pytest.approx(1.0)
