"""What one command may use of this process where its programs are written here: they must stop of their own accord."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

TIME, ROOM = 124, 137  # exit codes of a program that ran out of time, or of memory
LONGEST = 1 << 22  # characters of one text
MOST = 1 << 28  # characters made by one program, an element of an array counted as ``ELEMENT``
ELEMENT = 100
FLOOD = (4 << 20) + 1  # characters that a program without an end writes: more than a terminal lets pass
WIDEST = 10_000  # columns of one field of a format; bashkit's printf has the same limit
DEEPEST = 8  # shells inside each other: each has a thread and an interpreter


class Stopped(Exception):
    """A program that reached a limit; ``code``: ``TIME`` or ``ROOM``."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def narrow(*widths: str) -> None:
    """Widths, as typed, of what is about to be formatted.

    Raises:
        Stopped: one is wider than ``WIDEST``.
    """
    if any(len(width) > 5 or (width and int(width) > WIDEST) for width in widths):
        raise Stopped(ROOM)


@dataclass
class Limits:
    """Of the command that runs: ``until`` (the host's ``time.monotonic``), shells inside each other, bytes of each.

    ``reached``: the exit code of the last program that was stopped, None without one.
    ``cut``: did one write only the beginning of a flood?
    """

    max_bytes: int = 1 << 26
    max_commands: int = 1_000_000
    until: float = math.inf
    depth: int = 0
    reached: int | None = None
    cut: bool = False

    def start(self, seconds: float) -> None:
        """A command begins."""
        self.until, self.depth, self.reached, self.cut = time.monotonic() + seconds, 0, None, False

    def left(self) -> float:
        """Seconds that the command has left, never quite none."""
        return max(0.02, self.until - time.monotonic())


@dataclass
class Budget:
    """What one program may still make."""

    room: int = MOST

    def made(self, size: int) -> None:
        """So many more characters.

        Raises:
            Stopped: they are too many.
        """
        self.room -= size
        if self.room < 0 or size > LONGEST * ELEMENT:
            raise Stopped(ROOM)

    def fits(self, size: float) -> None:
        """A text of so many characters is about to be made.

        Raises:
            Stopped: it is too long, or one too many.
        """
        if size > LONGEST:
            raise Stopped(ROOM)
        self.made(int(size))
