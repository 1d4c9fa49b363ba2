"""Formats of lines and groups of lines in ``diff``, and ``diff -D``, which is four of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.programs.limits import Budget, narrow
from echo_terminal.terminal.programs.text.diff_output import Side
from echo_terminal.terminal.programs.text.edits import Hunk

NAMES = ("line-format", *(f"{kind}-line-format" for kind in ("old", "new", "unchanged")),
         *(f"{kind}-group-format" for kind in ("old", "new", "unchanged", "changed")))  # fmt: skip
_IFDEF = {
    "old-group-format": "#ifndef {0}\n%<#endif /* ! {0} */\n",
    "new-group-format": "#ifdef {0}\n%>#endif /* {0} */\n",
    "changed-group-format": "#ifndef {0}\n%<#else /* {0} */\n%>#endif /* {0} */\n",
}
_LETTER = (
    r"%(?:([-'0]*)(\d*)(?:\.(\d+))?([doxX])([nNlLfFeEmM])|c'(\\[0-7]{1,3}|[^'\\])'|([%<>=lL])|\(([^)]*)\))"
)
_STEP = re.compile(rf"({_LETTER})|([^%]+|%)", re.S)
_CHOICE = re.compile(r"(\w+)=(\w+)\?([^:]*):(.*)", re.S)


def of_ifdef(name: str) -> dict[str, str]:
    """The formats of ``-D NAME``."""
    return {kind: form.format(name) for kind, form in _IFDEF.items()}


def show(call: Call, formats: Mapping[str, str], left: Side, right: Side, changes: list[Hunk]) -> None:
    """Write both files by the formats."""
    for side in (left, right):
        if not side.ended and side.lines:
            side.lines[-1] += "\0"  # the end that it lacks
    common = formats.get("line-format", "%l\n")
    lines = {kind: formats.get(f"{kind}-line-format", common) for kind in ("old", "new", "unchanged")}
    changed = formats.get("changed-group-format")
    groups = {
        "old": formats.get("old-group-format", changed or "%<"),
        "new": formats.get("new-group-format", changed or "%>"),
        "unchanged": formats.get("unchanged-group-format", "%="),
    }
    groups["changed"] = groups["old"] + groups["new"] if changed is None else changed
    budget, at, other = Budget(), 0, 0
    for h in [*changes, Hunk(len(left.lines), len(left.lines), len(right.lines), len(right.lines))]:
        change = "old" if h.c == h.d else "new" if h.a == h.b else "changed"
        for kind, span in (("unchanged", Hunk(at, h.a, other, h.c)), (change, h)):
            if span.a == span.b and span.c == span.d:
                continue
            text = _group(groups[kind], lines, left, right, span)
            budget.made(len(text))
            call.out.append(text)
        at, other = h.b, h.d


def _group(form: str, lines: Mapping[str, str], left: Side, right: Side, span: Hunk) -> str:
    values = _numbers(span.a, span.b)
    values |= {name.upper(): value for name, value in _numbers(span.c, span.d).items()}

    def step(match: re.Match[str]) -> str:
        sign, choice = match[8], match[9]
        if sign in ("<", "="):
            kind = "old" if sign == "<" else "unchanged"
            return "".join(_line(lines[kind], left.lines[n], n + 1) for n in range(span.a, span.b))
        if sign == ">":
            return "".join(_line(lines["new"], right.lines[n], n + 1) for n in range(span.c, span.d))
        if choice is not None:
            parts = _CHOICE.fullmatch(choice)
            if parts is None:
                return match[0]
            one, two = (str(values.get(part, part)) for part in (parts[1], parts[2]))
            return _STEP.sub(step, parts[3] if one == two else parts[4])
        return _common(match, values)

    return _STEP.sub(step, form)


def _numbers(start: int, end: int) -> dict[str, int]:
    return {"f": start + 1, "l": end, "n": end - start, "e": start, "m": end + 1}


def _line(form: str, text: str, number: int) -> str:
    whole = not text.endswith("\0")
    text = text.removesuffix("\0")

    def step(match: re.Match[str]) -> str:
        if match[8] in ("l", "L"):
            return text + ("\n" if match[8] == "L" and whole else "")
        return _common(match, {"n": number})

    return _STEP.sub(step, form)


def _common(match: re.Match[str], values: Mapping[str, int]) -> str:
    """What both kinds of format share: numbers, letters by their codes, and text."""
    letter = match[6]
    if letter is not None and letter in values:
        flags, width, precision = match[2].replace("'", ""), match[3], match[4]
        narrow(width, precision or "")
        return f"%{flags}{width}{'.' + precision if precision else ''}{match[5]}" % values[letter]
    if match[7] is not None:
        return chr(int(match[7][1:], 8)) if match[7][0] == "\\" else match[7]
    return "%" if match[8] == "%" else match[0]
