"""``stat`` and ``du`` after GNU coreutils 9.1."""

from __future__ import annotations

import posixpath
import re

from echo_terminal.terminal.programs.call import (
    NO_ENTRY,
    Call,
    Meta,
    UsageError,
    blocks,
    folder_size,
    human,
    inode,
    mode_text,
    options,
    quote,
)
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.limits import narrow
from echo_terminal.terminal.terminal import CLOCK, USER

KINDS = {"directory": "directory", "symlink": "symbolic link", "fifo": "fifo"}
FORMATS = {"directory": 0o040000, "symlink": 0o120000, "fifo": 0o010000}  # S_IFMT of the mode
TERSE = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o"
STAMP = "%Y-%m-%d %H:%M:%S.%N %z"
_DIRECTIVE = re.compile(r"%([-#0+ ]*)(\d*)(?:\.(\d+))?([HL]?[a-zA-Z%])")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "a": "\a", "r": "\r", "e": "\x1b"}


def stat(call: Call) -> None:
    """Show what is known of files."""
    found, words = options(
        call, "Lfc:t", ["dereference", "file-system", "format=", "printf=", "terse", "cached="]
    )
    names = {option for option, _ in found}
    style = next((v for o, v in found if o in ("-c", "--format")), None)
    if style is None and names & {"-t", "--terse"}:
        style = TERSE
    printf = next((v for o, v in found if o == "--printf"), None)
    if not words:
        raise UsageError("missing operand")
    for word in words:
        meta = call.exists(word)
        if meta is not None and names & {"-L", "--dereference"}:
            meta = call.stat(call.path(word))
        if meta is None:
            system = "read file system information for" if names & {"-f", "--file-system"} else "statx"
            reason = call.why_missing(word)
            call.fail(f"cannot {system} {quote(word)}: {reason}")
        elif names & {"-f", "--file-system"}:
            call.line(_system(word) if style is None else style.replace("%T", "tmpfs").replace("%n", word))
        elif printf is not None:
            call.out.append(_unescape(_render(call, word, meta, printf)))
        else:
            call.line(_render(call, word, meta, style) if style is not None else _report(call, word, meta))


def _system(word: str) -> str:
    return (
        f'  File: "{word}"\n    ID: 0        Namelen: 255     Type: tmpfs\n'
        "Block size: 4096       Fundamental block size: 4096\n"
        "Blocks: Total: 16384      Free: 16384      Available: 16384\nInodes: Total: 16384      Free: 16384"
    )


def _facts(call: Call, word: str, meta: Meta) -> dict[str, str]:
    path = call.path(word)
    links, size, kind = (
        1,
        meta.size,
        KINDS.get(meta.kind, "regular file" if meta.size else "regular empty file"),
    )
    if meta.kind == "directory":
        inside = call.children(path)
        links, size = 2 + sum(m.kind == "directory" for m in inside.values()), folder_size(len(inside))
    name = quote(word) + (f" -> {quote(call.fs.read_link(path))}" if meta.kind == "symlink" else "")
    time = call.shown_time(meta.modified)
    stamp, whole = format_time(time, STAMP), str(int(time))
    mode = FORMATS.get(meta.kind, 0o100000) | meta.mode
    return {
        "a": f"{meta.mode:o}", "A": mode_text(meta.mode, meta.kind), "b": str(2 * blocks(meta)), "B": "512",
        "C": "?", "d": "55", "D": "37", "f": f"{mode:x}", "F": kind, "g": "1000", "G": USER, "h": str(links),
        "i": str(inode(path)), "m": "/home/user", "n": word, "N": name, "o": "4096",
        "s": str(size), "t": "0", "T": "0", "u": "1000", "U": USER, "w": format_time(CLOCK, STAMP),
        "W": str(CLOCK), "x": stamp, "X": whole, "y": stamp, "Y": whole, "z": stamp, "Z": whole, "%": "%",
    }  # fmt: skip


def _render(call: Call, word: str, meta: Meta, style: str) -> str:
    facts = _facts(call, word, meta)

    def one(match: re.Match[str]) -> str:
        flags, width, _, letter = match.groups()
        narrow(width)
        if letter not in facts:
            return "?"
        text = facts[letter]
        if "#" in flags and letter == "a":
            text = "0" + text
        if "-" in flags:
            return text.ljust(int(width or 0))
        return text.rjust(int(width or 0), "0" if "0" in flags else " ")

    return _DIRECTIVE.sub(one, style)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text)


def _report(call: Call, word: str, meta: Meta) -> str:
    f = _facts(call, word, meta)
    name = f["N"][1:-1] if meta.kind != "symlink" else f["N"].replace("'", "")
    owner = f"Uid: ( 1000/{USER:>8})   Gid: ( 1000/{USER:>8})"
    return (
        f"  File: {name}\n  Size: {f['s']:<10}\tBlocks: {f['b']:<10} IO Block: 4096   {f['F']}\n"
        f"Device: 0,55\tInode: {f['i']:<11} Links: {f['h']}\n"
        f"Access: ({meta.mode:04o}/{f['A']})  {owner}\n"
        f"Access: {f['x']}\nModify: {f['y']}\nChange: {f['z']}\n Birth: {f['w']}"
    )


def du(call: Call) -> None:
    """Show occupied space."""
    found, words = options(
        call,
        "0abB:cd:DhHkLlmPsSxt:",
        ["all", "apparent-size", "block-size=", "bytes", "total", "max-depth=", "human-readable", "summarize",
         "separate-dirs", "exclude=", "time", "threshold="],
    )  # fmt: skip
    names = {option for option, _ in found}
    depth = 1 << 30
    for option, value in found:
        if option in ("-d", "--max-depth"):
            if not value.isdigit():
                raise UsageError(f"invalid maximum depth {quote(value)}")
            depth = int(value)
    if names & {"-s", "--summarize"}:
        depth = 0
    total = 0
    for word in words or ["."]:
        meta = call.exists(word)
        if meta is None:
            reason = NO_ENTRY if call.why_missing(word) == NO_ENTRY else "Not a directory"
            call.fail(f"cannot access {quote(word)}: {reason}")
            continue
        total += _usage(call, word, meta, 0, depth, names)
    if names & {"-c", "--total"}:
        call.line(f"{_size(total, names)}\ttotal")


def _size(size: int, names: set[str]) -> str:
    if names & {"-b", "--bytes"}:
        return str(size)
    if names & {"-h", "-H", "--human-readable"}:
        return human(size)
    unit = 1 << 20 if "-m" in names else 1024
    return str(-(-size // unit))


def _usage(call: Call, word: str, meta: Meta, level: int, depth: int, names: set[str]) -> int:
    """Bytes of a path and of what is below it; prints the lines that the options ask for."""
    apparent = bool(names & {"-b", "--bytes", "--apparent-size"})
    if meta.kind != "directory":
        size = meta.size if apparent else blocks(meta) * 1024
        if (names & {"-a", "--all"} and level <= depth) or level == 0:
            call.line(f"{_size(size, names)}\t{word}")
        return size
    inside = call.children(call.path(word))
    size = folder_size(len(inside)) if apparent else 0
    for name, child in inside.items():
        below = _usage(call, posixpath.join(word, name), child, level + 1, depth, names)
        if not (names & {"-S", "--separate-dirs"} and child.kind == "directory"):
            size += below
    if level <= depth:
        call.line(f"{_size(size, names)}\t{word}")
    return size
