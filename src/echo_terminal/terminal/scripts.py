"""Scripts that a command runs: bashkit does not heed their first lines, and asks the host in them as in commands."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bashkit import FileSystem

from echo_terminal.terminal.programs.call import Clock
from echo_terminal.terminal.virtual_tree import INSIDE
from echo_terminal.terminal.wording.repeatable import repeatable
from echo_terminal.terminal.wording.words import PLACE

PATH = re.compile(rf"({PLACE})((?:\.{{1,2}}/|/|[\w.-]+/)[\w./-]*)")  # at the place of a command
_ALLOWS = re.compile(r"chmod (?:a|u)?(?:\+|7)")


def with_interpreters(command: str, fs: FileSystem, cwd: str) -> str:
    """The command with ``python3`` or ``bash`` in front of the scripts whose first lines ask for that."""

    def interpreted(match: re.Match[str]) -> str:
        path = match[2] if match[2].startswith("/") else f"{cwd}/{match[2]}"
        if not fs.exists(path):
            made = re.search(rf">\s*(?:\./)?{re.escape(match[2].removeprefix('./'))}\b", command)
            asks = re.search(r"#!\s*\S*(?:/|env )(python3|bash)\b", command)
            runs = made and asks and (asks[1] != "bash" or _ALLOWS.search(command[: match.start()]))
            return f"{match[1]}{asks[1]} {match[2]}" if runs and asks else match[0]
        if fs.stat(path)["file_type"] != "file" or not fs.stat(path)["mode"] & 0o100:
            return match[0]
        first = fs.read_file(path)[:80].partition(b"\n")[0]
        program = first.split()[-1].rpartition(b"/")[2] if first.startswith(b"#!") else b""
        name = "python3" if program.startswith(b"python") else "bash" if program == b"bash" else ""
        if name == "bash" and "chmod" in command:  # the command may take the right to execute
            return match[0]
        return f"{match[1]}{name} {match[2]}" if name else match[0]  # bashkit does not count the first line

    return PATH.sub(interpreted, command)


class Script(NamedTuple):
    """A file with other words while a command may run it."""

    path: str
    held: bytes
    lent: bytes
    shown: float  # its time


def changed(fs: FileSystem, names: Sequence[str], cwd: str, clock: Clock) -> list[Script]:
    """Let scripts ask the episode where they would ask the host (``repeatable``), till they are ``restored``."""
    found = []
    for path in {posixpath.normpath(posixpath.join(cwd, *steps)) for steps in _steps(names)}:
        if (
            not fs.exists(path)
            or (meta := fs.stat(path))["file_type"] != "file"
            or not path.startswith(INSIDE)
        ):
            continue
        held = fs.read_file(path)
        if held.startswith(b"#!") and b"sh" not in held.partition(b"\n")[0]:
            continue
        lent = repeatable(held.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if lent != held:
            found.append(Script(path, held, lent, clock.shown(meta["modified"])))
            fs.write_file(path, lent)
            fs.chmod(path, meta["mode"])
    return found


def _steps(names: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """Each name by itself, and behind each other."""
    yield from ((name,) for name in names)
    yield from ((folder, name) for folder in names for name in names if folder != name)


def restored(fs: FileSystem, scripts: Iterable[Script], clock: Clock) -> None:
    """Give scripts, where the command left them as they were, their own words and times back."""
    for path, held, lent, shown in scripts:
        if fs.exists(path) and fs.stat(path)["file_type"] == "file" and fs.read_file(path) == lent:
            mode = fs.stat(path)["mode"]
            fs.write_file(path, held)
            fs.chmod(path, mode)
            clock.kept[fs.stat(path)["modified"]] = shown
