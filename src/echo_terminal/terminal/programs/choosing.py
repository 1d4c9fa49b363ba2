"""Arguments of options that are one of a few words, as GNU programs take them."""

from __future__ import annotations

from echo_terminal.terminal.programs.call import UsageError

LS = {  # option -> the words that it takes; those in one line mean the same
    "sort": "none\ntime\nsize\nextension\nversion\nwidth",
    "time": "atime access use\nctime status\nbirth creation",
    "format": "verbose long\ncommas\nhorizontal across\nvertical\nsingle-column",
    "color": "always yes force\nnever no none\nauto tty if-tty",
    "classify": "always yes force\nnever no none\nauto tty if-tty",
    "indicator-style": "none\nslash\nfile-type\nclassify",
    "quoting-style": "literal\nshell\nshell-always\nshell-escape\nshell-escape-always\nc\nc-maybe\nescape\nlocale\n"
    "clocale",
}  # fmt: skip
DATE = {
    "iso-8601": "hours\nminutes\ndate\nseconds\nns",
    "rfc-3339": "date\nseconds\nns",
}
BACKUP = "none off\nsimple never\nexisting nil\nnumbered t"


def choose(option: str, value: str, known: str) -> str:
    """The first word of the line of ``known`` that ``value`` stands for (its beginning is enough, if it is one's only).

    Raises:
        UsageError: it is none of them, or the beginning of several.
    """
    lines = [line.split() for line in known.split("\n")]
    for line in lines:
        if value in line:
            return line[0]
    found = [line for line in lines if value and any(word.startswith(value) for word in line)]
    if len(found) == 1:
        return found[0][0]
    what = "ambiguous" if found or not value else "invalid"
    shown = "\n".join("  - " + ", ".join(f"'{word}'" for word in line) for line in lines)
    raise UsageError(f"{what} argument '{value}' for '--{option}'\nValid arguments are:\n{shown}", 1)
