"""The world's figures: how fast episodes are, how long a task table takes, whether tasks hold on every engine.

Each benchmark returns rows of name, value, unit, target and whether it holds; an engine that the machine lacks
leaves its rows out. Ratios compare whole episodes (reset, five commands, close) of one process, in turn.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from echo_terminal.tasks.gate import agreement, gate_parallel
from echo_terminal.tasks.suites import TaskParams, build_suites
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.conformance import answers, built_in_fixture, compare, read_corpus, read_recorded
from echo_terminal.terminal.terminal import EngineUnavailable, Terminal, open_terminal

Row = dict[str, Any]


def row(name: str, value: float, unit: str, target: str = "", holds: bool | None = None) -> Row:
    """One line of the benchmark table."""
    return {"name": name, "value": round(value, 4), "unit": unit, "target": target, "holds": holds}


def sample(count: int, seed: int = 1) -> list[Task]:
    """Tasks over all suites of a fresh build."""
    params = TaskParams(seed=seed)
    sizes = {
        n: s.model_copy(update={"size": max(1, count // len(params.suites))})
        for n, s in params.suites.items()
    }
    return build_suites(params.model_copy(update={"suites": sizes}))


def five(task: Task) -> list[str]:
    """Five commands of a task's own kind: its oracle, and looks around to fill up."""
    return ([s.command for s in task.oracle] + ["ls", "pwd", "ls /usr/local/bin", "cat nosuch", "echo done"])[
        :5
    ]


def episodes(terminal: Terminal, tasks: Sequence[Task]) -> tuple[float, float, int]:
    """Wall seconds of whole episodes, of the resets among them, and the number of commands."""
    begun, resets, commands = time.perf_counter(), 0.0, 0
    for task in tasks:
        started = time.perf_counter()
        terminal.reset(task.files, task.seed)
        resets += time.perf_counter() - started
        for command in five(task):
            terminal.run(command)
            commands += 1
    return time.perf_counter() - begun, resets, commands


def speed() -> list[Row]:
    """Steps a second, construction, and episodes against real bash and a container in the same run."""
    tasks = [t for t in sample(200) if t.domain != "pyterm"]
    virtual = open_terminal("virtual")
    episodes(virtual, tasks[:5])
    cpu = time.process_time()
    total, resets, commands = episodes(virtual, tasks)
    busy = time.process_time() - cpu
    per_second, construct = commands / (busy - resets), 1e3 * resets / len(tasks)
    rows = [
        row("virtual_steps_per_cpu_second", per_second, "steps/CPU s", ">= 2500", per_second >= 2500),
        row("virtual_construction", construct, "ms", "<= 2", construct <= 2),
    ]
    for engine, least, count in (("bubblewrap", 30, 40), ("docker", 150, 10)):
        try:
            other = open_terminal(engine)
        except EngineUnavailable as reason:
            print(f"{engine}: left out: {reason}")
            continue
        ratios = []
        for first in range(0, count, 5):
            part = tasks[first : first + 5]
            ratios.append(episodes(other, part)[0] / episodes(virtual, part)[0])
        other.close()
        ratio = statistics.median(ratios)
        rows.append(row(f"episode_{engine}_over_virtual", ratio, "ratio", f">= {least}", ratio >= least))
    return rows


def fidelity(data: Path) -> list[Row]:
    """Exact agreement with the recorded answers of real bash, over both corpora."""
    rows = []
    for name in ("bash_corpus", "bash_corpus_2"):
        cases = read_corpus(data / f"{name}.jsonl")
        recorded = read_recorded(data / f"{name}_expected.jsonl")
        cases = [c for c in cases if c.command in recorded]
        with_python = answers(open_terminal("virtual"), cases, built_in_fixture())
        found = compare(cases, with_python, [recorded[c.command] for c in cases])
        share = 100 * sum(r.exact for r in found) / len(found)
        errors = [r for r in found if r.error]
        of_errors = 100 * sum(r.exact for r in errors) / len(errors)
        rows += [
            row(f"{name}_exact", share, "%", ">= 93", share >= 93),
            row(f"{name}_errors_exact", of_errors, "%", ">= 90", of_errors >= 90),
        ]
    return rows


def determinism(commands: int = 10_000) -> list[Row]:
    """Two processes: byte-identical transcripts over generated sessions of six commands."""
    code = f"from echo_terminal.terminal.measure import session_digest as d; print(d({commands // 6 + 1}, 7))"
    call = [sys.executable, "-c", code]
    digests = {subprocess.run(call, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    return [
        row("different_transcripts_of_two_processes", len(digests) - 1, "digests", "= 0", len(digests) == 1)
    ]


def endurance(count: int = 20_000) -> list[Row]:
    """Memory growth over many episodes after a warm-up, and processes left."""
    tasks = [t for t in sample(100) if t.domain != "pyterm"]
    terminal, process = open_terminal("virtual"), psutil.Process()
    episodes(terminal, [tasks[i % len(tasks)] for i in range(count // 10)])
    gc.collect()
    before = process.memory_info().rss
    episodes(terminal, [tasks[i % len(tasks)] for i in range(count)])
    gc.collect()
    growth = (process.memory_info().rss - before) / 2**20
    terminal.close()
    left = len(process.children(recursive=True))
    return [
        row("memory_growth_of_20000_episodes", growth, "MiB", "<= 32", growth <= 32),
        row("processes_left", left, "processes", "= 0", left == 0),
    ]


def task_table() -> list[Row]:
    """The paper's 8,870 tasks and more, generated and gated on two cores; a fresh seed's violations."""
    begun = time.perf_counter()
    tasks = build_suites(TaskParams())
    report = gate_parallel(tasks, workers=2)
    minutes = (time.perf_counter() - begun) / 60 * 8870 / len(tasks)
    fresh = gate_parallel(sample(1000, seed=77), workers=2)
    hashes = [t.canonical_hash for t in tasks]
    collisions = len(hashes) - len(set(hashes))
    violations = fresh.gated - len(fresh.kept)
    return [
        row("minutes_for_8870_gated_tasks", minutes, "min", "<= 10", minutes <= 10),
        row("gate_violations_of_the_table", report.gated - len(report.kept), "tasks"),
        row("gate_violations_of_1000_fresh_tasks", violations, "tasks", "= 0", violations == 0),
        row("canonical_collisions", collisions, "tasks", "= 0", collisions == 0),
    ]


def engines_agree(count: int = 200) -> list[Row]:
    """No-op 0 and oracle 1 on every engine that this machine offers."""
    terminals = []
    for engine in ("virtual", "bubblewrap", "docker"):
        try:
            terminals.append(open_terminal(engine))
        except EngineUnavailable as reason:
            print(f"{engine}: left out: {reason}")
    found = agreement(sample(count, seed=3), terminals)
    for line in found[:5]:
        print(line)
    for terminal in terminals:
        terminal.close()
    names = "+".join(t.name for t in terminals)
    return [row(f"tasks_graded_otherwise_{names}", len(found), "tasks", "= 0", not found)]
