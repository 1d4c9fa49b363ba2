"""``file`` after file 5.44: the kinds that occur in an episode."""

from __future__ import annotations

import json
import re

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, Meta, UsageError, options

_MAGIC = (
    (b"\x1f\x8b", "gzip compressed data"), (b"BZh", "bzip2 compressed data, block size = 900k"),
    (b"\xfd7zXZ\0", "XZ compressed data, checksum CRC64"), (b"PK\x03\x04", "Zip archive data"),
    (b"\x7fELF", "ELF 64-bit LSB executable, x86-64"), (b"\x89PNG\r\n", "PNG image data"),
    (b"%PDF-", "PDF document"), (b"SQLite format 3\0", "SQLite 3.x database"),
)  # fmt: skip
_SCRIPTS = (
    (r"#! ?(?:/usr)?/bin/(?:env )?bash", "Bourne-Again shell script"),
    (r"#! ?(?:/usr)?/bin/(?:env )?(?:da)?sh", "POSIX shell script"),
    (r"#! ?(?:/usr)?/bin/(?:env )?python3?", "Python script"),
    (r"#! ?(?:/usr)?/bin/(?:env )?perl", "Perl script"),
    (r"#! ?/usr/bin/awk", "awk script"),
)
_PYTHON = re.compile(rb"^(?:import \w+|from [\w.]+ import |def \w+\(.*\):|class \w+.*:\n)", re.M)


def file(call: Call) -> None:
    """Say what files hold."""
    found, words = options(
        call, "bhiLNz", ["brief", "mime", "mime-type", "mime-encoding", "no-pad", "dereference"]
    )
    names = {option for option, _ in found}
    if not words:
        raise UsageError(
            "Usage: file [-bcCdEhikLlNnprsSvzZ0] [--apple] [--extension] [--mime-encoding]", 1, hint=False
        )
    width = 0 if names & {"-N", "--no-pad"} else max(map(len, words))
    for word in words:
        kind = _kind(call, word)
        if names & {"-i", "--mime", "--mime-type"}:
            kind = _mime(kind) + ("" if "--mime-type" in names else f"; charset={_charset(kind)}")
        if names & {"-b", "--brief"}:
            call.line(kind)
        else:
            call.line(f"{word}:{' ' * (width - len(word))} {kind}")


def _kind(call: Call, word: str) -> str:
    meta = call.exists(word)
    if meta is None:
        return f"cannot open `{word}' ({NO_ENTRY})"
    path = call.path(word)
    if meta.kind == "directory":
        return "directory"
    if meta.kind == "fifo":
        return "fifo (named pipe)"
    if meta.kind == "symlink":
        broken = "" if call.stat(path) is not None else "broken "
        return f"{broken}symbolic link to {call.fs.read_link(path)}"
    return _of_content(call.fs.read_file(path), meta)


def _of_content(data: bytes, meta: Meta) -> str:
    if not data:
        return "empty"
    if not meta.readable:
        return "regular file, no read permission"
    for start, kind in _MAGIC:
        if data.startswith(start):
            return kind
    if data[257:262] == b"ustar":
        return "POSIX tar archive (GNU)"
    text = _text(data)
    if text is None:
        return "data"
    for pattern, kind in _SCRIPTS:
        if re.match(pattern.encode(), data):
            return f"{kind}, {text} executable"
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            json.loads(data)
        except ValueError:
            pass
        else:
            return "JSON text data"
    if _PYTHON.match(data):
        return f"Python script, {text} executable"
    return _csv(data, text) + _ends(data)


def _text(data: bytes) -> str | None:
    if re.search(rb"[\0-\x06\x0e-\x1a\x1c-\x1f\x7f]", data):
        return None
    if data.isascii():
        return "ASCII text"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "ISO-8859 text" if not re.search(rb"[\x80-\x9f]", data) else "Non-ISO extended-ASCII text"
    return "Unicode text, UTF-8 text"


def _csv(data: bytes, text: str) -> str:
    counts = {line.count(b",") for line in data.splitlines()[:10]}
    same = len(counts) == 1 and counts != {0} and data.count(b"\n") > 1
    return text.replace("ASCII text", "CSV ASCII text").replace("UTF-8 text", "UTF-8 text") if same else text


def _ends(data: bytes) -> str:
    long = max(map(len, data.split(b"\n")))
    found = f", with very long lines ({long})" if long >= 300 else ""
    if b"\r\n" in data:
        return found + ", with CRLF line terminators"
    return found if b"\n" in data else found + ", with no line terminators"


def _mime(kind: str) -> str:
    for start, name in (
        ("directory", "inode/directory"), ("symbolic", "inode/symlink"), ("broken", "inode/symlink"),
        ("empty", "inode/x-empty"), ("gzip", "application/gzip"), ("JSON", "application/json"),
        ("Bourne", "text/x-shellscript"), ("POSIX shell", "text/x-shellscript"),
        ("Python", "text/x-script.python"), ("CSV", "text/csv"), ("POSIX tar", "application/x-tar"),
        ("Zip", "application/zip"), ("data", "application/octet-stream"),
    ):  # fmt: skip
        if kind.startswith(start):
            return name
    return "text/plain" if "text" in kind else "application/octet-stream"


def _charset(kind: str) -> str:
    return "utf-8" if "UTF-8" in kind else "us-ascii" if "text" in kind or "JSON" in kind else "binary"
