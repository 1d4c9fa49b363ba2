"""Commands that nest: bashkit has no limit for nested ``eval``, and would overflow a usual stack."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from bashkit import Bash, ExecResult

from echo_terminal.terminal.wording.words import PLACE

STACK = 1 << 30  # bytes of address space
NESTING = frozenset("source bash sh trap".split())  # programs that run other commands
BY_PATH = re.compile(rf"{PLACE}(?:\.\s|[\w.-]*/)")  # files called by a path do too
_STARTS = re.compile(r"\b(?:env|command|builtin|nohup|timeout|time|exec|nice|xargs)\s")  # another program
_UNKNOWN = re.compile(r"(?:^|[;&|({\n])[ \t]*[\"']?\$[\w{(]")  # a program whose name only the shell knows
_TIMES = re.compile(r"(?:\btime\s+){1000}")
USUAL = 50  # programs that start each other on a usual stack
_stack_lock = threading.Lock()


def nests(command: str) -> bool:
    """May programs of the command start each other so deep that a usual stack overflows?"""
    if "$" in command and _UNKNOWN.search(command) is not None:
        return True
    return len(command) > 4 * USUAL and len(_STARTS.findall(command)) > USUAL


def too_deep(command: str) -> bool:
    """Would reading the command overflow any stack?"""
    return len(command) > 4000 and _TIMES.search(command) is not None


def on_deep_stack(shell: Bash, text: str, listen: Callable[[str, str], None] | None) -> ExecResult:
    """Execute on a thread of its own, with a stack of ``STACK`` bytes."""
    results: list[ExecResult] = []
    with _stack_lock:
        usual = threading.stack_size(STACK)
        thread = threading.Thread(target=lambda: results.append(shell.execute_sync(text, listen)))
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
    thread.join()
    return results[0]
