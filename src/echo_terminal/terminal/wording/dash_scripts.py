"""Scripts that ``sh`` runs: dash does not have what they take from bash, and says so in the middle of the run."""

from __future__ import annotations

import re
from collections.abc import Callable

from echo_terminal.terminal.wording.dash import ABSENT, ECHO, ECHOES
from echo_terminal.terminal.wording.texts import inside, texts
from echo_terminal.terminal.wording.words import PLACE

_BAD = "Bad substitution"
_ENDS = (  # of the whole script, where they are read
    (re.compile(r"(?<![\w$])\w+\+?=\(|[<>]\((?!\()|\bfunction\s+\w+\s*\(\)"), 'Syntax error: "(" unexpected'),
    (re.compile(r"<<<"), "Syntax error: redirection unexpected"),
    (re.compile(rf"{PLACE}for\s*\(\("), "Syntax error: Bad for loop variable"),
    (re.compile(rf"{PLACE}set\s+-\w*o\s+pipefail"), "set: Illegal option -o pipefail"),
    (re.compile(r"\|&"), 'Syntax error: "&" unexpected'),
    (re.compile(r"(?<!\\)\$\{\w+(?:\^|,|/|:\d|: -)|(?<!\\)\$\{!\w"), _BAD),
)
_HEAD = re.compile(r"^(?!fi\b|done\b|esac\b|\}|then\b|else\b|elif\b|do\b|\)|#)\S", re.M)
_MISSING = re.compile(rf"({PLACE})((?:{'|'.join(ABSENT)})(?=\s)|\[\[(?=\s))")
_BRACES = re.compile(r"(?<![$\\{])\{[^\s{}$'\"]*(?:,|\.\.)[^\s{}$'\"]*\}")
_EQUAL = re.compile(
    r"(?<!\[)\[\s+(\"[^\"]*\"|'[^']*'|[^\s\"']+)\s+==\s+(?:\"[^\"]*\"|'[^']*'|[^\s\"']+)\s+\]"
)
_ASKED = re.compile(r"^((?:\w+=|: +)\"?\$\{(\w+)(:?)\?([^{}`\n]*)\}\"?)(?=[ \t]*(?:#.*)?$)", re.M)
SAYS = '__dash_says() { printf "%s: %s: %s\\n" "$0" "$2" "$3" >&2; return "$1"; }; '
ECHO_OF_DASH = f'echo() {{ {ECHO} "$@"; }}; '


def in_dash(script: str) -> tuple[str, str]:
    """Functions for the head of a script, and the script, on no more lines, so that bashkit runs it as dash does."""
    if texts(script) is None:
        return "", script
    text = _changed(_BRACES, lambda match: f"'{match[0]}'", _ended(script))
    text = _changed(
        _EQUAL, lambda match: f'__dash_says 2 $LINENO "[: "{match[1]}": unexpected operator"', text
    )
    text = _changed(
        _MISSING, lambda match: f"{match[1]}__dash_says 127 $LINENO '{match[2]}: not found' ", text
    )
    text = _ASKED.sub(_asked_for, text)
    head = SAYS if "__dash_says" in text else ""
    return head + (ECHO_OF_DASH if ECHOES.search(text) is not None else ""), text


def _asked_for(match: re.Match[str]) -> str:
    line, name, colon, said = match.groups()
    there = f'[ -n "${{{name}-}}" ]' if colon else f'[ -n "${{{name}+x}}" ]'
    told = f"{name}: {said or 'parameter not set' + (' or null' if colon else '')}".replace('"', '\\"')
    return f'{there} || {{ __dash_says 2 $LINENO "{told}"; exit; }}; {line}'


def _ended(script: str) -> str:
    """The script up to the command in which dash finds what it cannot read, and what it says there."""
    spans = texts(script) or []
    plain = [(a, b) for a, b in spans if script[a - 1] != '"']  # where the shell puts in no parameters
    found = [
        (match.start(), said)
        for pattern, said in _ENDS
        for match in pattern.finditer(script)
        if not inside(plain if said == _BAD else spans, match.start())
    ]
    if not found:
        return script
    place, said = min(found)
    place += script[place] == "\n"
    begin = max((m.start() for m in _HEAD.finditer(script) if m.start() <= place), default=place)
    line = script.count("\n", 0, place) + 1
    return f"{script[:begin]}__dash_says 2 {line} '{said}'; exit" + "\n" * script.count("\n", begin)


def _changed(pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], text: str) -> str:
    spans = texts(text) or ()
    return pattern.sub(lambda match: match[0] if inside(spans, match.start()) else change(match), text)
