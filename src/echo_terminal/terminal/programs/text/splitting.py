"""``split`` after GNU coreutils 9.1; commands that filter the pieces are not run."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options, quote
from echo_terminal.terminal.programs.files.making import refusal
from echo_terminal.terminal.programs.text.columns import content

_LONG = (
    "suffix-length= additional-suffix= bytes= line-bytes= lines= number= numeric-suffixes=? hex-suffixes=? "
    "elide-empty-files separator= verbose unbuffered"
).split()
_NAMES = {
    "suffix-length": "a", "bytes": "b", "line-bytes": "C", "lines": "l", "number": "n", "numeric-suffixes": "d",
    "hex-suffixes": "x", "elide-empty-files": "e", "separator": "t",
}  # fmt: skip
_UNITS = {unit: n for n, unit in enumerate("KMGTPE", 1)}
MOST_FILES = 100_000
LONGEST_NAME = 255
LARGEST = {"bytes": 1 << 63, "lines": 1 << 64, "chunks": 1 << 64}


def split(call: Call) -> None:
    """Write pieces of a file into files of their own."""
    call.argv = [re.sub(r"^-(\d+)$", r"-l\1", word) for word in call.argv]
    found, words = options(call, "a:b:C:l:n:dxet:u", _LONG)
    chosen, values, verbose = "", {}, False
    for option, value in found:
        letter = _NAMES.get(option[2:], "") if option.startswith("--") else option[1]
        verbose |= option == "--verbose"
        if option == "--additional-suffix":
            values["suffix"] = value
        if letter in ("b", "C", "l", "n"):
            if chosen and chosen != letter:
                raise UsageError("cannot split in more than one way")
            chosen = letter
        values[letter] = value
    if len(words) > 2:
        raise UsageError(f"extra operand {quote(words[2])}")
    _check(values)
    what = "lines" if chosen == "l" else "bytes"
    size = 1000 if not chosen else 0 if chosen == "n" else _size(values[chosen], what)
    chunks = _chunks(values["n"]) if chosen == "n" else ("", 0, 0)
    source = words[0] if words else "-"
    data = content(call, source)
    if isinstance(data, str):
        missing = (
            f"cannot open {quote(source)} for reading: {data}" if data == NO_ENTRY else f"{source}: {data}"
        )
        call.fail(f"{source}: read error: {data}" if data == "Is a directory" else missing)
        return
    end = values.get("t", "\n").replace("\\0", "\0").encode()
    if chosen == "n":
        pieces = _numbered(data, chunks, end)
        if chunks[1]:
            call.out.append(list(pieces)[chunks[1] - 1].decode("utf-8", "replace"))
            return
    else:
        pieces = _pieces(data, chosen or "l", size, end)
    names = _suffixes(values, chunks[2])
    for number, piece in enumerate(pieces):
        if number > MOST_FILES or (not piece and "e" in values):
            continue
        suffix = next(names, None)
        if suffix is None:
            raise UsageError("output file suffixes exhausted", hint=False)
        name = f"{words[1] if len(words) > 1 else 'x'}{suffix}{values.get('suffix', '')}"
        if len(name.rpartition("/")[2].encode()) > LONGEST_NAME:
            raise UsageError(f"{name}: File name too long", hint=False)
        if verbose:
            call.line(f"creating file {quote(name)}")
        path = call.path(name)
        reason = refusal(call, path) or ("" if call.is_folder(path.rpartition("/")[0] or "/") else NO_ENTRY)
        if reason:
            call.fail(f"{name}: {reason}")
            return
        call.fs.write_file(path, piece)


def _check(values: dict[str, str]) -> None:
    """Refuse what is no length, no first number, and no separator."""
    length, separator = values.get("a", "0"), values.get("t", "")
    if re.fullmatch(r"\d{1,18}", length, re.A) is None:
        raise UsageError(f"invalid suffix length: {quote(length)}", hint=False)
    for letter, kind, digits in (("d", "numerical", "[0-9]*"), ("x", "hexadecimal", "[0-9a-f]*")):
        if re.fullmatch(digits, values.get(letter, "")) is None:
            raise UsageError(f"{quote(values[letter])}: invalid start value for {kind} suffix")
    if "t" in values and not separator:
        raise UsageError("empty record separator", hint=False)
    if len(separator) > 1 and separator != "\\0":
        raise UsageError(f"multi-character separator {quote(separator)}", hint=False)


def _size(text: str, what: str) -> int:
    match = re.fullmatch(r"(\d+)(?:([KMGTPE])(iB|B)?|(k)|(b))?", text)
    if match is None or (what == "lines" and not text.isdigit()):
        raise UsageError(f"invalid number of {what}: {quote(text)}", hint=False)
    base = 1000 if match[3] == "B" else 1024
    unit = 512 if match[5] else base ** _UNITS.get((match[2] or match[4] or "").upper(), 0)
    if match[1].strip("0") == "":
        raise UsageError(
            f"invalid number of {what}: {quote(text)}: Numerical result out of range", hint=False
        )
    return _fitting(match[1], unit, what, text)


def _fitting(digits: str, unit: int, what: str, text: str) -> int:
    number = int(digits) * unit if len(digits) <= 20 else LARGEST[what]
    if number >= LARGEST[what]:
        raise UsageError(
            f"invalid number of {what}: {quote(text)}: Value too large for defined data type", hint=False
        )
    return number


def _chunks(text: str) -> tuple[str, int, int]:
    """Kind of chunks (bytes, l, r), the one to print, how many."""
    match = re.fullmatch(r"(?:([lr])/)?(?:(\d+)/)?(\d+)", text)
    if match is not None:
        _fitting(match[3], 1, "chunks", match[3])
    if match is None or int(match[3]) == 0:
        shown = text.rpartition("/")[2] if match is None else match[3]
        late = ": Numerical result out of range" if match else ""
        raise UsageError(f"invalid number of chunks: {quote(shown)}{late}", hint=False)
    if match[2] and (len(match[2]) > 20 or not 0 < int(match[2]) <= int(match[3])):
        raise UsageError(f"invalid chunk number: {quote(match[2])}", hint=False)
    return match[1] or "", int(match[2] or 0), min(int(match[3]), MOST_FILES)


def _lines(data: bytes, end: bytes) -> list[bytes]:
    lines = [line + end for line in data.split(end)]
    lines[-1] = lines[-1].removesuffix(end)
    return lines if lines[-1] else lines[:-1]


def _pieces(data: bytes, kind: str, size: int, end: bytes) -> Iterator[bytes]:
    if kind == "b":
        yield from (data[n : n + size] for n in range(0, len(data), size))
        return
    lines = _lines(data, end)
    if kind == "l":
        yield from (b"".join(lines[n : n + size]) for n in range(0, len(lines), size))
        return
    piece = b""
    for line in lines:
        if piece and len(piece) + len(line) > size:
            yield piece
            piece = b""
        piece += line
        while len(piece) > size:
            yield piece[:size]
            piece = piece[size:]
    if piece:
        yield piece


def _numbered(data: bytes, chunks: tuple[str, int, int], end: bytes) -> Iterator[bytes]:
    kind, _, count = chunks
    size = len(data) // count
    if not kind:
        yield from (data[n * size : (n + 1) * size if n < count - 1 else len(data)] for n in range(count))
        return
    found: list[list[bytes]] = [[] for _ in range(count)]
    place = 0
    for number, line in enumerate(_lines(data, end)):
        found[number % count if kind == "r" else min(place // max(size, 1), count - 1)].append(line)
        place += len(line)
    yield from (b"".join(lines) for lines in found)


def _suffixes(values: dict[str, str], chunks: int) -> Iterator[str]:
    """The ends of the names: two letters, and more where the first is used up."""
    letters = (
        string.digits if "d" in values else string.hexdigits[:16] if "x" in values else string.ascii_lowercase
    )
    base = len(letters)
    length = min(int(values.get("a", 0)), LONGEST_NAME + 1)  # a longer name is refused as well
    first = values.get("d") or values.get("x") or "0"
    start = int(first, base) if first.isalnum() else 0
    if "a" not in values and not chunks and start == 0:
        prefix = ""
        while True:  # the last letter of the first place announces a longer name
            width = 2 + len(prefix)
            yield from (prefix + _word(n, letters, width) for n in range(base**width - base ** (width - 1)))
            prefix += letters[-1]
    width = length or 2
    while not length and chunks and base**width < chunks + start:
        width += 1
    yield from (_word(n, letters, width) for n in range(start, base**width))


def _word(number: int, letters: str, width: int) -> str:
    text = ""
    for _ in range(width):
        number, place = divmod(number, len(letters))
        text = letters[place] + text
    return text
