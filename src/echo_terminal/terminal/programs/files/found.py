"""What ``find`` knows of a path, and how it writes that."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import Call, Meta, blocks, folder_size, inode, mode_text
from echo_terminal.terminal.programs.files.laying import when
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.limits import narrow
from echo_terminal.terminal.terminal import CLOCK, USER

KIND = {"directory": "d", "symlink": "l", "file": "f", "fifo": "p"}
ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\", "a": "\a", "r": "\r", "f": "\f", "v": "\v", "b": "\b"}


@dataclass(frozen=True)
class Found:
    """One path on the way: as it is printed, absolute, below the start, the start, and how deep."""

    name: str
    path: str
    start: str
    depth: int
    meta: Meta


@dataclass
class Facts:
    """The files of a call."""

    call: Call

    def size(self, found: Found) -> int:
        """Bytes; a folder's as on tmpfs."""
        if found.meta.kind == "directory":
            return folder_size(len(self.call.children(found.path)))
        return found.meta.size

    def links(self, found: Found) -> int:
        """Names of the entry."""
        if found.meta.kind != "directory":
            return 1
        return 2 + sum(m.kind == "directory" for m in self.call.children(found.path).values())

    def time(self, found: Found) -> float:
        """When it was written, in seconds."""
        return self.call.shown_time(found.meta.modified)

    def age(self, found: Found) -> int:
        """Seconds since it was written. Folders of the start have no date: they count as very old."""
        if found.meta.kind == "directory" and found.meta.modified < self.call.clock.start:
            return CLOCK
        return int(CLOCK - self.time(found))

    def empty(self, found: Found) -> bool:
        """A folder or file that holds nothing."""
        if found.meta.kind == "directory":
            return not self.call.children(found.path)
        return found.meta.kind == "file" and found.meta.size == 0

    def listed(self, found: Found) -> str:
        """The line of ``-ls``."""
        size = blocks(found.meta)
        target = f" -> {self.call.fs.read_link(found.path)}" if found.meta.kind == "symlink" else ""
        meta, date = found.meta, when(self.time(found), "")
        owners, links = f"{USER:<8} {USER:<8}", self.links(found)
        first = f"{inode(found.path):9} {size:6} {mode_text(meta.mode, meta.kind)} {links:3} {owners}"
        return f"{first} {self.size(found):8} {date} {found.name}{target}\n"

    def _format_time(self, found: Found, letter: str) -> str:
        return f"{self.time(found):.10f}" if letter == "@" else format_time(self.time(found), f"%{letter}")

    def formatted(self, found: Found, style: str) -> str:
        """The text of ``-printf``."""
        facts: dict[str, Callable[[], str]] = {
            "p": lambda: found.name, "f": lambda: posixpath.basename(found.name.rstrip("/")) or found.name,
            "h": lambda: posixpath.dirname(found.name) or ".", "P": lambda: found.name[len(found.start) :].lstrip("/"),
            "H": lambda: found.start, "s": lambda: str(self.size(found)), "m": lambda: f"{found.meta.mode:o}",
            "M": lambda: mode_text(found.meta.mode, found.meta.kind), "y": lambda: KIND[found.meta.kind],
            "u": lambda: USER, "g": lambda: USER, "U": lambda: "1000", "G": lambda: "1000",
            "d": lambda: str(found.depth), "n": lambda: str(self.links(found)), "k": lambda: str(blocks(found.meta)),
            "b": lambda: str(2 * blocks(found.meta)), "i": lambda: str(inode(found.path)),
            "l": lambda: self.call.fs.read_link(found.path) if found.meta.kind == "symlink" else "",
            "t": lambda: format_time(self.time(found), "%a %b %e %H:%M:%S.0000000000 %Y"), "%": lambda: "%",
        }  # fmt: skip

        def one(match: re.Match[str]) -> str:
            escape, flags, width, letter = match.groups()
            narrow(width or "")
            if escape is not None:
                return ESCAPES.get(escape, f"\\{escape}")
            if letter[0] == "T":
                text = self._format_time(found, letter[1])
            elif letter in facts:
                text = facts[letter]()
            else:
                warning = f"find: warning: unrecognized format directive `%{letter}'\n"
                self.call.err += [warning] if warning not in self.call.err else []
                return match[0]
            return text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))

        return re.sub(r"\\(.)|%([-0]*)(\d*)(T.|.)", one, style)
