"""Built-in functions of awk, and ``getline``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from echo_terminal.terminal.programs.awk.values import MAX_INT, Field, form_text, num, randoms
from echo_terminal.terminal.programs.awk.words import Node
from echo_terminal.terminal.programs.dates import format_time
from echo_terminal.terminal.terminal import CLOCK

if TYPE_CHECKING:
    from echo_terminal.terminal.programs.awk.closures import Closures

Do = Callable[[], Any]


def _safe(work: Callable[[float], float]) -> Callable[[float], float]:
    def run(value: float) -> float:
        try:
            return work(value)
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if work is math.log and value == 0 else -math.nan

    return run


_OF_NUMBERS = {
    "sin": _safe(math.sin), "cos": _safe(math.cos), "exp": _safe(math.exp), "log": _safe(math.log),
    "sqrt": _safe(math.sqrt), "int": lambda v: float(math.trunc(v)) if math.isfinite(v) else v,
}  # fmt: skip


def substr(text: str, start: float, count: float | None) -> str:
    """Part of a text; the ends lose their fractions."""
    i = _cut(start) - 1
    n = len(text) if count is None else _cut(count)
    if i < 0:  # mawk counts the place in front of the text
        n, i = n - (i + 1), 0
    return text[i : i + n] if n > 0 else ""


def _cut(value: float) -> int:
    return 0 if value != value else int(max(-MAX_INT, min(MAX_INT, value)))


def builtin(c: Closures, name: str, nodes: list[Node]) -> Do:
    """A call of a built-in function."""
    m = c.m
    if name in ("sub", "gsub"):
        return _substitute(c, name == "gsub", nodes)
    if name == "match":
        return _match(c, nodes)
    if name == "split":
        return _split(c, nodes)
    if name == "length":
        if not nodes:
            return lambda: float(len(m.whole()))
        if nodes[0][0] == "name" and _is_array(c, nodes[0][1]):
            array = c.array(nodes[0][1])
            return lambda: float(len(array().values))
        value = c.expression(nodes[0])
        return lambda: float(len(m.text(value())))
    values = [c.expression(n) for n in nodes]
    if name in _OF_NUMBERS:
        work, first = _OF_NUMBERS[name], values[0]
        return lambda: work(num(first()))
    if name == "substr":
        text, start = values[0], values[1]
        if len(values) == 2:
            return lambda: substr(m.text(text()), num(start()), None)
        count = values[2]
        return lambda: substr(m.text(text()), num(start()), num(count()))
    if name == "sprintf":
        return lambda: form_text(
            m.text(values[0]()), [v() for v in values[1:]], "sprintf", m.where(), m.budget.fits
        )
    if name == "toupper":
        return lambda: _upper(m.text(values[0]()))
    if name == "tolower":
        return lambda: _lower(m.text(values[0]()))
    if name == "index":
        return lambda: float(m.text(values[0]()).find(m.text(values[1]())) + 1)
    if name == "atan2":
        return lambda: math.atan2(num(values[0]()), num(values[1]()))
    return _outside(c, name, values)


def _upper(text: str) -> str:
    return text.upper() if text.isascii() else "".join(x.upper() if x < "\x80" else x for x in text)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(x.lower() if x < "\x80" else x for x in text)


def _is_array(c: Closures, name: str) -> bool:
    if c.function is not None and name in c.function.names:
        return name in c.function.arrays
    return name in c.m.program.arrays


def _outside(c: Closures, name: str, values: list[Do]) -> Do:
    """Functions that look at the world outside, and random numbers."""
    m = c.m
    if name == "rand":
        return lambda: next(m.draws)
    if name == "srand":

        def seed() -> Any:
            old, m.seed = m.seed, num(values[0]()) if values else float(CLOCK)
            m.draws = randoms(int(m.seed) & 0xFFFFFFFF)
            return old

        return seed
    if name == "system":
        return lambda: float(m.files.run(m.text(values[0]())))
    if name == "close":
        return lambda: m.files.close(m.text(values[0]()))
    if name == "fflush":

        def flush() -> float:
            m.files.settle()
            return 0.0

        return flush
    if name == "strftime":

        def written() -> str:
            form = m.text(values[0]()) if values else "%c"
            return format_time(num(values[1]()) if len(values) > 1 else float(CLOCK), form)

        return written
    if name == "mktime":

        def made() -> float:
            import calendar

            parts = [int(p) for p in m.text(values[0]()).split()[:6] if p.lstrip("-").isdigit()]
            return float(calendar.timegm((*parts, 0, 0, 0))) if len(parts) == 6 else -1.0

        return made
    return lambda: float(CLOCK)


def _match(c: Closures, nodes: list[Node]) -> Do:
    m, text, pattern = c.m, c.expression(nodes[0]), c.pattern(nodes[1])

    def run() -> float:
        found = pattern().search(m.text(text()))
        m.V["RSTART"] = float(found.start() + 1) if found else 0.0
        m.V["RLENGTH"] = float(found.end() - found.start()) if found else -1.0
        return float(m.V["RSTART"])

    return run


def _split(c: Closures, nodes: list[Node]) -> Do:
    m, text, array = c.m, c.expression(nodes[0]), c.array(nodes[1][1])
    if len(nodes) == 2:
        separator: Do = lambda: m.V["FS"]  # noqa: E731
    elif nodes[2][0] == "regex":
        source = nodes[2][1] if len(nodes[2][1]) != 1 else f"[{nodes[2][1]}]"
        separator = lambda: source if source != "[^]" else "\\^"  # noqa: E731
    else:
        separator = c.expression(nodes[2])

    def run() -> float:
        parts = m.divide(m.text(text()), separator())
        array().load(parts)
        return float(len(parts))

    return run


def _substitute(c: Closures, every: bool, nodes: list[Node]) -> Do:
    m, pattern, new = c.m, c.pattern(nodes[0]), c.expression(nodes[1])
    target = nodes[2] if len(nodes) == 3 else ("field", ("constant", 0.0))
    get = c.expression(target)
    put = c.assign(target) if target[0] in ("name", "item", "field") else None

    def run() -> float:
        parts = _replacement(m.text(new()))
        text = m.text(get())
        out, place, count, last, size = [], 0, 0, -1, 0
        search = pattern().search
        at = 0
        while at <= len(text):
            found = search(text, at)
            if found is None:
                break
            start, end = found.span()
            if start == end == last:  # nothing right behind a match is no match
                at = end + 1
                continue
            out.append(text[place:start])
            if not isinstance(parts, str):
                m.budget.fits(sum(map(len, parts)) + (len(parts) - 1) * (end - start))
            out.append(parts if isinstance(parts, str) else found[0].join(parts))
            size += len(out[-1])
            m.budget.fits(size)
            count, place, last = count + 1, end, end
            if not every:
                break
            at = end + 1 if start == end else end
        if count and put is not None:
            out.append(text[place:])
            put("".join(out))
        return float(count)

    return run


def _replacement(text: str) -> str | list[str]:
    """A replacement: a text, or what stands between the places of the match."""
    if "&" not in text and "\\" not in text:
        return text
    parts, now, place = [], "", 0
    while place < len(text):
        letter = text[place]
        if letter == "\\" and text[place + 1 : place + 2] in ("&", "\\"):
            now += text[place + 1]
            place += 2
            continue
        if letter == "&":
            parts.append(now)
            now = ""
        else:
            now += letter
        place += 1
    parts.append(now)
    return parts if len(parts) > 1 else now


def getline(c: Closures, node: Node) -> Do:
    """``getline`` in its forms: 1 for a record, 0 at the end, -1 where it cannot read."""
    m, kind = c.m, node[0]
    where = node[1] if kind == "getline" else node[2]
    put = c.assign(where) if where is not None else None
    if kind == "getline":

        def main() -> float:
            record = m.next_record()
            if record is None:
                return 0.0
            if put is None:
                m.set_record(record)
            else:
                put(Field(record))
            return 1.0

        return main
    name, piped = c.expression(node[1]), kind == "getline |"

    def read() -> float:
        records = m.files.records(m.text(name()), piped)
        if records is None:
            return -1.0
        record = records.next(m.V["RS"])
        if record is None:
            return 0.0
        if piped:
            m.nr += 1
        if put is None:
            m.set_record(record)
        else:
            put(Field(record))
        return 1.0

    return read
