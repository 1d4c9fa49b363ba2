"""Checksums: ``md5sum``, ``sha1sum`` and so on, ``b2sum`` and ``cksum`` after GNU coreutils 9.1; ``openssl``'s too."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.programs.choosing import choose
from echo_terminal.terminal.programs.text.columns import content

LONG = (
    "binary check tag text zero ignore-missing quiet status strict warn length= algorithm= untagged".split()
)
KINDS = "bsd\nsysv\ncrc\nmd5\nsha1\nsha224\nsha256\nsha384\nsha512\nblake2b\nsm3"
_POLYNOMIAL = 0x04C11DB7
_LISTED = re.compile(r"\\?([0-9a-fA-F]+) [ *](.+)")
_TAGGED = re.compile(r"\\?([A-Z0-9a-z]+)(?:-(\d+))? \((.*)\) = ([0-9a-fA-F]+)")
Digest = Callable[[bytes], str]


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


def digest_of(kind: str, bits: int = 0) -> Digest:
    """The digest of a kind that ``hashlib`` names, of so many bits where the kind has a choice."""
    if kind == "blake2b":
        return lambda data: hashlib.blake2b(data, digest_size=(bits or 512) // 8).hexdigest()
    return lambda data: hashlib.new(kind, data).hexdigest()


def read(call: Call, word: str) -> bytes | None:
    """What a file holds; None, and a complaint, where it cannot be read."""
    data = content(call, word)
    if isinstance(data, str):
        call.fail(f"{word}: {data}")
        return None
    return data


@dataclass
class _Asked:
    """What the command line asks for."""

    kind: str  # as ``hashlib`` has it
    bits: int
    names: set[str]

    @property
    def label(self) -> str:
        """The name of the kind in a line of ``--tag``."""
        name = "BLAKE2b" if self.kind == "blake2b" else self.kind.upper()
        return f"{name}-{self.bits}" if self.bits not in (0, 512) else name


def sums(call: Call) -> None:
    """Print checksums, or check those of lists."""
    found, words = options(call, "a:bctzwl:", LONG)
    values, names = dict(found), {option for option, _ in found}
    kind = call.name.removesuffix("sum")
    asked = _Asked("blake2b" if kind == "b2" else kind, 0, names)
    if call.name == "cksum":
        chosen = values.get("-a", values.get("--algorithm"))
        asked.kind = choose("algorithm", chosen, KINDS) if chosen else ""
        if asked.kind in ("", *_OLD) and not names & {"-c", "--check"}:
            _old(call, words, asked.kind or "crc")
            return
        names |= {"--tag"} - ({"--tag"} if "--untagged" in names else set())
    length = values.get("-l", values.get("--length"))
    if length is not None:
        asked.bits = _length(call, length)
    check = names & {"-c", "--check"}
    for name in ("ignore-missing", "status", "warn", "quiet", "strict"):
        if not check and {f"--{name}", "-w" if name == "warn" else ""} & names:
            raise UsageError(f"the --{name} option is meaningful only when verifying checksums")
    if check and "--tag" in names and call.name != "cksum":
        raise UsageError("the --tag option is meaningless when verifying checksums")
    digest = digest_of(asked.kind or "md5", asked.bits)
    for word in words or ["-"]:
        data = read(call, word)
        if data is None:
            continue
        if check:
            _check(call, asked, word, data.decode("utf-8", "replace"))
        elif "--tag" in names:
            call.line(f"{asked.label} ({word}) = {digest(data)}")
        else:
            end = "\0" if names & {"-z", "--zero"} else "\n"
            call.out.append(f"{digest(data)} {'*' if names & {'-b', '--binary'} else ' '}{word}{end}")


def _length(call: Call, word: str) -> int:
    if not word.isdigit():
        raise UsageError(f"invalid length: {quote(word)}", hint=False)
    bits = int(word)
    reason = "maximum digest length for 'BLAKE2b' is 512 bits" if bits > 512 else (
        "length is not a multiple of 8" if bits % 8 else "")  # fmt: skip
    if reason:
        call.fail(f"invalid length: {quote(word)}")
        raise UsageError(reason, hint=False)
    return bits


def _wanted(line: str, asked: _Asked) -> tuple[str, str, Digest] | None:
    """The sum and the name in a line of a list, and what makes such sums."""
    tagged = _TAGGED.fullmatch(line)
    if tagged is not None:
        kind = "blake2b" if tagged[1] == "BLAKE2b" else tagged[1].lower()
        if kind != asked.kind and (asked.kind or kind not in KINDS.split()[3:]):
            return None
        wanted, name = tagged[4], tagged[3]
    else:
        listed, kind = _LISTED.fullmatch(line), asked.kind
        if listed is None or not kind:
            return None
        wanted, name = listed[1], listed[2]
    if kind == "blake2b":
        bits = 4 * len(wanted)
        return (wanted, name, digest_of(kind, bits)) if bits <= 512 and bits % 8 == 0 else None
    digest = digest_of(kind)
    return (wanted, name, digest) if len(wanted) == len(digest(b"")) else None


def _check(call: Call, asked: _Asked, word: str, text: str) -> None:
    names = asked.names
    bad, lost, wrong, good = 0, 0, 0, 0
    silent, shown = "--status" in names, "'standard input'" if word == "-" else word
    for number, line in enumerate(text.splitlines(), 1):
        wanted = _wanted(line, asked) if line[:1] != "#" else None
        if wanted is None:
            if line[:1] != "#":
                bad += 1
                if names & {"-w", "--warn"}:
                    what = f"improperly formatted {asked.label} checksum line"
                    call.err.append(f"{call.name}: {shown}: {number}: {what}\n")
            continue
        sum_, name, digest = wanted
        if "--ignore-missing" in names and call.stat(call.path(name)) is None:
            continue
        data = read(call, name)
        if data is None:
            lost += 1
            call.out.append("" if silent else f"{name}: FAILED open or read\n")
        elif digest(data) == sum_.lower():
            good += 1
            call.out.append("" if silent or "--quiet" in names else f"{name}: OK\n")
        else:
            wrong += 1
            call.out.append("" if silent else f"{name}: FAILED\n")
    if good + lost + wrong == 0:
        skipped = "--ignore-missing" in names and bad < len(text.splitlines())
        call.fail(
            f"{shown}: no {'file was verified' if skipped else 'properly formatted checksum lines found'}"
        )
        return
    for count, one, many in (
        (bad, "line is improperly formatted", "lines are improperly formatted"),
        (lost, "listed file could not be read", "listed files could not be read"),
        (wrong, "computed checksum did NOT match", "computed checksums did NOT match"),
    ):
        if count and not silent:
            call.err.append(f"{call.name}: WARNING: {count} {one if count == 1 else many}\n")
    if "--ignore-missing" in names and not good:
        call.fail(f"{shown}: no file was verified")
    call.code = max(call.code, int(bool(lost or wrong or (bad and "--strict" in names))))


def _old(call: Call, words: list[str], kind: str) -> None:
    """The sums of old that are counted with the length of a file."""
    for word in words or ["-"]:
        data = read(call, word)
        if data is not None:
            call.line(_OLD[kind](data) + (f" {word}" if words else ""))


def _bsd(data: bytes) -> str:
    value = 0
    for byte in data:
        value = ((value >> 1) + ((value & 1) << 15) + byte) & 0xFFFF
    return f"{value:05} {-(-len(data) // 1024):5}"


def _sysv(data: bytes) -> str:
    value = sum(data) & 0xFFFFFFFF
    value = (value & 0xFFFF) + (value >> 16)
    return f"{(value & 0xFFFF) + (value >> 16)} {-(-len(data) // 512)}"


_OLD: dict[str, Callable[[bytes], str]] = {
    "crc": lambda data: f"{crc(data)} {len(data)}",
    "bsd": _bsd,
    "sysv": _sysv,
}
