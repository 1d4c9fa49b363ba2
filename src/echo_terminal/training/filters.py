"""Which rollouts the environment term may learn from.

``none`` keeps all; ``clean``: every action was well formed, drew no warning, and ran (or was the done
signal); ``valid``: at least one action ran; ``solved``: reward above 0. A rejected row leaves the numerator
and the denominator of L_Env and stays in the policy term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from echo_terminal.agent.transcript import Transcript

Filter = Literal["none", "clean", "valid", "solved"]


def is_clean(transcript: Transcript) -> bool:
    """Whether the rollout has turns and each was a call or the done signal, without a warning."""
    return bool(transcript.turns) and all(t.call in ("ok", "done") and not t.warned for t in transcript.turns)


def is_valid(transcript: Transcript) -> bool:
    """Whether at least one action was a well-formed call that ran."""
    return any(turn.call == "ok" for turn in transcript.turns)


def keep_rows(
    name: Filter, transcripts: Sequence[Transcript], rewards: Sequence[float | None] | None = None
) -> NDArray[np.bool_]:
    """Flags [B] of the rows that stay in the environment term.

    Raises:
        ValueError: ``solved`` without rewards, or an unknown name.
    """
    if name == "none":
        return np.ones(len(transcripts), dtype=np.bool_)
    if name == "clean":
        return np.array([is_clean(t) for t in transcripts], dtype=np.bool_)
    if name == "valid":
        return np.array([is_valid(t) for t in transcripts], dtype=np.bool_)
    if name == "solved":
        if rewards is None or len(rewards) != len(transcripts):
            raise ValueError("filter solved needs one reward a rollout")
        return np.array([r is not None and r > 0 for r in rewards], dtype=np.bool_)
    raise ValueError(f"unknown filter {name!r}: choose none, clean, valid or solved")
