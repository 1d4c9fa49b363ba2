"""Values of awk as mawk 1.3.4 has them: numbers are floats, texts hold one character a byte, None is unset."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from echo_terminal.terminal.programs.limits import ELEMENT, LONGEST, ROOM, Budget, Stopped

MAX_INT = 2147483647  # mawk counts in 32 bits: larger numbers are printed by OFMT
_NUMBER = re.compile(
    r"[ \t\n\v\f\r]*([-+]?)(0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf(?:inity)?|nan)",
    re.I | re.A,
)
_FORMAT = re.compile(r"%([-+ #0]*)(\*|\d*)(?:\.(\*|\d*))?[hlLqjzt]*(.)?", re.S)
_HASH, _PRIME = 2166136261, 16777619
_STATES = 344  # numbers that glibc's random() throws away


class AwkError(Exception):
    """The program cannot go on: its message, whole lines for standard error."""


class Field(str):
    """Text from input: a number where it looks like one."""

    __slots__ = ()


def leading(text: str) -> float:
    """The number at the start of a text, 0 without one."""
    m = _NUMBER.match(text)
    return _value(m) if m else 0.0


def _value(m: re.Match[str]) -> float:
    value = float(int(m[2], 16)) if m[2][:2] in ("0x", "0X") else float(m[2])
    return -value if m[1] == "-" else value


def numeric(text: str) -> float | None:
    """The number that a text from input is as a whole, or None."""
    m = _NUMBER.match(text)
    return _value(m) if m and not text[m.end() :].strip(" \t\n\v\f\r") else None


def num(value: Any) -> float:
    """A value as a number."""
    if type(value) is float:
        return value
    return 0.0 if value is None else leading(value)


def show(value: float, form: str) -> str:
    """A number as text: whole numbers of 32 bits in full, others by ``form`` (CONVFMT or OFMT)."""
    if -MAX_INT <= value <= MAX_INT and value == int(value):
        return str(int(value))
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return form_text(form, [value], "sprintf", "", _narrow) if form != "%.6g" else f"{value:.6g}"


def true(value: Any) -> bool:
    """Is a value true?"""
    if type(value) is float:
        return value != 0
    if type(value) is Field:
        number = numeric(value)
        return value != "" if number is None else number != 0
    return bool(value)


def compare(left: Any, right: Any, form: str) -> int:
    """-1, 0 or 1; by number where both sides are numbers, else by bytes. nan is larger than all."""
    a = (
        left
        if type(left) is float
        else 0.0
        if left is None
        else numeric(left)
        if type(left) is Field
        else None
    )
    if a is not None:
        b = (
            right if type(right) is float
            else 0.0 if right is None else numeric(right) if type(right) is Field else None
        )  # fmt: skip
        if b is not None and not (left is None and type(right) is str):
            return (a > b) - (a < b)
    one = show(left, form) if type(left) is float else left or ""
    other = show(right, form) if type(right) is float else right or ""
    return (one > other) - (one < other)


def _narrow(size: float) -> None:
    if size > LONGEST:
        raise Stopped(ROOM)


class Array:
    """An awk array that remembers mawk's order: two hash tables, each list with the last used in front."""

    __slots__ = ("budget", "by_number", "by_text", "count", "hashed", "split", "values")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.values: dict[str, Any] = {}
        self.by_text: dict[str, int] = {}  # key -> when it came to the front of its list of texts
        self.by_number: dict[str, int] = {}
        self.count, self.split, self.hashed = 0, False, False

    def load(self, items: list[Any]) -> None:
        """Become what ``split`` makes."""
        self.clear()
        self.budget.made(ELEMENT * len(items))
        self.values = {str(n): item for n, item in enumerate(items, 1)}
        self.split = bool(items)

    def touch(self, key: str, number: bool, create: bool) -> bool:
        """Find an element, moving it to the front; create it unset if asked. Is it there?"""
        values = self.values
        there = key in values
        if self.split:
            if number and (there or not create):
                return there
            self._unfold()
        if not there:
            if not create:
                if not number and values and not self.hashed:
                    self._add_texts()
                return False
            self.budget.made(ELEMENT + len(key))
            values[key] = None
        self.count += 1
        if number and (key in self.by_number or not self.hashed):
            self.by_number[key] = self.count
            return there
        if not self.hashed:
            self._add_texts()
        self.by_text[key] = self.count
        if number:
            self.by_number[key] = self.count
        return there

    def delete(self, key: str, number: bool) -> None:
        """Remove an element."""
        if self.touch(key, number, False):
            if self.split:
                self._unfold()
            del self.values[key]
            self.by_text.pop(key, None)
            self.by_number.pop(key, None)
            if not self.values:
                self.clear()

    def _unfold(self) -> None:
        self.split = False
        for key in self.values:
            self.count += 1
            self.by_number[key] = self.count

    def _mask(self) -> int:
        mask = 63
        while len(self.values) > (mask + 1) * 12:
            mask = mask * 2 + 1
        return mask

    def _add_texts(self) -> None:
        mask = self._mask()
        for key in sorted(self.by_number, key=lambda k: (int(k) & mask, -self.by_number[k])):
            self.count += 1
            self.by_text[key] = self.count
        self.hashed = True

    def keys(self) -> list[str]:
        """The keys in the order of ``for (k in a)``."""
        if not self.values:
            return []
        if self.split:
            self._unfold()
        if not self.hashed:
            self._add_texts()
        mask = self._mask()
        return sorted(self.by_text, key=lambda k: (_hash(k) & mask, -self.by_text[k]))


