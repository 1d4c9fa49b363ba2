"""``wc`` and ``cut`` after GNU coreutils 9.1, in the C locale: a character is a byte."""

from __future__ import annotations

import re
from collections.abc import Iterator

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options, quote, shown

REGULAR = "--standard-input-is-a-file"  # what ``rewording`` adds to ``wc`` before a redirection
_LAST = 1 << 62
_WORDS = re.compile(rb"[^\t\n\v\f\r ]*[!-~][^\t\n\v\f\r ]*")
_PRINTED = bytes(range(32, 127))


def content(call: Call, word: str) -> bytes | str:
    """What a word's file or standard input holds; the error text where it cannot be read."""
    if word == "-":
        return call.given
    meta = call.stat(call.path(word)) if word else None
    if meta is None or (word.endswith("/") and meta.kind != "directory"):
        return (
            call.why_missing(word)
            if meta is None and word
            else NO_ENTRY
            if meta is None
            else "Not a directory"
        )
    if meta.kind == "directory":
        return "Is a directory"
    return call.fs.read_file(call.path(word)) if meta.readable else "Permission denied"


def wc(call: Call) -> None:
    """Count lines, words and bytes."""
    regular = REGULAR in call.argv
    call.argv = [word for word in call.argv if word != REGULAR]
    found, words = options(call, "clLmw", ["bytes", "chars", "lines", "words", "max-line-length"])
    letters = {
        {"--max-line-length": "L", "--chars": "m", "--bytes": "c"}.get(o, o.lstrip("-")[0]) for o, _ in found
    }
    kinds = [letter for letter in "lwmcL" if letter in (letters or set("lwc"))]
    texts = [(word, content(call, word)) for word in words or ["-"]]
    width = _width(texts, kinds, regular or bool(words and "-" not in words))
    totals = dict.fromkeys(kinds, 0)
    for word, text in texts:
        if isinstance(text, str):
            call.fail(f"{shown(word)}: {text}" if word else "invalid zero-length file name")
            if text != "Is a directory":
                continue
            text = b""
        counts = _counts(text, kinds, piped=word == "-" and not call.bytewise)
        for kind, count in counts.items():
            totals[kind] = max(totals[kind], count) if kind == "L" else totals[kind] + count
        name = "" if word == "-" and not words else f" {word}"
        call.line(" ".join(f"{counts[kind]:>{width}}" for kind in kinds) + name)
    if len(texts) > 1:
        call.line(" ".join(f"{totals[kind]:>{width}}" for kind in kinds) + " total")


def _width(texts: list[tuple[str, bytes | str]], kinds: list[str], regular: bool) -> int:
    if len(texts) == 1 and len(kinds) == 1:
        return 1
    size = sum(len(text) for _, text in texts if isinstance(text, bytes))
    least = 1 if regular and all(text != "Is a directory" for _, text in texts) else 7
    return max(least, len(str(size)))


def _counts(text: bytes, kinds: list[str], piped: bool) -> dict[str, int]:
    if piped:  # a byte that is no text came as U+FFFD
        text = text.replace("\ufffd".encode(), b"\x80")
    counts = {}
    for kind in kinds:
        if kind == "l":
            counts[kind] = text.count(b"\n")
        elif kind == "w":
            counts[kind] = len(_WORDS.findall(text)) if not text.isascii() else len(text.split())
        elif kind in "mc":
            counts[kind] = len(text)
        else:
            counts[kind] = max(map(_columns, re.split(rb"[\n\r\f]", text)))
    return counts


def _columns(line: bytes) -> int:
    place = 0
    for byte in line:
        if byte == 9:
            place += 8 - place % 8
        elif byte in _PRINTED:
            place += 1
    return place


def cut(call: Call) -> None:
    """Print parts of lines."""
    found, words = options(
        call,
        "b:c:d:f:nsz",
        ["bytes=", "characters=", "fields=", "delimiter=", "only-delimited", "output-delimiter=", "complement",
         "zero-terminated"],
    )  # fmt: skip
    lists: list[tuple[str, str]] = []
    delimiter, output, names = None, None, {option for option, _ in found}
    for option, value in found:
        if option in ("-b", "-c", "-f", "--bytes", "--characters", "--fields"):
            if lists:
                raise UsageError("only one list may be specified")
            lists.append((option.lstrip("-")[0], value))
        elif option in ("-d", "--delimiter"):
            if len(value.encode()) > 1:
                raise UsageError("the delimiter must be a single character")
            delimiter = value.encode() or b"\0"
        elif option == "--output-delimiter":
            output = value.encode() or b"\0"
    if not lists:
        raise UsageError("you must specify a list of bytes, characters, or fields")
    kind, text = lists[0]
    only = bool(names & {"-s", "--only-delimited"})
    if kind != "f" and delimiter is not None:
        raise UsageError("an input delimiter may be specified only when operating on fields")
    if kind != "f" and only:
        raise UsageError("suppressing non-delimited lines makes sense\n\tonly when operating on fields")
    ranges = _ranges(text, kind)
    if "--complement" in names:
        ranges = list(_complement(ranges))
    end = b"\0" if names & {"-z", "--zero-terminated"} else b"\n"
    for word in words or ["-"]:
        data = content(call, word)
        if isinstance(data, str):
            call.fail(f"{shown(word)}: {data}")
            continue
        lines = data.split(end)
        if lines[-1] == b"":
            lines.pop()
        if kind == "f":
            tab = delimiter or b"\t"
            done = _fields(lines, tab, tab if output is None else output, ranges, only)
        else:
            done = (
                (output or b"").join(line[a - 1 : b] for a, b in ranges if a <= len(line)) for line in lines
            )
        call.write(b"".join(line + end for line in done))


def _fields(
    lines: list[bytes], tab: bytes, output: bytes, ranges: list[tuple[int, int]], only: bool
) -> Iterator[bytes]:
    for line in lines:
        parts = line.split(tab)
        if len(parts) > 1:
            yield output.join(part for a, b in ranges for part in parts[a - 1 : b])
        elif not only:
            yield line


def _ranges(text: str, kind: str) -> list[tuple[int, int]]:
    """Merged ranges of positions, from 1, both ends included."""
    what = "invalid field value" if kind == "f" else "invalid byte/character position"
    first = "fields are numbered from 1" if kind == "f" else "byte/character positions are numbered from 1"
    found = []
    for part in re.split(r"[, \t]", text):
        low, dash, high = part.partition("-")
        if dash and not low and not high:
            raise UsageError("invalid range with no endpoint: -")
        for end in (low, high):
            if end and not end.isdigit():
                raise UsageError(f"{what} {quote(end.lstrip('0123456789'))}")
        if low == "0" or not part or (low and int(low) == 0):
            raise UsageError(first)
        a = int(low or 1)
        b = int(high) if high else _LAST if dash else a
        if b < a:
            raise UsageError("invalid decreasing range")
        found.append((a, b))
    merged: list[tuple[int, int]] = []
    for a, b in sorted(found):
        if merged and a <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        else:
            merged.append((a, b))
    return merged


def _complement(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start = 1
    for a, b in ranges:
        if a > start:
            yield start, a - 1
        start = b + 1
    if start < _LAST:
        yield start, _LAST
