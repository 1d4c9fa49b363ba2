"""What a program that is written here gets and gives: words, standard input, files, two outputs, an exit code."""

from __future__ import annotations

import base64
import getopt
import posixpath
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bashkit import BuiltinContext, FileSystem

from echo_terminal.terminal.programs.permuting import permuted
from echo_terminal.terminal.shell_session import INSIDE
from echo_terminal.terminal.terminal import CLOCK
from echo_terminal.terminal.wording.piping import CODED, OWN

BORN = time.time()
LIFETIME = 30 * 86_400  # seconds that a process may live; later stamps were asked for too
NO_ENTRY, TOO_LONG = "No such file or directory", "File name too long"
LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes
_SAFE = re.compile(r"(?![#~])[\w@%+,./{}\]#~-]+", re.A)
_UNPRINTABLE = re.compile(r"([^ -~]+)")
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}


class UsageError(Exception):
    """Wrong words on the command line: ``message`` is printed, with the hint at ``--help`` if ``hint``."""

    def __init__(self, message: str, code: int = 1, *, hint: bool = True) -> None:
        super().__init__(message)
        self.message, self.code, self.hint = message, code, hint


@dataclass(frozen=True)
class Meta:
    """What the file system knows: kind is ``file``, ``directory`` or ``symlink``; ``modified`` in seconds."""

    kind: str
    mode: int
    size: int
    modified: float

    @property
    def readable(self) -> bool:
        """May the owner read it?"""
        return self.kind == "symlink" or bool(self.mode & 0o400)

    @property
    def writable(self) -> bool:
        """May the owner write to it?"""
        return self.kind == "symlink" or bool(self.mode & 0o200)


@dataclass
class Clock:
    """Times of files. bashkit stamps what it writes with the host's clock; the episode's clock stands still.

    ``start``: host time at which this process began to make file systems (parts of them are shared by episodes);
    earlier stamps, and those of whole seconds, were asked for and are shown as they are.
    ``ready``: host time before the first command; stamps from there on keep their order.
    ``kept``: stamps of files that show another time (copies that preserve it, links of the start).
    ``modes``: path -> mode of files that a command overwrites: bashkit gives them another.
    """

    start: float = BORN
    ready: float = 0.0
    kept: dict[float, float] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)

    def restart(self) -> None:
        """Another episode begins."""
        self.ready = 0.0
        self.kept.clear()
        self.modes.clear()

    def restore_modes(self, fs: FileSystem, *, forget: bool = False) -> None:
        """Give the files that a command has overwritten their modes again."""
        for path, mode in self.modes.items():
            if fs.exists(path):
                fs.chmod(path, mode)
        if forget:
            self.modes.clear()

    def written(self, modified: float) -> bool:
        """Is it the host's time that a stamp of the file system holds?"""
        return self.start <= modified < self.start + LIFETIME and modified % 1 != 0

    def shown(self, modified: float) -> float:
        """Seconds since the epoch to show for a stamp of the file system."""
        return self.kept.get(modified, float(CLOCK) if self.written(modified) else modified)

    def order(self, modified: float) -> tuple[float, float]:
        """What to sort by time: the time shown, and among the new the order in which they were written."""
        new = modified >= self.ready and self.written(modified) and modified not in self.kept
        return self.shown(modified), modified if new else 0.0


class Typed(NamedTuple):
    """What ``BuiltinContext`` tells of a call, for one that bashkit takes no part in."""

    name: str
    argv: list[str]
    stdin: str | None
    env: dict[str, str]
    cwd: str
    fs: FileSystem


