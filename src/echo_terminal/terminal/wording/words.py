"""Words of a command line as they are typed, and what their quotes hold."""

from __future__ import annotations

import re

# Where the name of a program may stand: at the start (of a text for a shell too), behind an operator, or behind a word
# of the shell's language.
PLACE = r"(?:^|[;&|({\n!`]|(?<=sh -c )['\"]|(?<![\w./$-])(?:if|then|elif|else|while|until|do|time)\b)[ \t]*"
_WORD = re.compile(r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s'\"\\])+", re.S)
_PARTS = re.compile(r"('[^']*')|(\"(?:\\.|[^\"\\])*\")|((?:\\.|[^'\"\\])+)", re.S)
_EXPANDED = re.compile(r"`|(?<!\\)\$[\w({!?@*#-]")


def word_spans(words: str) -> list[tuple[int, int]]:
    """Start and end of each word in a piece of a simple command."""
    return [match.span() for match in _WORD.finditer(words)]


def value(word: str) -> str | None:
    """What the quotes of a word hold; None where the shell puts something else in the place of a part of it."""
    before, out = "", []
    for single, double, bare in _PARTS.findall(word):
        if _EXPANDED.search(double or bare) or (before.endswith("$") and not bare):
            return None
        before = bare
        out.append(single[1:-1])
        out.append(re.sub(r"\\\n|\\([$`\"\\])", r"\1", double[1:-1]))
        out.append(re.sub(r"\\(.)", r"\1", bare))
    return "".join(out)
