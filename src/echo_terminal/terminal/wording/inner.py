"""Shells inside a command: functions of the shell do not reach them, so they are told those that they call."""

from __future__ import annotations

import re
from collections.abc import Mapping

from echo_terminal.terminal.wording.texts import inside, to_keep

_SHELL = r"(?<![\w./-])(?:ba|da)?sh\b"
_TEXT = re.compile(  # where the text begins that such a shell runs
    rf"{_SHELL}(?:[ \t]+-[a-z]+){{0,4}}(?:[ \t]+-\w*c[ \t]+|[ \t]*<<<[ \t]*)(?P<quote>['\"])"
    rf"|{_SHELL}(?:[ \t]+-[a-z]+){{0,4}}[ \t]*<<-?[ \t]*(?P<plain>['\"\\]?)[\w.-]+['\"]?[^\n]*\n[ \t]*"
    rf"|\becho[ \t]+(?P<said>['\"])(?=[^'\"\n]*['\"][ \t]*\|[ \t]*{_SHELL}[ \t]*(?:[;&|)\n]|\Z))"
)
_MOST = 50  # such texts
_MEANS = {
    "'": "",
    '"': r"([$`\"\\])",
    "": r"([$`\\])",
}  # what must be escaped in such quotes, or in a document


def with_functions(command: str, functions: Mapping[str, str]) -> str:
    """The command with the functions (name -> definition, in one line and without ``'``) at the beginning of the texts
    that shells inside it run, if their names stand behind."""
    if _TEXT.search(command) is None:
        return command
    kept = to_keep(command)

    def led(match: re.Match[str]) -> str:
        if inside(kept, match.start()):
            return match[0]
        found = (text for name, text in functions.items() if command.find(name, match.end()) >= 0)
        head = "".join(f"{text}; " for text in found)
        quote = match["quote"] or match["said"]
        if quote is None:
            quote = "'" if match["plain"] else ""
        return match[0] + (re.sub(_MEANS[quote], r"\\\1", head) if _MEANS[quote] else head)

    return _TEXT.sub(led, command, count=_MOST)
