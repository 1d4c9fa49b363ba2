"""``hexdump`` after util-linux 2.38: every one of its outputs is a format, as in its own source."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.call import Call, UsageError, options
from echo_terminal.terminal.programs.limits import Budget, narrow
from echo_terminal.terminal.programs.text.columns import content

_ADDRESS = '"%07.7_Ax\n"'
_FORMS = {
    "": (_ADDRESS, '"%07.7_ax " 8/2 "%04x " "\n"'),
    "b": (_ADDRESS, '"%07.7_ax " 16/1 "%03o " "\n"'),
    "c": (_ADDRESS, '"%07.7_ax " 16/1 "%3_c " "\n"'),
    "C": ('"%08.8_Ax\n"', '"%08.8_ax  " 8/1 "%02x " "  " 8/1 "%02x " ', '"  |" 16/1 "%_p" "|\n"'),
    "d": (_ADDRESS, '"%07.7_ax " 8/2 "  %05u " "\n"'),
    "o": (_ADDRESS, '"%07.7_ax " 8/2 " %06o " "\n"'),
    "x": (_ADDRESS, '"%07.7_ax " 8/2 "   %04x " "\n"'),
}
_LONG = {
    "one-byte-octal": "b", "one-byte-char": "c", "canonical": "C", "two-bytes-decimal": "d", "two-bytes-octal": "o",
    "two-bytes-hex": "x", "format=": "e", "format-file=": "f", "length=": "n", "skip=": "s", "no-squeezing": "v",
    "color=?": "L",
}  # fmt: skip
_UNIT = re.compile(r'\s*(?:(\d+)(?=[\s/])\s*)?/?\s*(?:(\d+)\s+)?"([^"]*)"\s*')
_PART = re.compile(r"%([-+ #0]*)(\d*(?:\.\d*)?)(_[acpuA][dox]?|.)|[^%]+|%", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_NAMED = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
_ASCII = (
    "nul soh stx etx eot enq ack bel bs ht lf vt ff cr so si dle dc1 dc2 dc3 dc4 nak syn etb can em sub esc fs gs rs us"
).split()
_SUFFIXES = {
    "": 1,
    "b": 512,
    "k": 1 << 10,
    "K": 1 << 10,
    "m": 1 << 20,
    "M": 1 << 20,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
}


@dataclass
class _Part:
    """Text (``kind`` empty), or a conversion of ``size`` bytes: its letters and what stands before them."""

    text: str
    kind: str = ""
    size: int = 0
    flags: str = ""
    width: str = ""


@dataclass
class _Unit:
    """Parts that take ``size`` bytes together, and how often they come in a block."""

    size: int
    repeat: int
    fixed: bool
    parts: list[_Part] = field(default_factory=list)


def hexdump(call: Call) -> None:
    """Write what files hold as numbers."""
    found, words = options(call, "bcCde:f:Ln:os:vx", list(_LONG))
    forms, first, length, squeezes = [], 0, -1, True
    if call.name == "hd":
        forms = list(_FORMS["C"])
    for option, value in found:
        name = option.lstrip("-")
        letter = name if len(name) == 1 else _LONG.get(name) or _LONG.get(f"{name}=", "")
        if letter == "e":
            forms.append(value)
        elif letter == "n":
            length = _number(value, "length")
        elif letter == "s":
            first = _number(value, "offset")
        elif letter == "v":
            squeezes = False
        elif letter and letter in _FORMS:
            forms += _FORMS[letter]
    lines = [_units(form) for form in forms or _FORMS[""]]
    data, opened = b"", False
    for word in words or ["-"]:
        held = content(call, word)
        if isinstance(held, str):
            call.fail(f"{word}: {held}")
            opened = opened or held == "Is a directory"
            call.code = 0 if opened else 1
        else:
            data, opened = data + held, True
    if not opened:
        call.fail("all input file arguments failed")
        return
    first = min(first, len(data))
    data = data[first:] if length < 0 else data[first : first + length]
    call.out += _dumped(lines, data, first, squeezes=squeezes)


def _number(word: str, what: str) -> int:
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([bkKmM]|[KM]iB)?", word)
    if match is None:
        raise UsageError(f"failed to parse {what}: '{word}': Invalid argument", hint=False)
    text = match[1]
    base = 16 if text[:2] in ("0x", "0X") else 8 if text[0] == "0" and text.isdigit() else 10
    return int(text, base) * _SUFFIXES[match[2] or ""]


def _units(form: str) -> list[_Unit]:
    found: list[_Unit] = []
    place = 0
    while place < len(form.rstrip()) or not found:
        match = _UNIT.match(form, place)
        if match is None:
            raise UsageError(f"bad format {{{form}}}", hint=False)
        place = match.end()
        narrow(match[1] or "", match[2] or "")
        found.append(_unit(match[3], int(match[1] or 1), int(match[2] or 0), fixed=match[1] is not None))
    return found


def _unit(text: str, repeat: int, size: int, *, fixed: bool) -> _Unit:
    unit = _Unit(0, repeat, fixed)
    text = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.S)
    for match in _PART.finditer(text):
        flags, width, kind = match[1] or "", match[2] or "", match[3] or ""
        if kind in ("", "%"):
            unit.parts.append(_Part("%" if kind else match[0]))
            continue
        narrow(*width.split("."))
        before, _, precision = width.partition(".")
        if kind in "diouxX":
            takes = size or 4
        elif kind in "eEfgG":
            takes = size or 8
        elif kind == "c" or kind in ("_c", "_p", "_u"):
            takes = 1
        elif kind == "s":
            takes = int(precision or size)
            if not takes:
                raise UsageError("%s requires a precision or a byte count", hint=False)
        elif kind[:2] in ("_a", "_A") and len(kind) == 3:
            takes = 0
        else:
            raise UsageError(f"bad conversion character %{kind}", hint=False)
        if (kind in "diouxX" and takes not in (1, 2, 4, 8)) or (kind in "eEfgG" and takes not in (4, 8)):
            raise UsageError(f"bad byte count for conversion character {kind}", hint=False)
        unit.size += takes
        unit.parts.append(
            _Part("", kind, takes, flags, width if kind[0] != "_" or kind[1] in "aA" else before)
        )
    unit.size = unit.size or size
    return unit


def _dumped(lines: list[list[_Unit]], data: bytes, first: int, *, squeezes: bool) -> Iterator[str]:
    block = max(sum(unit.size * unit.repeat for unit in line) for line in lines)
    narrow(str(block))
    for line in lines:
        taken, last = sum(unit.size * unit.repeat for unit in line), line[-1]
        if taken < block and not last.fixed and last.size:
            last.repeat += (block - taken) // last.size
    end = [unit for line in lines for unit in line if any(part.kind[:2] == "_A" for part in unit.parts)][-1:]
    lines = [line for line in lines if not any(unit in end for unit in line)]
    budget, before, starred = Budget(), b"", False
    for place in range(0, len(data) if block else 0, block or 1):
        piece = data[place : place + block]
        if squeezes and place and piece == before[: len(piece)]:
            if not starred:
                yield "*\n"
            starred = True
            continue
        before, starred = piece, False
        for line in lines:
            text = "".join(_line(line, piece, first + place))
            budget.made(len(text))
            yield text
    if data or first:
        for part in end[0].parts if end else ():
            yield _shown(part, b"", first + len(data)) if part.kind else part.text


def _line(line: list[_Unit], piece: bytes, address: int) -> Iterator[str]:
    at = 0
    for unit in line:
        for turn in range(unit.repeat, 0, -1):
            for part in unit.parts:
                if not part.kind:
                    trims = (
                        turn == 1 and unit.repeat > 1 and part is unit.parts[-1] and part.text[-1:].isspace()
                    )
                    yield part.text[:-1] if trims else part.text
                elif at >= len(piece):
                    yield f"%{part.width}s" % ""
                else:
                    yield _shown(part, piece[at : at + part.size].ljust(part.size, b"\0"), address + at)
                at += part.size


def _shown(part: _Part, data: bytes, address: int) -> str:
    kind, form = part.kind, f"%{part.flags}{part.width}"
    if kind[:2] in ("_a", "_A"):
        return (form + kind[2]) % address
    if kind in "diouxX":
        return (form + kind) % int.from_bytes(data, "little", signed=kind in "di")
    if kind in "eEfgG":
        return str((form + kind) % struct.unpack("<f" if len(data) == 4 else "<d", data))
    if kind == "s":
        return (form + "s") % data.split(b"\0")[0].decode("utf-8", "surrogateescape")
    byte = data[0]
    printed = chr(byte) if 32 <= byte < 127 else ""
    if kind == "_p":
        printed = printed or "."
    elif kind == "_u":
        printed = printed or ("del" if byte == 127 else _ASCII[byte] if byte < 32 else f"{byte:02x}")
    elif kind == "_c":
        printed = printed or _NAMED.get(byte, f"{byte:03o}")
    else:
        printed = data.decode("utf-8", "surrogateescape")
    return (form + "s") % printed
