"""The transcript: append-only token ids, and for every token the role recorded when it was made.

Roles decide which loss a token enters, so they are set here and nowhere else. Nothing is ever re-tokenised.
``A`` is ACTION, ``O'`` is OUTPUT, and ``Z`` of equation 3 counts OUTPUT and WARNING.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Role(IntEnum):
    """Who made a token. Disjoint by construction: one value a token."""

    PROMPT = 0  # system and task text
    ACTION = 1  # sampled by the policy
    OUTPUT = 2  # the terminal's own text
    WARNING = 3  # the harness's own text inside an observation
    GLUE = 4  # template tokens, tags, anything appended


class Finish(StrEnum):
    """Why an episode ended."""

    DONE = "done"  # the agent gave the done signal
    TURNS = "turns"  # turn limit
    CONTEXT = "context"  # no room for another turn
    TIME = "time"  # its commands together took longer than an episode may
    LOST = "lost"  # the engine failed; the row leaves every statistic


@dataclass(frozen=True)
class Segment:
    """Tokens ``start:end`` of one role.

    ``kind`` tells stdout, stderr, exit and notice apart; ``turn`` is -1 in the prompt.
    """

    start: int
    end: int
    role: Role
    kind: str = ""
    turn: int = -1


@dataclass
class Turn:
    """One action and what came of it. ``call`` is ok, done, or the reason why nothing ran.

    ``warned``: the reply held a warning block. ``imagined``: the action imitated a reply. ``status`` is the
    observation's. ``omitted_chars``: of the output's characters, those that the policy does not read.
    """

    call: str
    command: str | None = None
    exit_code: int | None = None
    status: str | None = None
    output_chars: int = 0
    omitted_chars: int = 0
    action_tokens: int = 0
    output_tokens: int = 0
    changed_state: bool | None = None
    warned: bool = False
    imagined: bool = False
    seconds: float = 0.0


@dataclass
class Transcript:
    """One rollout. ``logprobs`` holds NaN at every token that was not sampled, so that a misuse shows.

    ``scripted``: the actions were written by a program, not sampled; their log-probs are 0.0 and no ratio may
    be made of them.
    """

    ids: list[int] = field(default_factory=list)
    roles: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    finish: Finish | None = None
    policy_version: int = 0
    scripted: bool = False

    def append(
        self, ids: Sequence[int], role: Role, *, kind: str = "", logprobs: Sequence[float] | None = None
    ) -> None:
        """Append tokens of one role.

        Raises:
            ValueError: log-probs are missing for an ACTION, given for another role, or of another length.
        """
        if (role is Role.ACTION) != (logprobs is not None):
            raise ValueError(f"log-probs belong to ACTION tokens and to no others (role {role.name})")
        if logprobs is not None and len(logprobs) != len(ids):
            raise ValueError(f"{len(ids)} ids but {len(logprobs)} log-probs")
        if not ids:
            return
        start = len(self.ids)
        self.ids.extend(ids)
        self.roles.extend([int(role)] * len(ids))
        self.logprobs.extend(logprobs if logprobs is not None else [float("nan")] * len(ids))
        self.segments.append(Segment(start, len(self.ids), role, kind, len(self.turns) - 1))

    def count(self, *roles: Role) -> int:
        """Number of tokens in any of ``roles``."""
        return sum(s.end - s.start for s in self.segments if s.role in roles)
