"""``comm``, ``realpath``, ``chown`` and ``chgrp`` after GNU coreutils 9.1."""

from __future__ import annotations

import posixpath
import re

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options, quote
from echo_terminal.terminal.terminal import USER


def _sorted_lines(call: Call, word: str) -> list[str] | None:
    if word == "-":
        text = call.stdin
    else:
        meta = call.stat(call.path(word))
        if meta is None or meta.kind == "directory":
            call.fail(f"{word}: {NO_ENTRY if meta is None else 'Is a directory'}")
            return None
        text = call.fs.read_file(call.path(word)).decode("utf-8", "replace")
    return text.removesuffix("\n").split("\n") if text else []


def comm(call: Call) -> None:
    """Compare two sorted files; says which is not sorted."""
    found, words = options(
        call, "123z", ["check-order", "nocheck-order", "output-delimiter=", "total", "zero-terminated"]
    )
    names = dict(found)
    if len(words) < 2:
        raise UsageError(f"missing operand after {quote(words[0])}" if words else "missing operand")
    if len(words) > 2:
        raise UsageError(f"extra operand {quote(words[2])}")
    sides = [_sorted_lines(call, word) for word in words]
    left, right = sides
    if left is None or right is None:
        return
    tab = names.get("--output-delimiter", "\t") or "\0"
    prefix, counts = {}, {"1": 0, "2": 0, "3": 0}
    for column in "123":
        prefix[column] = tab * sum(f"-{c}" not in names for c in "123" if c < column)
    x = y = 0
    checked = "--check-order" in names  # else only once a line has no partner
    warned: set[int] = set()
    while x < len(left) or y < len(right):
        order = 0
        if x < len(left) and y < len(right):
            order = (left[x].encode() > right[y].encode()) - (left[x].encode() < right[y].encode())
        else:
            order = -1 if x < len(left) else 1
        column, text = ("3", left[x]) if order == 0 else ("1", left[x]) if order < 0 else ("2", right[y])
        counts[column] += 1
        if f"-{column}" not in names:
            call.line(prefix[column] + text)
        x, y = x + (order <= 0), y + (order >= 0)
        checked |= order != 0
        for number, (lines, at, moved) in enumerate(((left, x, order <= 0), (right, y, order >= 0)), 1):
            if moved and 0 < at < len(lines) and lines[at - 1].encode() > lines[at].encode():
                warned.add(number) if checked and "--nocheck-order" not in names else None
        for number in sorted(warned):
            _unsorted(call, number)
    if "--total" in names:
        call.line(tab.join([*(str(counts[c]) for c in "123"), "total"]))
    if call.code:
        call.fail("input is not in sorted order")


def _unsorted(call: Call, number: int) -> None:
    text = f"comm: file {number} is not in sorted order\n"
    if text not in call.err:
        call.err.append(text)
        call.code = 1


def realpath(call: Call) -> None:
    """Print absolute names without links and dots."""
    found, words = options(
        call,
        "emLPqsz",
        ["canonicalize-existing", "canonicalize-missing", "logical", "physical", "quiet", "relative-to=",
         "relative-base=", "strip", "no-symlinks", "zero"],
    )  # fmt: skip
    names = dict(found)
    if not words:
        raise UsageError("missing operand")
    for word in words:
        plain = bool(names.keys() & {"-s", "--strip", "--no-symlinks"})
        path = call.path(word) if plain else _resolve(call, call.path(word))
        missing = call.stat(path) is None
        strict = "-e" in names or "--canonicalize-existing" in names
        if missing and (strict or not call.is_folder(posixpath.dirname(path))) and "-m" not in names:
            if "-q" not in names:
                call.fail(f"{word}: {call.why_missing(word)}")
            call.code = 1
            continue
        base = names.get("--relative-to")
        call.line(posixpath.relpath(path, _resolve(call, call.path(base))) if base is not None else path)


def _resolve(call: Call, path: str) -> str:
    """Where an absolute path leads, link by link."""
    done, rest, links = "", [part for part in path.split("/") if part], 0
    while rest:
        part = rest.pop(0)
        step = posixpath.normpath(f"{done}/{part}")
        try:
            target = call.fs.read_link(step)
        except RuntimeError:
            done = "" if step == "/" else step
            continue
        links += 1
        if links > 40:
            return step
        done = "" if target.startswith("/") else done
        rest = [p for p in target.split("/") if p] + rest
    return done or "/"


def owner(call: Call) -> None:
    """``chown`` and ``chgrp``: everything belongs to the user, and stays so."""
    _, words = options(call, "cfhRvHLP", ["recursive", "verbose", "reference=", "no-dereference"])
    if not words:
        raise UsageError("missing operand")
    if len(words) == 1:
        raise UsageError(f"missing operand after {quote(words[0])}")
    people = {USER, "1000", ""}
    wanted = re.split("[:.]", words[0])
    for name in wanted:
        if name not in {*people, "root", "0"} and not name.isdigit():
            kind = "group" if call.name == "chgrp" or name != wanted[0] else "user"
            raise UsageError(f"invalid {kind}: {quote(words[0])}", hint=False)
    for word in words[1:]:
        if call.exists(word) is None:
            call.fail(f"cannot access {quote(word)}: {call.why_missing(word)}")
        elif not set(wanted) <= people:
            kind = "group" if call.name == "chgrp" else "ownership"
            call.fail(f"changing {kind} of {quote(word)}: Invalid argument")
