"""The world's figures on tasks: how fast episodes are, how long a task table takes, whether its tasks hold.

Where a target is "per core", time is the CPU time of this process with all its threads, so that other work on the
machine does not count; ratios compare whole episodes (reset, five commands, close) of one process, in turn.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Sequence
from typing import Any

import psutil

from echo_terminal.tasks.gate import gate_parallel
from echo_terminal.tasks.suites import TaskParams, build_suites
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.benchmarks import row
from echo_terminal.terminal.terminal import Terminal, open_terminal

Row = dict[str, Any]
PAPER = 8870  # tasks of the paper
FILLERS = ("ls", "pwd", "ls /usr/local/bin", "cat nosuch", "echo done")


def sample(count: int, seed: int = 1) -> list[Task]:
    """Tasks over all suites of a fresh build."""
    params = TaskParams(seed=seed)
    size = -(-count // len(params.suites))
    sizes = {n: s.model_copy(update={"size": size}) for n, s in params.suites.items()}
    return build_suites(params.model_copy(update={"suites": sizes}))[:count]


def five(task: Task) -> list[str]:
    """Five commands of a task's own kind: its oracle, and looks around to fill up."""
    return [*(s.command for s in task.oracle), *FILLERS][:5]


def _in_shell(count: int) -> list[Task]:
    return [task for task in sample(count) if task.domain != "pyterm"]


def episodes(terminal: Terminal, tasks: Sequence[Task]) -> tuple[float, float, int]:
    """CPU seconds of whole episodes, of the resets among them, and the number of commands."""
    begun, resets, commands = time.process_time(), 0.0, 0
    for task in tasks:
        started = time.process_time()
        terminal.reset(task.files, task.seed)
        resets += time.process_time() - started
        for command in five(task):
            terminal.run(command)
            commands += 1
    return time.process_time() - begun, resets, commands


def speed(count: int = 200) -> list[Row]:
    """Commands of the tasks' own mix per second of a core, and the cost of an episode's construction."""
    tasks, virtual = _in_shell(count), open_terminal("virtual")
    episodes(virtual, tasks)
    total, resets, commands = episodes(virtual, tasks)
    virtual.close()
    rate, construct = commands / (total - resets), 1e3 * resets / len(tasks)
    return [
        row("steps per second of a core", rate, "1/s", ">= 2500", rate >= 2500),
        row("construction of an episode", construct, "ms", "<= 2", construct <= 2),
    ]


def _wall(engine: str, tasks: Sequence[Task]) -> float:
    """Wall seconds of an engine's life: opened, one episode a task, closed."""
    started = time.perf_counter()
    terminal = open_terminal(engine)
    for task in tasks:
        terminal.reset(task.files, task.seed)
        for command in five(task):
            terminal.run(command)
    terminal.close()
    return time.perf_counter() - started


def against_bubblewrap(rounds: int = 8, size: int = 5) -> list[Row]:
    """How many times faster than a persistent shell in bubblewrap; the median of rounds of the same episodes.

    Raises:
        EngineUnavailable: bubblewrap cannot run here.
    """
    tasks = _in_shell(rounds * size * 2)[: rounds * size]
    _wall("virtual", tasks[:size])
    parts = [tasks[first : first + size] for first in range(0, len(tasks), size)]
    ratios = [_wall("bubblewrap", part) / _wall("virtual", part) for part in parts]
    ratio = statistics.median(ratios)
    return [row("episode in bubblewrap over virtual", ratio, "ratio", ">= 30", ratio >= 30)]


def endurance(count: int = 20_000) -> list[Row]:
    """Growth of memory over many episodes after a tenth of them, and processes left over."""
    tasks, process = _in_shell(100), psutil.Process()
    before = {child.pid for child in process.children(recursive=True)}
    terminal = open_terminal("virtual")
    episodes(terminal, [tasks[i % len(tasks)] for i in range(count // 10)])
    gc.collect()
    early = process.memory_info().rss
    episodes(terminal, [tasks[i % len(tasks)] for i in range(count)])
    gc.collect()
    growth = (process.memory_info().rss - early) / 2**20
    terminal.close()
    left = len({child.pid for child in process.children(recursive=True)} - before)
    return [
        row(f"growth of memory over {count} episodes", growth, "MiB", "<= 32", growth <= 32),
        row("processes left over", left, "processes", "= 0", left == 0),
    ]


def task_table() -> list[Row]:
    """The whole task table, as many tasks as the paper's and more: generated and gated on two cores."""
    begun = time.perf_counter()
    tasks = build_suites(TaskParams())
    report = gate_parallel(tasks, workers=2)
    minutes = (time.perf_counter() - begun) / 60
    if len(tasks) < PAPER:
        raise RuntimeError(f"{len(tasks)} tasks are fewer than {PAPER}")
    hashes = [t.canonical_hash for t in tasks]
    collisions = len(hashes) - len(set(hashes))
    return [
        row("task table generated and gated", minutes, f"min, {len(tasks)} tasks", "<= 10", minutes <= 10),
        row("tasks refused by the gate", report.gated - len(report.kept), "tasks"),
        row("canonical collisions", collisions, "tasks", "= 0", collisions == 0),
    ]


def fresh_gate(count: int = 1000, seed: int = 77) -> list[Row]:
    """Gate violations of tasks of a new seed."""
    report = gate_parallel(sample(count, seed), workers=2)
    violations = report.gated - len(report.kept)
    return [
        row(f"gate violations of {report.gated} fresh tasks", violations, "tasks", "= 0", violations == 0)
    ]
