"""One hunk of a patch: where it fits, what it makes of a file, and how it is written where it does not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

NO_NEWLINE = "\\ No newline at end of file\n"
Marked = list[tuple[str, str]]  # a mark (blank, -, +, !) and a line with its newline, if it has one


@dataclass(frozen=True)
class Hunk:
    """Lines of the old and of the new file, both with their context; ``first`` and ``newfirst`` count from 1."""

    first: int
    newfirst: int
    old: Marked
    new: Marked
    prefix: int = 0  # lines of context at the top
    suffix: int = 0  # and at the bottom
    heading: str = ""  # what stood behind the second @@

    def reversed(self) -> Hunk:
        """The hunk that takes this one back."""
        swap = {"-": "+", "+": "-"}
        return replace(
            self,
            first=self.newfirst,
            newfirst=self.first,
            old=[(swap.get(mark, mark), line) for mark, line in self.new],
            new=[(swap.get(mark, mark), line) for mark, line in self.old],
        )

    @property
    def context(self) -> int:
        """Lines of context at the longer end."""
        return max(self.prefix, self.suffix)


@dataclass
class Target:
    """The file that hunks change: its lines as they are, and what has become of those before ``frozen``."""

    lines: list[str]
    blind: bool = False  # do blanks not count?
    frozen: int = 0
    in_offset: int = 0
    out_offset: int = 0
    out: list[str] = field(default_factory=list)
    _keys: list[str] | None = None

    def locate(self, hunk: Hunk, fuzz: int) -> int:
        """The line where a hunk fits, ``fuzz`` lines of its context at the ends left out; 0 where it does not."""
        size, count = len(hunk.old), len(self.lines)
        guess = hunk.first + self.in_offset
        if not size:
            return guess
        prefix, suffix = fuzz + hunk.prefix - hunk.context, fuzz + hunk.suffix - hunk.context
        most = count - (size - suffix) + 1 - guess  # lines further down
        least = min(guess - (self.frozen + 1), guess - 1)  # and up
        if prefix < 0 and hunk.first <= 1:  # only at the start of the file
            if suffix < 0 and (size != count or hunk.prefix < self.frozen):
                return 0
            offset = 1 - guess
            fits = self.frozen <= hunk.prefix and offset <= most and self._fits(hunk, 1, 0, max(suffix, 0))
            return self._found(guess, offset) if fits else 0
        prefix = max(prefix, 0)
        if suffix < 0:  # only at its end
            offset = guess - (count - size + 1)
            fits = offset <= least and self._fits(hunk, guess - offset, prefix, 0)
            return self._found(guess, -offset) if fits else 0
        start = -most if most < 0 else -least if least < 0 else 0
        for offset in range(start, max(most, least) + 1):
            if offset <= most and self._fits(hunk, guess + offset, prefix, suffix):
                return self._found(guess, offset)
            if 0 < offset <= least and self._fits(hunk, guess - offset, prefix, suffix):
                return self._found(guess, -offset)
        return 0

    def _found(self, guess: int, offset: int) -> int:
        self.in_offset += offset
        return guess + offset

    def _fits(self, hunk: Hunk, where: int, prefix: int, suffix: int) -> bool:
        wanted = [line for _, line in hunk.old[prefix : len(hunk.old) - suffix]]
        start = where - 1 + prefix
        if start < 0:
            return False
        if not self.blind:
            return self.lines[start : start + len(wanted)] == wanted
        if self._keys is None:
            self._keys = [_blind(line) for line in self.lines]
        return self._keys[start : start + len(wanted)] == [_blind(line) for line in wanted]

    def apply(self, hunk: Hunk, where: int) -> bool:
        """Write the file up to the end of a hunk that fits at ``where``; False where it lies before another."""
        if where <= self.frozen:
            return False
        old, new = 0, 0
        while old < len(hunk.old) or new < len(hunk.new):
            if old < len(hunk.old) and hunk.old[old][0] in "-!":
                self._copy(where + old - 1)
                self.frozen += 1
                old += 1
            elif new < len(hunk.new) and hunk.new[new][0] in "+!":
                self._copy(where + old - 1)
                self._put(hunk.new[new][1])
                new += 1
            else:
                old, new = old + 1, new + 1
        self.out_offset += len(hunk.new) - len(hunk.old)
        return True

    def finish(self) -> None:
        """Write the rest of the file."""
        self._copy(len(self.lines))

    def _copy(self, last: int) -> None:
        for line in self.lines[self.frozen : last]:
            self._put(line)
        self.frozen = max(self.frozen, last)

    def _put(self, line: str) -> None:
        if self.out and not self.out[-1].endswith("\n"):
            self.out[-1] += "\n"
        self.out.append(line)


def _blind(line: str) -> str:
    return re.sub(r"[ \t]+", " ", line.rstrip("\n")).rstrip()


def rejected_unified(hunk: Hunk, offset: int) -> str:
    """A hunk in the unified form; ``offset``: lines that the hunks before it have added."""

    def place(first: int, count: int) -> str:
        first += offset
        return f"{first - 1},0" if count == 0 else str(first) if count == 1 else f"{first},{count}"

    places = f"-{place(hunk.first, len(hunk.old))} +{place(hunk.newfirst, len(hunk.new))}"
    out, old, new = [f"@@ {places} @@{hunk.heading}\n"], 0, 0
    while old < len(hunk.old) or new < len(hunk.new):
        if old < len(hunk.old) and hunk.old[old][0] in "-!":
            out.append(_ended("-" + hunk.old[old][1]))
            old += 1
        elif new < len(hunk.new) and hunk.new[new][0] in "+!":
            out.append(_ended("+" + hunk.new[new][1]))
            new += 1
        else:
            side, at = (hunk.old, old) if old < len(hunk.old) else (hunk.new, new)
            out.append(_ended(" " + side[at][1]))
            old, new = old + 1, new + 1
    return "".join(out)


def rejected_context(hunk: Hunk, offset: int, *, normal: bool) -> str:
    """A hunk in the context form, in the old one where it came without context (``normal``)."""
    stars, minuses = ("", " -----") if normal else (" ****", " ----")

    def span(first: int, count: int) -> str:
        first += offset
        return f"{first},{first + count - 1}" if count > 1 else str(first if count else 0)

    out = [f"***************{hunk.heading}\n*** {span(hunk.first, len(hunk.old))}{stars}\n"]
    out += [_ended(f"{mark} {line}") for mark, line in hunk.old]
    out.append(f"--- {span(hunk.newfirst, len(hunk.new))}{minuses}\n")
    return "".join(out + [_ended(f"{mark} {line}") for mark, line in hunk.new])


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}"
