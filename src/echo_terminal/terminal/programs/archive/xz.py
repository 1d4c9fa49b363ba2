"""``xz``, ``unxz`` and ``xzcat`` after XZ Utils 5.4, on files and in pipes."""

from __future__ import annotations

import io
import lzma
import posixpath

from echo_terminal.terminal.programs.archive.packing import packed, unpacked
from echo_terminal.terminal.programs.call import Call, UsageError, options
from echo_terminal.terminal.programs.files.making import refusal
from echo_terminal.terminal.programs.text.columns import content

_LONG = {"decompress": "d", "uncompress": "d", "keep": "k", "force": "f", "stdout": "c", "to-stdout": "c", "test": "t",
         "verbose": "v", "quiet": "q", "compress": "z", "list": "l"}  # fmt: skip


SMALLEST = 32  # bytes of an archive


def xz(call: Call) -> None:
    """Compress or decompress files."""
    flags = {"unxz": {"d"}, "xzcat": {"d", "c"}}.get(call.name, set())
    try:
        found, words = options(call, "dkfctvqzl0123456789eT:", [*_LONG, "threads=", "best", "extreme"])
    except UsageError as error:
        call.fail(error.message)
        call.fail(f"Try {'`' if '--' in error.message else chr(39)}xz --help' for more information.")
        return
    flags = flags | {_LONG.get(option.lstrip("-"), option.lstrip("-")) for option, _ in found}
    sizes = [size for word in words or ["-"] if (size := _one(call, word, flags)) is not None]
    if "l" in flags and sizes:
        call.line("Strms  Blocks   Compressed Uncompressed  Ratio  Check   Filename")
        for small, large, name in sizes:
            call.line(_listed(1, small, large, name))
        if len(sizes) > 1:
            call.line("-" * 79)
            small, large = sum(size[0] for size in sizes), sum(size[1] for size in sizes)
            call.line(_listed(len(sizes), small, large, f"{len(sizes)} files"))


def _listed(count: int, small: int, large: int, name: str) -> str:
    ratio = f"{small / large:.3f}" if large else "---"
    return f"{count:5}   {count:5}   {_size(small):>10}   {_size(large):>10}  {ratio:>5}  CRC64   {name}"


def _size(size: int) -> str:
    return f"{size} B" if size < 10_000 else f"{size / 1024:.1f} KiB"


def _one(call: Call, word: str, flags: set[str]) -> tuple[int, int, str] | None:
    """Do what is asked of one file; its sizes and name where they are to be listed."""
    path, unpack, piped = call.path(word), bool(flags & {"d", "t", "l"}), word == "-"
    meta, data = call.stat(path), content(call, word)
    target = word.removesuffix(".xz") if unpack else f"{word}.xz"
    if isinstance(data, str):
        folder = data == "Is a directory"
        call.fail(f"{word}: {data}{', skipping' if folder else ''}", 2 if folder else 1)
    elif not unpack and word.endswith(".xz") and "c" not in flags:
        call.fail(f"{word}: File already has `.xz' suffix, skipping", 2)
    else:
        try:
            made = unpacked(lzma.open(io.BytesIO(data))) if unpack else packed(lzma.LZMACompressor(), data)
        except (lzma.LZMAError, EOFError):
            small = "Too small to be a valid .xz file" if "l" in flags and len(data) < SMALLEST else ""
            call.fail(f"{'(stdin)' if piped else word}: {small or 'File format not recognized'}")
            return None
        if "l" in flags:
            return len(data), len(made), word
        if "t" in flags:
            return None
        if piped or "c" in flags or meta is None:
            call.write(made)
        elif call.stat(call.path(target)) is not None and "f" not in flags:
            call.fail(f"{target}: File exists")
        elif reason := refusal(call, posixpath.join(call.cwd, target)):
            call.fail(f"{target}: {reason}")
        else:
            call.fs.write_file(call.path(target), made)
            call.fs.chmod(call.path(target), meta.mode)
            call.keep_time(call.path(target), meta)
            if "k" not in flags:
                call.fs.remove(path)
    return None
