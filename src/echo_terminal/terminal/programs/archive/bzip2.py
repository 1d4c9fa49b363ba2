"""``bzip2``, ``bunzip2`` and ``bzcat`` 1.0.8."""

from __future__ import annotations

import bz2
import io

from echo_terminal.terminal.programs.archive.packing import packed, unpacked
from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.wording.usage import BZIP2

_LONG = {"decompress": "d", "compress": "z", "keep": "k", "force": "f", "test": "t", "stdout": "c", "quiet": "q",
         "verbose": "v", "small": "s", "fast": "1", "best": "9", "help": "h"}  # fmt: skip
_RECOVER = (
    "\nYou can use the `bzip2recover' program to attempt to recover\n"
    "data from undamaged sections of corrupted files.\n\n"
)
_SHORT = (
    "\n{0}: Compressed file ends unexpectedly;\n\tperhaps it is corrupted?  *Possible* reason follows.\n"
    "{0}: Inappropriate ioctl for device\n\tInput file = {1}, output file = {2}\n\n"
    "It is possible that the compressed file(s) have become corrupted.\n"
    "You can use the -tvv option to test integrity of such files.\n" + _RECOVER
)
_ENDS = {".bz2": "", ".bz": "", ".tbz2": ".tar", ".tbz": ".tar"}
DAMAGED = 2


def bzip2(call: Call) -> None:
    """Compress or decompress files."""
    flags = {"bunzip2": {"d"}, "bzcat": {"d", "c"}}.get(call.name, set())
    words = []
    for word in call.argv:
        if word[:1] != "-" or word == "-":
            words.append(word)
            continue
        letters = [_LONG.get(word[2:], "?")] if word[:2] == "--" else list(word[1:])
        wrong = [letter for letter in letters if letter not in "dzkftcqvsh123456789"]
        if wrong or "h" in letters:
            call.err.append((f"{call.name}: Bad flag `{word}'\n" if wrong else "") + BZIP2.format(call.name))
            call.code = int(bool(wrong))
            return
        flags = flags | set(letters)
    if "z" in flags:
        flags = flags - {"d"}
    for word in words or ["-"]:
        _one(call, word, flags)


def _one(call: Call, word: str, flags: set[str]) -> None:
    data, unpack, piped = content(call, word), bool(flags & {"d", "t"}), word == "-"
    end = next((end for end in _ENDS if word.endswith(end)), None)
    target = f"{word}.bz2" if not unpack else f"{word}.out" if end is None else word[: -len(end)] + _ENDS[end]
    stored = not piped and not flags & {"c", "t"}
    if isinstance(data, str):
        folder = data == "Is a directory"
        call.fail(
            f"Input file {word} is a directory." if folder else f"Can't open input file {word}: {data}."
        )
        return
    if not unpack and end is not None:
        call.fail(f"Input file {word} already has {end} suffix.")
        return
    if unpack and stored and end is None:
        call.err.append(f"{call.name}: Can't guess original name for {word} -- using {target}\n")
    if stored and call.stat(call.path(target)) is not None and "f" not in flags:
        call.fail(f"Output file {target} already exists.")
        return
    try:
        made = unpacked(bz2.open(io.BytesIO(data))) if unpack else packed(bz2.BZ2Compressor(), data)
    except OSError:
        _refuse(call, "(stdin)" if piped else word, flags)
        return
    except EOFError:
        names = ("(stdin)" if piped else word, target if stored else "(stdout)")
        call.err.append(_SHORT.format(call.name, *names))
        call.code = DAMAGED
        return
    if stored:
        _store(call, word, target, made, flags)
    elif "t" not in flags:
        call.write(made)
    if "v" in flags:
        call.err.append(f"  {word}: {_said(flags, len(data), len(made))}\n")


def _refuse(call: Call, shown: str, flags: set[str]) -> None:
    if "t" in flags:
        start = f"  {shown}:       " if "v" in flags else f"{call.name}: {shown}: "
        more = "" if "v" in flags else " (file not created by bzip2)"
        call.err.append(f"{start}bad magic number{more}\n{_RECOVER}")
    else:
        call.err.append(f"{call.name}: {shown} is not a bzip2 file.\n")
    call.code = DAMAGED


def _said(flags: set[str], size: int, made: int) -> str:
    if flags & {"d", "t"}:
        return "  ok" if "t" in flags else "  done"
    if not size:
        return " no data compressed."
    share = made / size
    return f"{size / made:6.3f}:1, {share * 8:6.3f} bits/byte, {100 * (1 - share):5.2f}% saved, {size} in, {made} out."


def _store(call: Call, word: str, target: str, made: bytes, flags: set[str]) -> None:
    meta, path = call.stat(call.path(word)), call.path(target)
    call.fs.write_file(path, made)
    if meta is not None:
        call.fs.chmod(path, meta.mode)
        call.keep_time(path, meta)
    if "k" not in flags:
        call.fs.remove(call.path(word))
