"""Which observation tokens the environment term trains: the set written O' in equation 3.

The paper trains the terminal's own text (``output``). The other targets are questions its readers left
open. All of them select among OUTPUT and WARNING tokens by the role and the kind recorded when the token
was made, and by the turn table; none looks at text. GLUE (template tokens, tags) is never a target.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from echo_terminal.agent.transcript import Role, Segment, Transcript

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
