"""pass@k against hand-computed values; the cases F01, F02 and F03 of the fault list."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.evaluation.pass_at_k import mean_pass_at_k, pass_at_k, pass_rate


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        (4, 1, 4, 1.0),  # all four are drawn
        (4, 1, 2, 0.5),  # 1 - C(3,2)/C(4,2) = 1 - 3/6
        (10, 3, 5, 1 - 21 / 252),  # 0.916667
        (4, 2, 2, 1 - 1 / 6),  # 0.833333
        (3, 0, 2, 0.0),
        (1, 1, 1, 1.0),
    ],
)
def test_hand_values(n: int, c: int, k: int, value: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("n", "c", "k"), [(2, 0, 5), (2, 2, 5), (0, 0, 1), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_undefined_is_an_error_and_never_one(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"undefined|need k"):
        pass_at_k(n, c, k)


def test_ragged_attempts_state_how_many_tasks_count() -> None:
    ragged = mean_pass_at_k([(4, 1), (1, 1)], 2)
    assert (ragged.value, ragged.tasks, ragged.too_few) == (0.5, 1, 1)
    assert mean_pass_at_k([(1, 1), (1, 0)], 2).value is None


def test_one_attempt_a_task_gives_pass_at_1_only() -> None:
    counts = [(1, 1)] * 50 + [(1, 0)] * 114
    assert mean_pass_at_k(counts, 1).value == pytest.approx(0.304878, abs=1e-6)  # 50 / 164
    assert mean_pass_at_k(counts, 10).value is None


def test_the_mean_is_over_tasks_not_over_attempts() -> None:
    # (1/8 + 1/1) / 2 = 0.5625; pooled attempts would give 2/9
    assert mean_pass_at_k([(8, 1), (1, 1)], 1).value == pytest.approx(0.5625)


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_equals_the_enumeration_of_all_draws(case: tuple[int, int, int]) -> None:
    n, c, k = case
    draws = list(itertools.combinations([i < c for i in range(n)], k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)


def test_attempts_without_a_verdict_leave_two_bounds() -> None:
    rate = pass_rate([True] * 238 + [False] * 167 + [None] * 40)
    assert (rate.passed, rate.failed, rate.missing) == (238, 167, 40)
    assert rate.headline == pytest.approx(238 / 445)  # 0.5348
    assert rate.upper == pytest.approx(238 / 405)  # 0.5877
    assert pass_rate([]).headline is None
    assert pass_rate([None]).upper is None
