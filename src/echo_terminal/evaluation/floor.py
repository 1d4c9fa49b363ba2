"""The entropy floor: nats of an output that no predictor can save in expectation, since they were drawn by chance.

A task's generator draws names, file extensions and a new machine's facts uniformly from closed lists. Where such a
value shows in an output and was nowhere before, whoever predicts it pays the logarithm of what it could have been.
Every choice here is on the low side, so that the sum is a lower bound: values seen before are free, values of one
output cost as an unordered sample, and what is not known to be drawn costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import lgamma

from echo_terminal.tasks.lexicon import EXTENSIONS, NAMES, VERBS

_PART = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True)
class Domain:
    """Values that are drawn uniformly, and where they show: group 1 of ``pattern``.

    ``taken``: how many of the values may be ruled out by what the text does not show (the names of tools).
    """

    pattern: re.Pattern[str]
    values: frozenset[str]
    taken: int = 0


def floor_sample(size: int, drawn: int, ordered: bool = True) -> float:
    """Least expected nats of ``drawn`` different values out of ``size``, uniform, without replacement.

    ``ordered``: shown in the order of drawing, ln size!/(size-drawn)!; else shown sorted, ln C(size, drawn).
    """
    nats = lgamma(size + 1) - lgamma(size - drawn + 1)
    return nats if ordered else nats - lgamma(drawn + 1)


def domains(unknown_facts: Collection[str] = (), tools: int = 0) -> list[Domain]:
    """What the small world draws: names, extensions of files so named, and the verbs among ``unknown_facts``.

    Facts are unknown only on machines that no policy was trained on; ``tools`` is the number of a machine's own tools,
    whose names no file bears.
    """
    found = [
        Domain(re.compile(r"\b([a-z]+)\b"), frozenset(NAMES), tools),
        Domain(re.compile(rf"\b(?:{'|'.join(NAMES)})\.([a-z]+)\b"), frozenset(EXTENSIONS)),
    ]
    facts = sorted(set(unknown_facts) & set(VERBS))
    if facts:
        found.append(Domain(re.compile(rf"\b({'|'.join(facts)})\b"), frozenset(VERBS)))
    return found


def parts(text: str) -> list[str]:
    """The alphanumeric parts of a text: ``a/biga.log`` has three."""
    return _PART.findall(text)


def news(text: str, seen: Collection[str], drawn: Sequence[Domain]) -> list[tuple[int, float]]:
    """(character, nats) of every value that ``text`` is the first to show."""
    found = []
    for domain in drawn:
        left = domain.values.difference(seen)
        places: dict[str, int] = {}
        for match in domain.pattern.finditer(text):
            if match[1] in left:
                places.setdefault(match[1], match.start(1))
        size = max(len(left) - domain.taken, len(places))
        if places:
            each = floor_sample(size, len(places), ordered=False) / len(places)
            found += [(place, each) for place in places.values()]
    return found
