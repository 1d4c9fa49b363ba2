"""``fmt`` after GNU coreutils 9.1: paragraphs whose lines are broken where that costs least (Knuth and Plass 1981)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.programs.text.columns import content

MOST_WORDS = 1000  # of a paragraph: what is longer is broken in parts
_LINE, _SENTENCE, _NO_BREAK, _PAREN, _PUNCTUATION = 70**2, 50**2, 600**2, 40**2, 40**2


@dataclass
class Word:
    """A word, the columns of space behind it, and what its ends say; then the best way to go on from it."""

    text: str
    space: int
    final: bool
    period: bool
    punctuation: bool
    paren: bool
    cost: int = 0
    following: int = 0  # the word that begins the next line
    length: int = 0  # of the line that it begins


@dataclass
class Style:
    """The options of one call."""

    width: int = 75
    goal: int = 70
    split: bool = False
    uniform: bool = False
    crown: bool = False


def fmt(call: Call) -> None:
    """Fill paragraphs."""
    first = re.fullmatch(r"-(\d+)", call.argv[0]) if call.argv else None
    if first:
        call.argv[:1] = ["-w", first[1]]
    wrong = next(
        (m for w in call.argv[1:] if (m := re.fullmatch(r"-(\d)\d*", w)) and "-w" not in call.argv), None
    )
    if wrong:
        text = f"invalid option -- {wrong[1]}; -WIDTH is recognized only when it is the first\noption; use -w N instead"
        raise UsageError(text)
    found, words = options(
        call,
        "cstuw:g:",
        ["crown-margin", "split-only", "tagged-paragraph", "uniform-spacing", "width=", "goal="],
    )
    style, goal = Style(), ""
    for option, value in found:
        letter = option.lstrip("-")[0]
        if letter in "wg":
            if not value.isdigit() or int(value) > 2500:
                late = ": Numerical result out of range" if value.isdigit() else ""
                raise UsageError(f"invalid width: {quote(value)}{late}", hint=False)
            if letter == "w":
                style.width = int(value)
            else:
                goal = value
        style.split |= letter == "s"
        style.uniform |= letter == "u"
        style.crown |= letter == "c"
    style.goal = int(goal) if goal else style.width * (2 * 93 + 1) // 200
    if goal and not any(option in ("-w", "--width") for option, _ in found):
        style.width = style.goal + 10
    for word in words or ["-"]:
        data = content(call, word)
        if isinstance(data, str):
            call.fail(f"read error: {data}" if data == "Is a directory" else
                      f"cannot open {quote(word)} for reading: {data}")  # fmt: skip
            continue
        call.out.append(filled(data.decode("utf-8", "surrogateescape"), style).encode("utf-8", "surrogateescape")
                        .decode("utf-8", "replace"))  # fmt: skip


def filled(text: str, style: Style) -> str:
    """The text with its paragraphs filled."""
    lines, out, place = text.split("\n"), [], 0
    if lines[-1] == "":
        lines.pop()
    while place < len(lines):
        if not lines[place].strip(" \t"):
            out.append("\n")
            place += 1
            continue
        first = _indent(lines[place])
        start, place = place, place + 1
        other = first
        if style.crown and place < len(lines) and lines[place].strip(" \t"):
            other = _indent(lines[place])
        while (
            not style.split
            and place < len(lines)
            and lines[place].strip(" \t")
            and _indent(lines[place]) == other
        ):
            place += 1
        ahead = lines[place] if place < len(lines) else ""
        seen = "".join(lines[:place]) + ahead[: len(ahead) - len(ahead.lstrip())]
        tabs = "\t" in seen  # read so far: then tabs are written too
        words = [w for n in range(start, place) for w in _words(lines[n], style)]
        words[-1].period = words[-1].final = True
        for begin in range(0, len(words), MOST_WORDS):
            out += _paragraph(
                words[begin : begin + MOST_WORDS], style, first if begin == 0 else other, other, tabs
            )
    return "".join(out)


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs())


def _words(line: str, style: Style) -> list[Word]:
    found: list[Word] = []
    matches = list(re.finditer(r"[^ \t]+", line))
    for number, match in enumerate(matches):
        text = match[0]
        ends = text.rstrip(")]'\"") or text[0]
        period, at_end = ends[-1] in ".?!", number == len(matches) - 1
        stop = match.end() if at_end else matches[number + 1].start()
        space = len(line[:stop].expandtabs()) - len(line[: match.end()].expandtabs())
        final = period and (at_end or space > 1)
        if at_end or style.uniform:
            space = 2 if final else 1
        punctuation = re.fullmatch(r"[!-/:-@\[-`{-~]", text[-1]) is not None
        found.append(Word(text, space, final, period, punctuation, text[0] in "(['`\""))
    return found


def _base_cost(words: list[Word], at: int) -> int:
    cost = _LINE
    if at > 0:
        before = words[at - 1]
        if before.period:
            cost += -_SENTENCE if before.final else _NO_BREAK
        elif before.punctuation:
            cost -= _PUNCTUATION
        elif at > 1 and words[at - 2].final:
            cost += 200**2 // (len(before.text) + 2)
    if words[at].paren:
        cost -= _PAREN
    elif words[at].final:
        cost += 150**2 // (len(words[at].text) + 2)
    return cost


def _paragraph(words: list[Word], style: Style, first: int, other: int, tabs: bool) -> list[str]:
    count = len(words)
    for start in range(count - 1, -1, -1):
        best, length = None, (first if start == 0 else other) + len(words[start].text)
        at = start
        while True:
            at += 1
            cost = 0
            if at < count:
                cost = (10 * (style.goal - length)) ** 2
                if words[at].following != count:
                    cost += (10 * (length - words[at].length)) ** 2 // 2
                cost += words[at].cost
            if best is None or cost < best:
                best, words[start].following, words[start].length = cost, at, length
            if at == count:
                break
            length += words[at - 1].space + len(words[at].text)
            if length >= style.width:
                break
        words[start].cost = best + _base_cost(words, start)
    lines, at = [], 0
    while at < count:
        line = _spaced("", first if at == 0 else other, tabs)
        stop = words[at].following
        for number in range(at, stop):
            line += words[number].text
            line = line if number == stop - 1 else _spaced(line, words[number].space, tabs)
        lines.append(line + "\n")
        at = stop
    return lines


def _spaced(line: str, space: int, tabs: bool) -> str:
    column = len(line.expandtabs())
    target = column + space
    if tabs and column + 1 < target // 8 * 8:
        while column < target // 8 * 8:
            line, column = line + "\t", (column // 8 + 1) * 8
    return line + " " * (target - column)
