"""The forecast of success: where it is read, how it is judged, how it chooses."""

from collections.abc import Callable
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.evaluation.forecast import (
    Forecast,
    auroc,
    calibration,
    choose,
    forecasts,
    quality,
    rows,
    success_probabilities,
)

Build = Callable[..., Transcript]
ZERO = [ord("0")]


class Oracle:
    """p("0" next) is .9 after a prefix that holds ``good``, else .2; other tokens have log-prob -1."""

    def token_logprobs(self, ids: list[list[int]]) -> list[list[float]]:
        last = [log(0.9) if b"good" in bytes(row[:-1]) else log(0.2) for row in ids]
        return [[-1.0] * (len(row) - 2) + [p] for row, p in zip(ids, last, strict=True)]


def reply(code: str) -> list[tuple[str, Role, str]]:
    return [("code: ", Role.GLUE, ""), (code, Role.OUTPUT, "exit"), ("\nout", Role.OUTPUT, "stdout")]


def test_reads_the_distribution_right_before_the_exit_code(transcript: Build) -> None:
    warned = [("careful", Role.WARNING, "format"), *reply("0")]
    cut = [*reply("0"), ("[cut]", Role.WARNING, "notice")]
    turns = [("bad", 1, reply("1")), ("good", 0, reply("0")), ("warned", 0, warned), ("cut", 0, cut)]
    found = forecasts([transcript("p", turns)], ZERO, Oracle(), batch_size=1)
    assert [(f.turn, f.success) for f in found] == [(0, False), (1, True), (3, True)]
    assert [f.probability for f in found] == pytest.approx([0.2, 0.9, 0.9])


def test_a_zero_of_several_tokens_multiplies() -> None:
    class Half:
        def token_logprobs(self, ids: list[list[int]]) -> list[list[float]]:
            return [[log(0.5)] * (len(row) - 1) for row in ids]

    assert success_probabilities([[1, 2, 3]], [4, 5], Half()) == pytest.approx([0.25])
    with pytest.raises(ValueError, match="empty"):
        success_probabilities([[1]], [], Half())


def test_auroc_by_hand() -> None:
    # pairs (success, failure): .8>.3, .8>.6, .6=.6 half, .6>.3 -> 3.5 of 4
    assert auroc([0.8, 0.6, 0.6, 0.3], [True, True, False, False]) == pytest.approx(0.875)
    assert auroc([0.1, 0.2], [True, True]) is None


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=30
    )
)
def test_auroc_equals_the_count_over_pairs(cases: list[tuple[float, bool]]) -> None:
    p, y = [c[0] for c in cases], [c[1] for c in cases]
    pairs = [(a, b) for a, s in cases if s for b, t in cases if not t]
    by_pairs = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs) if pairs else None
    assert auroc(p, y) == (None if by_pairs is None else pytest.approx(by_pairs))
    assert sum(b.count for b in calibration(p, y)) == len(cases)


def test_quality_by_hand() -> None:
    results = [
        Forecast(0, i, p, s)
        for i, (p, s) in enumerate([(1.0, True), (0.5, False), (0.55, True), (0.0, False)])
    ]
    q = quality(results, bins=2)
    assert q.brier == pytest.approx((0 + 0.25 + 0.2025 + 0) / 4)
    assert q.brier_of_base_rate == 0.25
    assert q.auroc == 1.0
    low, high = q.bins
    assert (low.count, low.mean_probability, low.success_rate) == (1, 0.0, 0.0)
    assert (high.count, high.mean_probability, high.success_rate) == (
        3,
        pytest.approx(2.05 / 3),
        pytest.approx(2 / 3),
    )
    assert q.calibration_error == pytest.approx(0.05 / 4)
    assert calibration([0.9], [True], 2)[0].mean_probability is None
    with pytest.raises(ValueError, match="no command"):
        quality([])


@pytest.mark.parametrize(
    ("kinds", "p", "index"),
    [
        (["bash", "bash", "bash"], [0.2, 0.9, 0.5], 1),
        (["bash", "bash"], [0.5, 0.5], 0),  # the earliest of equals
        (["done", "bash"], [None, 0.9], 0),  # stopping stays the policy's decision
        (["bash", "done"], [0.1, None], 0),
        (["malformed", "bash", "done"], [None, 0.1, None], 1),
        (["malformed", "malformed"], [None, None], 0),
        (["malformed", "done"], [None, None], 0),
    ],
)
def test_choice(kinds: list[str], p: list[float | None], index: int) -> None:
    assert choose(kinds, p) == index


def test_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="nothing"):
        choose([], [])


def test_rows_of_the_result_table() -> None:
    table = rows(quality([Forecast(0, 0, 0.9, True), Forecast(0, 1, 0.2, False)], bins=2))
    assert [(r["low"], r["count"], r["success_rate"], r["auroc"], r["commands"]) for r in table] == [
        (0.0, 1, 0.0, 1.0, 2),
        (0.5, 1, 1.0, 1.0, 2),
    ]
