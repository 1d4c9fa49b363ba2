"""Statistics against hand-computed numbers, and properties that must hold for any data."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from echo_terminal.analysis import statistics as s


def frame(values: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"t{i}" for i in range(len(values[0]))], dtype=float)


def test_pass_matrix_means_attempts_and_counts_missing_as_failure() -> None:
    attempts = pd.DataFrame(
        {
            "suite": "val",
            "seed": [0, 0, 0, 0, 1, 1, 1, 1],
            "task_id": ["a", "a", "b", "b"] * 2,
            "reward": [1, 0, 1, None, 0, 0, 1, 1],
        }
    )
    matrix = s.pass_matrix(attempts)
    assert matrix.to_numpy().tolist() == [[0.5, 0.5], [0.0, 1.0]]
    with pytest.raises(ValueError, match="ragged"):
        s.pass_matrix(attempts.iloc[:6])
    with pytest.raises(ValueError, match="never pooled"):
        s.pass_matrix(attempts.assign(suite=["val"] * 7 + ["itd"]))


def test_wilson_by_hand() -> None:
    """8 of 10 at z=1.96: centre (0.8+z²/20)/(1+z²/10) = 0.71674, half width 0.22658."""
    interval = s.wilson(8, 10)
    assert interval.value == 0.8
    assert interval.low == pytest.approx(0.49016, abs=1e-4)
    assert interval.high == pytest.approx(0.94332, abs=1e-4)


def test_mcnemar_by_hand() -> None:
    """10 against 2: 2·(1+12+66)/2¹² = 158/4096."""
    assert s.mcnemar(10, 2) == pytest.approx(158 / 4096)
    assert round(s.mcnemar(10, 2), 5) == 0.03857
    assert s.mcnemar(0, 0) == 1.0


def test_holm_by_hand() -> None:
    """Sorted .01 .02 .04 → .03, .04, .04; the last is not below its predecessor."""
    assert s.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert s.holm([0.9, 0.8]) == [1.0, 1.0]
    assert s.holm([]) == []


def test_wilcoxon_by_hand() -> None:
    """Six positive differences of distinct size: exact two-sided p = 2/2⁶."""
    b = frame([[0.0] * 6])
    a = frame([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]])
    assert s.wilcoxon_tasks(a, b) == pytest.approx(2 / 64)
    assert s.wilcoxon_tasks(a, a) == 1.0


def test_wilcoxon_with_ties_by_hand() -> None:
    """Differences 1, 1, 1, −1, 0: ranks 2.5 each, W⁺ = 7.5; 5 of 16 sign patterns reach it: p = 10/16."""
    a = frame([[1.0, 1.0, 1.0, -1.0, 0.0]])
    assert s.wilcoxon_tasks(a, a * 0) == pytest.approx(10 / 16)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30, unique=True), st.integers(0, 2**30 - 1))
def test_wilcoxon_agrees_with_scipy_where_that_is_exact(sizes: list[int], signs: int) -> None:
    difference = [x * (1 if signs >> i & 1 else -1) for i, x in enumerate(sizes)]
    a = frame([[float(d) for d in difference]])
    assert s.wilcoxon_tasks(a, a * 0) == pytest.approx(stats.wilcoxon(difference, method="exact").pvalue)


def test_t_mean_by_hand() -> None:
    """1, 2, 3: mean 2, standard error 1/√3, t(0.975, 2) = 4.3027; half width 2.4842."""
    interval, p = s.t_mean([1.0, 2.0, 3.0])
    assert interval.low == pytest.approx(2 - 2.4842, abs=1e-4)
    assert p == pytest.approx(0.07418, abs=1e-5)
    assert s.t_mean([2.0, 2.0]) == (s.Interval(2.0, 2.0, 2.0), 0.0)
    single, p_single = s.t_mean([1.0])
    assert single.value == 1.0 and np.isnan([single.low, single.high, p_single]).all()


def test_iqm_drops_a_quarter_on_each_side() -> None:
    assert s.iqm(frame([[0, 1, 2, 3], [4, 5, 6, 700]])) == 3.5  # mean of 2, 3, 4, 5


def test_pairing_wants_the_same_tasks_and_a_common_seed() -> None:
    a = frame([[1.0, 0.0]])
    with pytest.raises(ValueError, match="different tasks"):
        s.bootstrap_difference(a, a.rename(columns={"t0": "x"}))
    with pytest.raises(ValueError, match="share no seed"):
        s.bootstrap_difference(a, a.set_index(pd.Index([5])))


def test_bootstrap_is_seeded_and_keeps_strata() -> None:
    rng = np.random.default_rng(3)
    a, b = frame(rng.random((3, 20)).tolist()), frame(rng.random((3, 20)).tolist())
    assert s.bootstrap_difference(a, b, seed=1) == s.bootstrap_difference(a, b, seed=1)
    assert s.bootstrap_difference(a, b, seed=1) != s.bootstrap_difference(a, b, seed=2)
    # Each stratum is constant: resampling inside strata cannot move the mean.
    fixed = frame([[0.0] * 5 + [1.0] * 5] * 2)
    assert s.bootstrap_mean(fixed, strata=["x"] * 5 + ["y"] * 5) == s.Interval(0.5, 0.5, 0.5)
    assert s.bootstrap_mean(fixed).low < 0.5


def test_bootstrap_coverage_of_a_known_mean() -> None:
    """Of 200 samples of 40 tasks from a known mean, about 95 % of intervals hold it (binomial, ± 4 sd)."""
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(200):
        interval = s.bootstrap_mean(
            frame([(rng.random(40) < 0.4).astype(float).tolist()]), draws=400, seed=trial
        )
        hits += interval.low <= 0.4 <= interval.high
    assert 0.95 * 200 - 4 * 3.1 <= hits


matrices = hnp.arrays(
    float, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.floats(0, 1, width=16)
)


@given(matrices)
def test_difference_of_an_arm_with_itself_is_nothing(values: np.ndarray) -> None:
    a = frame(values.tolist())
    assert s.bootstrap_difference(a, a, draws=50) == s.Interval(0.0, 0.0, 0.0)


@given(matrices, st.integers(0, 1000))
def test_swapping_the_arms_mirrors_the_interval(values: np.ndarray, seed: int) -> None:
    a, b = frame(values.tolist()), frame((1 - values).tolist())
    forth, back = (s.bootstrap_difference(x, y, draws=50, seed=seed) for x, y in ((a, b), (b, a)))
    assert [forth.value, forth.low, forth.high] == pytest.approx(
        [-back.value, -back.high, -back.low], abs=1e-9
    )


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_estimate_inside_the_unit_interval(case: tuple[int, int]) -> None:
    interval = s.wilson(*case)
    assert (
        -1e-12 <= interval.low <= interval.value + 1e-12
        and interval.value <= interval.high + 1e-12 <= 1 + 2e-12
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = s.holm(p_values)
    assert all(a >= p - 1e-15 for a, p in zip(adjusted, p_values, strict=True))
    ranked = sorted(zip(p_values, adjusted, strict=True))
    assert all(x[1] <= y[1] + 1e-15 for x, y in zip(ranked, ranked[1:], strict=False))
