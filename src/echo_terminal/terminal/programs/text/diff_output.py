"""How ``diff`` shows changes: normal, unified, context and side by side, and as scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.patterns import all_match
from echo_terminal.terminal.programs.text.edits import Hunk

NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True)
class Style:
    """The options of one call."""

    letters: str
    form: str  # normal, u, c, y, e, n
    context: int
    width: int
    labels: tuple[str, ...]
    words: str  # the options as typed, for the headings of folders
    ignored: str = ""  # changes all of whose lines match do not count
    left_out: tuple[str, ...] = ()  # patterns of names that are not looked at in folders
    function: str = ""  # a pattern: the last line that it fits is named in front of changes
    formats: Mapping[str, str] = field(default_factory=dict)  # of lines and groups, see ``diff_formats``


@dataclass(frozen=True)
class Side:
    """One of two files: its name as shown, its lines, whether the last ends in a newline, its time."""

    name: str
    lines: list[str]
    ended: bool
    time: float


def show(call: Call, style: Style, left: Side, right: Side, changes: list[Hunk]) -> None:
    """Write the changes in the form of the style."""
    if style.form == "normal":
        _normal(call, left, right, changes)
    elif style.form in "en":
        _script(call, style.form, right, changes)
    elif style.form == "y":
        side_by_side(call, style, left, right, changes)
    else:
        _grouped(call, style, left, right, changes)


def _lines(call: Call, side: Side, start: int, end: int, mark: str) -> None:
    for number in range(start, end):
        call.line(f"{mark}{side.lines[number]}")
        if number == len(side.lines) - 1 and not side.ended:
            call.line(NO_NEWLINE)


def _span(start: int, end: int) -> str:
    return f"{start + 1},{end}" if end - start > 1 else str(end if end == start else start + 1)


def _normal(call: Call, left: Side, right: Side, changes: list[Hunk]) -> None:
    for h in changes:
        letter = "a" if h.a == h.b else "d" if h.c == h.d else "c"
        call.line(f"{_span(h.a, h.b)}{letter}{_span(h.c, h.d)}")
        _lines(call, left, h.a, h.b, "< ")
        if letter == "c":
            call.line("---")
        _lines(call, right, h.c, h.d, "> ")


def _script(call: Call, form: str, right: Side, changes: list[Hunk]) -> None:
    """A script for ``ed`` (from the last change to the first) or for RCS."""
    for h in reversed(changes) if form == "e" else changes:
        lines = right.lines[h.c : h.d]
        if form == "n":
            if h.b > h.a:
                call.line(f"d{h.a + 1} {h.b - h.a}")
            if lines:
                call.line(f"a{h.b} {len(lines)}")
        else:
            call.line(_span(h.a, h.b) + ("a" if h.a == h.b else "c" if lines else "d"))
        if lines:
            call.out += [f"{line}\n" for line in lines]
            if form == "e":
                call.line(".")


def _groups(changes: list[Hunk], context: int) -> list[list[Hunk]]:
    groups: list[list[Hunk]] = []
    for h in changes:
        if groups and h.a - groups[-1][-1].b <= 2 * context:
            groups[-1].append(h)
        else:
            groups.append([h])
    return groups


def _grouped(call: Call, style: Style, left: Side, right: Side, changes: list[Hunk]) -> None:
    marks = ("---", "+++") if style.form == "u" else ("***", "---")
    form = "%Y-%m-%d %H:%M:%S.%N %z" if style.form == "u" else "%a %b %e %H:%M:%S %Y"
    for number, (mark, side) in enumerate(zip(marks, (left, right), strict=True)):
        label = style.labels[number] if number < len(style.labels) else ""
        name = f'"{side.name}"' if " " in side.name else side.name
        call.line(f"{mark} " + (label or f"{name}\t{format_time(side.time, form)}"))
    for group in _groups(changes, style.context):
        before = min(style.context, group[0].a)
        after = min(style.context, len(left.lines) - group[-1].b)
        a, b = group[0].a - before, group[-1].b + after
        c, d = group[0].c - before, group[-1].d + after
        named = _function(style.function, left.lines[:a]) if style.function else ""
        if style.form == "u":
            _unified(call, left, right, group, (a, b, c, d), named)
        else:
            _context(call, left, right, group, (a, b, c, d), named)


def _function(pattern: str, lines: list[str]) -> str:
    """The last of the lines that a pattern fits, as it stands behind a heading."""
    line = next((line for line in reversed(lines) if all_match(pattern, [line])), None)
    return "" if line is None else f" {line[:40].rstrip()}"


def _unified(
    call: Call, left: Side, right: Side, group: list[Hunk], spans: tuple[int, int, int, int], named: str
) -> None:
    a, b, c, d = spans

    def place(start: int, end: int) -> str:
        count = end - start
        return f"{start + 1 if count else start}" + (f",{count}" if count != 1 else "")

    call.line(f"@@ -{place(a, b)} +{place(c, d)} @@{named}")
    at = a
    for h in group:
        _lines(call, left, at, h.a, " ")
        _lines(call, left, h.a, h.b, "-")
        _lines(call, right, h.c, h.d, "+")
        at = h.b
    _lines(call, left, at, b, " ")


def _context(
    call: Call, left: Side, right: Side, group: list[Hunk], spans: tuple[int, int, int, int], named: str
) -> None:
    a, b, c, d = spans
    call.line(f"***************{named}")
    call.line(f"*** {_span(a, b)} ****")
    if any(h.a != h.b for h in group):
        at = a
        for h in group:
            _lines(call, left, at, h.a, "  ")
            _lines(call, left, h.a, h.b, "- " if h.c == h.d else "! ")
            at = h.b
        _lines(call, left, at, b, "  ")
    call.line(f"--- {_span(c, d)} ----")
    if any(h.c != h.d for h in group):
        at = c
        for h in group:
            _lines(call, right, at, h.c, "  ")
            _lines(call, right, h.c, h.d, "+ " if h.a == h.b else "! ")
            at = h.d
        _lines(call, right, at, d, "  ")


def side_by_side(call: Call, style: Style, left: Side, right: Side, changes: list[Hunk]) -> None:
    """Write both files in two columns."""
    stop = 1 if "t" in style.letters else 8
    offset = (style.width + stop + 3) // (2 * stop) * stop  # where the right column starts: a tab stop
    half = max(0, min(offset - 3, style.width - offset))
    offset = offset if half else style.width

    def row(ours: str | None, mark: str, theirs: str | None) -> None:
        text = (ours or "").expandtabs()[:half]
        column = len(text)
        if mark == " ":
            if "suppress-common-lines" in style.words:
                return
            if "--left-column" not in style.words.split():
                write(text + (_tabs(column, offset) + (theirs or "").expandtabs()[:half] if theirs else ""))
                return
            mark, theirs = "(", None
        place = (half + offset - 1) // 2
        line = text + _tabs(column, place) + mark
        if theirs is not None and mark != "<":
            line += _tabs(place + 1, offset) + theirs.expandtabs()[:half]
        write(line)

    def write(line: str) -> None:
        call.line(line.expandtabs() if "t" in style.letters else line)

    at = 0
    for h in changes:
        for number in range(at, h.a):
            row(left.lines[number], " ", left.lines[number])
        both = min(h.b - h.a, h.d - h.c)
        for number in range(both):
            row(left.lines[h.a + number], "|", right.lines[h.c + number])
        for number in range(h.a + both, h.b):
            row(left.lines[number], "<", None)
        for number in range(h.c + both, h.d):
            row(None, ">", right.lines[number])
        at = h.b
    for number in range(at, len(left.lines)):
        row(left.lines[number], " ", left.lines[number])


def _tabs(start: int, end: int) -> str:
    tabs = max(0, end // 8 - start // 8)
    return "\t" * tabs + " " * (end - (end // 8 * 8 if tabs else start))
