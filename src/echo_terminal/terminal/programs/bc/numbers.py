"""Numbers of GNU bc 1.07, of any length with a scale, and its library: results are cut off, never rounded."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from dataclasses import dataclass

LINE = 68  # digits on a line before a backslash


@dataclass(frozen=True)
class Number:
    """``value`` units of 10 to the power of minus ``scale``."""

    value: int
    scale: int = 0

    def at(self, scale: int) -> int:
        """The value in units of another scale, cut off."""
        if scale >= self.scale:
            return self.value * int(10 ** (scale - self.scale))
        return cut(self.value, int(10 ** (self.scale - scale)))


ZERO, ONE = Number(0), Number(1)


def cut(a: int, b: int) -> int:
    """The quotient, cut off toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def digits_of(value: int) -> str:
    """Decimal digits; ``str`` refuses numbers of more than 4300."""
    return f"{decimal.Decimal(value):f}"


def shown(number: Number, base: int) -> str:
    """Digits in an output base."""
    if number.value == 0:
        return "0"
    sign = "-" if number.value < 0 else ""
    whole, rest = divmod(abs(number.value), int(10**number.scale))
    if base == 10:
        point = "." + digits_of(rest).zfill(number.scale) if number.scale else ""
        return sign + (digits_of(whole) if whole else "") + point
    digits: list[int] = []
    while whole:
        whole, digit = divmod(whole, base)
        digits.insert(0, digit)
    parts, unit = [], 1
    while number.scale and unit < 10**number.scale:
        unit, rest = unit * base, rest * base
        digit, rest = divmod(rest, int(10**number.scale))
        parts.append(digit)
    if base <= 16:
        point = "." + "".join(f"{d:X}" for d in parts) if parts else ""
        return sign + "".join(f"{d:X}" for d in digits) + point
    width = len(str(base - 1))
    point = "." + " ".join(f"{d:0{width}d}" for d in parts) if parts else ""
    return sign + "".join(f" {d:0{width}d}" for d in digits) + point


def wrapped(text: str) -> str:
    """Long numbers go on behind a backslash."""
    if len(text) <= LINE:
        return text
    return "\\\n".join(text[start : start + LINE] for start in range(0, len(text), LINE))


def _decimal(work: Callable[[decimal.Decimal], decimal.Decimal]) -> Callable[[Number, int], Number]:
    def run(number: Number, scale: int) -> Number:
        size = len(digits_of(abs(number.value)))
        with decimal.localcontext() as context:
            context.prec = 2 * scale + 2 * size + 20
            found = work(decimal.Decimal(number.value).scaleb(-number.scale))
            return Number(int(found.scaleb(scale)), scale)

    return run


def _sine(x: decimal.Decimal) -> decimal.Decimal:
    total, term, n = x, x, 1
    while term and abs(term).adjusted() > -decimal.getcontext().prec:
        n += 2
        term = -term * x * x / (n * (n - 1))
        total += term
    return total


def _turned(x: decimal.Decimal) -> decimal.Decimal:
    """An angle between minus and plus a half turn."""
    turn = 8 * _arctangent(decimal.Decimal(1))
    return x - turn * (x / turn).to_integral_value()


def _arctangent(x: decimal.Decimal) -> decimal.Decimal:
    halvings = 0
    while abs(x) > decimal.Decimal("0.1"):
        x, halvings = x / (1 + (1 + x * x).sqrt()), halvings + 1
    total, power, n = x, x, 1
    while power and abs(power).adjusted() > -decimal.getcontext().prec:
        n, power = n + 2, -power * x * x
        total += power / n
    return total * int(2**halvings)


def _logarithm(number: Number, scale: int) -> Number:
    if number.value <= 0:
        return Number((1 - int(10**scale)) * int(10**scale), scale)
    return _decimal(lambda x: x.ln())(number, scale)


LIBRARY: dict[str, Callable[[Number, int], Number]] = {
    "s": _decimal(lambda x: _sine(_turned(x))),
    "c": _decimal(lambda x: _sine(_turned(x + 2 * _arctangent(decimal.Decimal(1))))),
    "a": _decimal(_arctangent),
    "e": _decimal(lambda x: x.exp()),
    "l": _logarithm,
}
