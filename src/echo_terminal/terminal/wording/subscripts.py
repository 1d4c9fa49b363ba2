"""Subscripts that change a parameter on its way (``${count[${word,,}]}``), which bashkit takes for empty."""

from __future__ import annotations

import re

from echo_terminal.terminal.wording.texts import inside, texts

_CHANGED = r"\$\{\w+(?:\[[^\]{}]*\])?[,^/%#:][^{}\[\]]*\}"
_SUBSCRIPT = rf"\[((?:[^\[\]{{}}]|\$\{{\w+\}})*{_CHANGED}(?:[^\[\]{{}}]|\$\{{\w+\}}|{_CHANGED})*)\]"
_JOINED = re.compile(r"(\$\(\((?:[^()$]|\$\w)*)(\$\{\w+\[[*@]\]\})(?=[^()]*\)\))")  # a list in arithmetic
_ELEMENT = re.compile(rf"\$\{{(\w+){_SUBSCRIPT}([^{{}}]*)\}}|(?<![\w{{$])([A-Za-z_]\w*){_SUBSCRIPT}")


def plain_subscripts(command: str) -> str:
    """The command with such subscripts put in by ``printf``, but as they are in texts without expansions."""
    if "*]}" in command or "@]}" in command:
        command = _JOINED.sub(r'\1$(printf %s "\2")', command)
    if _ELEMENT.search(command) is None:
        return command
    spans = [(a, b) for a, b in texts(command) or () if command[a - 1] != '"']

    def plain(match: re.Match[str]) -> str:
        if inside(spans, match.start()):
            return match[0]
        name, subscript, rest, counted, other = match.groups()
        key = (subscript or other).replace('"', "")
        return (
            f'{counted}[$(printf %s "{key}")]'
            if counted
            else f'$(__key="{key}"; printf %s "${{{name}[$__key]{rest}}}")'
        )

    return _ELEMENT.sub(plain, command)
