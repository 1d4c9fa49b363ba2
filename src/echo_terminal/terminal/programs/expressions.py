"""``expr`` after GNU coreutils 9.1: numbers of any length, comparisons, and patterns at the start of a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from echo_terminal.terminal.programs.bc.numbers import digits_of
from echo_terminal.terminal.programs.call import Call, UsageError, quote
from echo_terminal.terminal.programs.limits import ROOM, Stopped
from echo_terminal.terminal.programs.patterns import compiled

_LEVELS = (("|",), ("&",), ("<", "<=", "=", "==", "!=", ">=", ">"), ("+", "-"), ("*", "/", "%"), (":",))
_NUMBER = re.compile(r"-?\d+")
LONGEST = 100_000  # digits of a number


def expr(call: Call) -> None:
    """Print the value of an expression; the exit code is 1 where it is empty or 0."""
    words = call.argv[1:] if call.argv[:1] == ["--"] else call.argv
    if not words:
        raise UsageError("missing operand", 2)
    reader = _Reader(words)
    value = reader.level(0)
    if reader.place < len(words):
        raise _wrong(f"syntax error: unexpected argument {quote(words[reader.place])}")
    call.line(value)
    call.code = int(_empty(value))


def _wrong(text: str, code: int = 2) -> UsageError:
    return UsageError(text, code, hint=False)


def _empty(value: str) -> bool:
    return value == "" or re.fullmatch(r"-?0+", value) is not None


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise _wrong("non-integer argument")
    if len(text) > LONGEST:
        raise Stopped(ROOM)
    return int(Decimal(text))  # ``int`` and ``str`` refuse more than 4300 digits


class _Reader:
    """A cursor over the words."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.place = words, 0

    def next(self) -> str:
        """The next word.

        Raises:
            UsageError: there is none.
        """
        if self.place == len(self.words):
            raise _wrong(f"syntax error: missing argument after {quote(self.words[-1])}")
        self.place += 1
        return self.words[self.place - 1]

    def level(self, number: int) -> str:
        """Terms of one strength, from the left."""
        if number == len(_LEVELS):
            return self.term()
        left = self.level(number + 1)
        while self.place < len(self.words) and self.words[self.place] in _LEVELS[number]:
            sign = self.next()
            left = _apply(sign, left, self.level(number + 1))
        return left

    def term(self) -> str:
        """A word, parentheses or a function of texts."""
        word = self.next()
        if word == "(":
            value = self.level(0)
            if self.place == len(self.words):
                raise _wrong(f"syntax error: expecting ')' after {quote(self.words[-1])}")
            if self.next() != ")":
                raise _wrong(f"syntax error: expecting ')' instead of {quote(self.words[self.place - 1])}")
            return value
        if word == ")":
            raise _wrong("syntax error: unexpected ')'")
        if word == "+":
            return self.next()
        if word == "length":
            return str(len(self.term().encode()))
        if word == "match":
            return _match(self.term(), self.term())
        if word == "index":
            text, letters = self.term(), self.term()
            return str(next((n for n, c in enumerate(text, 1) if c in letters), 0))
        if word == "substr":
            text, start, length = self.term(), self.term(), self.term()
            if not (_NUMBER.fullmatch(start) and _NUMBER.fullmatch(length)):
                return ""
            a, n = int(start), int(length)
            return text[a - 1 : a - 1 + n] if a > 0 and n > 0 else ""
        return word


def _apply(sign: str, left: str, right: str) -> str:
    if sign == "|":
        return left if not _empty(left) else right if not _empty(right) else "0"
    if sign == "&":
        return left if not _empty(left) and not _empty(right) else "0"
    if sign == ":":
        return _match(left, right)
    if sign in _LEVELS[2]:
        whole = _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right)
        order = _number(left) - _number(right) if whole else (left > right) - (left < right)
        holds = {"<": order < 0, "<=": order <= 0, "!=": order != 0, ">=": order >= 0, ">": order > 0}
        return str(int(holds.get(sign, order == 0)))
    a, b = _number(left), _number(right)
    if sign in "/%" and b == 0:
        raise _wrong("division by zero")
    quotient: Callable[[], int] = lambda: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # noqa: E731
    if sign == "/":
        return digits_of(quotient())
    if sign == "%":
        return digits_of(a - quotient() * b)
    return digits_of({"+": a + b, "-": a - b, "*": a * b}[sign])


def _match(text: str, pattern: str) -> str:
    """The first group of a basic regular expression at the start of a text, or the length of the match."""
    try:
        found = compiled(_modern(pattern)).match(text)
    except ValueError:
        raise _wrong("Invalid regular expression") from None
    except TimeoutError:
        raise _wrong("Regular expression too big") from None
    if r"\(" in pattern:
        return (found[1] or "") if found else ""
    return str(found.end() if found else 0)


def _modern(pattern: str) -> str:
    """A basic regular expression in the syntax of ``re``."""
    classes = {"alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "lower": "a-z", "upper": "A-Z",
               "space": r"\s", "xdigit": "0-9a-fA-F"}  # fmt: skip
    pattern = re.sub(r"\[:(\w+):\]", lambda m: classes.get(m[1], m[0]), pattern)
    swap = {r"\(": "(", r"\)": ")", r"\{": "{", r"\}": "}", r"\|": "|", r"\+": "+", r"\?": "?"}
    back = {plain: old for old, plain in swap.items()}
    parts = re.findall(r"\[\]?[^\]]*\]|\\.|.", pattern, re.S)
    found = [swap.get(part) or back.get(part) or part for part in parts]
    if found[:1] == ["*"]:
        found[0] = r"\*"
    return "".join(found)
