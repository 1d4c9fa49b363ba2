"""Words of a command that reach a text tool in another form: bashkit knows the tool, but not that form.

``tr`` gets another name, because bashkit runs a ``tr`` behind ``cat``, ``grep`` or ``tr`` before it has input.
"""

from __future__ import annotations

import re

from echo_terminal.terminal.shims.piping import OWN

_PLACE = r"(?:^|(?<=[|;&({\n]))\s*(?:(?:then|do|else|!)\s+)?"
_TOOL = re.compile(
    rf"({_PLACE})(?:(tr)(?=[ \n;|&)]|$)|(tail) +(\+\d+)(c?)(?=\s|$)|(head|tail) +-(\d+)c(?=\s|$))", re.M
)


def reworded(command: str) -> str:
    """The command with forms that bashkit knows, and our ``tr``.

    Words in quotes and behind the start of a document stay.
    """
    if "tr" in command or "tail +" in command or "head -" in command or "tail -" in command:
        command = _TOOL.sub(_form, command)
    return command


def _form(match: re.Match[str]) -> str:
    text, start = match.string, match.end(1)
    document = re.search(r"<<-?\s*['\"]?\w", text[:start]) is not None and "<<<" not in text[:start]
    if document or text.count("'", 0, start) % 2 or text.count('"', 0, start) % 2:
        return match[0]
    before, name, tail, first, unit, ends, count = match.groups()
    if name:
        return f"{before}{OWN}tr"
    return f"{before}{tail} -{unit or 'n'} {first}" if tail else f"{before}{ends} -c {count}"
