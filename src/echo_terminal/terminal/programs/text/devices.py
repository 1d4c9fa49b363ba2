"""``/dev/zero``: bashkit's ends after a MiB.

A command gets as many zeros in its place as it takes, or the endless stream that only a limit ends.
"""

from __future__ import annotations

import math
import re

from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.programs.limits import ROOM, TIME, Stopped
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

ZERO = "/dev/zero"
ZEROS = f"{OWN}zeros"
MOST = 64 << 20  # bytes, as many as the files of an episode may hold
_UNITS = {
    "": 1, "b": 512, "c": 1, "K": 1024, "k": 1024, "kB": 1000, "KB": 1000, "M": 1 << 20, "MB": 10**6, "G": 1 << 30,
}  # fmt: skip
_ZEROS = re.compile(rf"(?:({PLACE})cat[ \t]+|<[ \t]*){ZERO}(?=[\s;&|)]|\Z)(?=([^;&\n]{{0,500}}))")
_BYTES = rf"\b(?:{OWN})?head[ \t]+(?:-c[ \t]*|--bytes=)(\d+[a-zA-Z]*)"
_ASKED, _ASKS = re.compile(rf"\|[ \t]*{_BYTES}"), re.compile(rf"{_BYTES}[^;&|\n]*\Z")
_BLOCKS = re.compile(r"\b(?:bs|count)=(\d+[a-zA-Z]*)")


def own_devices(command: str) -> str:
    """The command with our streams in place of the devices."""
    return _ZEROS.sub(_zeros, command)


def _asked(match: re.Match[str]) -> str:
    found = _ASKED.search(match[2]) or _ASKS.search(
        match.string, max(0, match.start(2) - 500), match.start(2)
    )
    return found[1] if found else ""


def _zeros(match: re.Match[str]) -> str:
    program = f"{ZEROS} {_asked(match)}".rstrip()
    return f"< <({program})" if match[1] is None else f"{match[1]}{program}"


def asked(command: str) -> int:
    """The most bytes that a command says to take from a device; 0 where it does not say."""
    heads = [amount_of(found[1]) or 0 for found in re.finditer(_BYTES, command)]
    blocks = math.prod(amount_of(word) or 1 for word in _BLOCKS.findall(command))
    return min(MOST, max([*heads, blocks]))


def zeros(call: Call) -> None:
    """So many NUL bytes, or without a number the endless stream of them."""
    if not call.argv:
        raise Stopped(TIME)
    call.out.append(as_many(amount_of(call.argv[0]) or 0))


def as_many(count: int) -> str:
    """So many NUL bytes.

    Raises:
        Stopped: they are more than ``MOST``.
    """
    if count > MOST:
        raise Stopped(ROOM)
    return "\0" * count


def amount_of(text: str) -> int | None:
    """A number with a unit; None where it is none."""
    match = re.fullmatch(r"(\d+)(\w*)", text)
    return None if match is None or match[2] not in _UNITS else int(match[1]) * _UNITS[match[2]]
