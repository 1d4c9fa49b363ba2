"""Free-running prediction: the policy writes the terminal's reply itself, next to teacher forcing on the
same tokens.

For every turn with output: the prefix is everything before the observation's first OUTPUT token, the
reference runs from there to the last OUTPUT token of the turn plus one (the token that closes the output),
so that a match includes knowing where the output ends. ``generate`` continues greedily (or as the caller
decides) by at most the given number of tokens.
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
    """One turn's observation inside a transcript: tokens ``start:end``."""

    transcript: int
    turn: int
    start: int
    end: int


@dataclass(frozen=True)
class Prediction:
    """``exact``: all tokens equal. ``similarity``: 1 - edit distance / longer length, over characters.

    ``teacher_nll``: nats of the same tokens under teacher forcing; exp(-teacher_nll) is the chance to sample
    them all.
    """

    transcript: int
    turn: int
    exact: bool
    similarity: float
    teacher_nll: float


def replies(transcripts: Sequence[Transcript]) -> list[Reply]:
    """Every turn that has OUTPUT tokens."""
    found = []
    for i, transcript in enumerate(transcripts):
        for turn in range(len(transcript.turns)):
            output = [s for s in transcript.segments if s.turn == turn and s.role == Role.OUTPUT]
            if output:
                end = min(max(s.end for s in output) + 1, len(transcript.ids))
                found.append(Reply(i, turn, min(s.start for s in output), end))
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
        prefixes = [transcripts[r.transcript].ids[: r.start] for r in chunk]
        written = generate(prefixes, [r.end - r.start for r in chunk])
        for reply, ids in zip(chunk, written, strict=True):
            reference = transcripts[reply.transcript].ids[reply.start : reply.end]
            results.append(
                Prediction(
                    reply.transcript,
                    reply.turn,
                    list(ids) == reference,
                    similarity(decode(list(ids)), decode(reference)),
                    -sum(nll[reply.transcript][reply.start - 1 : reply.end - 1]),
                )
            )
    return results
