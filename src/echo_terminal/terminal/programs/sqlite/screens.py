"""How the command-line shell of SQLite 3.40 writes rows and errors."""

from __future__ import annotations

import html
import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from echo_terminal.terminal.programs.call import Call

MODES = "ascii box column csv html insert json line list markdown qbox quote table tabs tcl"
SHOWN = ("box", "column", "csv", "html", "json", "line", "list", "markdown", "quote", "table", "tabs")
_LINES = {
    "box": ("│", "─┬┐", "─┼┤", "─┴┘"),
    "table": ("|", "-++", "-++", "-++"),
    "markdown": ("|", "", "-||", ""),
}
_ENDS = {"box": "┌├└", "table": "+++", "markdown": " | "}
Rows = Sequence[Sequence[object]]


@dataclass
class Screen:
    """How results are written."""

    mode: str = "list"
    separator: str = "|"
    header: bool = False
    asked: bool = False  # was it asked for a header, or none?
    null: str = ""
    table: str = "table"  # of the mode ``insert``
    widths: list[int] = field(default_factory=list)  # of columns; 0: as wide as it needs, less: to the right
    file: str = ""  # where the lines go; empty: to standard output
    once: bool = False  # those of one statement alone?
    lines: list[str] = field(default_factory=list)

    def send(self, call: Call) -> None:
        """Write the lines so far where they belong."""
        if self.file:
            call.fs.append_file(call.path(self.file), "".join(self.lines).encode())
        else:
            call.out.extend(self.lines)
        self.lines.clear()

    def choose(self, mode: str) -> None:
        """Take one of ``SHOWN``."""
        self.mode = {"tabs": "list"}.get(mode, mode)
        self.separator = {"tabs": "\t", "csv": ",", "quote": ",", "list": "|"}.get(mode, self.separator)

    def text(self, value: object) -> str:
        """A value as it is printed."""
        if value is None:
            return self.null
        if isinstance(value, float):
            text = f"{value:.15g}"
            if any(c in text for c in ".inf"):
                return text
            mantissa, e, exponent = text.partition("e")
            return f"{mantissa}.0{e}{exponent}"
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def show(self, names: list[str], rows: Rows) -> None:
        """Add the lines of a result."""
        cells = [[self.text(value) for value in row] for row in rows]
        if self.mode == "json":
            self._json(names, rows)
        elif self.mode == "csv":
            head: list[Sequence[object]] = [names] if self.header and rows else []
            self.lines.extend(",".join(self._csv(value) for value in row) + "\r\n" for row in [*head, *rows])
        elif self.mode == "insert":
            named = f"({','.join(map(_name, names))})" if self.header else ""
            self.lines.extend(
                f"INSERT INTO {_name(self.table)}{named} VALUES({','.join(map(_literal, row))});\n"
                for row in rows
            )
        elif self.mode == "line":
            width = max(5, *(len(name) for name in names))
            blocks = [
                "".join(f"{n:>{width}} = {c}\n" for n, c in zip(names, row, strict=True)) for row in cells
            ]
            self.lines.append("\n".join(blocks))
        elif self.mode == "column" and cells:
            asked = [*self.widths, *[0] * len(names)]
            wide = [abs(asked[n]) or max(len(row[n]) for row in [names, *cells]) for n in range(len(names))]
            table = [names, ["-" * w for w in wide], *cells] if self.header else cells
            broken = any(len(c) > w for row in cells for c, w in zip(row, wide, strict=True))
            for number, row in enumerate(table):
                if broken and number > len(table) - len(cells):
                    self.lines.append("\n")
                pieces = [[c[k : k + w] for k in range(0, len(c), w)] for c, w in zip(row, wide, strict=True)]
                for part in zip_longest(*pieces, fillvalue=""):
                    padded = [
                        c.rjust(w) if way < 0 else c.ljust(w)
                        for c, w, way in zip(part, wide, asked, strict=False)
                    ]
                    self.lines.append("  ".join(padded) + "\n")
        elif self.mode in _LINES:
            self._framed(names, cells)
        elif self.mode == "html":
            titles = [("TH", names)] if self.header and rows else []
            for tag, row in [*titles, *(("TD", row) for row in cells)]:
                parts = "".join(f"<{tag}>{html.escape(c, quote=False)}</{tag}>\n" for c in row)
                self.lines.append(f"<TR>{parts}</TR>\n")
        else:
            if self.mode == "quote":
                cells = [[_literal(value) for value in row] for row in rows]
                names = [_literal(name) for name in names]
            table = [names, *cells] if self.header and rows else cells
            self.lines.extend(self.separator.join(row) + "\n" for row in table)

    def show_plan(self, rows: Rows) -> None:
        """Add the tree of ``EXPLAIN QUERY PLAN`` (rows: number, number above, 0, text)."""
        self.lines.append("QUERY PLAN\n")

        def below(above: object, lead: str) -> None:
            inside = [row for row in rows if row[1] == above]
            for row in inside:
                last = row is inside[-1]
                self.lines.append(f"{lead}{'`' if last else '|'}--{row[3]}\n")
                below(row[0], f"{lead}{' ' if last else '|'}  ")

        below(0, "")

    def _json(self, names: list[str], rows: Rows) -> None:
        items = [
            json.dumps(dict(zip(names, row, strict=True)), separators=(",", ":"), ensure_ascii=False)
            for row in rows
        ]
        self.lines.extend(["[" + ",\n".join(items) + "]\n"] if rows else [])

    def _csv(self, value: object) -> str:
        text = self.text(value)
        if value is None or (
            text and re.search(r"[\x00-\x20\"'\x7f-\U0010ffff]", text) is None and "," not in text
        ):
            return text
        return '"' + text.replace('"', '""') + '"'

    def _framed(self, names: list[str], cells: list[list[str]]) -> None:
        if not cells:
            return
        side, *rules = _LINES[self.mode]
        wide = [max(len(row[n]) for row in [names, *cells]) for n in range(len(names))]

        def rule(number: int) -> str:
            signs = rules[number]
            if not signs:
                return ""
            return (
                _ENDS[self.mode][number] + signs[1].join(signs[0] * (w + 2) for w in wide) + signs[2] + "\n"
            )

        def line(row: Sequence[str]) -> str:
            return f"{side} " + f" {side} ".join(row) + f" {side}\n"

        head = [" " * ((w - len(n)) // 2) + n + " " * (w - len(n) - (w - len(n)) // 2)
                for n, w in zip(names, wide, strict=True)]  # fmt: skip
        body = [line([c.ljust(w) for c, w in zip(row, wide, strict=True)]) for row in cells]
        self.lines.extend([rule(0), line(head), rule(1), *body, rule(2)])


def _name(name: str) -> str:
    """The name of a table or column, in quotes where it is no plain word."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", name) is not None and name.lower() not in (
        "table",
        "group",
        "order",
    )
    return name if plain else '"' + name.replace('"', '""') + '"'


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


_NAMED = re.compile(
    r'near "(?P<near>.*)": syntax error|no such column: (?:\w+\.)*(?P<column>\w+)|no such function: (?P<function>\w+)'
    r"|wrong number of arguments to function (?P<call>\w+)\(\)|table (?P<table>\w+) already exists"
    r'|unrecognized token: "(?P<token>.*)"',
    re.S,
)


def pointer(database: sqlite3.Connection, error: Exception, text: str) -> str:
    """The text from the wrong statement on, and an arrow under the word that SQLite stumbled over."""
    match = _NAMED.fullmatch(str(error))
    shown = text.strip()
    if match and match["column"] and re.search(rf"\bset\s(?:[^;]*,)?\s*{match['column']}\s*=", shown, re.I):
        return ""  # SQLite does not say where a column to be set stands
    word = next((found for found in match.groups() if found), "") if match else ""
    place = _place(database, str(error), shown, word.rstrip("\n")) if word else -1
    if place < 0:
        return ""
    cut = max(0, place - 50)
    shown, place = re.sub(r"\s", " ", shown[cut:])[:78], place - cut
    arrow = "^--- error here" if place < 25 else "error here ---^"
    indent = place if place < 25 else place - 14
    return f"  {shown}\n  {' ' * indent}{arrow}\n"


def _place(database: sqlite3.Connection, error: str, text: str, word: str) -> int:
    bound = r"(?<!\w)", r"(?!\w)"
    pattern = (
        (bound[0] if word[:1].isalnum() else "") + re.escape(word) + (bound[1] if word[-1:].isalnum() else "")
    )
    places = [found.span() for found in re.finditer(pattern, text)]
    for start, end in places if "syntax error" in error else ():
        try:  # the first that is wrong where the text ends with it
            database.execute(f"explain {text[:end]}")
        except sqlite3.Error as wrong:
            if str(wrong) == error:
                return start
    return places[0][0] if places else -1
