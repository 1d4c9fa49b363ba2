"""Held-out CE against hand-computed values; case F06 of the fault list."""

import re
from collections.abc import Callable
from math import exp, factorial, log

import pytest

from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.evaluation.floor import Domain, domains, floor_sample, news
from echo_terminal.evaluation.free_running import edit_distance, predict, similarity
from echo_terminal.evaluation.heldout_ce import (
    CERow,
    HeldOut,
    compare,
    digest,
    mean_ce,
    output_only,
    prepare,
    score,
    score_one,
    summarise,
)
from echo_terminal.tasks.lexicon import NAMES

Build = Callable[..., Transcript]


class PaddedScorer:
    """Log-prob -id/10 of every token, computed over a padded batch; ``left`` pads on the left."""

    def __init__(self, left: bool = False) -> None:
        self.left = left
        self.batches: list[int] = []

    def token_logprobs(self, ids: list[list[int]]) -> list[list[float]]:
        self.batches.append(len(ids))
        width = max(map(len, ids))
        rows = []
        for row in ids:
            pad = [999] * (width - len(row))
            padded = [-i / 10 for i in (pad + row if self.left else row + pad)]
            at = len(pad) if self.left else 0
            rows.append(padded[at + 1 : at + len(row)])
        return rows


def held(name: str, ids: list[int], classes: list[str | None]) -> HeldOut:
    zeros = (0,) * len(ids)
    return HeldOut(
        name, name, "val", tuple(ids), tuple(classes), (1,) * len(ids), tuple(float(z) for z in zeros)
    )


A = held("a", [1, 40], [None, "other"])  # one token of 4 nats
B = held("b", [1] + [10] * 99, [None] + ["other"] * 99)  # 99 tokens of 1 nat
MASKED = held("m", [1, 2, 3], [None, None, None])


@pytest.mark.parametrize("batch_size", [1, 2, 3])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("corpus", [[A, B], [B, A], [A, MASKED, B]])
def test_token_and_sequence_means_whatever_the_batching(
    batch_size: int, left: bool, corpus: list[HeldOut]
) -> None:
    ce = mean_ce(score(corpus, PaddedScorer(left), batch_size))
    assert ce is not None
    assert (ce.tokens, ce.sequences) == (100, 2)
    assert ce.per_token == pytest.approx(1.03, abs=1e-12)  # (4 + 99) / 100
    assert ce.per_sequence == pytest.approx(2.5, abs=1e-12)  # (4 + 1) / 2
    assert ce.bits_per_byte == pytest.approx(103 / log(2) / 100)


def test_only_masked_rows_give_nothing_and_no_nan() -> None:
    assert mean_ce(score([MASKED], PaddedScorer())) is None
    assert summarise([]) == {}


def test_the_first_output_token_is_predicted_from_the_token_before_it() -> None:
    rows = score_one(held("a", [7, 8, 9], [None, "error", None]), [-1.0, -16.0])
    assert [(r.token_class, r.tokens, r.nll) for r in rows] == [("error", 1, 1.0)]


@pytest.mark.parametrize("logprobs", [[-1.0], [-1.0, -1.0, -1.0], [float("nan"), -1.0], [-1.0, 0.5]])
def test_wrong_lengths_and_numbers_are_refused(logprobs: list[float]) -> None:
    with pytest.raises(ValueError, match="log-prob"):
        score_one(held("a", [7, 8, 9], [None, "error", "error"]), logprobs)


def test_warnings_and_notices_are_reported_apart(transcript: Build, codec: tuple) -> None:
    _, decode = codec
    parts = [
        ("bad call!", Role.WARNING, "format"),
        ("code: ", Role.GLUE, ""),
        ("0", Role.OUTPUT, "exit"),
        ("\n", Role.GLUE, ""),
        ("héé", Role.OUTPUT, "stdout"),
        ("[cut]", Role.WARNING, "notice"),
    ]
    t = prepare(transcript("p", [("x", 0, parts)]), decode, trajectory_id="t", task_id="t", suite="val")
    rows = score([t], PaddedScorer())
    assert {r.token_class: (r.tokens, r.bytes) for r in rows} == {
        "exit_code": (1, 1),
        "other": (5, 5),  # h and two characters of two bytes each
        "warning": (14, 14),
    }
    assert sum(r.tokens for r in output_only(rows)) == 6
    assert summarise(rows)[("val",)].tokens == 6
    assert ("warning",) in summarise(rows, by=("token_class",))


def test_summaries_add_up(transcript: Build, codec: tuple) -> None:
    rows = [CERow("a", "k", "val", "error", 2, 4.0, 8, 1.0), CERow("a", "k", "val", "number", 2, 2.0, 4, 0.0)]
    by_class = summarise(rows, by=("suite", "token_class"))
    assert by_class[("val", "error")].per_token == 2.0
    whole = summarise(rows)[("val",)]
    assert (whole.per_token, whole.floor_per_token) == (1.5, 0.25)


