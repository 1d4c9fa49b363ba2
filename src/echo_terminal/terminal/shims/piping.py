"""Which archivers of a command work on files, where ours are better, and which in pipes, where bytes must pass."""

from __future__ import annotations

import re

OWN = "__"  # in front of the names of our programs that bashkit has too
_PROGRAM = re.compile(
    r"((?:^|[;&({\n!]|\b(?:then|do|else|time))\s*)(tar|gzip|gunzip)(?![\w./-])([^;&\n|)}]*)(\|?)"
)
_TO_STDOUT = re.compile(
    r"(?:^|\s)(?:-|-[a-zA-Z0-9]*c[a-zA-Z0-9]*|--stdout|--to-stdout)(?=\s|$)|<(?!\s*/dev/null)"
)
_TAR_STREAM = re.compile(r"(?:^|\s)-(?=\s|$)|--to-command|<")
_TAR_FILE = re.compile(r"^\s*-?\w*f\w*(?:\s|$)|\s-\w*f\w*(?:\s|$)|\s--file\b")
_TAR_MODE = re.compile(r"\s*-?[a-zA-Z]*[cxt]")
_ZCAT = re.compile(r"(\|\s*)zcat(?=\s*(?:$|[|;&)]))")


def own_archivers(command: str) -> str:
    """The command with our programs where archives are files; ``zcat`` in a pipe is bashkit's ``gunzip -c``."""
    return _ZCAT.sub(r"\1gunzip -c", _PROGRAM.sub(_chosen, command))


def _chosen(match: re.Match[str]) -> str:
    before, name, words, pipe = match.groups()
    if name == "tar":
        in_file = _TAR_FILE.search(words) is not None
        ours = _TAR_STREAM.search(words) is None and (in_file or not (pipe or _TAR_MODE.match(words)))
    else:
        ours = _TO_STDOUT.search(words) is None and not pipe and words.strip() != ""
    return f"{before}{OWN}{name}{words}{pipe}" if ours else match[0]
