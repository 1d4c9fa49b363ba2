"""What is left to chance, drawn from the seed of the episode: ``mktemp``, ``shuf``, ``sort -R``, /dev/urandom."""

from __future__ import annotations

import posixpath
import random
import re
import string
import uuid
from collections import Counter

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options, quote
from echo_terminal.terminal.programs.limits import ROOM, Stopped
from echo_terminal.terminal.programs.text.columns import content

MOST_LINES = 3_000_000  # that are shuffled
_SEVEN_BITS = bytes(byte & 0x7F for byte in range(256))


class Draw:
    """Random programs, from the seed of the episode."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self, size: int) -> bytes:
        """What is read from /dev/urandom: ``size`` bytes of seven bits, since pipes of bashkit hold text."""
        return self.random.randbytes(size).translate(_SEVEN_BITS)

    def uuid(self) -> str:
        """A random UUID, version 4."""
        return str(uuid.UUID(bytes=self.random.randbytes(16), version=4))

    def sort(self, call: Call) -> None:
        """``sort -R``: an order of chance, but equal lines together."""
        call.name = "sort"
        found, words = options(
            call, "Ruzo:sfbk:t:rdghiMnV",
            ["random-sort", "sort=", "unique", "zero-terminated", "output=", "stable", "random-source=", "reverse"],
            code=2,
        )  # fmt: skip
        names = dict(found)
        for both in ("gR", "hR", "MR", "nR"):
            if f"-{both[0]}" in names:
                raise UsageError(f"options '-{both}' are incompatible", 2, hint=False)
        end = "\0" if "-z" in names or "--zero-terminated" in names else "\n"
        lines: list[str] = []
        for word in words or ["-"]:
            text = content(call, word)
            if isinstance(text, str):
                failed = "read failed" if text == "Is a directory" else "cannot read"
                call.err.append(f"sort: {failed}: {word}: {text}\n")
                call.code = 2
                return
            lines += text.decode("utf-8", "replace").removesuffix(end).split(end) if text else []
        groups = sorted(Counter(lines).items())
        self.random.shuffle(groups)
        once = "-u" in names or "--unique" in names
        text = "".join((line + end) * (1 if once else times) for line, times in groups)
        output = names.get("-o", names.get("--output"))
        if output is not None:
            call.fs.write_file(call.path(output), text.encode())
        else:
            call.out.append(text)

    def mktemp(self, call: Call) -> None:
        """Make a file or folder of a fresh name."""
        found, words = options(call, "dp:qtu", ["directory", "tmpdir=", "quiet", "dry-run", "suffix="])
        names = dict(found)
        if len(words) > 1:
            raise UsageError("too many templates")
        template = words[0] if words else "tmp.XXXXXXXXXX"
        suffix = names.get("--suffix", "")
        folder = names.get("-p", names.get("--tmpdir", "" if words and "-t" not in names else None))
        folder = (folder or call.env.get("TMPDIR") or "/tmp") if folder is None or "-p" in names else folder
        match = re.search(r"(X{3,})([^X/]*)$", template)
        if match is None:
            raise UsageError(f"too few X's in template {quote(template)}", hint=False)
        letters = self.random.choices(string.ascii_letters + string.digits, k=len(match[1]))
        name = template[: match.start()] + "".join(letters) + match[2] + suffix
        name = posixpath.join(folder, name)
        path = call.path(name)
        if not call.is_folder(posixpath.dirname(path)):
            kind = "directory" if "-d" in names or "--directory" in names else "file"
            shown = template if not folder else posixpath.join(folder, template)
            call.fail(f"failed to create {kind} via template {quote(shown)}: {NO_ENTRY}")
            return
        if "-u" not in names and "--dry-run" not in names:
            if "-d" in names or "--directory" in names:
                call.fs.mkdir(path)
                call.fs.chmod(path, 0o700)
            else:
                call.fs.write_file(path, b"")
                call.fs.chmod(path, 0o600)
        call.line(name)

    def shuf(self, call: Call) -> None:
        """Write lines in an order that the seed of the episode determines."""
        found, words = options(
            call,
            "ei:n:o:rz",
            "echo input-range= head-count= output= random-source= repeat zero-terminated".split(),
        )
        names = dict(found)
        span = names.get("-i", names.get("--input-range"))
        end = "\0" if "-z" in names or "--zero-terminated" in names else "\n"
        if span is not None:
            match = re.fullmatch(r"(\d+)-(\d+)", span)
            if match is None or int(match[1]) > int(match[2]) + 1:
                raise UsageError(f"invalid input range: {quote(span)}", hint=False)
            if int(match[2]) - int(match[1]) > MOST_LINES:
                raise Stopped(ROOM)
            lines = [str(n) for n in range(int(match[1]), int(match[2]) + 1)]
        elif "-e" in names or "--echo" in names:
            lines = words
        else:
            if len(words) > 1:
                raise UsageError(f"extra operand {quote(words[1])}")
            text = call.stdin
            if words and words[0] != "-":
                meta = call.stat(call.path(words[0]))
                if meta is None or meta.kind == "directory":
                    reason = NO_ENTRY if meta is None else "read error: Is a directory"
                    call.fail(f"{words[0]}: {reason}" if meta is None else reason)
                    return
                text = call.fs.read_file(call.path(words[0])).decode("utf-8", "replace")
            lines = text.split(end)[:-1] if text.endswith(end) else text.split(end) if text else []
        count = names.get("-n", names.get("--head-count"))
        if count is not None and not count.isdigit():
            raise UsageError(f"invalid line count: {quote(count)}", hint=False)
        limit = len(lines) if count is None else int(count)
        if "-r" in names or "--repeat" in names:
            if limit > MOST_LINES:
                raise Stopped(ROOM)
            drawn = self.random.choices(lines, k=limit if count is not None else 1000) if lines else []
        else:
            drawn = self.random.sample(lines, min(limit, len(lines)))
        text = "".join(line + end for line in drawn)
        output = names.get("-o", names.get("--output"))
        if output is not None:
            call.fs.write_file(call.path(output), text.encode())
        else:
            call.out.append(text)
