"""Options among the operands, as GNU programs take them; ``getopt.gnu_getopt`` would ask the host's environment."""

from __future__ import annotations

import getopt
from collections.abc import Sequence


def permuted(argv: Sequence[str], short: str, long: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Options and operands, up to ``--``.

    Raises:
        getopt.GetoptError: an unknown option, or one without its argument.
    """
    found: list[tuple[str, str]] = []
    operands: list[str] = []
    place = 0
    while place < len(argv):
        word, place = argv[place], place + 1
        if word == "--":
            return found, [*operands, *argv[place:]]
        if word[:1] != "-" or word == "-":
            operands.append(word)
            continue
        try:
            options, _ = getopt.getopt([word], short, long)
        except getopt.GetoptError as error:
            if "requires argument" not in error.msg or place == len(argv):
                raise
            options, _ = getopt.getopt([word, argv[place]], short, long)
            place += 1
        found += options
    return found, operands
