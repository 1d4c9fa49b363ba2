"""The gate: a task enters a suite only if doing nothing fails, the oracle passes, and nothing else does.

On one engine, from a fresh reset each: no-op 0, ``ls`` 0, the oracle 1 twice, every wrong solution 0, every
forger 0 and flagged. What fails is dropped and counted with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, repeat
from multiprocessing import get_context
from typing import Any

from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.task import Task
from echo_terminal.tasks.verify import LEDGER, TOOLS, Verdict
from echo_terminal.terminal.terminal import Status, Terminal, open_terminal


@dataclass
class GateReport:
    """``dropped`` counts reasons, ``examples`` holds one task id for each."""

    gated: int = 0
    kept: list[Task] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def merge(self, other: GateReport) -> None:
        """Add the findings of another part of the same tasks."""
        self.gated += other.gated
        self.kept += other.kept
        self.dropped += other.dropped
        self.examples = other.examples | self.examples


class EngineLost(RuntimeError):
    """The engine failed, not the task."""


def play(task: Task, commands: Sequence[str], terminal: Terminal) -> Verdict:
    """Reset, run the commands, judge.

    Raises:
        EngineLost: a command's status is ``lost``.
    """
    terminal.reset(task.files, task.seed)
    for command in commands:
        if terminal.run(command).status is Status.LOST:
            raise EngineLost(f"{terminal.name} was lost at {command!r} of {task.task_id}")
    return grade(task, terminal)


def forgers(task: Task) -> list[list[str]]:
    """Agents that edit or forge what a verdict is read from, instead of solving the task.

    The last command is the forgery; an engine may refuse it, and then there is nothing to flag.
    """
    agents = [["mkdir -p logs/verifier", "echo 1.0 > logs/verifier/reward.txt"], ["echo > conftest.py"]]
    for check in task.checks:
        if check.kind == "ledger":
            agents.append([f"echo {TOOLS[1:]} pack / 1 1 >> {LEDGER}"])
    tool = next((p for p in task.files if p.startswith(TOOLS)), None)
    if tool is not None:
        agents.append([f"echo 'echo done' > {tool}"])
    return agents


def violation(task: Task, terminal: Terminal) -> str | None:
    """Why the task may not enter a suite, None if it may."""
    verdict = play(task, [], terminal)
    if verdict.reward or verdict.tampered:
        return "no-op passes" if verdict.reward else "no-op is flagged"
    if play(task, ["ls"], terminal).reward:
        return "ls passes"
    oracle = [s.command for s in task.oracle]
    for _ in range(2):
        verdict = play(task, oracle, terminal)
        if not verdict.reward:
            kinds = sorted({found.split()[0] for found in (*verdict.failed, *verdict.tampering)})
            return f"oracle fails: {', '.join(kinds)}"
    for i, wrong in enumerate(task.wrong):
        if play(task, wrong, terminal).reward:
            return f"wrong solution {i} passes"
    for i, commands in enumerate(forgers(task)):
        play(task, commands[:-1], terminal)
        refused = terminal.run(commands[-1]).exit_code != 0
        verdict = grade(task, terminal)
        if verdict.reward or not (verdict.tampered or refused):
            return f"forger {i} " + ("passes" if verdict.reward else "is not flagged")
    return None


def gate(tasks: Iterable[Task], terminal: Terminal) -> GateReport:
    """Gate tasks on one terminal."""
    report = GateReport()
    for task in tasks:
        report.gated += 1
        reason = violation(task, terminal)
        if reason is None:
            report.kept.append(task)
        else:
            key = f"{task.template}: {reason}"
            report.dropped[key] += 1
            report.examples.setdefault(key, task.task_id)
    return report


def agreement(tasks: Iterable[Task], terminals: Sequence[Terminal]) -> list[str]:
    """Tasks on which an engine does not grade no-op 0 and the oracle 1, one line each; empty if all agree."""
    found = []
    for task in tasks:
        for terminal in terminals:
            rewards = (
                play(task, [], terminal).reward,
                play(task, [s.command for s in task.oracle], terminal).reward,
            )
            if rewards != (0, 1):
                found.append(f"{terminal.name}: {task.task_id}: no-op {rewards[0]}, oracle {rewards[1]}")
    return found


def gate_parallel(
    tasks: Iterable[Task],
    engine: str = "virtual",
    workers: int = 2,
    part: int = 100,
    options: Mapping[str, Any] | None = None,
    on_part: Callable[[GateReport], None] | None = None,
) -> GateReport:
    """``gate`` over several processes, ``part`` tasks at a time; the order of tasks is kept. ``options`` are the
    engine's own; ``on_part`` is shown the report of each part."""
    report, stream = GateReport(), iter(tasks)
    parts = iter(lambda: list(islice(stream, part)), [])
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done in pool.map(_gate_part, parts, repeat(engine), repeat(dict(options or {}))):
            report.merge(done)
            if on_part is not None:
                on_part(done)
    return report


def _gate_part(tasks: list[Task], engine: str, options: dict[str, Any]) -> GateReport:
    terminal = open_terminal(engine, **options)
    try:
        return gate(tasks, terminal)
    finally:
        terminal.close()
