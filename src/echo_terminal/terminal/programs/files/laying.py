"""How ``ls`` lays out names and times."""

from __future__ import annotations

from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.terminal import CLOCK

HALF_YEAR = 31556952 // 2


def when(seconds: float, style: str) -> str:
    """A time as in a long listing: by a format, or with the year in place of the hour where it is long ago."""
    if not style:
        recent = CLOCK - HALF_YEAR < seconds < CLOCK
        style = "%b %e %H:%M" if recent else "%b %e  %Y"
    return format_time(seconds, style)


def commas(cells: list[str], limit: int) -> str:
    """Names with commas, in lines of fewer than ``limit`` columns."""
    text, column = "", 0
    for number, cell in enumerate(cells):
        if number:
            if column + len(cell) + 2 < limit:
                text, column = text + ", ", column + 2
            else:
                text, column = text + ",\n", 0
        text, column = text + cell, column + len(cell)
    return text + "\n" if cells else ""


def columns(cells: list[str], limit: int, *, down: bool) -> str:
    """Most columns that fit into ``limit``, filled row by row or ``down``; gaps are made of tabs, as GNU ls does."""
    lengths, count = [len(cell) for cell in cells], len(cells)
    number_of, lines = 1, []
    for tried in range(min(count, max(1, limit // 3)), 0, -1):
        height = -(-count // tried)
        place = [n // height if down else n % tried for n in range(count)]
        widths = [0] * tried
        for column, length in zip(place, lengths, strict=True):
            widths[column] = max(widths[column], length + (0 if column == tried - 1 else 2), 3)
        if sum(widths) < limit:
            number_of = tried
            break
    else:
        widths = [max(lengths, default=0)]
    height = -(-count // number_of)
    for row in range(height):
        if down:
            cells_of = list(range(row, count, height))
        else:
            cells_of = list(range(row * number_of, min(count, (row + 1) * number_of)))
        text, at, start = "", 0, 0
        for position, number in enumerate(cells_of):
            text += _indent(at, start) + cells[number]
            at = start + lengths[number]
            start += widths[position]
        lines.append(text + "\n")
    return "".join(lines)


def _indent(start: int, end: int) -> str:
    text = ""
    while start < end:
        if end // 8 > (start + 1) // 8:
            text, start = text + "\t", start + 8 - start % 8
        else:
            text, start = text + " ", start + 1
    return text
