"""What programs that start others say where that fails: bashkit says it in the words of the shell."""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.call import NO_ENTRY, quote
from echo_terminal.terminal.wording.words import PLACE

_FAILED = re.compile(
    rf"^(?:[^\s:]+: line \d+: |bash: |sh: )(\S.*): (command not found|{NO_ENTRY}|Permission denied)$",
    re.M,
)
_STARTS = re.compile(
    rf"{PLACE}(?:(nice|nohup|env|timeout|xargs)\b|(find)\b[^;&|\n]*?\s-exec(?:dir)?\b)"
    r"([^;&|\n]*)"
)
_WORDS = re.compile(r"(?:[^\s'\"\\]|\\.|'[^']*'|\"[^\"]*\")+")
_SAYS = {
    "nice": "nice: {}",
    "nohup": "nohup: failed to run command {}",
    "timeout": "timeout: failed to run command {}",
    "env": "env: {}",
    "find": "find: {}",
    "xargs": "xargs: {}",
}


def started(text: str, command: str) -> str:
    """Error texts in the words of the program that could not start another; those of the shell as they are."""
    starters: dict[str, list[str]] = {}
    every = ""
    for match in _STARTS.finditer(command):
        name = match[1] or match[2]
        for word in _WORDS.findall(match[3]):
            word = re.sub(r"['\"]", "", word)
            if not word.startswith("-") and "=" not in word and not (name != "find" and word[:1].isdigit()):
                starters.setdefault(word, []).append(name)
                every = name if "{" in word else every
                break
    if not starters:
        return text

    def one(match: re.Match[str]) -> str:
        what, reason = match.groups()
        names = starters.get(what) or [every]
        name = names.pop(0) if len(names) > 1 else names[0]
        if not name:
            return match[0]
        said = _SAYS[name].format(what if name == "xargs" else quote(what))
        return f"{said}: {NO_ENTRY if reason == 'command not found' else reason}"

    return _FAILED.sub(one, text)
