"""Held-out cross-entropy of terminal output on fixed trajectories (figures 3 and 6 of the paper).

For every arm the same ids, roles and classes are scored; ``digest`` names that set, and ``compare`` refuses
two results that do not share it. CE is -log p(x_t | x_<t) in nats at temperature 1 over the full vocabulary.
Two averages, always named: ``per_token`` = sum of nats / number of tokens; ``per_sequence`` = mean over
trajectories of their own per-token value. Both come from sums per trajectory, so batch size and padding play
no part. OUTPUT and WARNING are never mixed.

Deviation from the paper: it reports one number a suite; here also classes, bits per byte and an entropy
floor.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import fsum, log
from typing import Protocol

from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.evaluation.floor import Domain, news, parts
from echo_terminal.evaluation.token_class import Decode, classify, token_spans

WARNING_CLASS = "warning"


class Scorer(Protocol):
    """A policy as the evaluation sees it."""

    def token_logprobs(self, ids: list[list[int]]) -> list[list[float]]:
        """For each row of T ids the T-1 values log p(x_t | x_<t), t = 1..T-1, in nats, temperature 1."""


@dataclass(frozen=True)
class HeldOut:
    """One trajectory, ready to be scored: per token its class (None: not scored), bytes of text and floor in
    nats.
    """

    trajectory_id: str
    task_id: str
    suite: str
    ids: tuple[int, ...]
    classes: tuple[str | None, ...]
    sizes: tuple[int, ...]
    floors: tuple[float, ...]


@dataclass(frozen=True)
class CERow:
    """Sums over the tokens of one class in one trajectory. ``nll`` and ``floor`` in nats, ``bytes`` of UTF-8
    text.
    """

    trajectory_id: str
    task_id: str
    suite: str
    token_class: str
    tokens: int
    nll: float
    bytes: int
    floor: float


@dataclass(frozen=True)
class CE:
    """Means of a set of rows; ``bits_per_byte`` is None where the tokens carry no bytes."""

    tokens: int
    sequences: int
    per_token: float
    per_sequence: float
    bits_per_byte: float | None
    floor_per_token: float


def _text_sizes(ids: Sequence[int], decode: Decode) -> tuple[str, list[tuple[int, int]], list[int]]:
    """Text, spans, and the bytes of each token; tokens that share a span leave its bytes to the first of them."""
    text, spans = token_spans(ids, decode)
    sizes = [
        0 if i and spans[i] == spans[i - 1] else len(text[start:end].encode())
        for i, (start, end) in enumerate(spans)
    ]
    return text, spans, sizes


def prepare(
    transcript: Transcript,
    decode: Decode,
    *,
    trajectory_id: str,
    task_id: str,
    suite: str,
    facts: Collection[str] = (),
    drawn: Sequence[Domain] = (),
) -> HeldOut:
    """Classify the observation tokens of one transcript.

    ``drawn`` is what the task's generator drew by chance (``floor``): a value's nats are charged to its first token.
    """
    classes: list[str | None] = [None if c is None else str(c) for c in classify(transcript, decode, facts)]
    sizes = [0] * len(transcript.ids)
    floors = [0.0] * len(transcript.ids)
    seen: set[str] = set()
    for segment in transcript.segments:
        span = slice(segment.start, segment.end)
        text, spans, of_tokens = _text_sizes(transcript.ids[span], decode)
        if segment.role == Role.OUTPUT:
            for place, nats in news(text, seen, drawn):
                token = next(i for i, (_, end) in enumerate(spans) if end > place)
                floors[segment.start + token] += nats
        if segment.role in (Role.OUTPUT, Role.WARNING):
            sizes[span] = of_tokens
        if segment.role == Role.WARNING:
            classes[span] = [WARNING_CLASS] * (segment.end - segment.start)
        seen.update(parts(text))
    return HeldOut(
        trajectory_id, task_id, suite, tuple(transcript.ids), tuple(classes), tuple(sizes), tuple(floors)
    )


def digest(corpus: Iterable[HeldOut]) -> str:
    """Names a fixed corpus: trajectories, ids and mask, whatever their order."""
    parts = sorted(
        hashlib.sha256(repr((t.trajectory_id, t.ids, t.classes)).encode()).hexdigest() for t in corpus
    )
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def score_one(trajectory: HeldOut, logprobs: Sequence[float]) -> list[CERow]:
    """Rows of one trajectory, sorted by class. ``logprobs[t-1]`` belongs to token t; token 0 has none.

    Raises:
        ValueError: wrong length, or a log-prob that is not a number <= 0.
    """
    if len(logprobs) != len(trajectory.ids) - 1:
        raise ValueError(
            f"{trajectory.trajectory_id}: {len(trajectory.ids)} ids but {len(logprobs)} log-probs"
        )
    members: dict[str, list[int]] = defaultdict(list)
    for t, name in enumerate(trajectory.classes[1:], start=1):
        if name is not None:
            members[name].append(t)
    rows = []
    for name, tokens in sorted(members.items()):
        values = [logprobs[t - 1] for t in tokens]
        if not all(v <= 1e-6 for v in values):  # also catches NaN
            raise ValueError(f"{trajectory.trajectory_id}: the policy gave a log-prob above 0 or NaN")
        rows.append(
            CERow(
                trajectory.trajectory_id,
                trajectory.task_id,
                trajectory.suite,
                name,
                len(tokens),
                -fsum(values),
                sum(trajectory.sizes[t] for t in tokens),
                fsum(trajectory.floors[t] for t in tokens),
            )
        )
    return rows


def score(corpus: Sequence[HeldOut], scorer: Scorer, batch_size: int = 16) -> list[CERow]:
    """Rows for every trajectory, in corpus order. Batches hold rows of similar length to save padding."""
    by_length = sorted(range(len(corpus)), key=lambda i: len(corpus[i].ids))
    rows: dict[int, list[CERow]] = {}
    for start in range(0, len(by_length), batch_size):
        batch = by_length[start : start + batch_size]
        logprobs = scorer.token_logprobs([list(corpus[i].ids) for i in batch])
        for i, values in zip(batch, logprobs, strict=True):
            rows[i] = score_one(corpus[i], values)
    return [row for i in range(len(corpus)) for row in rows[i]]


def mean_ce(rows: Iterable[CERow]) -> CE | None:
    """Both averages over ``rows``; None where they hold no token."""
    sums: dict[str, list[CERow]] = defaultdict(list)
    for row in rows:
        if row.tokens:
            sums[row.trajectory_id].append(row)
    if not sums:
        return None
    tokens = {k: sum(r.tokens for r in v) for k, v in sums.items()}
    nlls = {k: fsum(r.nll for r in v) for k, v in sums.items()}
    size = sum(r.bytes for v in sums.values() for r in v)
    total, nats = sum(tokens.values()), fsum(nlls.values())
    return CE(
        tokens=total,
        sequences=len(sums),
        per_token=nats / total,
        per_sequence=fsum(nlls[k] / tokens[k] for k in sums) / len(sums),
        bits_per_byte=nats / log(2) / size if size else None,
        floor_per_token=fsum(r.floor for v in sums.values() for r in v) / total,
    )


def output_only(rows: Iterable[CERow]) -> list[CERow]:
    """The rows of terminal output: the set O' of the paper."""
    return [r for r in rows if r.token_class != WARNING_CLASS]


