"""``column`` after util-linux 2.38: lines side by side, or a table."""

from __future__ import annotations

import json
import re

from echo_terminal.terminal.programs.call import Call, UsageError, options
from echo_terminal.terminal.programs.text.columns import content

_LONG = (
    "table separator= output-separator= output-width= fillrows table-columns= table-right= table-hide= "
    "table-noheadings json table-name= keep-empty-lines table-header-repeat"
).split()
_NAMES = {
    "table": "t", "separator": "s", "output-separator": "o", "output-width": "c", "fillrows": "x",
    "table-columns": "N", "table-right": "R", "table-hide": "H", "table-noheadings": "d", "json": "J",
    "table-name": "n", "keep-empty-lines": "L",
}  # fmt: skip


def column(call: Call) -> None:
    """Lay lines out in columns."""
    found, words = options(call, "ts:o:c:xN:R:H:dJn:Le", _LONG)
    values = {_NAMES.get(name[2:], "") if name.startswith("--") else name[1]: value for name, value in found}
    width = values.get("c", call.env.get("COLUMNS", "80"))
    if not width.isdigit() or int(width) == 0:
        raise UsageError(f"invalid columns argument: '{width}'", hint=False)
    if "J" in values and "N" not in values:
        raise UsageError("option --table-columns required for --json", hint=False)
    lines: list[str] = []
    for word in words or ["-"]:
        data = content(call, word)
        if isinstance(data, str):
            if data != "Is a directory":
                call.fail(f"{word}: {data}")
            continue
        text = data.decode("utf-8", "surrogateescape")
        text = re.sub(r"[^\x00-\x7f]+", lambda m: _hex(m[0]), text)
        lines += [line for line in text.removesuffix("\n").split("\n") if line.strip() or "L" in values]
    if words and call.code and not lines:
        return
    if "t" in values or "J" in values:
        call.out.append(_table(lines, values))
    else:
        call.out.append(_filled(lines, int(width), rows="x" in values))


def _hex(text: str) -> str:
    """Letters outside the C locale."""
    return "".join(f"\\x{byte:02x}" for byte in text.encode("utf-8", "surrogateescape"))


def _filled(lines: list[str], width: int, *, rows: bool) -> str:
    cell = (max((len(line) for line in lines), default=0) + 8) & ~7
    columns = max(1, width // cell)
    if cell >= width:
        return "".join(f"{line}\n" for line in lines)
    count = -(-len(lines) // columns)
    order = (
        [list(range(n, min(n + columns, len(lines)))) for n in range(0, len(lines), columns)]
        if rows
        else [list(range(n, len(lines), count)) for n in range(count)]
    )
    out = []
    for places in order:
        text = ""
        for number, place in enumerate(places):
            if number:
                used = len(text.expandtabs())
                text += "\t" * (-(-(number * cell - used) // 8))
            text += lines[place]
        out.append(text + "\n")
    return "".join(out)


def _table(lines: list[str], values: dict[str, str]) -> str:
    separators = values.get("s")
    parts = re.compile(f"[{re.escape(separators)}]" if separators else r"\Z.")  # none: nothing separates
    rows = [line.split() if separators is None else parts.split(line) for line in lines]
    names = values["N"].split(",") if "N" in values else []
    count = max([len(row) for row in rows] + [len(names)], default=0)
    rows = [row + [""] * (count - len(row)) for row in rows]
    hidden, right = _chosen(values.get("H", ""), names, count), _chosen(values.get("R", ""), names, count)
    shown = [n for n in range(count) if n not in hidden]
    if "J" in values:
        return _json(rows, names, shown, values.get("n", "table"))
    if names and "d" not in values:
        rows.insert(0, names + [""] * (count - len(names)))
    widths = [max((len(row[n]) for row in rows), default=0) for n in range(count)]
    gap, out = values.get("o", "  "), []
    for row in rows:
        cells = [row[n].rjust(widths[n]) if n in right else row[n].ljust(widths[n]) for n in shown]
        if shown and shown[-1] not in right:
            cells[-1] = row[shown[-1]]
        out.append(gap.join(cells) + "\n")
    return "".join(out)


def _chosen(text: str, names: list[str], count: int) -> set[int]:
    """Places of the columns in a list of names and numbers."""
    found = set()
    for word in text.split(",") if text else []:
        if word in names:
            found.add(names.index(word))
        elif word.isdigit() and 0 < int(word) <= count:
            found.add(int(word) - 1)
    return found


def _json(rows: list[list[str]], names: list[str], shown: list[int], title: str) -> str:
    items = []
    for row in rows:
        pairs = [
            f"         {json.dumps(names[n].lower())}: {json.dumps(row[n]) if row[n] else 'null'}"
            for n in shown
        ]
        items.append("{\n" + ",\n".join(pairs) + "\n      }")
    return f"{{\n   {json.dumps(title)}: [\n      {','.join(items)}\n   ]\n}}\n"
