"""Characters by their numbers: in the C locale bash writes those beyond ASCII as their codes, and NUL as a byte."""

from __future__ import annotations

import re

from echo_terminal.terminal.wording.words import PLACE

_CODE = re.compile(r"(?<!\\)\\(?:u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8}))")
_READS = re.compile(rf"{PLACE}(?:echo\s+-[nE]*e\w*|printf)\b[^;&|\n]*\Z")
_NUL = re.compile(rf"({PLACE}printf[ \t]+)('[^']*'|\"[^\"$`]*\")")


def nul_codes(command: str) -> str:
    """The command with ``\\x00`` in formats of ``printf``, where bashkit leaves it out, as ``\\000``."""
    return _NUL.sub(
        lambda m: m[1] + re.sub(r"(?<!\\)((?:\\\\)*)\\x00?(?![0-9a-fA-F])", r"\1\\000", m[2]), command
    )


def plain_codes(command: str) -> str:
    """The command with the codes that ``echo -e``, ``printf`` and ``$''`` leave as they are protected from bashkit."""

    def protected(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        before = command[: match.start()]
        inside = _open_quote(before)
        if int(code, 16) < 0x80 or (inside != "$'" and _READS.search(before) is None):
            return match[0]
        slashes = "\\\\" if inside in ("'", "$'") else "\\\\\\\\"
        return f"{slashes}{'u' if match[1] else 'U'}{int(code, 16):0{4 if match[1] else 8}X}"

    return _CODE.sub(protected, command)


def _open_quote(text: str) -> str:
    """The quote in which a text ends; empty outside of all."""
    quote = ""
    place = 0
    while place < len(text):
        letter = text[place]
        if letter == "\\" and quote != "'":
            place += 1
        elif not quote and letter in "'\"":
            quote = "$'" if letter == "'" and text[place - 1 : place] == "$" else letter
        elif quote and letter == quote[-1]:
            quote = ""
        place += 1
    return quote
