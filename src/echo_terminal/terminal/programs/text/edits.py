"""The shortest edit script between two lists of lines, with runs placed where GNU diff places them."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

LIMIT = 4000  # edits beyond which everything between the common ends counts as changed


@dataclass(frozen=True)
class Hunk:
    """Lines ``old[a:b]`` are replaced by ``new[c:d]``."""

    a: int
    b: int
    c: int
    d: int


def hunks(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Hunk]:
    """The changes from ``old`` to ``new`` in order (Myers 1986, then runs moved down as far as they go)."""
    start, end_old, end_new = 0, len(old), len(new)
    while start < min(end_old, end_new) and old[start] == new[start]:
        start += 1
    while end_old > start and end_new > start and old[end_old - 1] == new[end_new - 1]:
        end_old, end_new = end_old - 1, end_new - 1
    removed, added = [False] * len(old), [False] * len(new)
    for x, y in _changed(old[start:end_old], new[start:end_new]):
        if x is not None:
            removed[start + x] = True
        if y is not None:
            added[start + y] = True
    _shift(old, removed, added)
    _shift(new, added, removed)
    return _collect(removed, added)


def _changed(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int | None, int | None]]:
    """Positions that are removed from ``old`` (first) or added in ``new`` (second)."""
    n, m = len(old), len(new)
    reach = {1: 0}
    trace: list[array[int]] = []  # before each distance, how far its odd or even diagonals reached
    for distance in range(min(n + m, LIMIT) + 1):
        trace.append(array("i", (reach[k] for k in range(1 - distance, distance, 2))))
        for k in range(-distance, distance + 1, 2):
            down = k == -distance or (k != distance and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < n and x - k < m and old[x] == new[x - k]:
                x += 1
            reach[k] = x
            if x >= n and x - k >= m:
                return _backtrack(trace, n, m)
    return [*((x, None) for x in range(n)), *((None, y) for y in range(m))]


def _backtrack(trace: list[array[int]], n: int, m: int) -> list[tuple[int | None, int | None]]:
    found: list[tuple[int | None, int | None]] = []
    x, y = n, m
    for distance in range(len(trace) - 1, 0, -1):
        reach, k = trace[distance], x - y
        place = (k + distance) // 2  # of the diagonal above; that below is one before it
        down = k == -distance or (k != distance and reach[place - 1] < reach[place])
        before = k + 1 if down else k - 1
        x = reach[place if down else place - 1]
        y = x - before
        found.append((None, y) if down else (x, None))
    return found


def _shift(lines: Sequence[Hashable], changed: list[bool], other: list[bool]) -> None:
    """Move each run of changed lines down while the line after it equals its first; merge runs that then touch."""
    place, partner, count = 0, 0, len(lines)
    while True:
        while place < count and not changed[place]:
            while partner < len(other) and other[partner]:
                partner += 1
            place, partner = place + 1, partner + 1
        if place == count:
            return
        start = place
        while place < count and changed[place]:
            place += 1
        while other[partner] if partner < len(other) else False:
            partner += 1
        while place < count and not changed[place] and lines[start] == lines[place]:
            if any(other[partner : partner + 1]):
                break
            changed[start], changed[place] = False, True
            start, place, partner = start + 1, place + 1, partner + 1
            while place < count and changed[place]:
                place += 1


def _collect(removed: list[bool], added: list[bool]) -> list[Hunk]:
    found, x, y = [], 0, 0
    while x < len(removed) or y < len(added):
        a, c = x, y
        while x < len(removed) and removed[x]:
            x += 1
        while y < len(added) and added[y]:
            y += 1
        if (a, c) != (x, y):
            found.append(Hunk(a, x, c, y))
        else:
            x, y = x + 1, y + 1
    return found
