"""Which parts of a command are texts (in quotes, documents, comments) and no words of commands."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter

_MAY = re.compile(r"['\"#]|<<")
_RUNS = re.compile(  # texts of such a command may be commands themselves
    r"(?<![\w./@-])(?:ba|da)?sh\b(?=[^;&|\n]{0,500}?\s-\w*[cs]\b|\s*(?:<|$|[|;&)\n]))|\b(?:eval|trap|alias)\b",
    re.M,
)
_TOKEN = re.compile(
    r"\\.|\$?'|\"|\$?\(\(|\$?\(|\)|`|(?:(?<=^)|(?<=[\s;&|(]))#[^\n]*|<<<|<<-?\s*(\\|['\"]?)([\w.-]+)\1|\n",
    re.S,
)
_STORED = re.compile(
    r"(?:^|[;&({\n])\s*(?:cat|tee)\b(?:[^|;&()\n]|\$\(__\w+ [^()\n]*\))*<<[^|()\n]*\n\Z"
)  # how a line before a document ends
_BEGINS = r"(?:^|[;&|({\n]|\b(?:then|do|else)\b)\s*"
_SAID = re.compile(rf"{_BEGINS}(?:echo|printf)\b[^;&|\n()`]*")  # words that are printed
_SET = re.compile(rf"{_BEGINS}(?:\w+=)+\$?['\"]\Z")  # what a word that is put into a variable begins with
_NEAR = 100  # characters before a text in which that is looked for
_RUNNERS = re.compile(r"\|\s*(?:(?:ba|da)?sh|xargs|eval)\b")  # that run what comes in
_ENDS = re.compile(r"[;&\n]")  # of a pipeline
_DEEP = 100  # open things that are looked at
_HELD = 0xE000  # the first of the private characters that stand for texts


def outside_texts(command: str, change: Callable[[str], str]) -> str:
    """``change(command)``, but with the texts ``to_keep`` as they are."""
    changed = change(command)
    if changed == command or _MAY.search(command) is None:
        return changed
    spans = to_keep(command)
    if not spans or any("\ue000" <= letter <= "\uf8ff" for letter in command) or len(spans) > 6000:
        return changed
    held, out, place = {}, "", 0
    for number, (start, end) in enumerate(spans, _HELD):
        held[number] = command[start:end]
        out += command[place:start] + chr(number)
        place = end
    return change(out + command[place:]).translate(held)


def to_keep(command: str) -> list[tuple[int, int]]:
    """The texts that are no commands: all, or those that files get where the command may run the others."""
    spans = [span for span in texts(command) or () if span[0] < span[1]]
    if not spans or _RUNS.search(command) is None:
        return spans
    bare = list(command)
    for start, end in spans:
        bare[start:end] = "x" * (end - start)
    words = "".join(bare)
    said = [match.span() for match in _SAID.finditer(words)]
    runners, ends = ([m.start() for m in sign.finditer(words)] for sign in (_RUNNERS, _ENDS))

    def kept(start: int, end: int) -> bool:
        if command[start - 1] == "\n":
            line = max(command.rfind("\n", 0, start - 1), 0)
            return _STORED.search(command, line, start) is not None
        if words[start - 1] not in "'\"":
            return False
        if not inside(said, start) and _SET.search(words, max(0, start - _NEAR), start) is None:
            return False
        runner, ended = bisect_left(runners, end), bisect_left(ends, end)
        return runner == len(runners) or (ended < len(ends) and ends[ended] < runners[runner])

    return [span for span in spans if kept(*span)]


def inside(spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Does a place lie in one of such spans, which are in order?"""
    found = bisect_right(spans, place, key=_start) - 1
    return found >= 0 and place < spans[found][1]


_start = itemgetter(0)


def texts(command: str) -> list[tuple[int, int]] | None:
    """Start and end of every text, in order; None where the quotes or documents do not close."""
    return _scan(command, [])


def unended(command: str) -> list[tuple[str, int]]:
    """The last lines that here-documents miss, and how many lines of the command lie before each document."""
    missing: list[tuple[str, int]] = []
    _scan(command, missing)
    return missing


def _scan(command: str, missing: list[tuple[str, int]]) -> list[tuple[int, int]] | None:
    spans: list[tuple[int, int]] = []
    open_: list[str] = []  # what is open: a double quote, a parenthesis, arithmetic, a backtick
    documents: list[
        tuple[str, bool]
    ] = []  # that begin at the end of the line: the last line, with expansions?
    place = start = 0
    while (m := _TOKEN.search(command, place)) is not None:
        token, place = m[0], m.end()
        top = open_[-1] if open_ else ""
        if top == '"':
            if token in ('"', "`", "$(", "$(("):
                spans.append((start, m.start()))
                if token == '"':
                    open_.pop()
                else:
                    open_.append(token[-2:])
        elif token == "'" or token == "$'":
            close = re.compile(r"(?:[^'\\]|\\.)*'" if token == "$'" else r"[^']*'", re.S).match(
                command, place
            )
            if close is None:
                return None
            spans.append((place, close.end() - 1))
            place = close.end()
        elif token == '"':
            open_.append('"')
            start = place
        elif token == "`" or (token == ")" and top):
            if token == "`" and top != "`":
                open_.append("`")
                continue
            if token == ")" and top in ("((", "`"):
                place += command[place : place + 1] == ")" and top == "(("
                if top == "`":
                    continue
            open_.pop()
            start = place
        elif token.endswith("("):
            open_.append(token[-2:])
        elif token[0] == "#":
            spans.append(m.span())
        elif m[2] and "((" not in open_[-_DEEP:]:
            documents.append((m[2], not m[1]))
        elif token == "\n":
            for last, expands in documents:
                end = re.compile(rf"^\t*{re.escape(last)}$", re.M).search(command, place)
                if end is None:
                    missing.append((last, command.count("\n", 0, place - 1)))
                    return None
                if not expands or (
                    "$(" not in command[place : end.start()] and "`" not in command[place : end.start()]
                ):
                    spans.append((place, end.start()))
                place = end.end()
            documents.clear()
    lines = command.count("\n") if documents else 0
    missing += [(last, lines) for last, _ in documents if not open_]
    return None if open_ or documents else spans