@dataclass
class Call:
    """One run of a program; bytes of ``stdin`` and ``out`` that are no UTF-8 are surrogates (``surrogateescape``)."""

    name: str
    argv: list[str]
    stdin: str
    env: dict[str, str]
    cwd: str
    fs: FileSystem
    clock: Clock
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    code: int = 0
    cut: bool = False  # was more to write than ``limits.FLOOD``?
    bytewise: bool = False  # do bytes pass, as base64?

    @classmethod
    def of(cls, context: BuiltinContext | Typed, clock: Clock) -> Call:
        """The call that bashkit describes."""
        argv, stdin = context.argv, context.stdin or ""
        bytewise = argv[:1] == [CODED]
        if bytewise:
            argv, stdin = argv[1:], text_of(base64.b64decode(stdin))
        name = context.name.removeprefix(OWN)
        return cls(name, argv, stdin, context.env, context.cwd, context.fs, clock, bytewise=bytewise)

    @property
    def given(self) -> bytes:
        """Standard input."""
        return self.stdin.encode("utf-8", "surrogateescape")

    @property
    def written(self) -> str:
        """Standard output as bashkit takes it."""
        text = "".join(self.out)
        if self.bytewise:
            return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()
        return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def write(self, data: bytes) -> None:
        """Bytes on standard output."""
        self.out.append(text_of(data))

    def line(self, text: str) -> None:
        """One line on standard output."""
        self.out.append(text + "\n")

    def fail(self, text: str, code: int = 1) -> None:
        """One line on standard error in the name of the program; the exit code is at least ``code``."""
        self.err.append(f"{self.name}: {text}\n")
        self.code = max(self.code, code)

    def shown_time(self, modified: float) -> float:
        """The time that is shown for a time of the file system."""
        return self.clock.shown(modified)

    def keep_time(self, path: str, meta: Meta) -> None:
        """Let a file just written show the time of ``meta``."""
        written = self.stat(path)
        if written is not None:
            self.clock.kept[written.modified] = self.clock.shown(meta.modified)

    def path(self, word: str) -> str:
        """The absolute path that a word names."""
        return posixpath.normpath(posixpath.join(self.cwd, word))

    def lstat(self, path: str) -> Meta | None:
        """Metadata of an absolute path itself; None where nothing is there."""
        try:
            target = self.fs.read_link(path)
        except RuntimeError:
            return self.stat(path)
        for entry in self.fs.read_dir(posixpath.dirname(path)):
            if entry["name"] == posixpath.basename(path):
                return Meta("symlink", 0o777, len(target.encode()), entry["metadata"]["modified"])
        return None

    def stat(self, path: str) -> Meta | None:
        """Metadata of what an absolute path leads to; None where nothing is there."""
        try:
            found = self.fs.stat(path)
        except RuntimeError:
            return None
        return Meta(found["file_type"], found["mode"], found["size"], found["modified"])

    def is_folder(self, path: str) -> bool:
        """Does the absolute path lead to a directory?"""
        meta = self.stat(path)
        return meta is not None and meta.kind == "directory"

    def readable(self, word: str) -> bool:
        """Does the word lead to a regular file whose owner may read it?"""
        meta = self.stat(self.path(word))
        return meta is not None and meta.kind == "file" and meta.readable

    def children(self, path: str) -> dict[str, Meta]:
        """Name -> metadata of the entries of a directory, sorted by name; links are not followed. Outside ``WRITABLE``
        all have one time: where a file system is mounted, bashkit stamps it as it is looked at."""
        found, dated = {}, f"{path.rstrip('/')}/".startswith(INSIDE)
        for entry in sorted(self.fs.read_dir(path), key=lambda e: e["name"].encode()):
            meta = entry["metadata"]
            stamp = meta["modified"] if dated else float(CLOCK)
            found[entry["name"]] = Meta(meta["file_type"], meta["mode"], meta["size"], stamp)
        return found

    def exists(self, word: str) -> Meta | None:
        """Metadata of the word itself, a trailing slash meaning "the directory that it leads to"."""
        if word == "":
            return None
        if word.endswith("/") and word.strip("/"):
            meta = self.stat(self.path(word))
            return meta if meta is not None and meta.kind == "directory" else None
        return self.lstat(self.path(word))

    def why_missing(self, word: str) -> str:
        """The error text for a word that names nothing."""
        path = self.path(word)
        if too_long(path):
            return TOO_LONG
        parent = posixpath.dirname(path)
        meta = self.stat(path if word.endswith("/") else parent)
        return "Not a directory" if word and meta is not None and meta.kind != "directory" else NO_ENTRY


def too_long(path: str) -> bool:
    """Is the path, or a name in it, longer than a file system takes?"""
    return len(path) * 4 > LONGEST_NAME and (
        len(path.encode()) > LONGEST_PATH
        or any(len(name.encode()) > LONGEST_NAME for name in path.split("/"))
    )


def text_of(data: bytes) -> str:
    """Bytes as a text from which they can be had again."""
    return data.decode("utf-8", "surrogateescape")


