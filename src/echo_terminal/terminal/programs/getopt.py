"""``getopt`` of util-linux 2.38: options and operands of a script in an order that it can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.call import Call, UsageError, options

_OWN = [
    "alternative",
    "longoptions=",
    "name=",
    "options=",
    "quiet",
    "quiet-output",
    "shell=",
    "test",
    "unquoted",
]
Quote = Callable[[str], str]
Refuse = Callable[[str], None]
_QUIET, _TEST = 1, 4  # exit codes: of wrong words, of --test


@dataclass
class _Asked:
    """The options that a script has, and how they are to be written."""

    letters: str = ""
    names: list[str] = field(default_factory=list)
    name: str = "getopt"
    quoted: bool = True
    quiet: bool = False
    silent: bool = False
    alternative: bool = False  # may names begin with a single dash?


def getopt(call: Call) -> None:
    """Write the words of a script in order."""
    argv = list(call.argv)
    if not argv:
        raise UsageError("missing optstring argument", 2)
    asked = _Asked()
    if argv[0][:1] != "-":  # the old way: no quotes
        asked.letters, asked.quoted, words = argv[0].lstrip(":"), False, argv[1:]
    else:
        found, words = options(call, "al:n:o:qQs:TuhV", _OWN, code=2, permute=False)
        given = False
        for option, value in found:
            letter = option.lstrip("-")[0] if option != "--quiet-output" else "Q"
            if letter == "T":
                call.code = _TEST
                return
            if letter == "o":
                asked.letters, given = value, True
            elif letter == "l":
                asked.names += [name for name in value.replace(",", " ").split() if name]
            elif letter == "n":
                asked.name = value
            asked.quoted = asked.quoted and letter != "u"
            asked.quiet = asked.quiet or letter == "q"
            asked.silent = asked.silent or letter == "Q"
            asked.alternative = asked.alternative or letter == "a"
        if not given:
            if not words:
                raise UsageError("missing optstring argument", 2)
            asked.letters, *words = words
            words = words[1:] if words[:1] == ["--"] else words
    shown = _ordered(call, asked, words)
    if not asked.silent:
        call.line(" " + " ".join(shown))


def _ordered(call: Call, asked: _Asked, words: Sequence[str]) -> list[str]:
    def quote(text: str) -> str:
        return "'" + text.replace("'", "'\\''") + "'" if asked.quoted else text

    def refuse(text: str) -> None:
        if not asked.quiet:
            call.err.append(f"{asked.name}: {text}\n")
        call.code = _QUIET

    first, in_place = asked.letters[:1] == "+", asked.letters[:1] == "-"
    letters, rest = asked.letters.lstrip("+-"), list(words)
    found: list[str] = []
    operands: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if word[:1] != "-" or word == "-":
            if first:
                operands += [word, *rest]
                break
            (found if in_place else operands).append(quote(word) if in_place else word)
        elif word[:2] == "--" or (asked.alternative and _likely(word[1:], asked.names)):
            _long(word.lstrip("-"), asked, rest, found, quote, refuse)
        else:
            _short(word[1:], letters, rest, found, quote, refuse)
    return [*found, "--", *map(quote, operands)]


def _likely(word: str, names: Sequence[str]) -> list[str]:
    """The names that a word stands for."""
    start = word.partition("=")[0]
    exact = [name for name in names if name.rstrip(":") == start]
    return exact or [name for name in names if name.startswith(start)]


def _long(word: str, asked: _Asked, rest: list[str], found: list[str], quote: Quote, refuse: Refuse) -> None:
    likely = _likely(word, asked.names)
    name, equals, value = word.partition("=")
    if not likely:
        refuse(f"unrecognized option '--{name}'")
    elif len(likely) > 1:
        shown = " ".join(f"'--{one.rstrip(':')}'" for one in likely)
        refuse(f"option '--{word}' is ambiguous; possibilities: {shown}")
    else:
        known = likely[0].rstrip(":")
        takes = len(likely[0]) - len(known)
        if equals and not takes:
            refuse(f"option '--{known}' doesn't allow an argument")
        elif takes == 1 and not equals and not rest:
            refuse(f"option '--{known}' requires an argument")
        else:
            found.append(f"--{known}")
            if takes:
                found.append(quote(value if equals or takes == 2 else rest.pop(0)))


def _short(word: str, letters: str, rest: list[str], found: list[str], quote: Quote, refuse: Refuse) -> None:
    for place, letter in enumerate(word, 1):
        at = letters.find(letter)
        if at < 0 or letter == ":":
            refuse(f"invalid option -- '{letter}'")
            continue
        takes = 2 if letters[at + 1 : at + 3] == "::" else int(letters[at + 1 : at + 2] == ":")
        if not takes:
            found.append(f"-{letter}")
            continue
        value = word[place:]
        if takes == 1 and not value and not rest:
            refuse(f"option requires an argument -- '{letter}'")
        else:
            found += [f"-{letter}", quote(value if value or takes == 2 else rest.pop(0))]
        return