def test_two_arms_must_share_the_corpus() -> None:
    before, after = score([A, B], PaddedScorer()), score([A], PaddedScorer())
    with pytest.raises(ValueError, match="different trajectories"):
        compare(before, after)
    better = [CERow(**{**vars(r), "nll": r.nll / 2}) for r in before]
    assert compare(before, better) == {"a": -2.0, "b": -0.5}
    assert digest([A, B]) == digest([B, A]) != digest([A])
    assert digest([A]) != digest([held("a", [1, 40], [None, "error"])])


def test_floors() -> None:
    assert floor_sample(17, 1) == pytest.approx(log(17))
    assert floor_sample(10, 3) == pytest.approx(log(10 * 9 * 8))
    assert floor_sample(10, 3, ordered=False) == pytest.approx(log(120))
    assert floor_sample(52, 52) == pytest.approx(log(factorial(52)))


WORDS = Domain(re.compile(r"\b([a-z]+)\b"), frozenset({"mango", "kiwi", "plum", "fig"}))


def test_a_drawn_name_is_charged_once_and_only_when_it_is_news(transcript: Build, codec: tuple) -> None:
    _, decode = codec
    out = [("mango.txt kiwi.txt mango.txt", Role.OUTPUT, "stdout")]
    t = transcript("read kiwi.txt", [("ls", 0, out)])
    h = prepare(t, decode, trajectory_id="t", task_id="t", suite="val", drawn=[WORDS])
    assert sum(h.floors) == pytest.approx(log(3))  # kiwi is ruled out
    assert h.floors[bytes(t.ids).index(b"mango")] == pytest.approx(log(3))
    assert sum(prepare(t, decode, trajectory_id="t", task_id="t", suite="val").floors) == 0


def test_values_of_one_output_cost_as_an_unordered_sample() -> None:
    assert news("fig, plum", {"kiwi"}, [WORDS]) == [
        (0, pytest.approx(log(3) / 2)),  # C(3, 2) = 3 pairs of the three left
        (5, pytest.approx(log(3) / 2)),
    ]
    taken = Domain(WORDS.pattern, WORDS.values, taken=1)
    assert news("fig fig", set(), [taken]) == [(0, pytest.approx(log(3)))]
    assert news("nothing here", set(), [WORDS]) == []


def test_what_the_small_world_draws() -> None:
    name, known = NAMES[0], NAMES[1]
    found = dict(news(f"{name}.log main.cfg {known}", {known}, domains(tools=10)))
    assert found == {
        0: pytest.approx(log(245)),
        5: pytest.approx(log(6)),
    }  # 256 - 1 seen - 10 tools; 6 extensions
    usage = f"usage: {known} pack FILE"
    assert news(usage, {known, "sync"}, domains(["pack"])) == [
        (12, pytest.approx(log(16)))
    ]  # 17 verbs, one tried
    assert news(usage, {known}, domains()) == []  # a fact of a machine that was trained on can be known


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("kitten", "sitting", 3),
        ("abc", "abc", 0),
        ("ab", "ba", 2),
    ],
)
def test_edit_distance(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b) == distance == edit_distance(b, a)


def test_free_running_beside_teacher_forcing(transcript: Build, codec: tuple) -> None:
    encode, decode = codec
    turns = [
        ("a", 0, [("<", Role.GLUE, ""), ("0", Role.OUTPUT, "exit"), ("\n", Role.GLUE, ""),
                  ("hello", Role.OUTPUT, "stdout"), (">!", Role.GLUE, "")]),
        ("b", 1, [("<", Role.GLUE, ""), ("1", Role.OUTPUT, "exit"), (">", Role.GLUE, "")]),
        ("c", 0, []),
    ]  # fmt: skip
    t = transcript("p", turns)
    prefixes: list[str] = []

    def generate(ids: list[list[int]], limits: list[int]) -> list[list[int]]:
        prefixes.extend(decode(row) for row in ids)
        return [encode("0" if n == 1 else "hallo")[:n] for n in limits]

    first, second = predict([t], generate, PaddedScorer(), decode)
    assert prefixes == [
        "pa<",
        "pa<0\nhello>!b<",
        "pa<0\n",
    ]  # its own exit code, then the harness's line break
    assert (first.turn, first.exact, second.turn, second.exact) == (0, False, 1, False)
    assert first.similarity == pytest.approx(1 - 1 / 6)  # "0hallo" against "0hello"
    assert second.similarity == 0.0  # "0" against "1"
    assert (first.tokens, first.exit_only, second.tokens, second.exit_only) == (6, False, 1, True)
    assert first.teacher_nll == pytest.approx(sum(encode("0hello")) / 10)
    assert similarity("", "") == 1.0
    assert exp(-first.teacher_nll) > 0
