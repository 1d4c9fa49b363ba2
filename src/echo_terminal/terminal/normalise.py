"""Text as every engine reports it: one normal form of output bytes, one way of cutting long output.

The normal form is what a person would see on a terminal that never wraps or scrolls: UTF-8 with U+FFFD for what
is not UTF-8, carriage returns applied, escape sequences and other control characters gone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MIN_LIMIT = 120  # characters; room for the longest notice and some text

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_STRING = re.compile(
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f]).*?(?:\x07|\x1b\\\\|\x9c|(?=\n)|\\Z)", re.DOTALL
)
_ERASE = re.compile("(?:\x1b\\[|\x9b)([012]?)K")
_ESCAPE = re.compile("(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normal_form(output: bytes | str) -> str:
    """Text of program output: valid Unicode holding no control character but newline and tab.

    A carriage return moves to the start of its line, so what follows overwrites; one before a newline erases nothing.
    "Erase line" is obeyed; titles, colours and cursor moves are dropped. Idempotent; equal bytes give equal text.
    """
    text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
    if _CONTROL.search(text) is None:
        return text
    text = _SURROGATE.sub("\ufffd", text)
    text = _STRING.sub("", text)
    if "\r" in text:
        text = "\n".join(_overwrite(line) if "\r" in line else line for line in text.split("\n"))
    return _CONTROL.sub("", _ESCAPE.sub("", text))


def _overwrite(line: str) -> str:
    """One line after its carriage returns: later text replaces earlier text column by column."""
    shown = ""
    for part in line.split("\r"):
        column = 0
        for index, piece in enumerate(_ERASE.split(part)):
            if index % 2 == 0:
                piece = _CONTROL.sub("", _ESCAPE.sub("", piece))
                shown = shown[:column].ljust(column) + piece + shown[column + len(piece) :]
                column += len(piece)
            elif piece == "1":
                shown = " " * (column + 1) + shown[column + 1 :]
            elif piece == "2":
                shown = " " * column
            else:
                shown = shown[:column]
    return shown


@dataclass(frozen=True)
class Piece:
    """A run of text: the terminal's own, or (``notice``) the harness's remark about what it left out."""

    text: str
    notice: bool = False


def truncate(text: str, limit: int) -> list[Piece]:
    """``text`` in at most ``limit`` characters: its head, a notice of what is missing, its tail.

    Whole lines are kept where the lines are short enough; the notice states the omitted characters, bytes (UTF-8) and
    newlines. The pieces join to at most ``limit`` characters; without the notice they are a prefix and a suffix.

    Raises:
        ValueError: ``limit`` is below ``MIN_LIMIT``.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"output limit {limit} is too small: use at least {MIN_LIMIT} characters")
    if len(text) <= limit:
        return [Piece(text)] if text else []
    room = limit - len(_notice(text, joined=False))
    head, tail = text[: room // 2], text[len(text) - (room - room // 2) :]
    if "\n" in head[len(head) // 2 :]:
        head = head[: head.rindex("\n") + 1]
    if "\n" in tail[: len(tail) // 2]:
        tail = tail[tail.index("\n") + 1 :]
    omitted = text[len(head) : len(text) - len(tail)]
    return [Piece(head), Piece(_notice(omitted, joined=head.endswith("\n")), notice=True), Piece(tail)]


def _notice(omitted: str, *, joined: bool) -> str:
    size, lines = len(omitted.encode()), omitted.count("\n")
    remark = f"[... {len(omitted)} characters ({size} bytes, {lines} newlines) omitted ...]\n"
    return remark if joined else "\n" + remark
