"""What awk reads and writes: records of its input, files, commands."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any

from echo_terminal.terminal.programs.awk.regex import regex
from echo_terminal.terminal.programs.awk.values import AwkError, Field, unescape
from echo_terminal.terminal.programs.call import NO_ENTRY, Call
from echo_terminal.terminal.programs.limits import ELEMENT, Budget
from echo_terminal.terminal.programs.text.columns import content

Shell = Callable[
    [Call, str, str], tuple[str, int]
]  # a call, a command, its input -> its output, its exit code
MOST = 1 << 23  # characters that a program may print
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S | re.A)


def to_bytes(text: str) -> str:
    """Text with one character a byte."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def to_text(text: str) -> str:
    """The text that bytes, one a character, stand for."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


class Records:
    """A text that is taken record by record."""

    __slots__ = ("place", "text")

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def next(self, separator: str) -> str | None:
        """The next record; None at the end."""
        text, place = self.text, self.place
        if place >= len(text):
            return None
        if len(separator) == 1:
            end = text.find(separator, place)
            if end < 0:
                self.place = len(text)
                return text[place:]
            self.place = end + 1
            return text[place:end]
        if not separator:
            while place < len(text) and text[place] == "\n":
                place += 1
            if place == len(text):
                self.place = place
                return None
            m = re.compile(r"\n\n+").search(text, place)
            self.place = m.end() if m else len(text)
            record = text[place : m.start()] if m else text[place:]
            return record.removesuffix("\n") if m is None else record
        pattern = regex(separator)
        for m in pattern.finditer(text, place):
            if m.end() > m.start():
                self.place = m.end()
                return text[place : m.start()]
        self.place = len(text)
        return text[place:]


class Files:
    """Everything open, for one run of a program."""

    def __init__(self, call: Call, shell: Shell, budget: Budget) -> None:
        self.call, self.shell, self.budget = call, shell, budget
        self.pending: list[str] = []  # of standard output, not yet flushed
        self.size = 0
        self.written: dict[str, tuple[str, list[str]]] = {}  # name -> kind (file, pipe) and texts
        self.reading: dict[str, tuple[Records, int]] = {}  # name -> records, exit code to come
        self.stdin: Records | None = None

    def flush(self) -> None:
        """Put out what is pending."""
        self.call.out.append(to_text("".join(self.pending)))
        self.pending.clear()

    def write(self, text: str) -> None:
        """To standard output.

        Raises:
            AwkError: too much of it.
        """
        self.pending.append(text)
        self.size += len(text)
        if self.size > MOST:
            raise AwkError("awk: write failure (No space left on device)\n")

    def send(self, text: str, way: str, name: str, code: Callable[[], str]) -> None:
        """To a file or to a command.

        Raises:
            AwkError: the file cannot be written.
        """
        if way != "|" and name in ("/dev/stdout", "-"):
            self.write(text)
            return
        if way != "|" and name == "/dev/stderr":
            self.budget.made(len(text) + ELEMENT)
            self.call.err.append(to_text(text))
            return
        found = self.written.get(name)
        if found is None:
            if way == "|":
                self.flush()
                found = ("pipe", [])
            else:
                found = ("file", [self.opened(name, way)])
            self.written[name] = found
        self.budget.made(len(text) + ELEMENT)
        found[1].append(text)

    def opened(self, name: str, way: str) -> str:
        """What a file that is written to holds already."""
        path = self.call.path(to_text(name))
        meta, folder = self.call.stat(path), self.call.stat(posixpath.dirname(path))
        reason = ""
        if meta is not None and meta.kind == "directory":
            reason = "Is a directory"
        elif folder is None or folder.kind != "directory" or not name:
            reason = self.call.why_missing(to_text(name))
        elif meta is not None and not meta.writable:
            reason = "Permission denied"
        if reason:
            raise AwkError(f'awk: cannot open "{to_text(name)}" for output ({reason})\n')
        if way == ">>" and meta is not None:
            return self.call.fs.read_file(path).decode("latin-1")
        if path != "/dev/null":
            self.call.fs.write_file(path, b"")
        return ""

    def store(self, name: str) -> None:
        """Write a file out."""
        path = self.call.path(to_text(name))
        if path != "/dev/null":
            self.call.fs.write_file(path, "".join(self.written[name][1]).encode("latin-1"))

    def settle(self) -> None:
        """Write out everything that a command or a reader may look at."""
        self.flush()
        for name, (kind, _) in self.written.items():
            if kind == "file":
                self.store(name)

    def close(self, name: str) -> float:
        """Close a file or a command: its exit code, -1 if nothing is open."""
        if name in self.reading:
            return float(self.reading.pop(name)[1])
        if name not in self.written:
            return -1.0
        kind, texts = self.written[name]
        code = 0
        if kind == "file":
            self.store(name)
            del self.written[name]
        else:
            del self.written[name]
            self.settle()
            code = self.run(name, "".join(texts))
        return float(code)

    def end(self) -> None:
        """Close everything."""
        pending, self.pending = self.pending, []
        for name, (kind, _) in list(self.written.items()):
            if kind == "file":
                self.close(name)
        for name in list(self.written):
            self.close(name)
        self.pending = pending
        self.flush()

    def run(self, command: str, given: str = "") -> int:
        """Run a command whose output goes where ours goes; its exit code."""
        self.settle()
        printed, code = self.shell(self.call, to_text(command), to_text(given))
        self.call.out.append(printed)
        return code

    def records(self, name: str, piped: bool) -> Records | None:
        """What ``getline`` reads from; None where it cannot be read."""
        if name not in self.reading:
            if piped:
                self.settle()
                printed, code = self.shell(self.call, to_text(name), "")
                self.reading[name] = (Records(to_bytes(printed)), code)
            elif name in ("-", "/dev/stdin"):
                return self.standard()
            else:
                self.settle()
                data = content(self.call, to_text(name))
                if isinstance(data, str):
                    return None
                self.reading[name] = (Records(data.decode("latin-1")), 0)
        return self.reading[name][0]

    def standard(self) -> Records:
        """Standard input."""
        if self.stdin is None:
            self.stdin = Records(to_bytes(self.call.stdin))
        return self.stdin


def operands(
    files: Files, argv: Callable[[], list[str]], assign: Callable[[str, Any], None]
) -> Iterator[tuple[str, Records]]:
    """Names and records of the input: operands that are files, or standard input without one.

    Raises:
        AwkError: a file cannot be read.
    """
    none, place = True, 1
    while place < len(argv()):
        word = argv()[place]
        place += 1
        if not word:
            continue
        if m := _ASSIGNMENT.fullmatch(word):
            assign(m[1], Field(unescape(m[2])))
            continue
        none = False
        if word in ("-", "/dev/stdin"):
            yield "", files.standard()
            continue
        data = content(files.call, to_text(word))
        if isinstance(data, str):
            what = "read error" if data == "Is a directory" else f"cannot open {to_text(word)}"
            raise AwkError(f"awk: {what} ({data or NO_ENTRY})\n")
        yield word, Records(data.decode("latin-1"))
    if none:
        yield "", files.standard()