def options(
    call: Call, short: str, long: Iterable[str] = (), *, code: int = 1, permute: bool = True
) -> tuple[list[tuple[str, str]], list[str]]:
    """Options and operands by the rules of GNU ``getopt_long``.

    A long name that ends in ``=?`` takes an argument or none.

    Raises:
        UsageError: an unknown option, or one without its argument.
    """
    if not any(word.startswith("-") for word in call.argv):
        return [], list(call.argv)
    parse = permuted if permute else getopt.getopt
    long = list(long)
    optional = {f"--{name[:-2]}" for name in long if name.endswith("=?")}
    names = [*(name.removesuffix("?") for name in long), "help", "version"]
    try:
        return parse([f"{word}=" if word in optional else word for word in call.argv], short, names)
    except getopt.GetoptError as error:
        raise UsageError(_complaint(error, call.argv), code) from None


def _complaint(error: getopt.GetoptError, argv: Sequence[str]) -> str:
    text, name = error.msg, error.opt or ""
    if len(name) == 1:
        missing = "requires argument" in text
        return f"option requires an argument -- '{name}'" if missing else f"invalid option -- '{name}'"
    word = next((w for w in argv if w.startswith(f"--{name}")), f"--{name}")
    if "requires argument" in text:
        return f"option '--{name}' requires an argument"
    if "must not have an argument" in text:
        return f"option '--{name}' doesn't allow an argument"
    if "not a unique prefix" in text:
        return f"option '{word}' is ambiguous"
    return f"unrecognized option '{word}'"


def inode(path: str) -> int:
    """A number that stands for an absolute path: bashkit's files have none. Small, so that columns stay narrow."""
    return 2 + sum(map(ord, path)) % 997


def quote(text: str) -> str:
    """A file name in a message, as coreutils quotes it in the C locale."""
    if all(" " <= c <= "~" for c in text):
        if "'" not in text:
            return f"'{text}'"
        if not any(c in text for c in '"$`\\'):
            return f'"{text}"'
    parts = _UNPRINTABLE.split(text.encode("utf-8", "surrogateescape").decode("latin-1"))
    shown = "'" + parts[0].replace("'", "'\\''")
    for bad, good in zip(parts[1::2], parts[2::2], strict=True):
        codes = "".join(_ESCAPES.get(c) or f"\\{ord(c):03o}" for c in bad)
        shown += f"'$'{codes}'" + ("'" + good.replace("'", "'\\''") if good else "")
    return shown if not parts[-1] and len(parts) > 1 else shown + "'"


def shown(text: str) -> str:
    """A file name in a message that coreutils quotes only where a shell would take it for something else."""
    return text if _SAFE.fullmatch(text) else quote(text)


def human(size: int, base: int = 1024) -> str:
    """A size as ``-h`` writes it: rounded up, one decimal below ten."""
    if size < base:
        return str(size)
    value, unit = float(size), -1
    while value >= base and unit < 5:
        value /= base
        unit += 1
    tenths = -(-round(value * 10, 6) // 1)
    if tenths < 100:
        return f"{int(tenths) // 10}.{int(tenths) % 10}{'KMGTPE'[unit]}"
    whole = int(-(-round(value, 6) // 1))
    if whole >= base and unit < 5:
        return f"1.0{'KMGTPE'[unit + 1]}"
    return f"{whole}{'KMGTPE'[unit]}"


def mode_text(mode: int, kind: str) -> str:
    """``drwxr-xr-x``."""
    letters = {"directory": "d", "symlink": "l", "fifo": "p"}.get(kind, "-")
    bits = ["-" if not mode >> (8 - i) & 1 else "rwxrwxrwx"[i] for i in range(9)]
    for bit, place, low, high in ((0o4000, 2, "s", "S"), (0o2000, 5, "s", "S"), (0o1000, 8, "t", "T")):
        if mode & bit:
            bits[place] = low if bits[place] == "x" else high
    return letters + "".join(bits)


def folder_size(entries: int) -> int:
    """Size of a directory on tmpfs, the file system of the reference engine: 40 bytes and 20 for each entry."""
    return 40 + 20 * entries


def blocks(meta: Meta) -> int:
    """Occupied KiB: whole pages for files, nothing for directories and short links."""
    return -(-meta.size // 4096) * 4 if meta.kind == "file" else 0
