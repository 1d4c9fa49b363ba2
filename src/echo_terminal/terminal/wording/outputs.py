"""Scripts that send all their output elsewhere with ``exec``, which bashkit does for the session's own shell alone."""

from __future__ import annotations

import re

_TARGET = r"(?:>\([^()\n]*\)|\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|<>()'\"]+)"
_SENT = rf"(?:[012]?(?:>>?|<)(?![<>&])[ \t]*|&>>?[ \t]*){_TARGET}|[12]?>&[ \t]*\d"
_EXEC = re.compile(rf"^exec((?:[ \t]+(?:{_SENT}))+)[ \t]*(?:#.*)?$", re.M)
MOST = 20  # groups inside each other: bashkit's parser has a limit
_BACK = re.compile(r"(?:[ \t]+[12]?>&[ \t]*[3-9])+")  # to outputs that were kept aside


def grouped(script: str) -> str:
    """The script, on as many lines, with what follows such a line as a group that sends its output there."""
    sent: list[str] = []  # where the outputs of the groups that are open go

    def close() -> str:
        ends = "; ".join(f"}}{where}" for where in reversed(sent))
        sent.clear()
        return ends

    def one(match: re.Match[str]) -> str:
        if _BACK.fullmatch(match[1]) is not None:
            return close() or match[0]
        if len(sent) == MOST:
            return match[0]
        sent.append(match[1])
        return "{ :"

    text = _EXEC.sub(one, script)
    return text.rstrip("\n") + "\n" * script.endswith("\n") + close() if sent else text
