"""Characters by their numbers: in the C locale bash writes those beyond ASCII as their codes, and NUL as a byte."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from echo_terminal.terminal.wording.texts import inside
from echo_terminal.terminal.wording.words import PLACE

_CODE = re.compile(r"(?<!\\)\\(?:u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8}))")
_READS = re.compile(rf"{PLACE}(?:echo\s+-[nE]*e\w*|printf)\b[^;&|\n]*")
_NUL = re.compile(rf"({PLACE}printf[ \t]+)('[^']*'|\"[^\"$`]*\")")


def nul_codes(command: str) -> str:
    """The command with ``\\x00`` in formats of ``printf``, where bashkit leaves it out, as ``\\000``."""
    return _NUL.sub(
        lambda m: m[1] + re.sub(r"(?<!\\)((?:\\\\)*)\\x00?(?![0-9a-fA-F])", r"\1\\000", m[2]), command
    )


def plain_codes(command: str) -> str:
    """The command with the codes that ``echo -e``, ``printf`` and ``$''`` leave as they are protected from bashkit."""

    quotes = _quotes(command, [match.start() for match in _CODE.finditer(command)])
    read = [match.span() for match in _READS.finditer(command)]

    def protected(match: re.Match[str]) -> str:
        code, quote = match[1] or match[2], next(quotes)
        if int(code, 16) < 0x80 or (quote != "$'" and not inside(read, match.start())):
            return match[0]
        slashes = "\\\\" if quote in ("'", "$'") else "\\\\\\\\"
        return f"{slashes}{'u' if match[1] else 'U'}{int(code, 16):0{4 if match[1] else 8}X}"

    return _CODE.sub(protected, command)


def _quotes(text: str, places: Sequence[int]) -> Iterator[str]:
    """The quotes in which such places, in order, stand; empty outside of all."""
    quote, place = "", 0
    for end in places:
        while place < end:
            letter = text[place]
            if letter == "\\" and quote != "'":
                place += 1
            elif not quote and letter in "'\"":
                quote = "$'" if letter == "'" and text[place - 1 : place] == "$" else letter
            elif quote and letter == quote[-1]:
                quote = ""
            place += 1
        yield quote
