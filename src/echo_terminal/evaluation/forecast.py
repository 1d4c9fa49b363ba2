"""Before a command runs: how likely is it to succeed, in the policy's own words?

The observation opens with the exit code, so right after the action and the fixed glue the policy's
next-token distribution holds its forecast: p(success) = p(the reply starts with "0"). Exit codes are written
without leading zeros, so no other code starts so. Judged by AUROC, the Brier score and a calibration table,
and used to choose among k sampled commands; interaction is what is budgeted, so both arms run the same
number of commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, fsum

from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.evaluation.heldout_ce import Scorer


@dataclass(frozen=True)
class Forecast:
    """One executed command: the predicted chance that it succeeds, and whether it did (exit code 0)."""

    transcript: int
    turn: int
    probability: float
    success: bool


@dataclass(frozen=True)
class Bin:
    """Commands with low <= probability < high (the last bin holds 1 too); both rates None where it is empty."""

    low: float
    high: float
    count: int
    mean_probability: float | None
    success_rate: float | None


@dataclass(frozen=True)
class Quality:
    """``auroc`` is None where all commands ended alike. ``brier_of_base_rate`` is what a constant forecast
    reaches.

    ``calibration_error`` is the mean over commands of |mean probability - success rate| of their bin.
    """

    count: int
    success_rate: float
    auroc: float | None
    brier: float
    brier_of_base_rate: float
    calibration_error: float
    bins: tuple[Bin, ...]


def success_probabilities(
    prefixes: Sequence[Sequence[int]], zero: Sequence[int], scorer: Scorer, batch_size: int = 16
) -> list[float]:
    """p("0" comes next) for each prefix, which ends with the glue before the exit code.

    ``zero`` is the encoding of the text ``0``, normally one token.
    """
    if not zero:
        raise ValueError('the encoding of "0" is empty')
    result: list[float] = []
    for first in range(0, len(prefixes), batch_size):
        rows = [[*prefix, *zero] for prefix in prefixes[first : first + batch_size]]
        result += [exp(min(0.0, fsum(values[-len(zero) :]))) for values in scorer.token_logprobs(rows)]
    return result


def forecasts(
    transcripts: Sequence[Transcript], zero: Sequence[int], scorer: Scorer, batch_size: int = 16
) -> list[Forecast]:
    """Forecast every command that ran and has an exit code, in order.

    A turn whose observation starts with a warning is left out: the forecast is made before anything is known.
    """
    cases: list[tuple[int, int, list[int], bool]] = []
    for i, transcript in enumerate(transcripts):
        warned = {s.turn for s in transcript.segments if s.role == Role.WARNING and s.kind != "notice"}
        for segment in transcript.segments:
            if segment.role != Role.OUTPUT or segment.kind != "exit" or segment.turn in warned:
                continue
            code = transcript.turns[segment.turn].exit_code
            if code is not None:
                cases.append((i, segment.turn, transcript.ids[: segment.start], code == 0))
    probabilities = success_probabilities([c[2] for c in cases], zero, scorer, batch_size)
    return [Forecast(i, turn, p, ok) for (i, turn, _, ok), p in zip(cases, probabilities, strict=True)]


def auroc(probabilities: Sequence[float], outcomes: Sequence[bool]) -> float | None:
    """P(a success is forecast above a failure), ties count half; None where there is only one outcome."""
    positives = sum(outcomes)
    negatives = len(outcomes) - positives
    if not positives or not negatives:
        return None
    order = sorted(range(len(outcomes)), key=lambda i: probabilities[i])
    rank_sum = 0.0
    first = 0
    while first < len(order):
        last = first
        while last < len(order) and probabilities[order[last]] == probabilities[order[first]]:
            last += 1
        rank_sum += sum(outcomes[i] for i in order[first:last]) * (first + 1 + last) / 2
        first = last
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def calibration(probabilities: Sequence[float], outcomes: Sequence[bool], bins: int = 10) -> tuple[Bin, ...]:
    """Equal-width bins over [0, 1]."""
    members: list[list[int]] = [[] for _ in range(bins)]
    for i, p in enumerate(probabilities):
        members[min(int(p * bins), bins - 1)].append(i)
    return tuple(
        Bin(
            b / bins,
            (b + 1) / bins,
            len(m),
            fsum(probabilities[i] for i in m) / len(m) if m else None,
            sum(outcomes[i] for i in m) / len(m) if m else None,
        )
        for b, m in enumerate(members)
    )


def quality(results: Sequence[Forecast], bins: int = 10) -> Quality:
    """AUROC, Brier score and calibration of a set of forecasts.

    Raises:
        ValueError: there is no forecast.
    """
    if not results:
        raise ValueError("no command with an exit code to judge the forecast by")
    p = [r.probability for r in results]
    y = [r.success for r in results]
    rate = sum(y) / len(y)
    table = calibration(p, y, bins)
    gaps = (
        b.count * abs(b.mean_probability - b.success_rate)
        for b in table
        if b.mean_probability is not None and b.success_rate is not None
    )
    return Quality(
        count=len(y),
        success_rate=rate,
        auroc=auroc(p, y),
        brier=fsum((a - b) ** 2 for a, b in zip(p, y, strict=True)) / len(y),
        brier_of_base_rate=rate * (1 - rate),
        calibration_error=fsum(gaps) / len(y),
        bins=table,
    )


def choose(kinds: Sequence[str], probabilities: Sequence[float | None]) -> int:
    """Index of the sampled action to run: the command with the best forecast, the earliest of equals.

    ``kinds`` are those of ``tool_call.Call``: bash, done or malformed; ``probabilities`` has a number for
    each bash. When to stop stays the policy's own decision: if its first sample says done, that is taken;
    later done signals are not. A malformed action is taken only if no sample is a command.

    Raises:
        ValueError: no sample.
    """
    if not kinds:
        raise ValueError("nothing to choose from")
    ranked = [(p, -i) for i, p in enumerate(probabilities) if kinds[i] == "bash" and p is not None]
    if kinds[0] == "done" or not ranked:
        return 0
    return -max(ranked)[1]


def rows(judged: Quality) -> list[dict[str, float | int | None]]:
    """One row for each calibration bin, with the scores of the whole repeated in each: a result table."""
    whole = {
        name: value for name, value in asdict(judged).items() if name not in ("bins", "success_rate", "count")
    }
    whole |= {"commands": judged.count, "base_rate": judged.success_rate}
    return [{**whole, **asdict(b)} for b in judged.bins]
