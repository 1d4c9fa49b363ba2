"""What the text of a command tells by itself, before any shell has seen it."""

from __future__ import annotations

import functools
import re
import shlex
from typing import NamedTuple

from echo_terminal.terminal.deep_stack import BY_PATH, NESTING, nests, too_deep
from echo_terminal.terminal.terminal import KILLED_EXIT
from echo_terminal.terminal.wording import grammar
from echo_terminal.terminal.wording.rewording import reworded
from echo_terminal.terminal.wording.tracing import INSIDE, TRACED, traced

SHORT = 1000  # characters of a command that is worth remembering
_LEAVES = frozenset("exit logout exec kill set trap".split())
_ALTERS = frozenset("function alias eval source exec enable set shopt trap BASH_ALIASES".split())
_STORES = frozenset("tar zip make".split())  # put times of files into what they make
_WRITES = frozenset("tee truncate dd tar zip source bash sh umask sqlite3 split".split())
_LONE = frozenset(
    "cat head tail sort grep egrep fgrep sed awk jq cut wc tr uniq nl rev tac od xxd base64 paste join fold fmt echo "
    "pwd basename dirname stat date diff cmp comm file du ls cp mv rm ln mkdir rmdir chmod touch true false test ["
    .split()
)  # fmt: skip
_NAME = re.compile(r"\w+")
_TEXT = r"""'[^']*'|"[^"$`\\]*\""""  # in quotes
_PLAIN = re.compile(rf"(?:[\w./:,+%@= \t-]|{_TEXT})*")
_SIMPLE = re.compile(rf"\s*([\w.\[]+)(?![\w.\[])(?:[^;&|`$()<>\n'\"\\]|[<>](?!<)|{_TEXT})*")
_TIMES = re.compile(r"-(?:a|c)?newer|-[mac](?:time|min)\b|-[no]t\b")
_DEFINES = re.compile(r"\(\s*\)|SHOPT_|(?:^|[\s;&|({])\.\s")  # a function, an option, or who knows what
_CHILD = re.compile(r"(?<![&><|\\])&(?![&>])")


_EXEC, _TURNS = re.compile(r"\bexec\s[^;&|\n]*(?:\n?(?:[012]?[<>]|&>))?"), re.compile(r"\s(?:[012]?[<>]|&>)")
_STOPS = re.compile(r"\b(?:head|exit|break|read)\b|-\w*[mq]|[\s\d/{;'\"]q\b")


def may_stop(command: str) -> bool:
    """May a program of the command leave the one before it alone with the rest of what it writes?"""
    return _STOPS.search(command) is not None


class Reading(NamedTuple):
    """A command, read."""

    text: str  # in the words that bashkit runs as bash does
    refused: tuple[str, int] | None  # standard error and exit code of what bash does not run
    words: tuple[str, ...]  # of ``text``, where it is nothing but plain words: no shell has to expand them
    lone: bool  # calls one program that leaves the shell as it was, and says all that it says at its end
    alters: bool  # may change what a word, an error or an output means to the commands after it
    times: bool  # shows or compares times of files
    stores: bool  # writes them into what it makes
    nests: bool  # needs a deep stack
    child: bool  # starts background children
    leaves: bool  # may end the shell
    writes: bool  # may write a file anew
    streams: bool  # has ``exec`` turn an input or output of the shell elsewhere


def read(command: str, *, traces: bool = False) -> Reading:
    """Read a command; ``traces``: does the shell show its words as it runs them?"""
    return (_remembered if len(command) <= SHORT else _read)(command, traces)


def _read(command: str, traces: bool) -> Reading:
    traces = traces or TRACED.search(command) is not None
    traces = traces or ("sh" in command and INSIDE.search(command) is not None)
    text = traced(command) if traces else reworded(command)
    quoted = "'" in text or '"' in text
    names = set(_NAME.findall(command))
    stores = not names.isdisjoint(_STORES) or "%T" in command or "%t" in command
    return Reading(
        text,
        ("", KILLED_EXIT) if too_deep(command) else grammar.refused(command),
        tuple(shlex.split(text) if quoted else text.split()) if _PLAIN.fullmatch(text.strip()) else (),
        (simple := _SIMPLE.fullmatch(text)) is not None and simple[1] in _LONE,
        not names.isdisjoint(_ALTERS) or _DEFINES.search(command) is not None,
        stores or ("-" in command and _TIMES.search(command) is not None),
        stores,
        not names.isdisjoint(NESTING) or BY_PATH.search(command) is not None or nests(command),
        "&" in text and _CHILD.search(text) is not None,
        not names.isdisjoint(_LEAVES),
        ">" in text
        or not names.isdisjoint(_WRITES)
        or ("sort" in names and ("-o" in text or "--o" in text))
        or ("/" in text and BY_PATH.search(text) is not None),
        "exec" in names and any(_TURNS.search(call) is not None for call in _EXEC.findall(command)),
    )


_remembered = functools.lru_cache(maxsize=1024)(_read)
