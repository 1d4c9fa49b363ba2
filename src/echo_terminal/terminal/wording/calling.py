"""Calls of scripts, given to the function that looks at the script first."""

from __future__ import annotations

import re

from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.texts import inside, texts
from echo_terminal.terminal.wording.words import PLACE

LONGEST = 20_000  # characters of a command or script that is looked through
RUN, PROGRAM = f"{OWN}run_script", f"{OWN}script"
_FILE = r"(?:\.{1,2}/|/(?!(?:usr|s?bin|etc|dev|proc)/)|[\w.-]+/)[\w./-]*"
_NAMED = r"(?:ba|da)?sh[ \t]+(?:-[eux]+[ \t]+)*(?=[\w./~\"$][^\s;&|<>()]*)"
_CALL = re.compile(rf"({PLACE})(?={_NAMED}|{_FILE}(?=[\s;&|<>)]|\Z))")
_PATTERN = re.compile(r"[^\s;&|<>()]*[ \t]*[|)]")  # of ``case``, perhaps


def scripts_called(command: str) -> str:
    """The command with ``RUN`` in front of the scripts that it calls by a path or gives to ``bash``."""
    if len(command) > LONGEST or _CALL.search(command) is None or (spans := texts(command)) is None:
        return command
    cases, bare = "case" in command, command
    for a, b in spans:
        bare = bare[:a] + " " * (b - a) + bare[b:]

    def one(match: re.Match[str]) -> str:
        start, before = match.start(1), match[1].rstrip()
        if inside(spans, match.end()):
            return match[0]
        head = bare[: match.end()]
        within = any(
            (place := head.rfind(opening)) >= 0 and head.count(opening[-1], place) > head.count(end, place)
            for opening, end in (("=(", ")"), ("((", ")"), ("${", "}"))  # a list, arithmetic, a parameter
        )
        goes_on = before == "" and command[:start].endswith("\\")
        pattern = cases and before != "(" and _PATTERN.match(command, match.end()) is not None
        return match[0] if within or goes_on or pattern else f"{match[1]}{RUN} $LINENO "

    return _CALL.sub(one, command)
