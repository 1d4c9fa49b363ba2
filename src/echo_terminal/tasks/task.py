"""A task: what the agent is told, what the episode holds, and what must be true at the end."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Protocol

from echo_terminal.terminal.terminal import File


class Playable(Protocol):
    """What an episode and its record need of a task, ours or imported."""

    @property
    def task_id(self) -> str: ...
    @property
    def suite(self) -> str: ...
    @property
    def template(self) -> str: ...
    @property
    def machine(self) -> int | None: ...
    @property
    def instruction(self) -> str: ...
    @property
    def files(self) -> dict[str, File]: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True)
class Step:
    """One command of the oracle, and what somebody who does not know this machine would try in its place.

    ``misses`` are commands whose output teaches the fact that the right command needs (usage, errors).
    """

    command: str
    misses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One condition on the final state, evaluated by ``verify`` outside the agent's shell.

    ``kind`` names a rule of ``verify.RULES``; ``path`` is absolute; ``value`` is what the rule needs.
    """

    kind: str
    path: str
    value: str = ""


@dataclass(frozen=True)
class Task:
    """A generated task. ``files`` maps absolute paths; ``machine`` is its machine's seed, None on a bare one."""

    template: str
    seed: int
    domain: str  # data | system | development | pyterm
    instruction: str
    files: dict[str, File]
    checks: tuple[Check, ...]
    oracle: tuple[Step, ...]
    wrong: tuple[tuple[str, ...], ...] = ()
    suite: str = ""
    difficulty: int = 1
    machine: int | None = None
    facts: tuple[str, ...] = ()  # names of the machine's facts that a solution needs
    tokens_of_facts: tuple[str, ...] = field(default=())  # the words in the outputs that state those facts

    @property
    def task_id(self) -> str:
        """Unique over all suites of one build."""
        return f"{self.suite}/{self.template}/{self.seed}"

    @property
    def canonical_hash(self) -> str:
        """Digest of content: instruction, files and checks, not of names of suites or seeds."""
        content = {
            "instruction": self.instruction,
            "machine": self.machine,
            "files": {p: [f.content.hex(), f.mode, f.link] for p, f in sorted(self.files.items())},
            "checks": [[c.kind, c.path, c.value] for c in self.checks],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
