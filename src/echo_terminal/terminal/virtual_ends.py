"""How a command of the virtual engine ended: of its own accord, or at which limit."""

from __future__ import annotations

import re

from bashkit import ExecResult

from echo_terminal.terminal import virtual_shell
from echo_terminal.terminal.programs.limits import TIME, Limits
from echo_terminal.terminal.python_sandbox import Outcome
from echo_terminal.terminal.terminal import KILLED_EXIT, TIMEOUT_EXIT, Status
from echo_terminal.terminal.wording.grammar import syntax_error

Ended = tuple[str, str, int, Status]  # both outputs, exit code, status
_REDIRECTS = re.compile(r"[|>]|\$\(|`")


def reported(
    command: str,
    result: ExecResult,
    chunks: list[tuple[str, str]],
    python: Outcome | None,
    *,
    traps: bool,
) -> Ended:
    """What bashkit reports of a command and said on its way; ``python``: the run of Python that a limit ended;
    ``traps``: may a trap ``DEBUG`` have run, which says nothing in any other way?"""
    stdout, stderr, code, status = result.stdout, result.stderr, result.exit_code, Status.OK
    if chunks and traps:
        stdout = "".join(out for out, _ in chunks)
    if result.error is not None:
        if result.error.startswith("parse error"):
            stderr, code = syntax_error(result.error, command)
            return stdout, stderr, code, status
        stdout, stderr = "".join(out for out, _ in chunks), "".join(err for _, err in chunks)
        if python is not None and _REDIRECTS.search(command) is None:
            stdout += python.stdout.decode("utf-8", "replace")
            stderr += python.stderr.decode("utf-8", "replace")
        if "execution timeout" in result.error:
            code, status = TIMEOUT_EXIT, Status.TIMEOUT
        elif "limit" in result.error or "budget" in result.error:
            code, status = KILLED_EXIT, Status.KILLED
        elif python is None:
            stderr += result.error + "\n"
        stderr = virtual_shell.without_limits(stderr)
    if python is not None:
        late = python.over == "time"
        code, status = (TIMEOUT_EXIT, Status.TIMEOUT) if late else (KILLED_EXIT, Status.KILLED)
    return stdout, stderr, code, status


def shown(ended: Ended, most: int) -> Ended:
    """The same with at most so many characters of each output."""
    stdout, stderr, code, status = ended
    return stdout[:most], stderr[:most], code, status


def limited(ended: Ended, most: int, limits: Limits) -> Ended:
    """The same, but as one that ended at a limit where one of ours was reached."""
    stdout, stderr, code, status = ended
    if " exceeds " in stderr and (rest := virtual_shell.without_limits(stderr)) != stderr:
        return shown((stdout, rest, KILLED_EXIT, Status.KILLED), most)
    if limits.reached == TIME:
        code, status = TIMEOUT_EXIT, Status.TIMEOUT
    elif limits.reached is not None or max(len(stdout), len(stderr)) > most:
        code, status = KILLED_EXIT, Status.KILLED
    return shown((stdout, stderr, code, status), most)
