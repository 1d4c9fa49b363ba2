"""Free-running prediction: the policy writes the terminal's reply itself, next to teacher forcing on the same tokens.

For every turn with output, the policy reads what stands before the observation's first OUTPUT token and writes each
piece of output (exit code, text) as long as the terminal's; what the harness puts between the pieces is put there for
it. So every token asked for is the terminal's own, as in the cross-entropy, but nothing that the terminal said in this
turn is shown. ``generate`` continues greedily (or as the caller decides) by exactly the given numbers of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.evaluation.heldout_ce import Scorer
from echo_terminal.evaluation.token_class import Decode

Generate = Callable[[list[list[int]], list[int]], list[list[int]]]


@dataclass(frozen=True)
class Reply:
    """The output of one turn: ``pieces`` are the [start, end) of its OUTPUT segments, in order."""

    transcript: int
    turn: int
    pieces: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Prediction:
    """``exact``: all tokens equal. ``similarity``: 1 - edit distance / longer length, over characters of output.

    ``teacher_nll``: nats of the same ``tokens`` under teacher forcing; exp(-teacher_nll) is the chance to sample them
    all. ``exit_only``: the reply is an exit code and no text.
    """

    transcript: int
    turn: int
    tokens: int
    exact: bool
    similarity: float
    teacher_nll: float
    exit_only: bool


def replies(transcripts: Sequence[Transcript]) -> list[Reply]:
    """Every turn that has OUTPUT tokens."""
    found = []
    for i, transcript in enumerate(transcripts):
        pieces: dict[int, list[tuple[int, int]]] = {}
        for segment in transcript.segments:
            if segment.role == Role.OUTPUT:
                pieces.setdefault(segment.turn, []).append((segment.start, segment.end))
        found += [Reply(i, turn, tuple(of_turn)) for turn, of_turn in sorted(pieces.items())]
    return found


def edit_distance(a: str, b: str) -> int:
    """Levenshtein distance, O(len(a)·len(b)), one vectorised row for each character of ``a``."""
    codes = np.array([ord(c) for c in b], dtype=np.int64)
    steps = np.arange(len(b) + 1)
    row = steps.copy()
    for i, character in enumerate(a, start=1):
        best = np.minimum(row[1:] + 1, row[:-1] + (codes != ord(character)))
        best = np.concatenate(([i], best))
        row = np.minimum.accumulate(best - steps) + steps  # insertions run left to right
    return int(row[-1])


def similarity(a: str, b: str) -> float:
    """1 - edit distance / length of the longer; 1 for two empty texts."""
    longest = max(len(a), len(b))
    return 1.0 - edit_distance(a, b) / longest if longest else 1.0


def predict(
    transcripts: Sequence[Transcript],
    generate: Generate,
    scorer: Scorer,
    decode: Decode,
    batch_size: int = 16,
) -> list[Prediction]:
    """Predict every reply of every transcript; teacher-forced nats come from one pass over each transcript."""
    todo = replies(transcripts)
    nll: dict[int, list[float]] = {}
    for first in range(0, len(transcripts), batch_size):
        batch = range(first, min(first + batch_size, len(transcripts)))
        scored = scorer.token_logprobs([transcripts[i].ids for i in batch])
        nll.update(zip(batch, scored, strict=True))
    results = []
    for first in range(0, len(todo), batch_size):
        chunk = todo[first : first + batch_size]
        for reply, written in zip(chunk, _write(transcripts, chunk, generate), strict=True):
            ids = transcripts[reply.transcript].ids
            reference = [t for start, end in reply.pieces for t in ids[start:end]]
            of_reply = [
                -nll[reply.transcript][t - 1] for start, end in reply.pieces for t in range(start, end)
            ]
            results.append(
                Prediction(
                    reply.transcript,
                    reply.turn,
                    len(reference),
                    written == reference,
                    similarity(decode(written), decode(reference)),
                    sum(of_reply),
                    len(reply.pieces) == 1,
                )
            )
    return results


def _write(transcripts: Sequence[Transcript], chunk: Sequence[Reply], generate: Generate) -> list[list[int]]:
    """The output tokens that the policy writes for each reply, piece after piece."""
    context = [transcripts[r.transcript].ids[: r.pieces[0][0]] for r in chunk]
    written: list[list[int]] = [[] for _ in chunk]
    for place in range(max(len(r.pieces) for r in chunk)):
        rows = [i for i, r in enumerate(chunk) if place < len(r.pieces)]
        spans = [chunk[i].pieces[place] for i in rows]
        if place:  # the harness's own tokens between the pieces
            for i, (start, _) in zip(rows, spans, strict=True):
                context[i] = (
                    context[i] + transcripts[chunk[i].transcript].ids[chunk[i].pieces[place - 1][1] : start]
                )
        new = generate([context[i] for i in rows], [end - start for start, end in spans])
        for i, ids in zip(rows, new, strict=True):
            context[i] = context[i] + list(ids)
            written[i] += ids
    return written
