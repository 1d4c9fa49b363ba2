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
        self._used = set(machine.names) if machine else set()

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

    def on(self, fact: str = "verb") -> Machine:
        """The machine, which must have facts of this kind.

        Raises:
            ValueError: it has none, or there is no machine.
        """
        if self.machine is None or not any(name.startswith(f"{fact}:") for name in self.machine.facts):
            raise ValueError(f"this template needs a machine with {fact} facts: pass machine=make_machine(…)")
        return self.machine

    def tools(self, count: int, setting: bool = False) -> list[Tool]:
        """Distinct tools of the machine, which need a setting or need none.

        Raises:
            ValueError: the machine has no such tools.
        """
        machine = self.on("setting" if setting else "verb")
        return self.rng.sample(
            [t for t in machine.tools.values() if (t.setting is not None) == setting], count
        )

    def numbers(self, count: int, low: int = 1, high: int = 99) -> list[int]:
        """Distinct numbers, in random order."""
        return self.rng.sample(range(low, high + 1), count)


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
    """A task template."""

    name: str
    domain: str
    build: Callable[[Draw], Draft]
    needs: str = ""  # the kind of machine facts without which it cannot be drawn
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


def ledger(calls: Sequence[tuple[str, str, str, str | None]]) -> Check:
    """The ledger holds these (command, verb, path, content of the file at that time or None), in this order."""
    value = [
        [name, verb, absolute(path), None if content is None else str(cksum(content.encode()))]
        for name, verb, path, content in calls
    ]
    return Check("ledger", LEDGER, json.dumps(value))


def ran(tools: Sequence[Tool], path: str, content: str) -> Check:
    """These tools ran on a file, in this order."""
    return ledger([(t.name, t.verb, path, content) for t in tools])


def runs(command: str, files: dict[str, str], expect: str, rule: str = "text") -> Check:
    """In a fresh session over the agent's home, with ``files`` put in, the command exits 0 and prints ``expect``."""
    value = {"command": command, "files": files, "expect": expect, "rule": rule}
    return Check("runs", HOME, json.dumps(value))


def number(path: str, value: float, tolerance: float = 1e-9) -> Check:
    """The file holds this number and nothing else."""
    return Check("number", absolute(path), f"{value!r} {tolerance!r}")
