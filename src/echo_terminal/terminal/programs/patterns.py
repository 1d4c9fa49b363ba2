"""Regular expressions that a command brings along: leftmost and longest as POSIX has them, and never without end."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from re import Match
from typing import Any

import regex

from echo_terminal.terminal.programs.call import UsageError

SECONDS = 0.5  # of one search: more means that the pattern grows with the text's powers


class Pattern:
    """A compiled pattern; each search raises TimeoutError after ``SECONDS``."""

    __slots__ = ("_compiled",)

    def __init__(self, text: str, flags: int) -> None:
        self._compiled: Any = regex.compile(text, flags | (regex.POSIX if "|" in text else 0))

    def search(self, text: str, place: int = 0) -> Match[str] | None:
        """The first match from ``place`` on."""
        found: Match[str] | None = self._compiled.search(text, place, timeout=SECONDS)
        return found

    def match(self, text: str) -> Match[str] | None:
        """The match at the beginning."""
        found: Match[str] | None = self._compiled.match(text, timeout=SECONDS)
        return found

    def finditer(self, text: str, place: int = 0) -> Iterator[Match[str]]:
        """All matches from ``place`` on."""
        matches: Iterator[Match[str]] = self._compiled.finditer(text, place, timeout=SECONDS)
        return matches


@functools.lru_cache(512)
def compiled(text: str, *, bytewise: bool = False) -> Pattern:
    """The pattern of a text in the words of ``re``; ``bytewise``: a character is a byte, and ``.`` any of them.

    Raises:
        ValueError: it is none.
    """
    try:
        return Pattern(text, regex.S | regex.A if bytewise else 0)
    except regex.error as error:
        raise ValueError(str(error)) from None


def all_match(text: str, lines: Sequence[str]) -> bool:
    """Is the pattern of ``text`` found in every line?

    Raises:
        UsageError: it is none, or takes too long.
    """
    try:
        pattern = compiled(text)
        return all(pattern.search(line) for line in lines)
    except ValueError:
        raise UsageError(f"{text}: Invalid regular expression", 2) from None
    except TimeoutError:
        raise UsageError(f"{text}: Regular expression too big", 2) from None
