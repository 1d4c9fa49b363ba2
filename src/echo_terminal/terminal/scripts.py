"""Scripts that a command runs by their paths: bashkit does not heed their first lines."""

from __future__ import annotations

import re

from bashkit import FileSystem

from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

PATH = re.compile(rf"({PLACE})((?:\.{{1,2}}/|/|[\w.-]+/)[\w./-]*)")  # at the place of a command
MISSING = f"{OWN}no_interpreter"
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
        allowed = "chmod" in command and _ALLOWS.search(command[: match.start()]) is not None
        if fs.stat(path)["file_type"] != "file" or not (allowed or fs.stat(path)["mode"] & 0o100):
            return match[0]
        first = fs.read_file(path)[:80].partition(b"\n")[0]
        program = first.split()[-1].rpartition(b"/")[2] if first.startswith(b"#!") else b""
        interpreter = first[2:].split()[0].decode("utf-8", "replace") if program else "/bin/sh"
        if not interpreter.startswith(("/bin/", "/usr/bin/")) and not fs.exists(interpreter):
            return f"{match[1]}{MISSING} {match[2]}"
        name = "python3" if program.startswith(b"python") else "bash" if program == b"bash" else ""
        if name == "bash" and "chmod" in command and not allowed:  # the command may take the right to execute
            return match[0]
        return f"{match[1]}{name} {match[2]}" if name else match[0]  # bashkit does not count the first line

    return PATH.sub(interpreted, command)
