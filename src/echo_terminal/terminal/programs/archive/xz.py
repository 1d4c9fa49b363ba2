"""``xz``, ``unxz`` and ``xzcat`` after XZ Utils 5.4, where a file becomes a file or its text is shown."""

from __future__ import annotations

import io
import lzma
import posixpath

from echo_terminal.terminal.programs.archive.packing import packed, unpacked
from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options
from echo_terminal.terminal.programs.files.making import refusal

_LONG = {"decompress": "d", "uncompress": "d", "keep": "k", "force": "f", "stdout": "c", "to-stdout": "c", "test": "t",
         "verbose": "v", "quiet": "q", "compress": "z", "list": "l"}  # fmt: skip


def xz(call: Call) -> None:
    """Compress or decompress files."""
    flags = {"unxz": {"d"}, "xzcat": {"d", "c"}}.get(call.name, set())
    try:
        found, words = options(call, "dkfctvqzl0123456789eT:", [*_LONG, "threads=", "best", "extreme"])
    except UsageError as error:
        call.fail(error.message)
        call.fail("Try 'xz --help' for more information.")
        return
    flags = flags | {_LONG.get(option.lstrip("-"), option.lstrip("-")) for option, _ in found}
    for word in words:
        _one(call, word, flags)


def _one(call: Call, word: str, flags: set[str]) -> None:
    path, meta = call.path(word), call.stat(call.path(word))
    unpack = bool(flags & {"d", "t", "l"})
    target = word.removesuffix(".xz") if unpack else f"{word}.xz"
    if meta is None:
        call.fail(f"{word}: {NO_ENTRY}")
    elif meta.kind == "directory":
        call.fail(f"{word}: Is a directory, skipping", 2)
    elif not meta.readable:
        call.fail(f"{word}: Permission denied")
    elif not unpack and word.endswith(".xz"):
        call.fail(f"{word}: File already has `.xz' suffix, skipping", 2)
    else:
        try:
            data = call.fs.read_file(path)
            data = unpacked(lzma.open(io.BytesIO(data))) if unpack else packed(lzma.LZMACompressor(), data)
        except (lzma.LZMAError, EOFError):
            call.fail(f"{word}: File format not recognized")
            return
        if "t" in flags or "l" in flags:
            return
        if "c" in flags:
            call.out.append(data.decode("utf-8", "replace"))
        elif call.stat(call.path(target)) is not None and "f" not in flags:
            call.fail(f"{target}: File exists")
        elif reason := refusal(call, posixpath.join(call.cwd, target)):
            call.fail(f"{target}: {reason}")
        else:
            call.fs.write_file(call.path(target), data)
            call.fs.chmod(call.path(target), meta.mode)
            call.keep_time(call.path(target), meta)
            if "k" not in flags:
                call.fs.remove(path)
