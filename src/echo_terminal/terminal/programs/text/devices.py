"""``/dev/zero`` and ``/dev/urandom``: bashkit's end after a MiB and some KiB, and the second is drawn by the host.

A command gets as many bytes in their place as it takes, or the endless stream that only a limit ends.
"""

from __future__ import annotations

import math
import random
import re

from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.programs.limits import ROOM, TIME, Stopped
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

ZERO = "/dev/zero"
ZEROS, NOISE = f"{OWN}zeros", f"{OWN}noise"
MOST = 64 << 20  # bytes, as many as the files of an episode may hold
_USUAL = 1 << 16  # bytes of noise where a command does not say how many it takes
_SIFTED = 16  # bytes of noise for one that ``tr`` lets pass
_HELD = "/usr/.noise"
_UNITS = {
    "": 1, "b": 512, "c": 1, "K": 1024, "k": 1024, "kB": 1000, "KB": 1000, "M": 1 << 20, "MB": 10**6, "G": 1 << 30,
}  # fmt: skip
_ZEROS = re.compile(rf"(?:({PLACE})cat[ \t]+|<[ \t]*){ZERO}(?=[\s;&|)]|\Z)(?=([^;&\n]*))")
_NOISE = re.compile(
    r"(<[ \t]*|\bif=|\b(?:head|cat|od|xxd|base64|hexdump)\b[^;&|\n<>]*?[ \t])/dev/u?random(?=[\s;&|)]|\Z)"
    r"(?=([^;&\n]*))"
)
_BYTES = rf"\b(?:{OWN})?head[ \t]+(?:-c[ \t]*|--bytes=)(\d+[a-zA-Z]*)"
_ASKED, _ASKS = re.compile(rf"\|[ \t]*{_BYTES}"), re.compile(rf"{_BYTES}[^;&|\n]*\Z")
_BLOCKS = re.compile(r"\b(?:bs|count)=(\d+[a-zA-Z]*)")
_SIMPLE = re.compile(r"[^;&|\n]*\Z")


def own_devices(command: str) -> str:
    """The command with our streams in place of the devices."""
    return _NOISE.sub(_noise, _ZEROS.sub(_zeros, command))


def _asked(match: re.Match[str]) -> str:
    found = _ASKED.search(match[2]) or _ASKS.search(match.string[: match.start(2)])
    return found[1] if found else ""


def _zeros(match: re.Match[str]) -> str:
    program = f"{ZEROS} {_asked(match)}".rstrip()
    return f"< <({program})" if match[1] is None else f"{match[1]}{program}"


def _noise(match: re.Match[str]) -> str:
    simple = _SIMPLE.search(match.string[: match.start(2)])
    words = [_asked(match)] if simple is None else [_asked(match), *_BLOCKS.findall(simple[0] + match[2])]
    size = math.prod(amount_of(word) or 1 for word in words) if any(words) else 0
    size *= _SIFTED if "tr " in match[0] + match[2] and size < _USUAL else 1
    text = " text" if re.search(r"\bwc\b", match[2]) else ""  # it counts bytes that are no text as one
    return f'{match[1]}"$({NOISE} {max(size, _USUAL)}{text})"'


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


def noise(call: Call, draw: random.Random) -> None:
    """Put so many random bytes (ASCII, if ``text``) into a file, and write its name."""
    size = int(call.argv[0])
    if size > MOST:
        raise Stopped(ROOM)
    data = draw.randbytes(size)
    call.fs.write_file(_HELD, data.translate(_ASCII) if "text" in call.argv else data)
    call.out.append(_HELD)


_ASCII = bytes(code & 127 for code in range(256))


def amount_of(text: str) -> int | None:
    """A number with a unit; None where it is none."""
    match = re.fullmatch(r"(\d+)(\w*)", text)
    return None if match is None or match[2] not in _UNITS else int(match[1]) * _UNITS[match[2]]
