"""``uniq`` after GNU coreutils 9.1 and ``cmp`` after GNU diffutils 3.8, in the C locale."""

from __future__ import annotations

import itertools
import re

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.programs.text.columns import content

_BLANKS = re.compile(rb"[ \t]*[^ \t]*")
_WAYS = {"all-repeated": ("none", "prepend", "separate"), "group": ("prepend", "append", "separate", "both")}


def uniq(call: Call) -> None:
    """Filter adjacent lines that are equal."""
    call.argv = [f"-f{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in call.argv]
    found, words = options(
        call,
        "cdDf:is:uw:z",
        ["count", "repeated", "all-repeated=?", "group=?", "skip-fields=", "ignore-case", "skip-chars=", "unique",
         "check-chars=", "zero-terminated"],
    )  # fmt: skip
    letters, numbers, way = "", {"f": 0, "s": 0, "w": 0}, {"all-repeated": "", "group": ""}
    names = {"skip-fields": "f", "skip-chars": "s", "check-chars": "w", "repeated": "d", "D": "all-repeated",
             "ignore-case": "i", "zero-terminated": "z", "count": "c", "unique": "u"}  # fmt: skip
    what = {"f": "fields to skip", "s": "bytes to skip", "w": "bytes to compare"}
    for option, value in found:
        name = names.get(option.lstrip("-"), option.lstrip("-"))
        if name in numbers:
            if not value.isdigit():
                raise UsageError(f"{value}: invalid number of {what[name]}", hint=False)
            numbers[name] = int(value)
        elif name in way:
            value = value or ("none" if name == "all-repeated" else "separate")
            chosen = [w for w in _WAYS[name] if w.startswith(value)]
            if len(chosen) != 1:
                lines = "\n".join(f"  - '{w}'" for w in _WAYS[name])
                raise UsageError(
                    f"invalid argument {quote(value)} for '--{name}'\nValid arguments are:\n{lines}"
                )
            way[name] = chosen[0]
        else:
            letters += name
    if len(words) > 2:
        raise UsageError(f"extra operand {quote(words[2])}")
    if way["group"] and (way["all-repeated"] or set(letters) & set("cdu")):
        raise UsageError("--group is mutually exclusive with -c/-d/-D/-u")
    if way["all-repeated"] and "c" in letters:
        raise UsageError("printing all duplicated lines and repeat counts is meaningless")
    data = content(call, words[0] if words else "-")
    if isinstance(data, str):
        shown = words[0] if words[0] else "''"
        call.fail(f"error reading '{words[0]}'" if data == "Is a directory" else f"{shown}: {data}")
        return
    end = b"\0" if "z" in letters else b"\n"
    rows = data.split(end)
    if rows[-1] == b"":
        rows.pop()
    text = b"".join(row + end for row in _chosen(rows, letters, numbers, way)).decode("utf-8", "replace")
    if len(words) == 2 and words[1] != "-":
        _write(call, words[1], text)
    else:
        call.out.append(text)


def _write(call: Call, word: str, text: str) -> None:
    path = call.path(word)
    meta, folder = call.stat(path), call.stat(path.rpartition("/")[0] or "/")
    if (meta is not None and meta.kind == "directory") or folder is None or folder.kind != "directory":
        call.fail(f"{word}: {'Is a directory' if meta is not None else call.why_missing(word)}")
    else:
        call.fs.write_file(path, text.encode())


def _chosen(lines: list[bytes], letters: str, numbers: dict[str, int], way: dict[str, str]) -> list[bytes]:
    skip, start, width, fold = numbers["f"], numbers["s"], numbers["w"], "i" in letters

    def key(line: bytes) -> bytes:
        place = 0
        for _ in range(min(skip, len(line))):
            m = _BLANKS.match(line, place)
            place = m.end() if m else place
        line = line[place + start :]
        line = line[:width] if width else line
        return line.upper() if fold else line

    plain = not (skip or start or width or fold)
    runs = [list(run) for _, run in itertools.groupby(lines, None if plain else key)]
    group, repeated = way["group"], way["all-repeated"]
    found: list[bytes] = []
    if group:
        for number, run in enumerate(runs):
            if group in ("prepend", "both") or (group == "separate" and number):
                found.append(b"")
            found += run
            if group == "append":
                found.append(b"")
        return [*found, b""] if group == "both" and runs else found
    for run in runs:
        if len(run) == 1 and ("d" in letters or repeated):
            continue
        if len(run) > 1 and "u" in letters:
            continue
        if repeated:
            if repeated == "prepend" or (repeated == "separate" and found):
                found.append(b"")
            found += run
        else:
            found.append((b"%7d " % len(run) if "c" in letters else b"") + run[0])
    return found


def cmp(call: Call) -> None:
    """Compare two files byte by byte; code 1 where they differ, 2 on trouble."""
    found, words = options(
        call,
        "bi:ln:s",
        ["print-bytes", "ignore-initial=", "verbose", "bytes=", "quiet", "silent"],
        code=2,
    )
    letters, skips, most = "", [0, 0], None
    for option, value in found:
        name = {"--ignore-initial": "i", "--bytes": "n", "--print-bytes": "b", "--verbose": "l"}.get(option)
        name = name or ("s" if option in ("--quiet", "--silent") else option[1:])
        if name in "in":
            counts = value.split(":") if name == "i" else [value]
            if not all(count.isdigit() for count in counts):
                what = "--ignore-initial" if name == "i" else "--bytes"
                raise UsageError(f"invalid {what} value '{value}'", 2)
            if name == "n":
                most = int(value)
            else:
                skips = [int(counts[0]), int(counts[-1])]
        else:
            letters += name
    if "l" in letters and "s" in letters:
        raise UsageError("options -l and -s are incompatible", 2)
    if not words:
        raise UsageError(f"missing operand after '{call.name}'", 2)
    words = [*words, "-"] if len(words) == 1 else words
    if len(words) > 4:
        raise UsageError(f"extra operand '{words[4]}'", 2)
    for number, word in enumerate(words[2:4]):
        if not word.isdigit():
            raise UsageError(f"invalid --ignore-initial value '{word}'", 2)
        skips[number] = int(word)
    sides = []
    for word, skip in zip(words[:2], skips, strict=True):
        data = content(call, word)
        if isinstance(data, str):
            call.code = 2
            if "s" not in letters or data == "Is a directory":
                call.fail(f"{word}: {data}", 2)
            return
        sides.append(data[skip:] if most is None else data[skip : skip + most])
    _compare(call, words, sides[0], sides[1], letters)


def _compare(call: Call, words: list[str], left: bytes, right: bytes, letters: str) -> None:
    if left == right:
        return
    call.code = 1
    shared = min(len(left), len(right))
    places = [n for n in range(shared) if left[n] != right[n]]
    if "s" in letters:
        return
    if "l" in letters:
        width = len(str(shared if len(left) != len(right) else len(left)))
        for n in places:
            a, b = left[n], right[n]
            if "b" in letters:
                call.line(f"{n + 1:>{width}} {a:3o} {_glyph(a):<4} {b:3o} {_glyph(b)}")
            else:
                call.line(f"{n + 1:>{width}} {a:3o} {b:3o}")
    elif places:
        n = places[0]
        line = left.count(b"\n", 0, n) + 1
        text = f"{words[0]} {words[1]} differ: {'byte' if 'b' in letters else 'char'} {n + 1}, line {line}"
        if "b" in letters:
            text += f" is {left[n]:3o} {_glyph(left[n])} {right[n]:3o} {_glyph(right[n])}"
        call.line(text)
        return
    if len(left) != len(right):
        side, data = (words[0], left) if len(left) < len(right) else (words[1], right)
        if not data:
            call.err.append(f"cmp: EOF on {side} which is empty\n")
            return
        place = f"after byte {len(data)}"
        if "l" not in letters:
            count = data.count(b"\n")
            place += f", line {count}" if data.endswith(b"\n") else f", in line {count + 1}"
        call.err.append(f"cmp: EOF on {side} {place}\n")


def _glyph(byte: int) -> str:
    text = "M-" if byte >= 128 else ""
    byte &= 127
    if byte < 32:
        return f"{text}^{chr(byte + 64)}"
    return f"{text}^?" if byte == 127 else text + chr(byte)
