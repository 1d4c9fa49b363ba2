"""Scripted agents: an expert that knows the machine, and a weak demonstrator that does not.

Both return commands in order, ending in ``DONE``; neither looks at a terminal.
"""

from __future__ import annotations

import random
import re

from echo_terminal.tasks.lexicon import EXTENSIONS, KEYS, NAMES, VERBS
from echo_terminal.tasks.task import Task

DONE = "done"  # stands for the done signal, not for a command

_WORD = re.compile(r"[a-z]+")
_KINDS = (NAMES, VERBS, EXTENSIONS, KEYS)


def expert(task: Task, rng: random.Random, p_miss: float = 0.0) -> list[str]:
    """The oracle; with probability ``p_miss`` a step's miss comes before it, so that errors occur."""
    commands = []
    for step in task.oracle:
        if step.misses and rng.random() < p_miss:
            commands.append(rng.choice(step.misses))
        commands.append(step.command)
    return [*commands, DONE]


def novice(
    task: Task, rng: random.Random, noise: float = 0.15, q: float = 0.5, max_commands: int = 8
) -> list[str]:
    """A demonstrator who does not know the machine: guesses, and reads the answer with probability ``q``.

    A step with misses starts with a guess, right by chance once in as many as there are verbs. After a wrong
    one it reads the usage line (the right command follows), or guesses again, or moves on. Any command is
    corrupted with probability ``noise`` and not repaired; a step that only looks around may be left out.
    """
    commands: list[str] = []

    def type_in(command: str) -> None:
        commands.append(corrupt(command, rng) if rng.random() < noise else command)

    for step in task.oracle:
        if not step.misses:
            if rng.random() >= noise / 2:
                type_in(step.command)
            continue
        if rng.random() < 1 / len(VERBS):
            type_in(step.command)
            continue
        type_in(rng.choice(step.misses))
        if rng.random() < q:
            type_in(step.command)
        elif rng.random() < 0.5:
            type_in(rng.choice(step.misses))
    return [*commands[:max_commands], DONE]


def corrupt(command: str, rng: random.Random) -> str:
    """One lexicon word of ``command`` becomes another of its kind; without any, it becomes a listing."""
    spots = [(m, kind) for m in _WORD.finditer(command) for kind in _KINDS if m[0] in kind]
    if not spots:
        return "ls"
    match, kind = rng.choice(spots)
    other = rng.choice([w for w in kind if w != match[0]])
    return command[: match.start()] + other + command[match.end() :]
