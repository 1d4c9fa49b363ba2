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
_stack_lock = threading.Lock()


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
