"""``date`` after GNU coreutils 9.1, at a clock that stands still.

The clock shows ``terminal.CLOCK`` in UTC and never moves; other time zones are read as offsets only.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options, quote
from echo_terminal.terminal.programs.choosing import DATE, choose
from echo_terminal.terminal.programs.formatting import DAYS, MONTHS, format_time
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.terminal import CLOCK

DEFAULT = "%a %b %e %H:%M:%S %Z %Y"
ISO = {
    "date": "%Y-%m-%d",
    "hours": "%Y-%m-%dT%H%:z",
    "minutes": "%Y-%m-%dT%H:%M%:z",
    "seconds": "%Y-%m-%dT%H:%M:%S%:z",
    "ns": "%Y-%m-%dT%H:%M:%S,%N%:z",
}

_NUMBER_WORDS = {
    "last": -1,
    "this": 0,
    "next": 1,
    "a": 1,
    "an": 1,
    "first": 1,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
}
_UNITS = {
    "year": ("months", 12),
    "month": ("months", 1),
    "fortnight": ("days", 14),
    "week": ("days", 7),
    "day": ("days", 1),
    "hour": ("seconds", 3600),
    "minute": ("seconds", 60),
    "min": ("seconds", 60),
    "second": ("seconds", 1),
    "sec": ("seconds", 1),
}
_ZONES = {
    "z": 0,
    "utc": 0,
    "gmt": 0,
    "ut": 0,
    "est": -5,
    "edt": -4,
    "cst": -6,
    "pst": -8,
    "pdt": -7,
    "cet": 1,
}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<iso>\d{4}-\d{1,2}-\d{1,2})(?:[tT](?=\d))?
    | (?P<slash>\d{1,4}/\d{1,2}(?:/\d{1,4})?)
    | (?P<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[ap]\.?m\.?)?|\d{1,2}\s*[ap]\.?m\.?(?!\w))
      (?P<zone>\s*[+-]\d{1,2}(?::?\d{2})?(?!\d))?
    | (?P<compact>\d{8}(?!\d))
    | (?P<number>[+-]?\s*\d+)
    | (?P<word>[A-Za-z]+)\.?
    | (?P<comma>,)
    )""",
    re.X | re.I,
)


def parse_date(text: str, now: float = CLOCK) -> float:
    """Seconds since the epoch of a GNU date string such as ``2024-01-31 +1 month`` or ``last friday``.

    Raises:
        ValueError: the text is no date.
    """
    if match := re.fullmatch(r"\s*@(-?\d+(?:\.\d+)?)\s*", text):
        return float(match[1])
    return _DateReader(text, now).read()


class _DateReader:
    """Collects the parts of a date string; relative parts apply last."""

    def __init__(self, text: str, now: float) -> None:
        self.text, self.moment = text, datetime.fromtimestamp(now, UTC)
        self.date: tuple[int, int, int] | None = None
        self.time: float | None = None
        self.offset, self.months, self.days, self.seconds = 0.0, 0, 0, 0.0
        self.weekday: tuple[int, int] | None = None
        self.numbers: list[int] = []
        self.month: int | None = None
        self.count: int | None = None
        self.midnight = False

    def read(self) -> float:
        place, tokens = 0, []
        while place < len(self.text.rstrip()):
            match = _TOKEN.match(self.text, place)
            if match is None or match.end() == place:
                raise ValueError(self.text)
            tokens.append(match)
            place = match.end()
        for match in tokens:
            self._take(match)
        return self._result()

    def _take(self, match: re.Match[str]) -> None:
        if match["iso"]:
            year, month, day = match["iso"].split("-")
            self._set_date(int(year), int(month), int(day))
        elif match["slash"]:
            parts = [int(p) for p in match["slash"].split("/")]
            if len(match["slash"].split("/")[0]) == 4 and len(parts) == 3:
                self._set_date(*parts)
            else:
                year = parts[2] if len(parts) == 3 else self.moment.year
                self._set_date(year + 2000 if year < 69 else year, parts[0], parts[1])
        elif match["time"]:
            self._set_time(match["time"])
            if match["zone"]:
                digits = match["zone"].replace(":", "").split()[0]
                hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 3 else (digits, "0")
                self.offset = (abs(int(hours)) * 60 + int(minutes)) * (-1 if digits[0] == "-" else 1) / 60
        elif match["compact"]:
            digits = match["compact"]
            self._set_date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
        elif match["number"]:
            self._number(match["number"].replace(" ", ""))
        elif match["word"]:
            self._word(match["word"].lower())

    def _number(self, text: str) -> None:
        if self.count is not None:
            self.numbers.append(self.count)
        self.count = int(text)
        if text[0] not in "+-" and self.month is not None:
            self.numbers.append(self.count)
            self.count = None

    def _word(self, word: str) -> None:
        unit = word if word in _UNITS else word[:-1] if word.endswith("s") else ""
        if unit in _UNITS:
            kind, factor = _UNITS[unit]
            amount: float = (1 if self.count is None else self.count) * factor
            setattr(self, kind, getattr(self, kind) + amount)
            self.count, self.last = None, (kind, amount)
        elif word == "ago":
            kind, earlier = self.last
            setattr(self, kind, getattr(self, kind) - 2 * earlier)
        elif word in ("now", "today"):
            pass
        elif word in ("tomorrow", "yesterday"):
            self.days += 1 if word == "tomorrow" else -1
        elif word in ("midnight", "noon"):
            self.time = 0.0 if word == "midnight" else 43200.0
        elif word in _NUMBER_WORDS:
            self.count = _NUMBER_WORDS[word]
        elif word in _ZONES:
            self.offset += _ZONES[word]
        elif len(word) >= 3 and any(d.lower().startswith(word) for d in DAYS):
            number = next(n for n, d in enumerate(DAYS) if d.lower().startswith(word))
            self.weekday = (number, 0 if self.count is None else self.count)
            self.count = None
        elif len(word) >= 3 and any(m.lower().startswith(word) for m in MONTHS):
            self.month = next(n for n, m in enumerate(MONTHS, 1) if m.lower().startswith(word))
            if self.count is not None:
                self.numbers.append(self.count)
                self.count = None
        else:
            raise ValueError(self.text)

    last: tuple[str, float] = ("days", 0)

    def _set_date(self, year: int, month: int, day: int) -> None:
        if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
            raise ValueError(self.text)
        self.date = (year, month, day)

    def _set_time(self, text: str) -> None:
        match = re.fullmatch(r"(\d+)(?::(\d+))?(?::(\d+(?:[.,]\d+)?))?\s*(?:([ap])\.?m\.?)?", text, re.I)
        if match is None:
            raise ValueError(self.text)
        hour, minute, second = int(match[1]), int(match[2] or 0), float((match[3] or "0").replace(",", "."))
        if match[4]:
            if not 1 <= hour <= 12:
                raise ValueError(self.text)
            hour = hour % 12 + (12 if match[4].lower() == "p" else 0)
        if hour > 24 or minute > 59 or second >= 61:
            raise ValueError(self.text)
        self.time = hour * 3600 + minute * 60 + second

    def _result(self) -> float:
        if self.count is not None:
            self.numbers.append(self.count)
        if self.month is not None:
            if not self.numbers:
                raise ValueError(self.text)
            year = next((n for n in self.numbers if n > 31), self.moment.year)
            self._set_date(year, self.month, next((n for n in self.numbers if n <= 31), 1))
        elif self.numbers:
            raise ValueError(self.text)
        start = self.moment
        year, month, day = self.date or (start.year, start.month, start.day)
        clock: float = start.hour * 3600 + start.minute * 60 + start.second
        if self.time is not None:
            clock = self.time
        elif self.date or self.weekday:
            clock = 0.0
        month += self.months
        year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
        moment = datetime(year, month, 1, tzinfo=UTC) + timedelta(days=day - 1 + self.days)
        if self.weekday is not None and self.date is None:
            wanted, order = self.weekday
            ahead = (wanted - moment.weekday()) % 7
            moment += timedelta(days=ahead + 7 * (order - (1 if order > 0 and ahead else 0)))
        return moment.timestamp() + clock + self.seconds - self.offset * 3600


