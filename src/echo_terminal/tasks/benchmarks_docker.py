"""Whether tasks are graded alike on every engine: no-op 0 and oracle 1 on virtual, bubblewrap and docker."""

from __future__ import annotations

from collections.abc import Sequence

from echo_terminal.tasks.benchmarks import Row, row
from echo_terminal.tasks.gate import agreement
from echo_terminal.tasks.suites import TaskParams, build_suites
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import EngineUnavailable, open_terminal

ENGINES = ("virtual", "bubblewrap", "docker")


def tasks_of_every_template(per_suite: int = 30, seed: int = 3) -> list[Task]:
    """The first tasks of every suite of a fresh seed; train has at least one of each of its templates."""
    params = TaskParams(seed=seed)
    sizes = {name: max(per_suite, 40 if name == "train" else 0) for name in params.suites}
    suites = {n: s.model_copy(update={"size": sizes[n]}) for n, s in params.suites.items()}
    return build_suites(params.model_copy(update={"suites": suites}))


def engines(tasks: Sequence[Task] | None = None) -> list[Row]:
    """One row an engine: tasks that it grades otherwise than no-op 0, oracle 1. What the machine lacks is left out."""
    tasks = tasks_of_every_template() if tasks is None else tasks
    rows = [row("tasks_compared", len(tasks), "tasks", ">= 200", len(tasks) >= 200)]
    for engine in ENGINES:
        try:
            terminal = open_terminal(engine)
        except EngineUnavailable as reason:
            print(f"{engine}: left out: {reason}")
            continue
        try:
            found = agreement(tasks, [terminal])
        finally:
            terminal.close()
        for line in found:
            print(line)
        rows.append(row(f"tasks_graded_otherwise_{engine}", len(found), "tasks", "= 0", not found))
    return rows
