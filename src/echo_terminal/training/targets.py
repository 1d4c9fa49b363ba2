"""Which observation tokens the environment term trains: the set written O' in equation 3.

The paper trains the terminal's own text (``output``). The other targets are questions its readers left
open. All of them select among OUTPUT and WARNING tokens by the role and the kind recorded when the token
was made, and by the turn table; none looks at text. GLUE (template tokens, tags) is never a target.

Two controls build rows that carry the environment term in place of the true ones, with the same number of
target tokens: ``shuffled_outputs`` and ``unrelated_text``. Append them to the batch with their policy rows
off and the true rows' environment rows off.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from echo_terminal.agent.transcript import Role, Segment, Transcript, Turn

Target = Literal["output", "full_observation", "warnings", "errors", "failing", "changed_state"]
TARGETS: tuple[str, ...] = get_args(Target)


def target_mask(
    transcript: Transcript, target: Target = "output", exclude: Collection[int] = ()
) -> NDArray[np.bool_]:
    """Token-aligned mask [T] of the tokens that the environment term trains.

    ``output``: OUTPUT. ``full_observation``: OUTPUT and WARNING. ``warnings``: WARNING. ``errors``: OUTPUT
    of kind stderr. ``failing``: OUTPUT of turns with an exit code other than 0. ``changed_state``: OUTPUT
    of turns that changed the machine. Token ids in ``exclude`` leave the target (a control: the informative
    ones, say).

    Raises:
        ValueError: unknown target.
    """
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}: choose one of {', '.join(TARGETS)}")
    mask = np.zeros(len(transcript.ids), dtype=np.bool_)
    for segment in transcript.segments:
        if _wanted(transcript, segment, target):
            mask[segment.start : segment.end] = True
    if exclude and mask.any():
        mask &= ~np.isin(np.asarray(transcript.ids), np.fromiter(exclude, dtype=np.int64))
    return mask


def _wanted(transcript: Transcript, segment: Segment, target: Target) -> bool:
    if segment.role is Role.WARNING:
        return target in ("full_observation", "warnings")
    if segment.role is not Role.OUTPUT:
        return False
    if target in ("output", "full_observation"):
        return True
    if target == "errors":
        return segment.kind == "stderr"
    if target == "warnings" or segment.turn < 0:
        return False
    turn = transcript.turns[segment.turn]
    if target == "failing":
        return turn.exit_code not in (None, 0)
    return turn.changed_state is True


def shuffled_outputs(
    transcripts: Sequence[Transcript], rng: np.random.Generator, limit: int
) -> list[Transcript]:
    """Copies in which every OUTPUT segment is one of another rollout, of the same kind.

    The segments of a kind are dealt out again by a cyclic shift over randomly ordered rollouts, by the
    largest number that one rollout holds: each is used once, so that the batch keeps its target tokens (a
    rollout need not). Two exceptions, both rare: a kind of which one rollout holds more than half cannot be
    dealt out and is emptied, and a copy is cut at ``limit`` tokens, the most that the policy takes. The copies
    hold no log-probs of the policy and cannot enter a policy term.
    """
    order = [int(i) for i in rng.permutation(len(transcripts))]
    slots: dict[str, list[tuple[int, int]]] = {}
    for row in order:
        for place, segment in enumerate(transcripts[row].segments):
            if segment.role is Role.OUTPUT:
                slots.setdefault(segment.kind, []).append((row, place))
    ids_of: dict[tuple[int, int], list[int]] = {}
    for places in slots.values():
        rows = [row for row, _ in places]
        shift = max(rows.count(row) for row in set(rows))
        for index, slot in enumerate(places):
            row, source = places[(index + shift) % len(places)]
            segment = transcripts[row].segments[source]
            dealt = 2 * shift <= len(places)
            ids_of[slot] = transcripts[row].ids[segment.start : segment.end] if dealt else []
    return [_rebuilt(transcript, ids_of, row, limit) for row, transcript in enumerate(transcripts)]


def unrelated_text(
    transcripts: Sequence[Transcript], text_ids: Sequence[int], target: Target = "output", start: int = 0
) -> list[Transcript]:
    """One row for each transcript: its first token, then as many tokens of ``text_ids`` as it has targets.

    The text is read from ``start`` on and taken from its beginning again where it ends. Rows without
    targets stay, so that the number of sequences is the same.

    Raises:
        ValueError: the text is empty, or a transcript is.
    """
    if not text_ids:
        raise ValueError("the unrelated text is empty")
    text, rows = np.asarray(text_ids, dtype=np.int64), []
    for transcript in transcripts:
        if not transcript.ids:
            raise ValueError("an empty transcript has no first token to start the unrelated text with")
        count = int(target_mask(transcript, target).sum())
        row = Transcript(finish=transcript.finish, policy_version=transcript.policy_version)
        row.append(transcript.ids[:1], Role.PROMPT)
        row.turns.append(Turn("unrelated", output_tokens=count))
        row.append(text[np.arange(start, start + count) % len(text)].tolist(), Role.OUTPUT, kind="stdout")
        rows.append(row)
        start += count
    return rows


def _rebuilt(
    transcript: Transcript, ids_of: dict[tuple[int, int], list[int]], row: int, limit: int
) -> Transcript:
    """The transcript with some segments' ids exchanged, of another length up to ``limit``; no log-probs are kept."""
    new = Transcript(finish=transcript.finish, policy_version=transcript.policy_version)
    new.turns = [replace(turn) for turn in transcript.turns]
    for place, segment in enumerate(transcript.segments):
        ids = ids_of.get((row, place), transcript.ids[segment.start : segment.end])
        start = len(new.ids)
        ids = ids[: limit - start]
        new.ids.extend(ids)
        new.roles.extend([int(segment.role)] * len(ids))
        new.logprobs.extend([float("nan")] * len(ids))
        new.segments.append(replace(segment, start=start, end=len(new.ids)))
    return new
