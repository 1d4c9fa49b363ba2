"""Times as text: the formats of ``date``, in UTC and the C locale."""

from __future__ import annotations

import calendar
import functools
import re
from datetime import UTC, datetime

from echo_terminal.terminal.programs.limits import narrow

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = tuple(calendar.month_name)[1:]
COMPOSED = {
    "c": "%a %b %e %H:%M:%S %Y",
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "r": "%I:%M:%S %p",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
    "+": "%a %b %e %H:%M:%S %Z %Y",
}
_DIRECTIVE = re.compile(r"%([-_0^#]*)(\d*)([EO]?)(:{0,3})(.)", re.S)


@functools.lru_cache(maxsize=1024)
def format_time(seconds: float, pattern: str) -> str:
    """A time in seconds since the epoch by a ``date`` format, in UTC and the C locale."""
    moment = datetime.fromtimestamp(int(seconds // 1), UTC)
    nanoseconds = round(seconds % 1 * 1e9)

    def one(match: re.Match[str]) -> str:
        flags, width, _, colons, letter = match.groups()
        narrow(width)
        if letter in COMPOSED:
            text, fill, least = format_time(seconds, COMPOSED[letter]), " ", 0
        else:
            found = _field(moment, nanoseconds, letter, colons)
            if found is None:
                return match[0]
            text, fill, least = found
        for flag in flags:
            fill = {"-": "", "_": " ", "0": "0"}.get(flag, fill)
            if flag == "^":
                text = text.upper()
            elif flag == "#":
                text = text.lower() if text.isupper() else text.upper()
        return text.rjust(int(width or least), fill) if fill else text

    return _DIRECTIVE.sub(one, pattern)


def _field(t: datetime, nanoseconds: int, letter: str, colons: str) -> tuple[str, str, int] | None:
    """Text, padding and least width of one directive; None where there is no such directive."""
    year, week, weekday = t.isocalendar()
    yearday = t.timetuple().tm_yday
    zone = {"": "+0000", ":": "+00:00", "::": "+00:00:00", ":::": "+00"}
    words = {
        "a": DAYS[t.weekday()][:3],
        "A": DAYS[t.weekday()],
        "b": MONTHS[t.month - 1][:3],
        "h": MONTHS[t.month - 1][:3],
        "B": MONTHS[t.month - 1],
        "p": "AM" if t.hour < 12 else "PM",
        "P": "am" if t.hour < 12 else "pm",
        "Z": "UTC",
        "z": zone[colons],
        "n": "\n",
        "t": "\t",
        "%": "%",
        "N": f"{nanoseconds:09d}",
        "s": str(int(t.timestamp())),
        "u": str(t.isoweekday()),
        "w": str(t.isoweekday() % 7),
        "q": str((t.month + 2) // 3),
    }
    if letter in words:
        return words[letter], " ", 0
    numbers = {
        "C": (t.year // 100, "0", 2),
        "d": (t.day, "0", 2),
        "e": (t.day, " ", 2),
        "g": (year % 100, "0", 2),
        "G": (year, "0", 4),
        "H": (t.hour, "0", 2),
        "I": (t.hour % 12 or 12, "0", 2),
        "j": (yearday, "0", 3),
        "k": (t.hour, " ", 2),
        "l": (t.hour % 12 or 12, " ", 2),
        "m": (t.month, "0", 2),
        "M": (t.minute, "0", 2),
        "S": (t.second, "0", 2),
        "U": ((yearday + 6 - t.isoweekday() % 7) // 7, "0", 2),
        "V": (week, "0", 2),
        "W": ((yearday + 6 - (weekday - 1)) // 7, "0", 2),
        "y": (t.year % 100, "0", 2),
        "Y": (t.year, "0", 4),
    }
    if letter not in numbers or colons:
        return None
    number, fill, least = numbers[letter]
    return str(number), fill, least
