"""Reads the diffs of a patch one after the other (unified, context, normal), with whatever stands between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.patch.hunks import Hunk, Marked

OLD, NEW, INDEX = 0, 1, 2
KINDS = {"u": "a unified diff", "c": "a new-style context diff", "n": "a normal diff"}
_COMMAND = re.compile(r"\d[\d,]*[acd][\d,]*[ \t]*\r?$")
_UNIFIED = re.compile(r"@@ -(\d+)(?:,(\d+))? ?\+(\d+)(?:,(\d+))? ?@@?( .*)?")
_NORMAL = re.compile(r"(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?")
_RANGE = re.compile(r"[*-]{3} (\d+)(?:,(\d+))?")
_EPOCH = re.compile(
    r"\s(?:1970-01-0[12]|1969-12-31) [\d:]{8}(?:\.0+)?(?: [+-]\d{4})?\s*$|(?:Jan  [12]|Dec 31) [\d:]{8} (?:1970|1969)"
)
_GIT = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|rename from|rename to|copy from|copy to) (.*)"
)


class PatchError(Exception):
    """The patch cannot be read: nothing more of it is applied."""


@dataclass
class Header:
    """What stands before the hunks of one file; names and times are of the old file, the new one and ``Index:``."""

    kind: str = ""
    names: list[str | None] = field(default_factory=lambda: [None, None, None])
    times: list[str] = field(default_factory=lambda: ["", ""])
    missing: list[int] = field(default_factory=lambda: [0, 0])  # is it said not to exist? 1 empty, 2 missing
    git: dict[str, str] = field(default_factory=dict)  # "rename from" and the like
    line: int = 0  # where the hunks begin, from 1
    before: list[str] = field(default_factory=list)  # the lines that led there
    notes: list[str] = field(default_factory=list)  # of how the lines had to be read


class Reader:
    """The lines of a patch. ``strip`` is the number of leading folders to take from names, None for all."""

    def __init__(self, text: str, strip: int | None) -> None:
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._strip = strip
        self._place = self._indent = 0
        self._returns = False  # do the lines end in a carriage return that is to go?
        self.notes: list[str] = []

    @property
    def begun(self) -> bool:
        """Has anything been read?"""
        return self._place > 0

    @property
    def ended(self) -> bool:
        """Has all been read?"""
        return self._place >= len(self._lines)

    def _line(self, *, raw: bool = False) -> str | None:
        """The next line that is no comment, without indentation; None at the end."""
        while self._place < len(self._lines):
            line = self._lines[self._place]
            self._place += 1
            if not line.endswith("\n"):
                self.notes.append("patch unexpectedly ends in middle of line\n")
            if line.startswith("#"):
                continue
            if raw:
                return line
            width = 0
            while width < self._indent and line[:1] in (" ", "\t", "X") and line:
                width = (width + 8) & ~7 if line[0] == "\t" else width + 1
                line = line[1:]
            return line[:-2] + "\n" if self._returns and line.endswith("\r\n") else line
        return None

    def header(self, kind: str, *, named: bool) -> Header | None:
        """The next diff, of a ``kind`` or any; None where there is none. ``named``: it is known which file it changes.

        Raises:
            PatchError: its first hunk cannot be read.
        """
        start, found, command, stars = self._place, Header(), False, False
        need, git = not named, False
        stamps = [-1, -1]
        self._indent, self._returns = 0, False
        while (line := self._line(raw=True)) is not None:
            after_command, after_stars, at = command, stars, self._place - 1
            text = line.lstrip(" \tX")
            indent = len(line[: len(line) - len(text)].expandtabs())
            command = _COMMAND.match(text) is not None
            returns = line.endswith("\r\n")
            if (not after_stars and text.startswith("*** ")) or text.startswith("+++ "):
                found.names[OLD], found.times[OLD], stamps[OLD] = self._name(text[4:])
                need, self._returns = False, returns and text[0] == "+"
            elif text.startswith("Index:"):
                found.names[INDEX] = self._stripped(text[6:].strip())
                need, self._returns = False, returns
            elif text.startswith("diff --git "):
                if found.git:
                    return self._begun(found, "u", at, start, indent)
                words = text.split()[2:]
                if len(words) == 2:
                    found.names[:2] = [self._stripped(word) for word in words]
                need, git = False, True
            elif git and (m := _GIT.match(text.rstrip("\r\n"))):
                found.git[m[1]] = m[2]
            elif (bare := re.sub(r"^(?:- )*", "", text)).startswith("--- "):
                found.names[NEW], found.times[NEW], stamps[NEW] = self._name(bare[4:])
                need, self._returns = False, returns
            if need:
                continue
            if kind in ("", "u") and (m := re.match(r"@@ -(0(?!\d))?\S* *(?:\+(0(?!\d))?)?", text)):
                names, times = found.names, found.times  # +++ was taken for the old file, as *** is
                names[:2], times[:2], stamps[:2] = names[1::-1], times[1::-1], stamps[1::-1]
                for side in (OLD, NEW):
                    found.missing[side] = 1 + (stamps[side] == 0) if m[side + 1] else 0
                return self._begun(found, "u", at, start, indent)
            stars = text.startswith("********")
            if kind in ("", "c") and after_stars and text.startswith("*** "):
                found.missing[OLD] = 1 + (stamps[OLD] == 0) if re.match(r"\*\*\* 0(?!\d)", text) else 0
                self._begun(found, "c", at - 1, start, indent)
                back = self._place
                hunk = self.hunk("c")
                self._place = back
                if hunk is not None and not hunk.new and hunk.newfirst == 1:
                    found.missing[NEW] = 1 + (stamps[NEW] == 0)
                return found
            if kind in ("", "n") and after_command and text.startswith(("< ", "> ")):
                return self._begun(found, "n", at - 1, start, indent)
        if found.git:
            return self._begun(found, "u", self._place, start, 0)
        self._place = start
        return None

    def _begun(self, found: Header, kind: str, place: int, start: int, indent: int) -> Header:
        self._place, self._indent = place, indent
        found.kind, found.line, found.before = kind, place + 1, self._lines[start:place]
        if indent:
            found.notes.append(f"(Patch is indented {indent} space{'s' * (indent != 1)}.)\n")
        if self._returns:
            found.notes.append("(Stripping trailing CRs from patch; use --binary to disable.)\n")
        return found

    def _name(self, text: str) -> tuple[str | None, str, int]:
        """A file's name without leading folders, the time behind it, and that time: 0 for the epoch, -1 for any."""
        text = text.lstrip().rstrip("\r\n")
        name, tab, _ = text.partition("\t")
        if not tab:
            name = text.split(maxsplit=1)[0] if text.split() else ""
        time = text[len(name) :]
        if text.startswith('"'):
            name = text[1:].partition('"')[0]
        if name == "/dev/null":
            return None, time, 0
        return self._stripped(name), time, 0 if _EPOCH.search(time) else -1

    def named(self, name: str) -> str:
        """A name that a line of git gives, without leading folders: such lines lack the first."""
        strip = self._strip
        return name.split("/", strip - 1)[-1] if strip and strip > 1 else name

    def _stripped(self, name: str) -> str | None:
        if self._strip is None:
            return name.rstrip("/").rpartition("/")[2] or None
        for _ in range(self._strip):
            head, slash, rest = name.partition("/")
            if not slash:
                return None
            name = rest.lstrip("/")
        return name or None

    def hunks(self, kind: str) -> Iterator[Hunk]:
        """The hunks of the diff whose header was read last.

        Raises:
            PatchError: one cannot be read.
        """
        while (hunk := self.hunk(kind)) is not None:
            yield hunk

    def hunk(self, kind: str) -> Hunk | None:
        """One hunk; None, and nothing read, where no other follows.

        Raises:
            PatchError: it cannot be read.
        """
        place = self._place
        line = self._line()
        form = {"u": self._unified, "c": self._context, "n": self._normal}[kind]
        starts = {"u": ("@@ -",), "c": ("********",), "n": tuple("0123456789")}[kind]
        if line is None or not line.startswith(starts):
            self._place = place
            return None
        return form(line)

    def _malformed(self, line: str) -> PatchError:
        return PatchError(f"malformed patch at line {self._place}: {line}")

    def _incomplete(self) -> bool:
        """Is it said that the line just read has no newline?"""
        if self._place < len(self._lines) and self._lines[self._place].startswith("\\"):
            self._place += 1
            return True
        return False

    def _unified(self, line: str) -> Hunk:
        m = _UNIFIED.match(line)
        if m is None:
            raise self._malformed(line)
        first, newfirst = int(m[1]), int(m[3])
        counts = [int(m[2] or 1) if m[2] is not None else 1, int(m[4]) if m[4] is not None else 1]
        old: Marked = []
        new: Marked = []
        prefix, context, text = -1, 0, None
        while len(old) < counts[0] or len(new) < counts[1]:
            text = self._line()
            if text is None:
                if counts[1] - len(new) > 3:
                    raise PatchError("unexpected end of file in patch")
                text = " \n"  # blank lines at the end may have got lost
            mark, body = (" ", text) if text[:1] in "\t\n" else (text[:1].replace("=", " "), text[1:])
            full = (mark in " -" and len(old) == counts[0]) or (mark in " +" and len(new) == counts[1])
            if mark not in " -+" or full:
                raise self._malformed(text)
            if mark in " -":
                old.append((mark, body))
            if mark in " +":
                new.append((mark, body))
            last = (mark == "+" or len(old) == counts[0]) and (mark == "-" or len(new) == counts[1])
            if last and self._incomplete():
                for side in [old] * (mark != "+") + [new] * (mark != "-"):
                    side[-1] = (mark, body.removesuffix("\n"))
            if mark == " ":
                context += 1
            else:
                prefix, context = context if prefix == -1 else prefix, 0
        if prefix == -1:
            raise self._malformed(text or line)
        return Hunk(
            first + (not counts[0]), newfirst + (not counts[1]), old, new, prefix, context, (m[5] or "").rstrip("\n")
        )  # fmt: skip

    def _normal(self, line: str) -> Hunk:
        m = _NORMAL.match(line)
        if m is None:
            raise self._malformed(line)
        first, letter, newfirst = int(m[1]), m[3], int(m[4])
        removed = 0 if letter == "a" else int(m[2] or m[1]) - first + 1
        added = 0 if letter == "d" else int(m[5] or m[4]) - newfirst + 1
        old = self._marked("<", removed)
        if letter == "c":
            text = self._line()
            if text is None:
                raise PatchError(f"unexpected end of file in patch at line {self._place + 1}")
            if not text.startswith("-"):
                raise PatchError(f"'---' expected at line {self._place} of patch")
        new = self._marked(">", added)
        return Hunk(first + (letter == "a"), newfirst + (letter == "d"), old, new)

    def _marked(self, mark: str, count: int) -> Marked:
        found: Marked = []
        for number in range(count):
            text = self._line()
            if text is None:
                raise PatchError(f"unexpected end of file in patch at line {self._place + 1}")
            if text[:1] != mark or text[1:2] not in (" ", "\t"):
                raise PatchError(f"'{mark}' followed by space or tab expected at line {self._place} of patch")
            cut = number == count - 1 and self._incomplete()
            found.append(("-" if mark == "<" else "+", text[2:-1] if cut else text[2:]))
        return found

    def _context(self, line: str) -> Hunk:
        heading = line.rstrip("\n").lstrip("*")
        spans, sides = [], []
        for mark in "*-":
            text = self._line() or ""
            m = _RANGE.match(text)
            if m is None or text[:1] != mark:
                raise self._malformed(text)
            first, last = int(m[1]), int(m[2] or m[1])
            spans.append((first, last - first + 1 if first else 0))
            sides.append(self._block(spans[-1][1], "--- " if mark == "*" else ""))
        old, new = sides
        if len(old) != spans[0][1]:
            old = [pair for pair in new if pair[0] == " "]
        if len(new) != spans[1][1]:
            new = [pair for pair in old if pair[0] == " "]
        if (len(old), len(new)) != (spans[0][1], spans[1][1]):
            raise self._malformed(line)
        ends = [_ends(side) for side in (old, new) if any(mark != " " for mark, _ in side)]
        if not ends:
            raise self._malformed(line)
        prefix, suffix = min(end[0] for end in ends), min(end[1] for end in ends)
        return Hunk(spans[0][0] or 1, spans[1][0] or 1, old, new, prefix, suffix, heading)

    def _block(self, count: int, stop: str) -> Marked:
        """Up to ``count`` lines of one side of a context diff; none where it is left out."""
        found: Marked = []
        while len(found) < count:
            place = self._place
            text = self._line()
            if text is None or (stop and text.startswith(stop)) or text[:1] not in " -+!\t\n":
                self._place = place
                return found
            mark, body = (" ", text) if text[:1] in "\t\n" else (text[:1], text[2:])
            found.append((mark, body.removesuffix("\n") if self._incomplete() else body))
        return found


def _ends(side: Marked) -> tuple[int, int]:
    """Lines of context at the top and at the bottom."""
    marks = "".join(mark for mark, _ in side)
    return len(marks) - len(marks.lstrip(" ")), len(marks) - len(marks.rstrip(" "))
