"""The solvability filter: a task stays in a suite if a solver passes at least one of its tries, as in the paper.

The paper's solver is a strong language model. Here it is the expert of ``agent.scripted``, which knows the machine
but errs now and then: a task fails the filter if even its oracle does not fit into the suite's turns.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import Any

from echo_terminal.agent import scripted
from echo_terminal.tasks.gate import play
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal, open_terminal


def solve(task: Task, attempt: int, terminal: Terminal, turns: int, misses: float = 0.3) -> bool:
    """One try of the solver; each ``attempt`` errs elsewhere (probability ``misses`` a step). The done signal takes
    a turn."""
    commands = scripted.expert(task, random.Random(f"solver {task.seed} {attempt}"), misses)
    return len(commands) <= turns and play(task, commands[:-1], terminal).reward == 1


def first_passes(
    tasks: Iterable[Task], terminal: Terminal, turns: Mapping[str, int], tries: int = 16
) -> list[int | None]:
    """For each task the number of its first passing try, from 1, or None; ``turns`` by suite."""
    found = []
    for task in tasks:
        passed = (i + 1 for i in range(tries) if solve(task, i, terminal, turns[task.suite]))
        found.append(next(passed, None))
    return found


def first_passes_parallel(
    tasks: Iterable[Task],
    turns: Mapping[str, int],
    tries: int = 16,
    options: Mapping[str, Any] | None = None,
    workers: int = 2,
) -> Iterator[int | None]:
    """``first_passes`` in several processes on the virtual engine (``options`` are its own), in order."""
    stream = iter(tasks)
    parts = iter(lambda: list(islice(stream, 100)), [])
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(_part, part, dict(turns), tries, dict(options or {})) for part in parts]
        for job in jobs:
            yield from job.result()


def _part(tasks: list[Task], turns: dict[str, int], tries: int, options: dict[str, Any]) -> list[int | None]:
    terminal = open_terminal("virtual", **options)
    try:
        return first_passes(tasks, terminal, turns, tries)
    finally:
        terminal.close()
