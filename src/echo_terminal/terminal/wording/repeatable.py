"""What a command would ask the host, asked of the episode in its place: the time, and numbers of chance.

bashkit looks at the host's clock and time zone for ``printf '%()T'``, in jq, ``touch -d`` and ages in ``find``, and at
its random numbers for ``SRANDOM``, ``sort -R`` and ``dd``. Scripts that are run are read too (``scripts.script``), not
those that are sourced.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from echo_terminal.terminal.programs.dates import parse_date
from echo_terminal.terminal.terminal import CLOCK
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.texts import inside, texts, to_keep
from echo_terminal.terminal.wording.words import PLACE, value

RUNS = re.compile(  # a script of the shell, or a folder that is entered
    rf"(?:(?:\b(?:ba|da)?sh\b(?:[ \t]+-[a-z]+)*|\bsource|{PLACE}\.)[ \t]+|{PLACE}(?=\.{{0,2}}/))([\w./~+-]+)"
    r"|\bcd[ \t]+([\w./+-]+)"
)
_INSIDE = re.compile(
    r"\b(?:ba|da)?sh\s+-\w*c\b|\|\s*(?:ba|da)?sh\b|\b(?:eval|trap|alias)\b"
)  # runs texts as commands
_MAY = re.compile(r"\)T|RANDOM|if=/dev/|\bjq\b|\bfind\b|touch|sort")
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
    rf"|-(?!\w*f)\w+|--(?!from-file|arg)[\w-]+)){{0,40}}\s+)(?=['\"\w.[({{$@])"
)
_JQ_ASKS = {  # what jq's clock and time zone tell, in terms of what they do not
    "now": str(CLOCK),
    "localtime": "gmtime",
    "strflocaltime": "strftime(f)",
}
_TOUCHED = re.compile(rf"({_STARTS}touch\b[^;&|\n]{{0,500}}?\s(?:-\w*d[ \t]*|--date[ =]))({_WORD})")
_FIND = re.compile(r"(\sfind\b|^find\b)([^;&|\n]*)", re.M)
_AGED = re.compile(r"\s-(?:[ac]?newer|[mac](?:time|min)\b)")
_WRITTEN = re.compile(rf"(?<=\s)-newer[mac]t[ \t]+({_WORD})|(?<=\s)-[ac]newer(?=\s)")
_DD = re.compile(r"(\bif=['\"]?/dev/)(?=u?random\b)")  # bashkit's dd knows the devices by their names
_AGE = re.compile(r"(?<=\s)-[mac](time|min)\s+([-+]?)(\d+)(?=\s|\Z)")
_SHUFFLES = re.compile(
    rf"({_STARTS})sort(?=(?:[ \t]+{_WORD}){{0,40}}?[ \t]+(?:-[a-su-zA-Z]*R|--random-so|--sort=r))"
)


def repeatable(command: str) -> str:
    """The command, but asking the episode where it would ask the host."""
    if _MAY.search(command) is None:
        return command
    for needed, pattern, new in _FORMS:
        if needed in command and pattern.search(command) is not None:
            command = pattern.sub(new if new is _chance else _outside(_texts(command), new), command)
    return command


def _texts(command: str) -> list[tuple[int, int]]:
    """The texts that it does not run: neither itself nor as a script that it makes."""
    runs = _INSIDE.search(command) is not None or any(match[1] for match in RUNS.finditer(command))
    return to_keep(command) if runs else texts(command) or []


def _outside(
    kept: list[tuple[int, int]], new: Callable[[re.Match[str]], str]
) -> Callable[[re.Match[str]], str]:
    def one(match: re.Match[str]) -> str:
        place = match.end(1) if match.re.groups else match.start()
        return match[0] if inside(kept, place) else new(match)

    return one


def _chance(match: re.Match[str]) -> str:
    """32 bits of three times RANDOM."""
    drawn = "(RANDOM<<17^RANDOM<<2^RANDOM)"
    return f"$({drawn})" if match[0].startswith("$") else drawn


def _of_jq(match: re.Match[str]) -> str:
    """jq with definitions in front of its program, escaped so that they hold inside quotes too."""
    return match[1] + _heads(match.string)


@functools.lru_cache(maxsize=16)
def _heads(command: str) -> str:
    asked = [name for name in _JQ_ASKS if re.search(rf"(?<![.$\w]){name}\b", command) is not None]
    heads = [f"def {name}{'(f)' if '(f)' in _JQ_ASKS[name] else ''}:{_JQ_ASKS[name]};" for name in asked]
    return re.sub(r"([ ;()])", r"\\\1", "".join(heads))


def _of_find(match: re.Match[str]) -> str:
    words = match[2]
    return match[1] + (_AGE.sub(_dated, _WRITTEN.sub(_written, words)) if _AGED.search(words) else words)


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


def _dated(match: re.Match[str]) -> str:
    """A test of age, which bashkit counts from the host's time, as one of the time when a file was written."""
    unit, sign, number = match[1], match[2], int(match[3])
    least = (
        number * 86_400 if unit == "time" else (number - 1) * 60 + 1
    )  # seconds: days count down, minutes up
    newest = f"-newermt @{CLOCK - least}"
    older = f"-newermt @{CLOCK - least - (86_400 if unit == 'time' else 60)}"
    if sign:
        return newest if sign == "-" else f"! {older}"
    return f"\\( {older} ! {newest} \\)" if least > 1 else older


_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (")T", _NOW, lambda match: f"{match[1]} {CLOCK}"),
    ("SRANDOM", _CHANCE, _chance),
    ("jq", _JQ, _of_jq),
    ("touch", _TOUCHED, lambda match: match[1] + _moment(match[2])),
    ("find", _FIND, _of_find),
    ("if=/dev/", _DD, lambda match: f"{match[1]}/"),
    ("sort", _SHUFFLES, lambda match: f"{match[1]}{OWN}sort"),
)
