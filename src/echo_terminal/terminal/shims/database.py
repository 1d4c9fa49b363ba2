"""``sqlite3`` after the command-line shell of SQLite 3.40, on databases of the virtual file system.

SQLite itself runs in this process, on a copy in memory: it can open nothing else (``ATTACH`` is refused), and
a statement that takes long or much memory is interrupted.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from echo_terminal.terminal.shims.call import Call
from echo_terminal.terminal.shims.formatting import format_time
from echo_terminal.terminal.shims.limits import ROOM, TIME, Limits, Stopped
from echo_terminal.terminal.terminal import CLOCK

BYTES = 64 << 20
CELLS = 2_000_000  # values that one statement may give


@dataclass
class Screen:
    """How results are written."""

    mode: str = "list"
    separator: str = "|"
    header: bool = False
    null: str = ""
    lines: list[str] = field(default_factory=list)


def program(limits: Limits) -> Callable[[Call], None]:
    """The program ``sqlite3`` within ``limits``."""
    return lambda call: sqlite(call, limits)


def sqlite(call: Call, limits: Limits) -> None:
    """Run SQL and the commonest dot-commands.

    Raises:
        Stopped: the time is over, or a statement gives too much.
    """
    screen, words = Screen(), list(call.argv)
    while words and words[0].startswith("-"):
        word = words.pop(0).lstrip("-")
        if word in ("header", "noheader"):
            screen.header = word == "header"
        elif word in ("csv", "json", "line", "column", "list", "tabs", "markdown", "box", "table"):
            _mode(screen, word)
        elif word in ("separator", "nullvalue", "cmd") and words:
            value = words.pop(0)
            setattr(screen, {"separator": "separator", "nullvalue": "null"}.get(word, "mode"), value)
        elif word not in ("bail", "batch", "readonly"):
            call.err.append(f"sqlite3: Error: unknown option: -{word}\nUse -help for a list of options.\n")
            call.code = 1
            return
    name, *inputs = words or [":memory:"]
    database = sqlite3.connect(":memory:", isolation_level=None)
    path = call.path(name)
    stored = b""
    if name != ":memory:" and call.stat(path) is not None:
        stored = call.fs.read_file(path)
        database.deserialize(stored) if stored else None
    database.execute(f"pragma hard_heap_limit={BYTES}")
    database.set_progress_handler(lambda: int(time.monotonic() > limits.until), 10_000)
    database.set_authorizer(_allow)
    _stand_still(database)
    script = bool(inputs)
    for text in inputs or [call.stdin]:
        if not _run_text(call, database, screen, text, script, limits):
            break
    call.out.extend(screen.lines)
    if name != ":memory:":
        empty = database.execute("select count(*) from sqlite_schema").fetchone()[0] == 0
        if stored or not empty:
            content = database.serialize()
            if content != stored:
                call.fs.write_file(path, content)
    database.close()


def _stand_still(database: sqlite3.Connection) -> None:
    """Random numbers of one seed, and the time of the episode where the functions of SQLite would look at a clock."""
    numbers, plain = random.Random(0), sqlite3.connect(":memory:")
    database.create_function("random", 0, lambda: numbers.getrandbits(63))
    database.create_function(
        "randomblob", 1, lambda size: numbers.randbytes(min(max(1, int(size or 0)), BYTES))
    )
    now = format_time(CLOCK, "%F %T")

    def of(name: str, place: int) -> Callable[..., Any]:
        def work(*given: object) -> Any:
            if len(given) < place:  # ``strftime`` without a form
                return None
            values = list(given) if len(given) > place else [*given, now]
            if isinstance(word := values[place], str) and word.lower() == "now":
                values[place] = now
            row = plain.execute(f"select {name}({','.join('?' * len(values))})", values).fetchone()
            found: object = row[0]
            return found

        return work

    for name in ("date", "time", "datetime", "julianday", "unixepoch"):
        database.create_function(name, -1, of(name, 0), deterministic=True)
    database.create_function("strftime", -1, of("strftime", 1), deterministic=True)
    for name in ("date", "time", "timestamp"):
        text = now.split()[0] if name == "date" else now.split()[1] if name == "time" else now
        database.create_function(f"current_{name}", 0, lambda text=text: text)


def _allow(action: int, *_: object) -> int:
    return (
        sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK
    )


def _mode(screen: Screen, mode: str) -> None:
    screen.mode = {"tabs": "list"}.get(mode, mode)
    screen.separator = {"tabs": "\t", "csv": ","}.get(mode, screen.separator)


def _run_text(
    call: Call, database: sqlite3.Connection, screen: Screen, text: str, script: bool, limits: Limits
) -> bool:
    """Run lines of SQL and dot-commands; False where an error ends it."""
    waiting, first = "", 1
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not waiting.strip() and line.startswith("."):
            _dot(call, database, screen, line)
            continue
        if not waiting.strip():
            first = number
        waiting += line + "\n"
        while (place := _complete(waiting)) is not None or (number == len(lines) and waiting.strip()):
            statement, waiting = (waiting[:place], waiting[place:]) if place is not None else (waiting, "")
            if (
                not _statement(call, database, screen, statement, None if script else first, limits)
                and script
            ):
                return False
    return True


def _complete(text: str) -> int | None:
    for match in re.finditer(";", text):
        if sqlite3.complete_statement(text[: match.end()]):
            return match.end()
    return None


def _statement(
    call: Call, database: sqlite3.Connection, screen: Screen, text: str, line: int | None, limits: Limits
) -> bool:
    if not text.strip().rstrip(";").strip():
        return True
    try:
        cursor = database.execute(text)
        names = [column[0] for column in cursor.description or ()]
        rows = _rows(cursor, limits)
    except MemoryError:
        raise Stopped(ROOM) from None
    except sqlite3.Error as error:
        if time.monotonic() > limits.until:
            raise Stopped(TIME) from None
        call.code = 1 if line is not None else _complain(call, error, text)
        if line is not None:
            kind = "Parse" if isinstance(error, sqlite3.OperationalError) else "Runtime"
            code = f" ({error.sqlite_errorcode & 0xFF})" if kind == "Runtime" else ""
            call.err.append(
                f"{kind} error near line {line}: {error}{code}\n{_pointer(error, text) if not code else ''}"
            )
        return False
    if names:
        _show(screen, names, rows)
    return True


def _rows(cursor: sqlite3.Cursor, limits: Limits) -> list[tuple[object, ...]]:
    found, cells, size = [], 0, 0
    for row in cursor:
        found.append(row)
        cells += len(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if cells > CELLS or size > BYTES:
            raise Stopped(ROOM)
    return found


def _complain(call: Call, error: Exception, text: str) -> int:
    code = getattr(error, "sqlite_errorcode", 1) & 0xFF
    if code == sqlite3.SQLITE_CONSTRAINT:
        call.err.append(f"Error: stepping, {error} ({code})\n")
        return code
    call.err.append(f"Error: in prepare, {error}\n{_pointer(error, text)}")
    return 1


def _pointer(error: Exception, text: str) -> str:
    """The statement and an arrow under the word that SQLite stumbled over."""
    match = re.match(r'near "(.*?)": syntax error', str(error), re.S)
    shown = " ".join(text.strip().rstrip(";").split("\n"))
    if match is None or match[1] not in shown:
        return ""
    place = shown.index(match[1])
    arrow = "^--- error here" if place < 25 else "error here ---^"
    indent = place if place < 25 else place - 14
    return f"  {shown}\n  {' ' * indent}{arrow}\n"


def _text(screen: Screen, value: object) -> str:
    if value is None:
        return screen.null
    if isinstance(value, float):
        text = f"{value:.15g}"
        return text if any(c in text for c in ".einf") else text + ".0"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _show(screen: Screen, names: list[str], rows: list[tuple[object, ...]]) -> None:
    cells = [[_text(screen, value) for value in row] for row in rows]
    if screen.mode == "json":
        if rows:
            items = [
                json.dumps(dict(zip(names, r, strict=True)), separators=(",", ":"), ensure_ascii=False)
                for r in rows
            ]
            screen.lines.append("[" + ",\n".join(items) + "]\n")
    elif screen.mode == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n").writerows([names, *cells] if screen.header and rows else cells)
        screen.lines.append(out.getvalue())
    elif screen.mode == "line":
        width = max(len(name) for name in names)
        blocks = ["".join(f"{n:>{width}} = {c}\n" for n, c in zip(names, row, strict=True)) for row in cells]
        screen.lines.append("\n".join(blocks))
    elif screen.mode == "column" and cells:
        wide = [max(len(row[n]) for row in [names, *cells]) for n in range(len(names))]
        table = [names, ["-" * w for w in wide], *cells] if screen.header else cells
        screen.lines.extend(
            "  ".join(c.ljust(w) for c, w in zip(row, wide, strict=True)) + "\n" for row in table
        )
    else:
        table = [names, *cells] if screen.header and rows else cells
        screen.lines.extend(screen.separator.join(row) + "\n" for row in table)


def _dot(call: Call, database: sqlite3.Connection, screen: Screen, line: str) -> None:
    words = [a or b or c for a, b, c in re.findall(r"\"([^\"]*)\"|'([^']*)'|(\S+)", line)]
    name, *rest = words
    if name in (".header", ".headers"):
        screen.header = rest[:1] == ["on"]
    elif name == ".mode" and rest:
        _mode(screen, rest[0])
    elif name == ".separator" and rest:
        screen.separator = rest[0].encode().decode("unicode_escape")
    elif name == ".nullvalue" and rest:
        screen.null = rest[0]
    elif name == ".tables":
        sql = "select name from sqlite_schema where type in ('table','view') and name not like 'sqlite_%' order by 1"
        found = [row[0] for row in database.execute(sql)]
        width = max(map(len, found), default=0)
        screen.lines.extend(["  ".join(n.ljust(width) for n in found).rstrip(" ") + "\n"] if found else [])
    elif name == ".schema":
        sql = "select sql from sqlite_schema where sql is not null and name not like 'sqlite_%'"
        wanted = [row[0] for row in database.execute(sql)]
        pattern = re.compile(rf"create \w+ [\"'`]?{re.escape(rest[0])}\b", re.I) if rest else None
        screen.lines.extend(f"{text};\n" for text in wanted if pattern is None or pattern.search(text))
    elif name == ".import" and len(rest) > 1:
        _import(call, database, screen, *rest[-2:])
    elif name == ".dump":
        screen.lines.extend(["PRAGMA foreign_keys=OFF;\n", *(f"{text}\n" for text in database.iterdump())])
    elif name not in (".quit", ".exit", ".print"):
        call.err.append(
            f'Error: unknown command or invalid arguments:  "{name[1:]}". Enter ".help" for help\n'
        )
        call.code = 1
    elif name == ".print":
        screen.lines.append(" ".join(rest) + "\n")


def _import(call: Call, database: sqlite3.Connection, screen: Screen, file: str, table: str) -> None:
    if call.stat(call.path(file)) is None:
        call.err.append(f'Error: cannot open "{file}"\n')
        call.code = 1
        return
    text = call.fs.read_file(call.path(file)).decode("utf-8", "replace")
    delimiter = screen.separator if len(screen.separator) == 1 else ","
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    quoted = table.replace('"', '""')
    known = database.execute("select 1 from sqlite_schema where name=?", [table]).fetchone()
    if known is None and rows:
        columns = ", ".join('"' + name.replace('"', '""') + '" TEXT' for name in rows.pop(0))
        database.execute(f'create table "{quoted}"({columns})')
    for row in rows:
        database.execute(f'insert into "{quoted}" values({",".join("?" * len(row))})', row)
