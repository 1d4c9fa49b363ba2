"""``gzip``, ``gunzip``, ``zcat`` and ``zgrep`` after GNU gzip 1.12."""

from __future__ import annotations

import gzip as codec
import io
import posixpath
import shlex
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.archive.packing import PIECE, unpacked
from echo_terminal.terminal.programs.call import NO_ENTRY, Call, Meta, UsageError, options
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.programs.versions import USES, VERSIONS

_LONG = {
    "decompress": "d", "uncompress": "d", "keep": "k", "force": "f", "list": "l", "test": "t", "verbose": "v",
    "recursive": "r", "quiet": "q", "fast": "1", "best": "9", "no-name": "n", "name": "N", "stdout": "c",
    "to-stdout": "c", "suffix=": "S",
}  # fmt: skip


@dataclass
class Totals:
    """Bytes of the files listed so far, and the suffix of those that are packed."""

    suffix: str
    packed: int = 0
    plain: int = 0
    files: int = 0
    lines: list[str] = field(default_factory=list)


def gzip(call: Call) -> None:
    """Compress or decompress files in place, or what comes in."""
    flags = {"gunzip": {"d"}, "zcat": {"d", "c"}}.get(call.name, set())
    call.name = "gzip"
    try:
        found, words = options(call, "cdhkfltvVrqnNS:123456789", list(_LONG))
    except UsageError as error:
        call.fail(error.message)
        call.err.append("Try `gzip --help' for more information.\n")
        return
    flags = flags | {_LONG.get(option.lstrip("-"), option.lstrip("-")) for option, _ in found}
    if flags & {"h", "V"}:
        call.out.append(USES["gzip"] if "h" in flags else VERSIONS["gzip"])
        return
    totals = Totals(next((value for option, value in found if option in ("-S", "--suffix")), ".gz"))
    for word in words or ["-"]:
        _one(call, word, flags, totals)
    if totals.lines:
        call.line("         compressed        uncompressed  ratio uncompressed_name")
        for line in totals.lines:
            call.line(line)
        if totals.files > 1:
            call.line(_listed(totals.packed, totals.plain, totals.packed, "(totals)"))


def zgrep(shell: Callable[[Call, str, str], tuple[str, int]]) -> Callable[[Call], None]:
    """``zgrep``: ``grep`` on what files hold, compressed or not; ``shell`` runs a command with standard input."""

    def run(call: Call) -> None:
        words = list(call.argv)
        flags = [word for word in words if word.startswith("-") and word != "-"]
        plain = [word for word in words if word not in flags]
        if not plain:
            call.err.append("Usage: zgrep [OPTION]... [-e] PATTERN [FILE]...\n")
            call.code = 2
            return
        pattern, *names = plain
        call.code, codes = 1, []
        for name in names or ["-"]:
            data = (
                content(call, name)
                if name == "-" or call.stat(call.path(name))
                else content(call, f"{name}.gz")
            )
            if isinstance(data, str):
                call.err.append(
                    f"gzip: {name}: {data}\n"
                    if data != "Is a directory"
                    else f"gzip: {name} is a directory -- ignored\n"
                )
                codes.append(2)
                data = b""
            if data[:2] == b"\x1f\x8b":
                data = unpacked(codec.open(io.BytesIO(data)))
            label = ["-H", f"--label={name}"] if len(names) > 1 and "-h" not in flags else []
            command = " ".join(shlex.quote(word) for word in ["grep", *label, *flags, "-e", pattern])
            out, code = shell(
                call, command if data else f"{command} < /dev/null", data.decode("utf-8", "replace")
            )
            call.out.append(out)
            codes.append(code)
        call.code = (
            max(code for code in codes if code != 1) if any(c > 1 for c in codes) else int(0 not in codes)
        )

    return run


def _one(call: Call, word: str, flags: set[str], totals: Totals) -> None:
    if word == "-":
        data, unpacks = call.given, bool(flags & {"d", "l", "t"})
        made = _unpacked(call, "stdin", data, flags) if unpacks else _packed(data, "", 0, flags)
        if made is not None and not flags & {"l", "t"}:
            call.write(made)
        return
    backwards = bool(flags & {"d", "l", "t"})
    meta = call.stat(call.path(word))
    if meta is None and backwards and not word.endswith(totals.suffix):
        word += totals.suffix
        meta = call.stat(call.path(word))
    if meta is None:
        call.fail(f"{word}: {NO_ENTRY}")
    elif (
        not flags & {"c", "f", "l", "t"} and (link := call.lstat(call.path(word))) and link.kind == "symlink"
    ):
        call.fail(f"{word}: Too many levels of symbolic links")
    elif meta.kind == "directory":
        if "r" not in flags:
            call.err.append(f"gzip: {word} is a directory -- ignored\n")
            call.code = call.code or 2
            return
        for name in call.children(call.path(word)):
            _one(call, posixpath.join(word, name), flags, totals)
    elif not meta.readable:
        call.fail(f"{word}: Permission denied")
    elif backwards:
        _unpack(call, word, meta, flags, totals)
    else:
        _pack(call, word, meta, flags, totals.suffix)


