"""``sqlite3`` after the command-line shell of SQLite 3.40, on databases of the virtual file system.

SQLite itself runs in this process, on a copy in memory: it can open nothing else (``ATTACH`` is refused), and
a statement that takes long or much memory is interrupted.
"""

from __future__ import annotations

import csv
import io
import posixpath
import random
import re
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.programs.files.making import refusal
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.limits import ROOM, TIME, Limits, Stopped
from echo_terminal.terminal.programs.sqlite.screens import MODES, SHOWN, Screen, pointer
from echo_terminal.terminal.terminal import CLOCK

BYTES = 64 << 20
VERSION = "3.40.1 2022-12-28 14:03:47 df5c253c0b3dd24916e4ec7cf77d3db5294cc9fd45ae7b9c5e82ad8197f3alt1"
NUMBER = (3_040_001).to_bytes(4, "big")  # the same, as a file tells which version wrote it
CELLS = 2_000_000  # values that one statement may give


def program(limits: Limits, numbers: random.Random) -> Callable[[Call], None]:
    """The program ``sqlite3`` within ``limits``, its random numbers from ``numbers``."""
    return lambda call: sqlite(call, limits, numbers)


def sqlite(call: Call, limits: Limits, numbers: random.Random) -> None:
    """Run SQL and the commonest dot-commands.

    Raises:
        Stopped: the time is over, or a statement gives too much.
    """
    screen, words = Screen(), list(call.argv)
    first: list[str] = []
    operands: list[str] = []
    fixed = False  # may nothing be written?
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            operands.append(word)
            continue
        word = word.lstrip("-")
        if word in ("header", "noheader"):
            screen.header, screen.asked = word == "header", True
        elif word in SHOWN:
            screen.choose(word)
        elif word == "separator" and words:
            screen.separator = words.pop(0)
        elif word == "nullvalue" and words:
            screen.null = words.pop(0)
        elif word in ("cmd", "init") and words:
            value = words.pop(0)
            first += [value] if word == "cmd" else []
        elif word == "version":
            call.line(VERSION)
            return
        elif word == "readonly":
            fixed = True
        elif word not in ("bail", "batch"):
            call.err.append(f"sqlite3: Error: unknown option: -{word}\nUse -help for a list of options.\n")
            call.code = 1
            return
    name, *inputs = operands or [":memory:"]
    database = sqlite3.connect(":memory:", isolation_level=None)
    path = call.path(name)
    stored = b""
    kind = call.stat(path)
    if name != ":memory:" and (kind.kind != "file" if kind is not None else _closed(call, path)):
        call.err.append(f'Error: unable to open database "{name}": unable to open database file\n')
        call.code = 1
        return
    if name != ":memory:" and call.stat(path) is not None:
        stored = call.fs.read_file(path)
        database.deserialize(stored) if stored else None
    database.execute(f"pragma hard_heap_limit={BYTES}")
    database.set_progress_handler(lambda: int(time.monotonic() > limits.until), 10_000)
    database.execute(f"pragma query_only={fixed:d}")
    database.set_authorizer(_allow)
    _stand_still(database, numbers)
    script = bool(inputs)
    for text in [*first, *(inputs or [call.stdin])]:
        if not _run_text(call, database, screen, text, script, limits):
            break
    screen.send(call)
    if name != ":memory:":
        empty = database.execute("select count(*) from sqlite_schema").fetchone()[0] == 0
        if stored or not empty:
            content = database.serialize()
            if content != stored:
                call.fs.write_file(path, content[:96] + NUMBER + content[100:])
    database.close()


def _closed(call: Call, path: str) -> bool:
    """Can no file be made there?"""
    return bool(refusal(call, path)) or not call.is_folder(posixpath.dirname(path))


