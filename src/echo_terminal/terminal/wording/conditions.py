"""The tests of ``[[ ]]`` that bashkit answers wrongly there, asked with ``[`` instead."""

from __future__ import annotations

import re

_DOUBLE = re.compile(r"(?<!\S)\[\[\s(.*?)\s\]\]", re.S)
_WORD = r"(?:\"[^\"]*\"|'[^']*'|[^\s()&|;<>'\"])+"
_TEST = re.compile(rf"(?<!\S)(?:-([xoLhpSbckgu])\s+({_WORD})|({_WORD})\s+-(nt|ot)\s+({_WORD}))(?!\S)")


def conditions(command: str) -> str:
    """The command with ``-nt``, ``-ot`` and the kinds that bashkit finds in every file asked in other words."""
    end = 3 + max(command.rfind(f"{blank}]]") for blank in " \t\n")  # without one, every [[ would look for it
    return _DOUBLE.sub(lambda match: f"[[ {_TEST.sub(_asked, match[1])} ]]", command[:end]) + command[end:]


def _asked(match: re.Match[str]) -> str:
    letter, word, one, order, other = match.groups()
    text = f"-{letter} {_quoted(word)}" if letter else f"{_quoted(one)} -{order} {_quoted(other)}"
    return f'-n "$([ {text} ] && echo y)"'


def _quoted(word: str) -> str:
    """No word of ``[[ ]]`` is split."""
    return f'"{word}"' if "$" in word and '"' not in word and "'" not in word else word
