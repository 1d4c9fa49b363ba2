"""``tr`` after GNU coreutils 9.1, in the C locale: a character is a byte."""

from __future__ import annotations

import functools
import re

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote

CLASSES = {
    "alnum": b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "alpha": b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "blank": b"\t ",
    "cntrl": bytes([*range(32), 127]),
    "digit": b"0123456789",
    "graph": bytes(range(33, 127)),
    "lower": b"abcdefghijklmnopqrstuvwxyz",
    "print": bytes(range(32, 127)),
    "punct": bytes(c for c in range(33, 127) if not chr(c).isalnum()),
    "space": b"\t\n\v\f\r ",
    "upper": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "xdigit": b"0123456789ABCDEFabcdef",
}
_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_ALL = bytes(range(256))
Part = tuple[
    str, bytes, int
]  # kind (chars, class, fill), bytes, how often a fill is repeated (0: to the end)


def _doubled(text: str) -> str:
    """A set in a message."""
    return quote(text.replace("\\", "\\\\"))


def tr(call: Call) -> None:
    """Translate, squeeze or delete characters of standard input."""
    call.name = "tr"
    found, sets = options(call, "+cCdst", ["complement", "delete", "squeeze-repeats", "truncate-set1"])
    flags = {option.lstrip("-")[0] for option, _ in found}
    delete, squeeze = "d" in flags, "s" in flags
    call.err += [
        "tr: warning: an unescaped backslash at end of string is not portable\n"
        for text in sets
        if re.search(r"(?:^|[^\\])(?:\\\\)*\\$", text)
    ]
    least = 1 if delete != squeeze else 2
    most = 1 if delete and not squeeze else 2
    if len(sets) < least:
        if not sets:
            raise UsageError("missing operand")
        why = (
            "Two strings must be given when both deleting and squeezing repeats."
            if delete
            else "Two strings must be given when translating."
        )
        raise UsageError(f"missing operand after {_doubled(sets[-1])}\n{why}")
    if len(sets) > most:
        text = f"extra operand {_doubled(sets[most])}"
        if len(sets) == 2:
            text += "\nOnly one string may be given when deleting without squeezing repeats."
        raise UsageError(text)
    change, removed, squeezed = _tables(
        tuple(sets), "c" in flags or "C" in flags, delete, squeeze, "t" in flags
    )
    data = call.given.translate(change, removed)
    if squeezed is not None:
        data = squeezed.sub(rb"\1", data)
    call.write(data)


@functools.lru_cache(256)
def _tables(
    sets: tuple[str, ...], complement: bool, delete: bool, squeeze: bool, truncate: bool
) -> tuple[bytes | None, bytes, re.Pattern[bytes] | None]:
    """Table of ``bytes.translate``, what it deletes, and a pattern of repeats to squeeze."""
    parts = _parts(sets[0])
    if any(kind == "fill" for kind, _, _ in parts):
        raise UsageError("the [c*] repeat construct may not appear in string1", hint=False)
    first = _expand(parts, 0)
    if complement:
        first = bytes(c for c in _ALL if c not in first)
    if len(sets) == 1:
        return (None, first, None) if delete else (None, b"", _repeats(first))
    parts = _parts(sets[1])
    if delete:
        return None, first, _repeats(_expand(parts, 0))
    fills = sum(kind == "fill" and count == 0 for kind, _, count in parts)
    if fills > 1:
        raise UsageError("only one [c*] repeat construct may appear in string2", hint=False)
    if any(kind.startswith("class") and kind not in ("class lower", "class upper") for kind, _, _ in parts):
        raise UsageError(
            "when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'",
            hint=False,
        )
    second = _expand(parts, len(first))
    if truncate:
        first = first[: len(second)]
    elif len(second) < len(first):
        if not second:
            raise UsageError("when not truncating set1, string2 must be non-empty", hint=False)
        if parts[-1][0].startswith("class"):
            raise UsageError(
                "when translating with string1 longer than string2,\n"
                "the latter string must not end with a character class", hint=False
            )  # fmt: skip
        second += second[-1:] * (len(first) - len(second))
    table = bytearray(_ALL)
    for old, new in zip(first, second, strict=False):
        table[old] = new
    return bytes(table), b"", _repeats(second) if squeeze else None


def _repeats(chars: bytes) -> re.Pattern[bytes]:
    inside = b"".join(b"\\x%02x" % c for c in sorted(set(chars)))
    return re.compile(rb"([" + inside + rb"])\1+" if inside else rb"(?!)()")


def _expand(parts: list[Part], length: int) -> bytes:
    rest = max(0, length - sum(count if kind == "fill" else len(chars) for kind, chars, count in parts))
    return b"".join(chars * (count or rest) if kind == "fill" else chars for kind, chars, count in parts)


def _letters(text: str) -> list[tuple[int, bool]]:
    """Bytes of a set with whether each was escaped."""
    found, place = [], 0
    while place < len(text):
        letter = text[place]
        if letter == "\\" and place + 1 < len(text):
            if octal := _OCTAL.match(text, place + 1):
                found.append((int(octal[0], 8), True))
                place = octal.end()
                continue
            place += 1
            code = _ESCAPES.get(text[place])
            found += [(code, True)] if code is not None else [(b, True) for b in text[place].encode()]
        else:
            found += [(b, False) for b in letter.encode()]
        place += 1
    return found


def _parts(text: str) -> list[Part]:
    if text.isalnum() and text.isascii():
        return [("chars", text.encode(), 0)]
    letters, found, place = _letters(text), [], 0
    plain = "".join("\0" if escaped else chr(code) for code, escaped in letters)  # escaped ones build nothing
    while place < len(letters):
        if plain[place] == "[":
            if m := re.compile(r"\[:(.*?):\]|\[=(.*?)=\]", re.S).match(plain, place):
                name = m[1]
                if name is None:
                    inner = letters[place + 2 : m.end() - 2]
                    if len(inner) != 1:
                        raise UsageError(
                            f"{m[2]}: equivalence class operand must be a single character"
                            if inner else "missing equivalence class character '[==]'", hint=False
                        )  # fmt: skip
                    found.append(("chars", bytes([inner[0][0]]), 0))
                elif not name:
                    raise UsageError("missing character class name '[::]'", hint=False)
                elif name not in CLASSES:
                    raise UsageError(f"invalid character class {quote(name)}", hint=False)
                else:
                    found.append((f"class {name}", CLASSES[name], 0))
                place = m.end()
                continue
            if m := re.compile(r"\[(.)\*([^\]]*)\]", re.S).match(plain, place):
                if not m[2].isdigit() and m[2]:
                    raise UsageError(f"invalid repeat count {quote(m[2])} in [c*n] construct", hint=False)
                count = min(int(m[2][:9] or "0", 8 if m[2].startswith("0") else 10), 256)
                found.append(("fill", bytes([letters[place + 1][0]]), count))
                place = m.end()
                continue
        if plain[place + 1 : place + 2] == "-" and place + 2 < len(letters):
            low, high = letters[place][0], letters[place + 2][0]
            if low > high:
                shown = "-".join(_shown(code) for code in (low, high))
                raise UsageError(
                    f"range-endpoints of {quote(shown)} are in reverse collating sequence order", hint=False
                )
            found.append(("chars", bytes(range(low, high + 1)), 0))
            place += 3
            continue
        found.append(("chars", bytes([letters[place][0]]), 0))
        place += 1
    return found


def _shown(code: int) -> str:
    return chr(code) if 32 <= code < 127 else f"\\{code:03o}"