def _stand_still(database: sqlite3.Connection, numbers: random.Random) -> None:
    """Random numbers and the time of the episode where the functions of SQLite would ask the machine, and one version.

    Its time zone is UTC, so that ``localtime`` changes nothing."""
    plain = sqlite3.connect(":memory:")
    database.create_function("sqlite_version", 0, lambda: VERSION.split()[0], deterministic=True)
    database.create_function("sqlite_source_id", 0, lambda: VERSION.split(" ", 1)[1], deterministic=True)
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
            values[place + 1 :] = [
                v for v in values[place + 1 :] if str(v).lower() not in ("localtime", "utc")
            ]
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


def _run_text(
    call: Call, database: sqlite3.Connection, screen: Screen, text: str, script: bool, limits: Limits
) -> bool:
    """Run lines of SQL and dot-commands; False where an error ends it."""
    waiting, first = "", 1
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not waiting.strip() and line.startswith("."):
            _dot(call, database, screen, line, limits)
            continue
        if not waiting.strip():
            first = number
        waiting += line + "\n"
        while (place := _complete(waiting)) is not None or (number == len(lines) and waiting.strip()):
            statement, waiting = (waiting[:place], waiting[place:]) if place is not None else (waiting, "")
            rest = "".join([waiting, *(f"{later}\n" for later in lines[number:])]) if script else waiting
            if (
                not _statement(call, database, screen, statement, rest, None if script else first, limits)
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
    call: Call,
    database: sqlite3.Connection,
    screen: Screen,
    text: str,
    rest: str,
    line: int | None,
    limits: Limits,
) -> bool:
    """Run one statement; ``rest`` is what follows it, ``line`` where it began, None on the command line."""
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
        arrow = pointer(database, error, text + rest)
        call.code = 1 if line is not None else _complain(call, error, arrow)
        if line is not None:
            kind = "Parse" if isinstance(error, sqlite3.OperationalError) else "Runtime"
            code = f" ({error.sqlite_errorcode & 0xFF})" if kind == "Runtime" else ""
            call.err.append(f"{kind} error near line {line}: {error}{code}\n{arrow if not code else ''}")
        return False
    if names:
        plan = re.match(r"\s*explain\s+query\s+plan\b", text, re.I) is not None
        screen.show_plan(rows) if plan else screen.show(names, rows)
    if screen.once and line is not None:
        screen.send(call)
        screen.file, screen.once = "", False
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


def _complain(call: Call, error: Exception, arrow: str) -> int:
    code = getattr(error, "sqlite_errorcode", 1) & 0xFF
    if code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_READONLY):
        call.err.append(f"Error: stepping, {error} ({code})\n")
        return code
    call.err.append(f"Error: in prepare, {str(error).replace(chr(10), '')}\n{arrow}")
    return 1


