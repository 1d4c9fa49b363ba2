"""Words of ``sort`` that GNU coreutils 9.1 refuses, and bashkit takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from echo_terminal.terminal.programs.call import UsageError
from echo_terminal.terminal.programs.choosing import choose

_LETTERS = "bdfghiMnRrV"  # of orders, as a message lists them
_VALUED = "kostST"
_LONG = {
    "dictionary-order": "d", "ignore-case": "f", "general-numeric-sort": "g", "human-numeric-sort": "h",
    "ignore-nonprinting": "i", "month-sort": "M", "numeric-sort": "n", "random-sort": "R", "version-sort": "V",
    "check": "c", "output": "o", "key": "k", "buffer-size": "S", "parallel": "p", "sort": "sort",
}  # fmt: skip
_SORTS = "general-numeric\nhuman-numeric\nmonth\nnumeric\nrandom\nversion"
_CHECKS = "quiet silent\ndiagnose-first"
_BY = {
    "general-numeric": "g",
    "human-numeric": "h",
    "month": "M",
    "numeric": "n",
    "random": "R",
    "version": "V",
}


def complaint(words: Sequence[str]) -> tuple[str, int] | None:
    """What ``sort`` says of its words, and its exit code; None if it takes them, or bashkit says it as well."""
    try:
        return _read(list(words))
    except UsageError as error:
        return f"{error.message}\nTry 'sort --help' for more information.", error.code


def _read(rest: list[str]) -> tuple[str, int] | None:
    orders: set[str] = set()
    keys: list[set[str]] = []
    files: list[str] = []
    check = output = ""
    while rest:
        word = rest.pop(0)
        if word == "--":
            files += rest
            break
        if word[:1] != "-" or word == "-":
            files.append(word)
            continue
        for letter, value in _options(word, rest):
            if letter in ("c", "C") and "c" in (letter, check) and check not in ("", letter):
                return "options '-cC' are incompatible", 2
            if letter in ("c", "C"):
                if value:
                    choose("check", value, _CHECKS)
                check = letter
            elif letter == "sort":
                orders.add(_BY[choose("sort", value, _SORTS)])
            elif letter == "k":
                keys.append(set(re.sub(r"[^a-zA-Z]", "", value)))
            elif letter == "o":
                output = value
            elif letter == "p" and not value.isdigit():
                return f"invalid --parallel argument '{value}'", 2
            elif letter == "S" and re.fullmatch(r"\d+[bkKMGTPEZY%]?", value) is None:
                what = "invalid suffix in -S" if value[:1].isdigit() else "invalid -S"
                return f"{what} argument '{value}'", 2
            elif letter in _LETTERS:
                orders.add(letter)
    for order in [key or orders for key in keys] or [orders]:
        if len(order & set("nghM")) + bool(order & set("VRdi")) > 1:
            shown = "".join(letter for letter in _LETTERS if letter in order - set("br"))
            return f"options '-{shown}' are incompatible", 2
    if check and len(files) > 1:
        return f"extra operand '{files[1]}' not allowed with -{check}", 2
    return (f"options '-{check}o' are incompatible", 2) if check and output else None


def _options(word: str, rest: list[str]) -> list[tuple[str, str]]:
    """Letters and values of one word; a value may be the next."""
    if word[:2] == "--":
        name, equals, value = word[2:].partition("=")
        letter = _LONG.get(name, "")
        if letter in ("k", "o", "S", "p", "sort") and not equals and rest:
            value = rest.pop(0)
        return [(letter, value)] if letter else []
    found = []
    for place, letter in enumerate(word[1:], 2):
        if letter in _VALUED:
            found.append((letter, word[place:] or (rest.pop(0) if rest else "")))
            break
        found.append((letter, ""))
    return found