def summarise(rows: Iterable[CERow], by: Sequence[str] = ("suite",)) -> dict[tuple[str, ...], CE]:
    """Means of terminal output by the named fields of ``CERow``; warnings only where ``by`` names
    ``token_class``.
    """
    groups: dict[tuple[str, ...], list[CERow]] = defaultdict(list)
    for row in rows:
        if row.token_class == WARNING_CLASS and "token_class" not in by:
            continue
        values = asdict(row)
        groups[tuple(str(values[name]) for name in by)].append(row)
    means = ((key, mean_ce(group)) for key, group in sorted(groups.items()))
    return {key: mean for key, mean in means if mean is not None}


def compare(before: Sequence[CERow], after: Sequence[CERow]) -> dict[str, float]:
    """Output CE per trajectory, after - before, in nats a token: what a paired test over trajectories needs.

    Raises:
        ValueError: the two were not measured on the same tokens.
    """

    def mask(rows: Sequence[CERow]) -> dict[tuple[str, str], int]:
        return {(r.trajectory_id, r.token_class): r.tokens for r in rows}

    if mask(before) != mask(after):
        raise ValueError("the two arms were scored on different trajectories or masks")
    first, second = (summarise(rows, by=("trajectory_id",)) for rows in (before, after))
    return {key[0]: second[key].per_token - first[key].per_token for key in first}