def _hash(text: str) -> int:
    value = _HASH
    for letter in text.encode("latin-1"):
        value = (value ^ letter) * _PRIME & 0xFFFFFFFF
    return value


def randoms(seed: int) -> Iterator[float]:
    """glibc's random() after srandom(seed), from 0 to 1."""
    r = [seed or 1]
    for _ in range(30):
        r.append(16807 * r[-1] % MAX_INT)
    r += r[:3]
    while True:
        r.append((r[-3] + r[-31]) & 0xFFFFFFFF)
        if len(r) > _STATES:
            yield (r[-1] >> 1) / MAX_INT
            del r[:-34]
            r = [0] * _STATES + r[-34:]


def _whole(value: float) -> int:
    return 0 if value != value else int(max(-MAX_INT, min(MAX_INT, value)))


def form_text(
    form: str,
    values: list[Any],
    name: str,
    where: str,
    fits: Callable[[float], None],
    done: Callable[[str], None] | None = None,
) -> str:
    """``sprintf``; ``fits`` is asked before each part is made, ``done`` gets what was made before an error.

    Raises:
        AwkError: too few values, or an unknown conversion.
    """
    out: list[str] = []
    place, used, convfmt = 0, 0, "%.6g"

    def fail(text: str) -> AwkError:
        if done is not None:
            done("".join(out))
        return AwkError(f'awk: run time error: {text} {name}("{form}")\n{where}')

    def take() -> Any:
        nonlocal used
        if used >= len(values):
            raise fail("not enough arguments passed to")
        used += 1
        return values[used - 1]

    number = 0
    for m in _FORMAT.finditer(form):
        out.append(form[place : m.start()])
        place = m.end()
        flags, width, digits, letter = m.groups()
        if letter == "%" and m.end() - m.start() == 2:
            out.append("%")
            continue
        number += 1
        if width == "*":
            size = _whole(num(take()))
            flags, width = (flags + "-", str(-size)) if size < 0 else (flags, str(size))
        if digits == "*":
            digits = str(max(0, _whole(num(take()))))
        fits(float(width or 0) + float(digits or 0))
        spec = f"%{flags}{width}" + ("" if digits is None else f".{digits}")
        value = take()
        if letter and letter in "di":
            out.append((spec + "d") % _whole(num(value)))
        elif letter and letter in "oxXu":
            whole = int(max(0.0, min(4294967295.0, num(value))))
            text = (spec + letter.replace("u", "d")) % whole
            if letter == "o" and "#" in flags:
                text = text.replace("0o", "0", 1)
            out.append(text if whole or letter not in "xX" else text.replace("0x", "").replace("0X", ""))
        elif letter and letter in "eEfFgG":
            text = (spec + letter) % num(value)
            out.append(
                text.replace("nan", "-nan") if "nan" in text and math.copysign(1, num(value)) < 0 else text
            )
        elif letter == "c":
            text = chr(int(num(value)) & 255) if type(value) is float else (value or "")[:1]
            out.append(f"%{flags.replace('0', '')}{width}s" % text)
        elif letter == "s":
            out.append((spec + "s") % (show(value, convfmt) if type(value) is float else value or ""))
        else:
            raise fail(f"improper conversion(number {number}) in")
    out.append(form[place:])
    return "".join(out)


_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "f": "\f", "b": "\b", "r": "\r", "a": "\a", "v": "\v", "\\": "\\", '"': '"',
            "/": "\\/", "\n": ""}  # fmt: skip


def unescape(text: str) -> str:
    """A string constant's text; escapes that mawk does not know stay as they are."""
    if "\\" not in text:
        return text

    def one(m: re.Match[str]) -> str:
        if m[1]:
            return chr(int(m[1], 8) & 255)
        return chr(int(m[2], 16)) if m[2] else _ESCAPES.get(m[3], m[0])

    return _ESCAPE.sub(one, text)
