"""What a template draws its content from: one seeded stream, names that never repeat within a task."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from echo_terminal.tasks.lexicon import EXTENSIONS, KEYS, NAMES
from echo_terminal.tasks.machine import LEDGER, Machine, Tool
from echo_terminal.tasks.task import Check, Step
from echo_terminal.tasks.verify import HOME, cksum

T = TypeVar("T")


class Draw:
    """Seeded draws for one task on ``machine`` (or on none); ``level`` is its difficulty."""

    def __init__(self, seed: str, machine: Machine | None, levels: Sequence[int]) -> None:
        self.rng = random.Random(seed)
        self.machine = machine
        self.level = self.rng.choice(levels)
        self._used = set(machine.tools) if machine else set()

    def names(self, count: int) -> list[str]:
        """Fresh words of the lexicon, none of them a tool of the machine."""
        found: list[str] = []
        while len(found) < count:
            word = self.rng.choice(NAMES)
            if word not in self._used:
                self._used.add(word)
                found.append(word)
        return found

    def name(self) -> str:
        return self.names(1)[0]

    def extension(self) -> str:
        return self.rng.choice(EXTENSIONS)

    def extensions(self, count: int) -> list[str]:
        return self.rng.sample(EXTENSIONS, count)

    def keys(self, count: int) -> list[str]:
        return self.rng.sample(KEYS, count)

    def pick(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def tools(self, count: int) -> list[Tool]:
        """Distinct tools of the machine.

        Raises:
            ValueError: the template needs a machine and there is none.
        """
        if self.machine is None:
            raise ValueError('this template needs a machine: pass machine=make_machine(seed) or "random"')
        return self.rng.sample(list(self.machine.tools.values()), count)


@dataclass
class Draft:
    """What a template returns; paths are relative to HOME unless absolute."""

    instruction: str
    files: dict[str, str]
    checks: list[Check]
    oracle: list[Step]
    wrong: list[Sequence[str]]
    facts: list[str] = field(default_factory=list)
    fact_words: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Template:
    """A task template. ``group`` decides the split: all templates of a group stay on one side."""

    name: str
    domain: str
    build: Callable[[Draw], Draft]
    needs_machine: bool = False
    needs_python: bool = False
    levels: tuple[int, ...] = (1,)


def absolute(path: str) -> str:
    """``path`` as seen from HOME."""
    return path if path.startswith("/") else f"{HOME}/{path}"


def text(path: str, value: str) -> Check:
    """The file holds this text (blanks at ends of lines and empty last lines do not count)."""
    return Check("text", absolute(path), value)


def absent(path: str) -> Check:
    return Check("absent", absolute(path))


def unchanged(path: str, content: str) -> Check:
    return Check("unchanged", absolute(path), hashlib.sha256(content.encode()).hexdigest())


def ledger(calls: Sequence[tuple[Tool, str, str]]) -> Check:
    """The machine's ledger holds these (tool, path, content of the file at that time), in this order."""
    value = [[t.name, t.verb, absolute(path), str(cksum(content.encode()))] for t, path, content in calls]
    return Check("ledger", LEDGER, json.dumps(value))
