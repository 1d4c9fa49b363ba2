"""What a command would ask the host, asked of the episode in its place: the time, and numbers of chance.

bashkit looks at the host's clock and time zone for ``printf '%()T'``, in jq, ``touch -d`` and ``find -newermt``, and at
its random numbers for ``SRANDOM`` and ``sort -R``. What a script holds that was put into a file is not read here: jq
asks the host there, and so do ``touch`` and ``SRANDOM``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from echo_terminal.terminal.programs.dates import parse_date
from echo_terminal.terminal.terminal import CLOCK
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.texts import to_keep
from echo_terminal.terminal.wording.words import PLACE, value

_MAY = re.compile(r"\)T|RANDOM|if=/dev/|\bjq\b|-newer|touch|sort")
_DATE = r"%-?\d*\([^()'\"\n]*\)T"
_NOW = re.compile(  # a time that printf is not given, or asks of the shell
    rf"(\bprintf[ \t]+(?:-v[ \t]+\w+[ \t]+)?(?:'[^'%]*{_DATE}[^']*'|\"[^\"%`$]*{_DATE}[^\"`$]*\"))"
    r"(?:[ \t]+-[12](?=[\s;&|)]|\Z)|(?=[ \t]*(?:[;&|)\n>]|\Z)))"
)
_CHANCE = re.compile(r"\$(?:\{SRANDOM\}|SRANDOM\b)|(?<=[($,+*/%^&|<>=-])[ ]*\bSRANDOM\b")
_WORD = r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s'\"\\;&|<>()])+"
_STARTS = (
    rf"(?:{PLACE}|(?<!\w)['\"][ \t]*|\bxargs(?:[ \t]+-\S+)*[ \t]+)"  # of a command, of one in quotes too
)
_JQ = re.compile(
    rf"({_STARTS}jq(?:\s+(?:--(?:arg|argjson|slurpfile|rawfile)\s+{_WORD}\s+{_WORD}|--indent\s+\d+|-L\s*{_WORD}"
    rf"|-(?!\w*f)\w+|--(?!from-file|arg)[\w-]+))*\s+)(?=['\"\w.[({{$@])({_WORD})"
)
_JQ_ASKS = {  # what jq's clock and time zone tell, in terms of what they do not
    "now": str(CLOCK),
    "localtime": "gmtime",
    "strflocaltime": "strftime(f)",
}
_TOUCHED = re.compile(rf"({_STARTS}touch\b[^;&|\n]*?\s(?:-\w*d[ \t]*|--date[ =]))({_WORD})")
_NEWER = re.compile(r"(\sfind\b|^find\b)([^;&|\n]*)", re.M)
_WRITTEN = re.compile(rf"(?<=\s)-newer[mac]t[ \t]+({_WORD})|(?<=\s)-[ac]newer(?=\s)")
_DD = re.compile(r"(\bif=['\"]?/dev/)(?=u?random\b)")  # bashkit's dd knows the devices by their names
_SHUFFLES = re.compile(
    rf"({_STARTS})sort(?=(?:[ \t]+{_WORD})*?[ \t]+(?:-[a-su-zA-Z]*R|--random-so|--sort=r)[^;&|\n]*)"
)


def repeatable(command: str) -> str:
    """The command, but asking the episode where it would ask the host."""
    if _MAY.search(command) is None:
        return command
    for needed, pattern, new in _FORMS:
        if needed in command and pattern.search(command) is not None:
            command = pattern.sub(new if new is _chance else _outside(to_keep(command), new), command)
    return command


def _outside(
    kept: list[tuple[int, int]], new: Callable[[re.Match[str]], str]
) -> Callable[[re.Match[str]], str]:
    def one(match: re.Match[str]) -> str:
        place = match.end(1) if match.re.groups else match.start()
        return match[0] if any(start <= place < end for start, end in kept) else new(match)

    return one


def _chance(match: re.Match[str]) -> str:
    """32 bits of three times RANDOM."""
    drawn = "(RANDOM<<17^RANDOM<<2^RANDOM)"
    return f"$({drawn})" if match[0].startswith("$") else drawn


def _of_jq(match: re.Match[str]) -> str:
    """jq with definitions in front of its program, escaped so that they hold inside quotes too."""
    asked = [name for name in _JQ_ASKS if re.search(rf"(?<![.$\w]){name}\b", match[2]) is not None]
    heads = [f"def {name}{'(f)' if '(f)' in _JQ_ASKS[name] else ''}:{_JQ_ASKS[name]};" for name in asked]
    return match[1] + re.sub(r"([ ;()])", r"\\\1", "".join(heads)) + match[2]


def _moment(word: str) -> str:
    """A date in words as seconds; the word itself where it is none, or where the shell has to expand it first."""
    text = value(word)
    try:
        return word if text is None else f"@{parse_date(text):.0f}"
    except (ValueError, OverflowError):
        return word


def _written(match: re.Match[str]) -> str:
    if match[1] is None:
        return "-newer"  # a file has one time
    return f"-newermt {_moment(match[1])}"


_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (")T", _NOW, lambda match: f"{match[1]} {CLOCK}"),
    ("SRANDOM", _CHANCE, _chance),
    ("jq", _JQ, _of_jq),
    ("touch", _TOUCHED, lambda match: match[1] + _moment(match[2])),
    ("newer", _NEWER, lambda match: match[1] + _WRITTEN.sub(_written, match[2])),
    ("if=/dev/", _DD, lambda match: f"{match[1]}/"),
    ("sort", _SHUFFLES, lambda match: f"{match[1]}{OWN}sort"),
)
