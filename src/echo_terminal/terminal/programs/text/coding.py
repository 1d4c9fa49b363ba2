"""``base64``, ``base32`` and ``basenc`` after GNU coreutils 9.1."""

from __future__ import annotations

import base64 as codec
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.programs.text.columns import content

_REVERSED = bytes(int(f"{n:08b}"[::-1], 2) for n in range(256))


def _bits(data: bytes) -> bytes:
    return "".join(f"{byte:08b}" for byte in data).encode()


def _from_bits(text: bytes) -> bytes:
    return bytes(int(text[n : n + 8], 2) for n in range(0, len(text), 8))


@dataclass(frozen=True)
class _Code:
    """Its letters (as in a pattern), ``group`` of which stand for whole bytes, or ``short`` of them filled up with
    ``=``."""

    letters: str
    group: int
    short: tuple[int, ...]
    encode: Callable[[bytes], bytes]
    decode: Callable[[bytes], bytes]


_64, _32 = "A-Za-z0-9", "A-Z2-7"
_CODES: Mapping[str, _Code] = {
    "base64": _Code(_64 + "+/", 4, (2, 3), codec.b64encode, codec.b64decode),
    "base64url": _Code(_64 + r"_\-", 4, (2, 3), codec.urlsafe_b64encode, codec.urlsafe_b64decode),
    "base32": _Code(_32, 8, (2, 4, 5, 7), codec.b32encode, codec.b32decode),
    "base32hex": _Code("0-9A-V", 8, (2, 4, 5, 7), codec.b32hexencode, codec.b32hexdecode),
    "base16": _Code("0-9A-F", 2, (), codec.b16encode, codec.b16decode),
    "base2msbf": _Code("01", 8, (), _bits, _from_bits),
    "base2lsbf": _Code(
        "01",
        8,
        (),
        lambda data: _bits(data.translate(_REVERSED)),
        lambda text: _from_bits(text).translate(_REVERSED),
    ),
}


def basenc(call: Call) -> None:
    """Write what a file holds in letters, or what letters stand for."""
    long = ["decode", "ignore-garbage", "wrap="]
    found, words = options(call, "diw:", long + (list(_CODES) if call.name == "basenc" else []))
    names = dict(found)
    chosen = [name[2:] for name in names if name[2:] in _CODES] or (
        [call.name] if call.name in _CODES else []
    )
    width = names.get("-w", names.get("--wrap", "76"))
    if not width.isdigit():
        raise UsageError(f"invalid wrap size: {quote(width)}", hint=False)
    if len(words) > 1:
        raise UsageError(f"extra operand {quote(words[1])}")
    if not chosen:
        raise UsageError("missing encoding type")
    code = _CODES[chosen[-1]]
    data = content(call, words[0] if words else "-")
    if isinstance(data, str):
        call.fail("read error: Is a directory" if data == "Is a directory" else f"{words[0]}: {data}")
    elif names.keys() & {"-d", "--decode"}:
        made, whole = decoded(code, data, ignore=bool(names.keys() & {"-i", "--ignore-garbage"}))
        call.write(made)
        if not whole:
            call.fail("invalid input")
    else:
        call.out.append(wrapped(code.encode(data).decode(), int(width)))


def wrapped(text: str, width: int) -> str:
    """The text in lines of a width; as it is, with no newline, for 0."""
    if not width:
        return text
    return "".join(f"{text[n : n + width]}\n" for n in range(0, len(text), width))


def decoded(code: _Code, data: bytes, *, ignore: bool) -> tuple[bytes, bool]:
    """What letters stand for up to the first wrong one; is there none?"""
    one = b"[%s]" % code.letters.encode()
    text = re.sub(rb"\n" if not ignore else rb"[^%s=]" % code.letters.encode(), b"", data)
    made, place = [], 0
    ends = b"|".join(one + b"{%d}={%d}" % (n, code.group - n) for n in code.short)
    whole = re.compile(one + b"{%d}" % code.group + (b"|" + ends if ends else b""))
    runs = re.compile(b"(?:" + one + b"{%d})*" % code.group)
    while place < len(text):
        run = runs.match(text, place)
        assert run is not None  # it may be empty
        end = run.end()
        made.append(code.decode(text[place:end]))
        last = whole.match(text, end)
        if last is None:
            break
        made.append(code.decode(last[0]))
        place = last.end()
    else:
        return b"".join(made), True
    if end == len(text):
        return b"".join(made), True
    start = re.compile(one + b"*").match(text, end)
    count = max((n for n in code.short if start is not None and n <= len(start[0])), default=0)
    if count and start is not None:
        made.append(code.decode(start[0][:count] + b"=" * (code.group - count)))
    return b"".join(made), False
