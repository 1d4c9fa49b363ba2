"""Numbers of JSON in the words of jq 1.6."""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.call import Call

_STRING = r'"(?:[^"\\]|\\.)*"'
_NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])"
_TOKENS = re.compile(rf"{_STRING}|{_NUMBER}")
_BARE = re.compile(_NUMBER)
_MOST_ZEROS, _LEAST_EXPONENT = 15, -4  # behind which, and below which, a number gets an exponent


def numbers(call: Call) -> None:
    """Standard input with its numbers, but not those in strings, as of jq 1.6 (``raw``: quotes make no strings)."""
    raw = call.argv == ["raw"]
    call.out.append((_BARE if raw else _TOKENS).sub(_mended, call.stdin))


def _mended(match: re.Match[str]) -> str:
    text = match[0]
    if text[0] == '"' or (text.lstrip("-").isdigit() and len(text) < 18):
        return text
    return shown(float(text))


def shown(value: float) -> str:
    """A number as jq 1.6 writes it."""
    value = max(-1.7976931348623157e308, min(value, 1.7976931348623157e308))
    mantissa = exponent = ""
    for places in range(17):
        mantissa, _, exponent = f"{value:.{places}e}".partition("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    sign, digits, point = (
        mantissa[:1].strip("0123456789"),
        mantissa.strip("-").replace(".", ""),
        int(exponent),
    )
    if point < _LEAST_EXPONENT or point >= len(digits) + _MOST_ZEROS:
        return f"{mantissa}e{exponent}"
    if point < 0:
        return f"{sign}0.{'0' * (-point - 1)}{digits}"
    return (
        sign
        + digits[: point + 1].ljust(point + 1, "0")
        + (f".{digits[point + 1 :]}" if len(digits) > point + 1 else "")
    )
