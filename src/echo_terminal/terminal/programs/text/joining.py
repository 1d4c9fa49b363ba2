"""``join`` after GNU coreutils 9.1, in the C locale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.call import Call, UsageError, options
from echo_terminal.terminal.programs.text.columns import content

Line = list[bytes]


@dataclass
class Style:
    """The options of one call; fields count from 0, ``shown`` names them by file (0: the field of both) and place."""

    keys: list[int] = field(default_factory=lambda: [0, 0])
    alone: tuple[bool, bool] = (False, False)
    pairs: bool = True
    tab: bytes | None = None
    filler: bytes = b""
    shown: list[tuple[int, int]] = field(default_factory=list)
    widths: tuple[int, int] | None = None  # of -o auto
    check: str = ""  # of the order: always, never, or only where a line stays alone
    fold: bool = False

    def key(self, side: int, line: Line) -> bytes:
        """What a line is compared by."""
        place = self.keys[side]
        text = line[place] if place < len(line) else b""
        return text.lower() if self.fold else text


class _Unsorted(Exception):
    pass


class _Source:
    """The lines of one file, told where they are out of order."""

    def __init__(self, join: _Join, side: int, name: str, lines: Sequence[bytes]) -> None:
        self.join, self.side, self.name, self.lines = join, side, name, lines
        self.place, self.warned = 0, False
        self.before: Line | None = None

    def next(self) -> Line | None:
        if self.place == len(self.lines):
            return None
        raw = self.lines[self.place]
        self.place += 1
        tab = self.join.style.tab
        line = raw.split() if tab is None else [raw] if tab == b"" else raw.split(tab)
        self._check(line, raw)
        self.before = line
        return line

    def _check(self, line: Line, raw: bytes) -> None:
        style, before = self.join.style, self.before
        if (
            before is None
            or self.warned
            or not (style.check == "always" or (not style.check and self.join.alone))
        ):
            return
        if style.key(self.side, before) > style.key(self.side, line):
            self.join.call.fail(f"{self.name}:{self.place}: is not sorted: {raw.decode('utf-8', 'replace')}")
            self.warned = True
            if style.check:
                raise _Unsorted


class _Join:
    def __init__(self, call: Call, style: Style, words: list[str], texts: list[bytes], end: bytes) -> None:
        self.call, self.style, self.end = call, style, end
        self.alone = False  # has a line been without a partner?
        sides = []
        for side in (0, 1):
            lines = texts[side].split(end)
            sides.append(_Source(self, side, words[side], lines[:-1] if lines[-1] == b"" else lines))
        self.left, self.right = sides

    def run(self, *, header: bool) -> Iterator[bytes]:
        """The lines of the result.

        Raises:
            _Unsorted: a file is not, and that is all the user wants to know.
        """
        style, left, right = self.style, self.left, self.right
        a, b = left.next(), right.next()
        if style.widths is not None:
            style.widths = (len(a or ()), len(b or ()))
        if header and (a is not None or b is not None):
            yield self._row(a, b)
            left.before = right.before = None
            a, b = left.next() if a is not None else None, right.next() if b is not None else None
        while a is not None and b is not None:
            one, other = style.key(0, a), style.key(1, b)
            if one < other:
                if style.alone[0]:
                    yield self._row(a, None)
                a, self.alone = left.next(), True
            elif one > other:
                if style.alone[1]:
                    yield self._row(None, b)
                b, self.alone = right.next(), True
            else:
                ours, a = self._run_of(left, a, one)
                theirs, b = self._run_of(right, b, one)
                if style.pairs:
                    yield from (self._row(x, y) for x in ours for y in theirs)
        checks = style.check != "never" and not (left.warned and right.warned)
        for source, line, other_line in ((left, a, b), (right, b, a)):
            shows = style.alone[source.side]
            if line is None or not (shows or checks):
                continue
            self.alone |= other_line is not None
            while line is not None:
                if shows:
                    yield self._row(line, None) if source is left else self._row(None, line)
                elif source.warned:
                    break
                line = source.next()

    def _run_of(self, source: _Source, line: Line, key: bytes) -> tuple[list[Line], Line | None]:
        """The lines with the same key, and the first that has another."""
        found: list[Line] = [line]
        while (line_after := source.next()) is not None and self.style.key(source.side, line_after) == key:
            found.append(line_after)
        return found, line_after

    def _row(self, a: Line | None, b: Line | None) -> bytes:
        style = self.style

        def part(line: Line | None, place: int) -> bytes:
            return (line[place] if line is not None and place < len(line) else b"") or style.filler

        shared = part(a, style.keys[0]) if a is not None else part(b, style.keys[1])
        if style.shown:
            parts = [shared if side == 0 else part((a, b)[side - 1], place) for side, place in style.shown]
        else:
            parts = [shared]
            for side, line in enumerate((a, b)):
                count = style.widths[side] if style.widths is not None else len(line or ())
                parts += [part(line, n) for n in range(count) if n != style.keys[side]]
        return (style.tab or (b" " if style.tab is None else b"\n")).join(parts) + self.end


def join(call: Call) -> None:
    """Write the lines of two sorted files that have a field in common."""
    found, words = options(
        call,
        "1:2:j:t:a:v:e:o:iz",
        ["ignore-case", "check-order", "nocheck-order", "header", "zero-terminated"],
    )
    style, names = Style(), {name for name, _ in found}
    alone = [False, False]
    for option, value in found:
        if option in ("-1", "-2", "-j"):
            for side in (0, 1) if option == "-j" else (int(option[1]) - 1,):
                style.keys[side] = _field(value)
        elif option in ("-a", "-v"):
            if value not in ("1", "2"):
                raise UsageError(f"invalid field number: '{value}'", hint=False)
            alone[int(value) - 1] = True
            style.pairs &= option == "-a"
        elif option == "-t":
            if len(value.encode()) > 1 and value != "\\0":
                raise UsageError(f"multi-character tab '{value}'", hint=False)
            style.tab = b"\0" if value == "\\0" else value.encode()
        elif option == "-e":
            style.filler = value.encode()
        elif option == "-o" and value == "auto":
            style.widths = (0, 0)
        elif option == "-o":
            style.shown += [_shown(text) for text in value.replace(",", " ").split()]
    style.alone = (alone[0], alone[1])
    style.fold = bool(names & {"-i", "--ignore-case"})
    style.check = "always" if "--check-order" in names else "never" if "--nocheck-order" in names else ""
    if len(words) < 2:
        raise UsageError(f"missing operand after '{words[0]}'" if words else "missing operand")
    if len(words) > 2:
        raise UsageError(f"extra operand '{words[2]}'")
    if words == ["-", "-"]:
        raise UsageError("both files cannot be standard input", hint=False)
    texts = []
    for word in words:
        data = content(call, word)
        if isinstance(data, str):
            call.fail(f"read error: {data}" if data == "Is a directory" else f"{word}: {data}")
            return
        texts.append(data)
    work = _Join(call, style, words, texts, b"\0" if names & {"-z", "--zero-terminated"} else b"\n")
    made: list[bytes] = []
    try:
        for row in work.run(header="--header" in names):
            made.append(row)
        if work.left.warned or work.right.warned:
            call.fail("input is not in sorted order")
    except _Unsorted:
        pass
    call.out.append(b"".join(made).decode("utf-8", "replace"))


def _field(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise UsageError(f"invalid field number: '{text}'", hint=False)
    return int(text) - 1


def _shown(text: str) -> tuple[int, int]:
    if text == "0":
        return 0, 0
    if text[0] not in "012":
        raise UsageError(f"invalid file number in field spec: '{text}'", hint=False)
    if text[0] == "0" or text[1:2] != "." or not text[2:]:
        raise UsageError(f"invalid field specifier: '{text}'", hint=False)
    return int(text[0]), _field(text[2:])
