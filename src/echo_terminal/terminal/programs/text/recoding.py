"""``iconv`` of glibc 2.36 in the C locale."""

from __future__ import annotations

import codecs
import re

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options
from echo_terminal.terminal.programs.text.columns import content

_LONG = ["from-code=", "to-code=", "output=", "list", "silent", "verbose"]
_HINT = "Try `iconv --help' or `iconv --usage' for more information.\n"
_CLOSE = {  # what //TRANSLIT writes for letters of its table; others become question marks
    " ": " ", "«": "<<", "»": ">>", "©": "(C)", "®": "(R)", "Æ": "AE", "æ": "ae", "ß": "ss", "Œ": "OE", "œ": "oe",
    "×": "x", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "‘": "'", "’": "'", "‚": ",", "“": '"',
    "”": '"', "„": ",,", "•": "o", "…": "...", "‹": "<", "›": ">", "€": "EUR", "™": "TM", "←": "<-", "→": "->",
    "⇐": "<=", "⇒": "=>", "−": "-", "½": " 1/2 ", "¼": " 1/4 ", "¾": " 3/4 ", "ﬁ": "fi", "ﬂ": "fl",
}  # fmt: skip


def iconv(call: Call) -> None:
    """Write files in another encoding."""
    try:
        found, words = options(call, "f:t:o:lcs", _LONG)
    except UsageError as error:
        call.fail(error.message, 64)
        call.err.append(_HINT)
        return
    names = dict(found)
    source, target = (
        names.get("-f", names.get("--from-code", "")),
        names.get("-t", names.get("--to-code", "")),
    )
    source, (target, *marks) = source.split("//")[0] or "ascii", (target or "ascii").split("//")
    known = [_codec(source), _codec(target or "ascii")]
    if None in known:
        call.fail("failed to start conversion processing")
        return
    skips = "-c" in names or any("IGNORE" in mark.upper() for mark in marks)
    close = any("TRANSLIT" in mark.upper() for mark in marks)
    made = b""
    for word in words or ["-"]:
        data = content(call, word)
        if isinstance(data, str):
            reason = (
                f"error while reading the input: {data}"
                if data != NO_ENTRY
                else f"cannot open input file `{word}': {data}"
            )
            call.fail(reason)
            continue
        text, rest = _read(data, str(known[0]))
        piece, wrong = _written(text, str(known[1]), skips=skips, close=close)
        made += piece
        if wrong is None and skips and "-c" not in names and len(piece.decode(str(known[1]))) < len(text):
            call.fail(f"illegal input sequence at position {len(data)}")
        if wrong is not None:
            call.fail(f"illegal input sequence at position {len(text[:wrong].encode(str(known[0])))}")
            break
        if rest is not None:
            call.fail(
                f"illegal input sequence at position {rest}" if not _cut(data[rest:], str(known[0]))
                else "incomplete character or shift sequence at end of buffer"
            )  # fmt: skip
            break
    output = names.get("-o", names.get("--output"))
    if output is not None:
        call.fs.write_file(call.path(output), made)
    else:
        call.write(made)


def _codec(name: str) -> str | None:
    """The name of an encoding as Python has it."""
    name = re.sub(r"^UCS-?2", "UTF-16LE", name, flags=re.I) if name[-1:] == "2" else name
    try:
        return codecs.lookup(re.sub(r"^(?:CP|IBM)-?(?=\d)", "cp", name, flags=re.I)).name
    except LookupError:
        return None


def _read(data: bytes, name: str) -> tuple[str, int | None]:
    """The text up to the first wrong byte, and where that is."""
    try:
        return data.decode(name), None
    except UnicodeDecodeError as error:
        return data[: error.start].decode(name), error.start


def _cut(data: bytes, name: str) -> bool:
    """Is it the beginning of a letter?"""
    try:
        return codecs.getincrementaldecoder(name)().decode(data) == ""
    except UnicodeDecodeError:
        return False


def _written(text: str, name: str, *, skips: bool, close: bool) -> tuple[bytes, int | None]:
    """The bytes of a text up to the first letter that the encoding lacks, and where that is."""
    try:
        return text.encode(name), None
    except UnicodeEncodeError as error:
        if not (skips or close):
            return text[: error.start].encode(name), error.start
    out = []
    for letter in text:
        try:
            letter.encode(name)
            out.append(letter)
        except UnicodeEncodeError:
            out.append(_CLOSE.get(letter, "" if skips else "?") if close else "")
    return "".join(out).encode(name), None