def _warn(call: Call, text: str) -> None:
    call.err.append(f"gzip: {text}\n")
    call.code = call.code or 2


def _store(
    call: Call, word: str, target: str, data: bytes, meta: Meta, flags: set[str], ratio: float
) -> None:
    """Put ``data`` in the place of a file, with its mode and time, or on standard output."""
    if "c" in flags:
        call.write(data)
        if "v" in flags:
            call.err.append(f"{word}:\t{ratio:5.1f}%\n")
        return
    path = call.path(target)
    if call.lstat(path) is not None and "f" not in flags:
        _warn(call, f"{target} already exists;\tnot overwritten")
        return
    call.fs.write_file(path, data)
    call.fs.chmod(path, meta.mode)
    call.keep_time(path, meta)
    keep = "k" in flags
    if not keep:
        call.fs.remove(call.path(word))
    if "v" in flags:
        call.err.append(f"{word}:\t{ratio:5.1f}% -- {'created' if keep else 'replaced with'} {target}\n")


def _packed(data: bytes, name: str, when: int, flags: set[str]) -> bytes:
    level, buffer = (
        next((int(flag) for flag in sorted(flags, reverse=True) if flag.isdigit()), 6),
        io.BytesIO(),
    )
    with codec.GzipFile(name, "wb", level, buffer, mtime=when) as stream:
        for start in range(0, len(data), PIECE):
            stream.write(data[start : start + PIECE])
    made = buffer.getvalue()
    return made[:9] + b"\3" + made[10:]  # of Unix


def _pack(call: Call, word: str, meta: Meta, flags: set[str], suffix: str) -> None:
    if word.endswith((suffix, ".gz", ".tgz")) and not flags & {"f", "c"}:
        _warn(call, f"{word} already has .{word.rpartition('.')[2]} suffix -- unchanged")
        return
    data = call.fs.read_file(call.path(word))
    named = "n" not in flags
    when = int(call.shown_time(meta.modified)) if named else 0
    packed = _packed(data, posixpath.basename(word) if named else "", when, flags)
    _store(call, word, word + suffix, packed, meta, flags, _ratio(len(packed), len(data), packed))


def _unpacked(call: Call, word: str, packed: bytes, flags: set[str]) -> bytes | None:
    """What packed bytes hold; None, and a complaint, where they are damaged."""
    if packed[:2] != b"\x1f\x8b":
        if flags >= {"d", "c", "f"}:
            return packed
        reason = "not in gzip format" if packed else "unexpected end of file"
    else:
        try:
            return unpacked(codec.open(io.BytesIO(packed)))
        except EOFError:
            reason = "unexpected end of file"
        except (OSError, zlib.error):
            reason = "invalid compressed data--format violated"
    call.err.append(f"\ngzip: {word}: {reason}\n")
    call.code = 1
    return None


def _unpack(call: Call, word: str, meta: Meta, flags: set[str], totals: Totals) -> None:
    if "d" in flags and not flags & {"l", "t", "c"} and not word.endswith((totals.suffix, ".gz", ".tgz")):
        _warn(call, f"{word}: unknown suffix -- ignored")
        return
    packed = call.fs.read_file(call.path(word))
    data = _unpacked(call, word, packed, flags)
    if data is None:
        return
    target = (
        word[:-4] + ".tar" if word.endswith(".tgz") else word.removesuffix(totals.suffix).removesuffix(".gz")
    )
    if "l" in flags:
        totals.lines.append(_listed(len(packed), len(data), packed, target))
        totals.packed += len(packed)
        totals.plain += len(data)
        totals.files += 1
    elif "t" in flags:
        if "v" in flags:
            call.err.append(f"{word}:\t OK\n")
    else:
        _store(call, word, target, data, meta, flags, _ratio(len(packed), len(data), packed))


def _ratio(packed: int, plain: int, content: bytes | int) -> float:
    """Percent saved, the header and the name in it left out."""
    header = 18
    if isinstance(content, bytes) and content[:2] == b"\x1f\x8b" and content[3] & 8:
        header += content.index(b"\0", 10) - 9
    return 100 * (plain - (packed - header)) / plain if plain else 0.0


def _listed(packed: int, plain: int, content: bytes | int, name: str) -> str:
    return f"{packed:>19} {plain:>19} {_ratio(packed, plain, content):5.1f}% {name}"
