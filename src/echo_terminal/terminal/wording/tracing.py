"""``set -x``: what bash shows of a command before it runs, where bashkit shows nothing or another depth."""

from __future__ import annotations

import re

from echo_terminal.terminal.wording.piping import OWN, own_lists
from echo_terminal.terminal.wording.texts import inside, texts, to_keep

TRACED = re.compile(r"\bset\s+(?:[-+]\w+\s+){0,9}-\w*x|\bset\s+(?:\S+\s+){0,9}-o\s+xtrace\b")
INSIDE = re.compile(r"\b(?:ba|da)?sh\s+-\w*x(?:\w*|\w*\s+-\w*)c\b")  # in a shell that runs a text
_MARK = "__shown"
_LOOP = re.compile(
    r"(?<![\w$-])(for\s+\w+(?:\s+in(?:[ \t]+[^;\n]{0,300}?)?)?)\s*(?:;|\n)\s*do\b(?!\s*:\s+__shown)"
)
_CASE = re.compile(r"(?<![\w$-])(case\s+[^\s;|&()]+\s+in)(?![\w-])")
_SHOWN = re.compile(rf"^(\++) : {_MARK}([0-9a-f]+)$", re.M)
_LISTS = re.compile(rf"^(\++ ){OWN}(?=(?:history|fc)\b)", re.M)
_TRACE = re.compile(r"^(\++) ", re.M)


def traced(command: str) -> str:
    """The command with marks that a trace shows in place of the heads of loops and ``case``."""
    spans = to_keep(command)

    def mark(match: re.Match[str]) -> str:
        if inside(spans, match.start()) or "$?" in match[1]:
            return match[0]
        head = " ".join(match[1].split(" "))
        if head.startswith("case"):
            return f": {_MARK}{head.encode().hex()}; {match[0]}"
        head = head if " in" in head else f'{head} in "$@"'
        return f"{match[0]} : {_MARK}{head.encode().hex()};"

    return own_lists(_CASE.sub(mark, _LOOP.sub(mark, command)))


def real_trace(text: str, command: str, *, on: bool) -> str:
    """The trace with the heads; one level deeper where the session's shell shows it: it runs commands by ``eval``."""
    text = _LISTS.sub(r"\1", text) if OWN in text else text
    text = _SHOWN.sub(lambda match: f"{match[1]} {bytes.fromhex(match[2]).decode()}", text)
    if not on:
        spans = texts(command) or ()
        own = [m for m in TRACED.finditer(command) if not inside(spans, m.start())]
        if not own:
            return text
    return _TRACE.sub(r"+\1 ", text)
