"""Extended regular expressions of mawk in the words of ``re``."""

from __future__ import annotations

import functools
import re

from echo_terminal.terminal.programs.awk.values import AwkError
from echo_terminal.terminal.programs.patterns import Pattern, compiled

_NAMED = {"n": "\n", "t": "\t", "f": "\f", "r": "\r", "b": "\b", "a": "\a", "v": "\v"}
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "blank": " \\t",
    "space": " \\t\\n\\v\\f\\r", "punct": "!-/:-@\\[-`{-~", "print": " -~", "graph": "!-~",
    "cntrl": "\\x00-\\x1f\\x7f", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_OCTAL = re.compile(r"[0-7]{1,3}")


@functools.lru_cache(512)
def regex(text: str) -> Pattern:
    """An extended regular expression of mawk (without intervals).

    Raises:
        AwkError: it is none.
    """
    out: list[str] = []
    place, depth, atom = 0, 0, False
    while place < len(text):
        letter = text[place]
        if letter == "\\" and place + 1 < len(text):
            place, letter = _escaped(text, place + 1)
            out.append(re.escape(letter))
            atom = True
            continue
        place += 1
        if letter == "[":
            place = _bracket(text, place, out)
            atom = True
        elif letter in "*+?":
            if not atom:
                if out and out[-1] in ("*", "+", "?"):
                    out[-1] = letter if out[-1] == letter else "*"
                else:
                    out.append(re.escape(letter))
                    atom = True
                continue
            out.append(letter)
            atom = False
        elif letter == "(":
            out.append("(?:")
            depth, atom = depth + 1, False
        elif letter == ")" and depth:
            out.append(")")
            depth, atom = depth - 1, True
        elif letter == ")":
            raise AwkError(f"regular expression compile failed (missing '(')\n{text}\n")
        elif letter == "|":
            out.append("|")
            atom = False
        else:
            out.append({"^": "\\A", "$": "\\Z", ".": "."}.get(letter) or re.escape(letter))
            atom = letter not in "^$"
    if depth:
        raise AwkError(f"regular expression compile failed (missing ')')\n{text}\n")
    try:
        return compiled("".join(out), bytewise=True)
    except ValueError:
        raise AwkError(f"regular expression compile failed (syntax error)\n{text}\n") from None


def _escaped(text: str, place: int) -> tuple[int, str]:
    """Where an escape ends, and its character; ``place``: behind the backslash."""
    if m := _OCTAL.match(text, place):
        return m.end(), chr(int(m[0], 8) & 255)
    return place + 1, _NAMED.get(text[place], text[place])


def _bracket(text: str, place: int, out: list[str]) -> int:
    inside, start = ["["], place
    if text[place : place + 1] == "^":
        inside.append("^")
        place, start = place + 1, place + 1
    while True:
        if place >= len(text):
            raise AwkError(f"regular expression compile failed (bad class -- [], [^] or [)\n{text}\n")
        letter = text[place]
        place += 1
        if letter == "]" and place - 1 > start:
            break
        if letter == "[" and text[place : place + 1] == ":" and (end := text.find(":]", place)) > 0:
            inside.append(_CLASSES.get(text[place + 1 : end], ""))
            place = end + 2
        elif letter == "\\" and place < len(text):
            place, letter = _escaped(text, place)
            inside.append(f"\\x{ord(letter):02x}")
        elif letter == "-":
            inside.append("-" if place - 1 > start and text[place : place + 1] != "]" else "\\-")
        else:
            inside.append(f"\\x{ord(letter):02x}" if not letter.isalnum() or letter > "\x7f" else letter)
    out.append("".join(inside) + "]")
    return place