def date(call: Call) -> None:
    """Print the date; ``-s`` is refused as for anybody who is not root."""
    call.argv = [f"--iso-8601={word[2:]}" if word.startswith("-I") else word for word in call.argv]
    found, words = options(
        call,
        "d:f:r:Rs:u",
        ["date=", "debug", "file=", "iso-8601=?", "rfc-email", "rfc-2822", "rfc-3339=", "reference=", "set=", "utc",
         "universal", "uct"],
    )  # fmt: skip
    seconds, pattern = float(CLOCK), ""
    for option, value in found:
        if option in ("-d", "--date", "-s", "--set"):
            try:
                seconds = parse_date(value)
            except (ValueError, OverflowError):
                call.fail(f"invalid date {quote(value)}")
                return
            if option in ("-s", "--set"):
                call.fail("cannot set date: Operation not permitted")
        elif option in ("-r", "--reference"):
            meta = call.stat(call.path(value))
            if meta is None:
                call.fail(f"{value}: {NO_ENTRY}")
                return
            seconds = float(int(call.shown_time(meta.modified)))
        elif option == "--iso-8601":
            pattern = ISO[choose("iso-8601", value or "date", DATE["iso-8601"])]
        elif option in ("-R", "--rfc-email", "--rfc-2822"):
            pattern = "%a, %d %b %Y %H:%M:%S %z"
        elif option == "--rfc-3339":
            pattern = ISO[choose("rfc-3339", value, DATE["rfc-3339"])].replace("T", " ").replace(",", ".")
    if len(words) > 1:
        raise UsageError(f"extra operand {quote(words[1])}")
    for word in words:
        if not word.startswith("+"):
            raise UsageError(f"invalid date {quote(word)}", hint=False)
        if pattern:
            raise UsageError("multiple output formats specified", hint=False)
        pattern = word[1:]
    listed = next((value for option, value in found if option in ("-f", "--file")), None)
    if listed is not None:
        _each(call, listed, pattern or DEFAULT)
        return
    try:
        shown = format_time(seconds, pattern or DEFAULT) if pattern or not words else ""
    except (ValueError, OverflowError):  # a year of more than four digits
        call.fail("time is out of range")
        return
    call.line(shown)


def _each(call: Call, word: str, pattern: str) -> None:
    """The dates that stand in the lines of a file."""
    text = content(call, word)
    if isinstance(text, str):
        call.fail(f"{word}: {text}")
        return
    for line in text.decode("utf-8", "replace").splitlines():
        try:
            call.line(format_time(parse_date(line), pattern))
        except (ValueError, OverflowError):
            call.fail(f"invalid date {quote(line)}")
