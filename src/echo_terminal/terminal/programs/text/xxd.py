"""``xxd`` of Vim 9.0: dumps of bytes, and the way back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import Call, UsageError
from echo_terminal.terminal.programs.limits import Budget
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.wording.usage import XXD

_VALUES = {
    "c": "ols",
    "g": "roup",
    "l": "en",
    "o": "ffset",
    "s": "kip seek eek",
}  # letters, the rest of their names
_WIDTHS = {"": 16, "b": 6, "e": 16, "i": 12, "p": 30}
_GROUPS = {"": 2, "b": 1, "e": 4}
_WIDEST = 256


@dataclass
class _Asked:
    """The words of one call."""

    flags: set[str]
    values: dict[str, int]
    words: list[str]

    @property
    def form(self) -> str:
        """``p``, ``i``, ``b``, ``e``, or nothing for the usual dump."""
        return next((letter for letter in "pibe" if letter in self.flags), "")


def xxd(call: Call) -> None:
    """Write what a file holds in hexadecimal or binary, or read that back."""
    if any(word in ("-v", "--version", "-version") for word in call.argv):
        call.err.append("xxd 2022-01-14 by Juergen Weigert et al.\n")
        return
    asked = _asked(call.argv)
    if asked is None or len(asked.words) > 2:
        call.err.append(XXD)
        call.code = 1
        return
    word = asked.words[0] if asked.words else "-"
    data = content(call, word)
    if isinstance(data, str):
        call.fail(data if data == "Is a directory" else f"{word}: {data}", 2)
        return
    width = asked.values.get("c", 0) or _WIDTHS[asked.form]
    if asked.form == "p" and asked.values.get("c") == 0:
        width = len(data) or 1
    if width < 1 or (width > _WIDEST and asked.form in ("", "b", "e")):
        raise UsageError(f"invalid number of columns (max. {_WIDEST}).", hint=False)
    if "r" in asked.flags:
        made = bytes(
            _read_back(data.decode("latin-1"), width, asked.values.get("s", 0), plain=asked.form == "p")
        )
    else:
        made = "".join(_dump(call, asked, data, width, word)).encode("utf-8", "surrogateescape")
    if len(asked.words) == 2:
        call.fs.write_file(call.path(asked.words[1]), made)
    else:
        call.write(made)


def _asked(argv: list[str]) -> _Asked | None:
    """The words read; None where one is not known. A name may be any word that begins with its letter."""
    rest, asked = list(argv), _Asked(set(), {}, [])
    while rest and rest[0][:1] == "-" and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        letter, tail = word.lstrip("-")[:1], word.lstrip("-")[1:]
        if letter in _VALUES:
            if not tail or any(tail.startswith(name) for name in _VALUES[letter].split()):
                if not rest:
                    return None
                tail = rest.pop(0)
            number = re.match(r"[-+]*(0[xX][0-9a-fA-F]+|\d+)", tail)
            value = int(number[1], 16 if number[1][:2] in ("0x", "0X") else 10) if number else 0
            asked.values[letter] = -value if "-" in tail else value
        elif letter and letter in "abCdeEipru":
            asked.flags.add(letter)
        else:
            return None
    asked.words = rest
    return asked


def _dump(call: Call, asked: _Asked, data: bytes, width: int, word: str) -> Iterator[str]:
    values, form, upper = asked.values, asked.form, "u" in asked.flags
    skip = values.get("s", 0)
    if skip < 0:
        skip += len(data)
        if skip < 0:
            call.fail("Sorry, cannot seek.", 4)
            return
    data = data[skip:]
    data = data[: values["l"]] if values.get("l", -1) >= 0 else data
    if form == "p":
        for place in range(0, len(data), width):
            yield _hex(data[place : place + width], upper) + "\n"
        return
    if form == "i":
        yield from _as_c(asked, data, width, word, upper)
        return
    group = values.get("g", _GROUPS[form])
    group = width if group < 1 or group > width else group
    if form == "e" and group & (group - 1):
        raise UsageError("number of octets per group must be a power of 2 with -e.", hint=False)
    digits = 8 if form == "b" else 2
    room = ((digits * group + 1) * width - 1) // group + 1
    budget, blank = Budget(), 0
    for place in range(0, len(data), width):
        piece = data[place : place + width]
        if "a" in asked.flags and not any(piece) and place + width < len(data):
            blank += 1
            if blank > 1:
                if blank == 2:
                    yield "*\n"
                continue
        else:
            blank = 0
        address = place + skip + values.get("o", 0)
        numbers = [f"{byte:08b}" if form == "b" else f"{byte:02x}" for byte in piece]
        numbers = [number.upper() for number in numbers] if upper else numbers
        groups = [numbers[n : n + group] for n in range(0, len(numbers), group)]
        if form == "e":
            groups = [["  "] * (group - len(part)) + part[::-1] for part in groups]
        shown = " ".join("".join(part) for part in groups)
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        line = f"{address:08{'d' if 'd' in asked.flags else 'x'}}: {shown:<{room}} {text}\n"
        budget.made(len(line))
        yield line


def _hex(data: bytes, upper: bool) -> str:
    return data.hex().upper() if upper else data.hex()


def _as_c(asked: _Asked, data: bytes, width: int, word: str, upper: bool) -> Iterator[str]:
    name = re.sub(r"^(?=\d)", "__", re.sub(r"\W", "_", word, flags=re.A))
    name = name.upper() if "C" in asked.flags else name
    if word != "-":
        yield f"unsigned char {name}[] = {{\n"
    lead = "0X" if upper else "0x"
    rows = [data[place : place + width] for place in range(0, len(data), width)]
    yield ",\n".join(
        "  " + ", ".join(lead + _hex(bytes([b]), upper) for b in row) for row in rows
    ) + "\n" * bool(rows)
    if word != "-":
        yield f"}};\nunsigned int {name}_{'LEN' if 'C' in asked.flags else 'len'} = {len(data)};\n"


def _read_back(text: str, width: int, more: int, *, plain: bool) -> bytearray:
    """The bytes of a dump: of ``xxd -p`` all pairs of digits, else those behind the offset (and ``more``) of each
    line."""
    made = bytearray()
    if plain:
        for line in text.split("\n"):
            digits = re.search(r"[0-9a-fA-F][0-9a-fA-F\s]*", line)
            found = re.sub(r"\s", "", digits[0] if digits else "")
            made += bytes.fromhex(found[: len(found) // 2 * 2])
        return made
    for match in re.finditer(r"^\s*([0-9a-fA-F]+)[: ]\s?((?:[0-9a-fA-F]{2} ?)*)", text, re.M):
        offset, piece = int(match[1], 16) + max(more, 0), bytes.fromhex(match[2].replace(" ", ""))[:width]
        Budget().fits(offset)
        if offset > len(made):
            made += bytes(offset - len(made))
        made[offset : offset + len(piece)] = piece
    return made
