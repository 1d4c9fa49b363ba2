"""Checksums of named files: ``md5sum``, ``sha1sum`` and so on, ``b2sum`` and ``cksum`` after GNU coreutils 9.1.

bashkit's work in pipes, where bytes must pass; see ``piping``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from echo_terminal.terminal.programs.call import Call, options
from echo_terminal.terminal.wording.piping import OWN

LONG = "binary check tag text zero ignore-missing quiet status strict warn".split()
_POLYNOMIAL = 0x04C11DB7


def _table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = (value << 1) ^ (_POLYNOMIAL if value & 0x80000000 else 0)
        table.append(value & 0xFFFFFFFF)
    return table


_TABLE = _table()


def crc(data: bytes) -> int:
    """The checksum of POSIX ``cksum``."""
    value, length = 0, len(data)
    while length:
        data += bytes([length & 255])
        length >>= 8
    for byte in data:
        value = (value << 8 & 0xFFFFFFFF) ^ _TABLE[value >> 24 ^ byte]
    return value ^ 0xFFFFFFFF


def read(call: Call, word: str) -> bytes | None:
    """What a named file holds; None, and a complaint, where it cannot be read."""
    path = call.path(word)
    meta = call.stat(path) if word else None
    if word == "-":
        return call.stdin.encode()
    if meta is None:
        call.fail(f"{word}: {call.why_missing(word)}")
    elif meta.kind == "directory":
        call.fail(f"{word}: Is a directory")
    elif not meta.readable:
        call.fail(f"{word}: Permission denied")
    else:
        return call.fs.read_file(path)
    return None


def sums(call: Call) -> None:
    """Print checksums, or check those of a list."""
    call.name = call.name.removeprefix(OWN)
    name = call.name.removesuffix("sum")
    found, words = options(call, "bctzw", LONG)
    names = {option for option, _ in found}
    digest: Callable[[bytes], str] = lambda data: (  # noqa: E731
        hashlib.blake2b(data).hexdigest() if name == "b2" else hashlib.new(name, data).hexdigest()
    )
    for word in words:
        data = read(call, word)
        if data is None:
            continue
        if names & {"-c", "--check"}:
            _check(call, word, data.decode("utf-8", "replace"), digest, names)
        elif "--tag" in names:
            call.line(f"{'BLAKE2b' if name == 'b2' else name.upper()} ({word}) = {digest(data)}")
        else:
            end = "\0" if names & {"-z", "--zero"} else "\n"
            call.out.append(f"{digest(data)} {'*' if names & {'-b', '--binary'} else ' '}{word}{end}")


def _check(call: Call, word: str, text: str, digest: Callable[[bytes], str], names: set[str]) -> None:
    size, bad, lost, wrong, good = len(digest(b"")), 0, 0, 0, 0
    silent = "--status" in names
    for line in text.splitlines():
        wanted, _, name = line.partition(" ")
        if len(wanted) != size or not name:
            bad += 1
            continue
        name = name[1:]
        data = read(call, name)
        if data is None:
            lost += 1
            call.out.append("" if silent else f"{name}: FAILED open or read\n")
        elif digest(data) == wanted.lower():
            good += 1
            call.out.append("" if silent or "--quiet" in names else f"{name}: OK\n")
        else:
            wrong += 1
            call.out.append("" if silent else f"{name}: FAILED\n")
    if good + lost + wrong == 0:
        call.fail(f"{word}: no properly formatted checksum lines found")
        return
    for count, one, many in (
        (bad, "line is improperly formatted", "lines are improperly formatted"),
        (lost, "listed file could not be read", "listed files could not be read"),
        (wrong, "computed checksum did NOT match", "computed checksums did NOT match"),
    ):
        if count and not silent:
            call.err.append(f"{call.name}: WARNING: {count} {one if count == 1 else many}\n")
    call.code = max(call.code, int(bool(lost or wrong)))


def cksum(call: Call) -> None:
    """Print the CRC and the length of files."""
    call.name = "cksum"
    _, words = options(call, "a:", ["algorithm=", "untagged", "tag", "zero"])
    for word in words:
        data = read(call, word)
        if data is not None:
            call.line(f"{crc(data)} {len(data)} {word}")
