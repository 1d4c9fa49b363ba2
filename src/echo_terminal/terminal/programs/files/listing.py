"""``ls`` after GNU coreutils 9.1, written to something that is no terminal."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
from dataclasses import dataclass, replace

from echo_terminal.terminal.programs.call import (
    Call,
    Meta,
    UsageError,
    blocks,
    folder_size,
    human,
    mode_text,
    options,
    quote,
)
from echo_terminal.terminal.programs.choosing import LS, choose
from echo_terminal.terminal.programs.files.laying import columns, commas, when
from echo_terminal.terminal.terminal import USER

SHORT = "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1"
LONG = (
    "all almost-all author escape block-size= ignore-backups color=? directory dired classify=? file-type "
    "format= full-time group-directories-first no-group human-readable si dereference-command-line dereference "
    "hide= hyperlink=? indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars "
    "show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= "
    "context zero"
).split()
LONG_OF = {
    "all": "a", "almost-all": "A", "ignore-backups": "B", "directory": "d", "no-group": "G", "human-readable": "h",
    "dereference": "L", "dereference-command-line": "H", "inode": "i", "numeric-uid-gid": "n", "quote-name": "Q",
    "reverse": "r", "recursive": "R", "size": "s", "escape": "b",
}  # fmt: skip
STYLES = {"full-iso": "%Y-%m-%d %H:%M:%S.%N %z", "long-iso": "%Y-%m-%d %H:%M"}


@dataclass(frozen=True)
class Style:
    """The options of one call."""

    letters: str = ""
    layout: str = "1"  # 1 l C x m
    sort: str = "name"
    time: str = ""  # the format, or empty for the default
    hide: tuple[str, ...] = ()
    width: int = 80
    mark: str = ""  # "", p, F or file-type
    groups_first: bool = False
    si: bool = False

    def has(self, letter: str) -> bool:
        """Was the one-letter option given?"""
        return letter in self.letters


PLAIN = Style()


@dataclass(frozen=True)
class Item:
    """One name to print."""

    name: str
    path: str
    meta: Meta


def ls(call: Call) -> None:
    """List directory contents."""
    style, words = _style(call)
    files: list[Item] = []
    folders: list[Item] = []
    if style is PLAIN and len(words) < 2 and _lone(call, words):  # the commonest case, at the least cost
        return
    follow = style.has("L") or style.has("H") or not (style.layout == "l" or style.mark == "F")
    for word in words or ["."]:
        if follow and word and not style.has("d"):  # the commonest case in one look
            meta = call.stat(call.path(word))
            if meta is not None and meta.kind == "directory":
                folders.append(Item(word, call.path(word), meta))
                continue
        meta = call.exists(word)
        if meta is None and not words:  # the working directory is gone: nothing is in it
            continue
        if meta is None:
            call.fail(f"cannot access {quote(word)}: {call.why_missing(word)}", 2)
            continue
        path = call.path(word)
        if meta.kind == "symlink" and not style.has("d") and follow:
            target = call.stat(path)
            if target is None and style.has("L"):
                call.fail(f"cannot access {quote(word)}: {call.why_missing(word)}", 2)
                continue
            if target is not None and (target.kind == "directory" or style.has("L") or style.has("H")):
                meta = target
        item = Item(word, path, meta)
        (folders if meta.kind == "directory" and not style.has("d") else files).append(item)
    _print(call, style, _sorted(call, style, files))
    several = len(words) > 1 or style.has("R")
    for position, item in enumerate(_sorted(call, style, folders)):
        _folder(call, style, item, head=several, gap=position > 0 or bool(files))


def _lone(call: Call, words: list[str]) -> bool:
    """List one folder, if that is what the words name and it may be read."""
    path = call.path(words[0]) if words else call.cwd
    meta = call.stat(path)
    if meta is None or meta.kind != "directory" or not meta.readable or words == [""]:
        return False
    _names(call, path)
    return True


def _names(call: Call, path: str) -> None:
    names = sorted((entry["name"] for entry in call.fs.read_dir(path)), key=str.encode)
    call.out.extend(f"{name}\n" for name in names if not name.startswith("."))


def merged(call: Call) -> None:
    """``ls 2>&1``: what is missing is said before anything is listed."""
    call.name = "ls"
    ls(call)
    call.out, call.err = [*call.err, *call.out], []


def columns_of(call: Call) -> None:
    """``dir`` and ``vdir``: ``ls -C -b`` and ``ls -l -b``."""
    call.argv = ["-Cb" if call.name == "dir" else "-lb", *call.argv]
    ls(call)


def _folder(call: Call, style: Style, item: Item, *, head: bool, gap: bool) -> None:
    if not item.meta.readable:
        call.fail(f"cannot open directory {quote(item.name)}: Permission denied", 2)
        return
    if gap:
        call.line("")
    if head:
        call.line(f"{item.name}:")
    if style is PLAIN:
        _names(call, item.path)
        return
    children = call.children(item.path)
    items = [Item(n, posixpath.join(item.path, n), m) for n, m in children.items() if _visible(style, n)]
    if style.has("L"):
        items = [replace(i, meta=call.stat(i.path) or i.meta) for i in items]
    if style.has("a"):
        above = posixpath.dirname(item.path)
        parent = call.stat(above)
        items += [Item(".", item.path, item.meta), Item("..", above, parent or item.meta)]
    items = _sorted(call, style, items)
    if style.layout == "l" or style.has("s"):
        total = sum(blocks(i.meta) for i in items)
        call.line(f"total {_human(style, total * 1024) if style.has('h') or style.si else total}")
    _print(call, style, items)
    if style.has("R"):
        for child in items:
            if child.meta.kind == "directory" and child.name not in (".", ".."):
                name = f"{item.name.rstrip('/') or '/'}/{child.name}".replace("//", "/")
                _folder(call, style, replace(child, name=name), head=True, gap=True)


def _style(call: Call) -> tuple[Style, list[str]]:
    found, words = options(call, SHORT, LONG, code=2)
    if not found:
        _time_format(call.env.get("TIME_STYLE", ""))  # complains of a wrong one
        return PLAIN, words
    letters, layout, sort, mark = "", "1", "name", ""
    time, hide, width = call.env.get("TIME_STYLE", ""), [], 80
    extra: dict[str, bool] = {}
    for option, value in found:
        name = LONG_OF.get(option[2:], option[2:]) if option.startswith("--") else option[1:]
        if name in LS and (value or f"{name}=" in LONG):
            value = choose(name, value, LS[name])
        if name in ("l", "C", "x", "m", "1"):
            layout = name if not (name == "1" and layout == "l") else layout
        elif name in ("n", "g", "o"):
            layout, letters = "l", letters + name
        elif name in ("t", "S", "X", "v", "U"):
            sort = name
        elif name == "f":
            letters, sort = letters + "a", "U"
        elif name in ("F", "classify"):
            mark = "F"
        elif name in ("p", "file-type"):
            mark = name if mark != "F" else mark
        elif name == "indicator-style":
            mark = {"slash": "p", "classify": "F", "file-type": "file-type", "none": ""}.get(value, "")
        elif name == "full-time":
            layout, time = "l", "full-iso"
        elif name == "time-style":
            time = value
        elif name in ("I", "ignore", "hide"):
            hide.append(value)
        elif name in ("w", "width"):
            if not value.isdigit():
                raise UsageError(f"invalid line width: {quote(value)}", 2, hint=False)
            width = int(value)
        elif name == "sort":
            sort = {"size": "S", "time": "t", "extension": "X", "version": "v", "none": "U"}.get(
                value, "name"
            )
        elif name == "format":
            layout = {"verbose": "l", "commas": "m", "horizontal": "x", "vertical": "C"}.get(value, "1")
        elif name in ("group-directories-first", "si"):
            extra[name] = True
        else:
            letters += name if len(name) == 1 else ""
    return (
        Style(
            letters,
            layout,
            sort,
            _time_format(time) if layout == "l" else "",
            tuple(hide),
            width or 1 << 30,
            mark,
            extra.get("group-directories-first", False),
            extra.get("si", False),
        ),
        words,
    )


def _time_format(name: str) -> str:
    if name.startswith("+"):
        return name[1:]
    if name in ("", "locale", "posix-locale", "posix-long-iso", "posix-iso", "posix-full-iso"):
        return ""
    if name == "iso":
        return "%m-%d %H:%M"
    if name not in STYLES:
        raise UsageError(
            f"invalid argument '{name}' for 'time style'\nValid arguments are:\n  - [posix-]full-iso\n"
            "  - [posix-]long-iso\n  - [posix-]iso\n  - [posix-]locale\n"
            "  - +FORMAT (e.g., +%H:%M) for a 'date'-style format",
            2,
        )
    return STYLES[name]


def _visible(style: Style, name: str) -> bool:
    if name.startswith(".") and not (style.has("a") or style.has("A")):
        return False
    if style.has("B") and name.endswith("~"):
        return False
    return not any(fnmatch.fnmatchcase(name, pattern) for pattern in style.hide)


def _sorted(call: Call, style: Style, items: list[Item]) -> list[Item]:
    if style.sort == "U":
        return items
    items = sorted(items, key=lambda i: i.name.encode())
    if style.sort == "S":
        items.sort(key=lambda i: -_size(call, i))
    elif style.sort == "t":
        items.sort(key=lambda i: call.clock.order(i.meta.modified), reverse=True)
    elif style.sort == "X":
        items.sort(key=lambda i: os.path.splitext(i.name)[1].encode() if "." in i.name else b"")
    elif style.sort == "v":
        items.sort(key=lambda i: _version_key(i.name))
    if style.has("r"):
        items.reverse()
    if style.groups_first:
        items.sort(key=lambda i: i.meta.kind != "directory")
    return items


def _version_key(name: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d+|\D+", name)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]


def _shown(style: Style, item: Item) -> str:
    name = item.name
    if style.has("Q"):
        name = '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    elif style.has("b"):
        name = name.replace("\\", "\\\\").replace(" ", "\\ ").replace("\n", "\\n").replace("\t", "\\t")
    kind = item.meta.kind
    if style.mark and kind == "directory":
        return name + "/"
    if style.mark in ("F", "file-type") and kind == "symlink" and style.layout != "l":
        return name + "@"
    if style.mark in ("F", "file-type") and kind == "fifo":
        return name + "|"
    return name + "*" if style.mark == "F" and kind == "file" and item.meta.mode & 0o111 else name


def _human(style: Style, size: int) -> str:
    text = human(size, 1000 if style.si else 1024)
    return text.replace("K", "k") if style.si else text


def _print(call: Call, style: Style, items: list[Item]) -> None:
    if style.layout == "l":
        _print_long(call, style, items)
        return
    cells = [_shown(style, item) for item in items]
    if style.has("s"):
        sizes = [
            _human(style, blocks(i.meta) * 1024) if style.has("h") else str(blocks(i.meta)) for i in items
        ]
        width = max(map(len, sizes), default=0)
        cells = [f"{size:>{width}} {cell}" for size, cell in zip(sizes, cells, strict=True)]
    if style.has("i"):
        cells = [f"{_inode(i)} {cell}" for i, cell in zip(items, cells, strict=True)]
    if style.layout == "1":
        call.out.extend(cell + "\n" for cell in cells)
    elif style.layout == "m":
        call.out.append(commas(cells, style.width))
    else:
        call.out.append(columns(cells, style.width, down=style.layout == "C"))


def _inode(item: Item) -> int:
    return 2 + sum(ord(c) * (n + 1) for n, c in enumerate(item.path)) % 1_000_000


def _size(call: Call, item: Item) -> int:
    return folder_size(len(call.children(item.path))) if item.meta.kind == "directory" else item.meta.size


def _print_long(call: Call, style: Style, items: list[Item]) -> None:
    rows = []
    for item in items:
        links, size, meta = 1, item.meta.size, item.meta
        if meta.kind == "directory":
            inside = call.children(item.path)
            links = 2 + sum(m.kind == "directory" for m in inside.values())
            size = folder_size(len(inside))
        name = _shown(style, item)
        if meta.kind == "symlink":
            target = call.fs.read_link(item.path)
            end = call.stat(item.path) if style.mark == "F" else None
            name += f" -> {target}" + ("/" if end is not None and end.kind == "directory" else "")
        who = "1000" if style.has("n") else USER
        owner = "" if style.has("g") else f"{who} "
        group = "" if style.has("o") or style.has("G") else f"{who} "
        shown = _human(style, size) if style.has("h") or style.si else str(size)
        time = when(call.shown_time(meta.modified), style.time)
        rows.append((mode_text(meta.mode, meta.kind), str(links), owner + group, shown, time, name))
    wide = [max((len(row[n]) for row in rows), default=0) for n in range(5)]
    occupied = max((len(str(blocks(i.meta))) for i in items), default=0)
    for item, (mode, count, people, shown, time, name) in zip(items, rows, strict=True):
        prefix = f"{_inode(item)} " if style.has("i") else ""
        prefix += f"{blocks(item.meta):>{occupied}} " if style.has("s") else ""
        call.line(f"{prefix}{mode} {count:>{wide[1]}} {people}{shown:>{wide[3]}} {time:>{wide[4]}} {name}")