def _dot(call: Call, database: sqlite3.Connection, screen: Screen, line: str, limits: Limits) -> None:
    words = [a or b or c for a, b, c in re.findall(r"\"([^\"]*)\"|'([^']*)'|(\S+)", line)]
    name, *rest = words
    if name in (".header", ".headers"):
        screen.header, screen.asked = rest[:1] == ["on"], True
    elif name == ".mode" and rest and rest[0] in MODES.split():
        screen.choose(rest[0])
        screen.header = screen.header or (rest[0] == "column" and not screen.asked)
        screen.table = rest[1] if rest[1:] else "table"
    elif name == ".mode" and rest:
        call.err.append(f"Error: mode should be one of: {MODES}\n")
        call.code = 1
    elif name == ".read" and rest:
        if call.stat(call.path(rest[0])) is None:
            call.err.append(f'Error: cannot open "{rest[0]}"\n')
            call.code = 1
        else:
            text = call.fs.read_file(call.path(rest[0])).decode("utf-8", "replace")
            _run_text(call, database, screen, text, False, limits)
    elif name in (".indexes", ".indices"):
        sql = "select name from sqlite_schema where type='index' and name not like 'sqlite_%' order by 1"
        screen.lines.extend(f"{row[0]}\n" for row in database.execute(sql))
    elif name == ".separator" and rest:
        screen.separator = rest[0].encode().decode("unicode_escape")
    elif name == ".nullvalue" and rest:
        screen.null = rest[0]
    elif name == ".tables":
        sql = "select name from sqlite_schema where type in ('table','view') and name not like 'sqlite_%' order by 1"
        found = [row[0] for row in database.execute(sql)]
        width = max(map(len, found), default=0)
        high = -(-len(found) // max(1, 80 // (width + 2)))
        screen.lines.extend("  ".join(n.ljust(width) for n in found[k::high]) + "\n" for k in range(high))
    elif name == ".schema":
        sql = "select sql from sqlite_schema where sql is not null and name not like 'sqlite_%'"
        wanted = [row[0] for row in database.execute(sql)]
        pattern = (
            re.compile(rf"create \w+ (?:if not exists )?[\"'`]?{re.escape(rest[0])}\b", re.I)
            if rest
            else None
        )
        known = [re.sub(r"^CREATE TABLE (?=['\"])", "CREATE TABLE IF NOT EXISTS ", text) for text in wanted]
        screen.lines.extend(f"{text};\n" for text in known if pattern is None or pattern.search(text))
    elif name == ".import" and len(rest) > 1:
        skip = rest[rest.index("--skip") + 1] if "--skip" in rest[:-2] else "0"
        _import(call, database, screen, *rest[-2:], comma="--csv" in rest, skip=int(skip))
    elif name == ".dump":
        screen.lines.extend(["PRAGMA foreign_keys=OFF;\n", *(_plain(text) for text in database.iterdump())])
    elif name in (".output", ".once"):
        screen.send(call)
        screen.file, screen.once = "" if rest[:1] in ([], ["stdout"]) else rest[0], name == ".once"
        if screen.file:
            call.fs.write_file(call.path(screen.file), b"")
    elif name == ".width":
        screen.widths = [int(word) for word in rest if re.fullmatch(r"-?\d+", word)]
    elif name not in (".quit", ".exit", ".print"):
        call.err.append(
            f'Error: unknown command or invalid arguments:  "{name[1:]}". Enter ".help" for help\n'
        )
        call.code = 1
    elif name == ".print":
        screen.lines.append(" ".join(rest) + "\n")


def _plain(text: str) -> str:
    """A line of a dump; only odd names of tables are in quotes."""
    return re.sub(r'^(INSERT INTO) "([A-Za-z_]\w*)" (?=VALUES)', r"\1 \2 ", text) + "\n"


def _import(
    call: Call,
    database: sqlite3.Connection,
    screen: Screen,
    file: str,
    table: str,
    *,
    comma: bool,
    skip: int,
) -> None:
    if call.stat(call.path(file)) is None:
        call.err.append(f'Error: cannot open "{file}"\n')
        call.code = 1
        return
    text = call.fs.read_file(call.path(file)).decode("utf-8", "replace")
    delimiter = screen.separator if len(screen.separator) == 1 and not comma else ","
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    rows, lines = [], [0]  # and how many lines the rows before have taken
    for row in reader:
        rows.append(row)
        lines.append(reader.line_num)
    del rows[:skip]
    quoted = table.replace('"', '""')
    known = database.execute("select 1 from sqlite_schema where name=?", [table]).fetchone()
    if known is None and rows:
        names = ['"' + name.replace('"', '""') + '" TEXT' for name in rows.pop(0)]
        columns = ",\n ".join(", ".join(names[n : n + 4]) for n in range(0, len(names), 4))
        database.execute(f'CREATE TABLE "{quoted}"(\n{columns})')
    wanted = len(database.execute(f'select * from "{quoted}" limit 0').description)
    for line, row in zip(lines[-len(rows) - 1 :], rows, strict=False):
        if len(row) != wanted:
            what = "extras ignored" if len(row) > wanted else "filling the rest with NULL"
            call.err.append(f"{file}:{line + 1}: expected {wanted} columns but found {len(row)} - {what}\n")
        values = [*row, *[None] * wanted][:wanted]
        database.execute(f'insert into "{quoted}" values({",".join("?" * wanted)})', values)
