"""The command line of ``tar``: what it asks for, and names as an archive has them."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.call import Call, UsageError, options, text_of
from echo_terminal.terminal.programs.patterns import compiled
from echo_terminal.terminal.programs.text.columns import content

HINT = "\nTry 'tar --help' or 'tar --usage' for more information."
MODES = "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options"
ONE_MODE = "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option"
_SHORT = "cxtrudf:vzjJaC:OkpPhmT:X:"
_LONG = {
    "create": "c", "extract": "x", "get": "x", "list": "t", "append": "r", "update": "u", "diff": "d", "compare": "d",
    "delete": "D", "file=": "f", "verbose": "v", "gzip": "z", "gunzip": "z", "bzip2": "j", "xz": "J",
    "auto-compress": "a", "directory=": "C", "to-stdout": "O", "keep-old-files": "k", "preserve-permissions": "p",
    "absolute-names": "P", "dereference": "h", "touch": "m", "files-from=": "T", "exclude=": "exclude",
    "exclude-from=": "X", "strip-components=": "strip", "wildcards": "wildcards", "transform=": "transform",
    "xform=": "transform", "remove-files": "remove", "no-recursion": "flat", "sort=": "", "mtime=": "mtime",
    "owner=": "owner", "group=": "group", "mode=": "mode", "full-time": "full", "numeric-owner": "numeric",
    "no-same-owner": "", "overwrite": "", "null": "", "one-file-system": "",
    "ignore-failed-read": "", "no-wildcards": "", "format=": "",
}  # fmt: skip
_SWAPPED = re.compile(
    r"\\?[(){}|+?]|\\.|[^\\]", re.S
)  # what the two kinds of pattern write differently, and the rest


@dataclass
class Job:
    """What the command line asks for."""

    modes: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    archive: str = "-"
    folder: str = "."
    lost: str = ""  # a folder that is not there
    exclude: list[str] = field(default_factory=list)
    strip: int = 0
    names: list[tuple[str, str]] = field(default_factory=list)  # folder and name
    late: list[str] = field(default_factory=list)  # exclusions behind the names, which have no effect
    values: dict[str, str] = field(default_factory=dict)  # of --mtime, --owner, --group and --mode
    changes: list[Callable[[str], str]] = field(default_factory=list)  # of names

    @property
    def packed(self) -> bool:
        """Does a child process compress the archive?"""
        return bool(self.flags & {"z", "j", "J"})

    @property
    def piped(self) -> bool:
        """Is the archive standard input or output?"""
        return self.archive == "-"

    def named(self, name: str) -> str:
        """A name as the transformations make it."""
        for change in self.changes:
            name = change(name)
        return name


def read_job(call: Call) -> Job:
    """The command line read.

    Raises:
        UsageError: it is wrong.
    """
    argv = call.argv
    if argv and not argv[0].startswith("-"):  # the old style: letters, then their arguments in order
        letters, rest, front = argv[0], argv[1:], []
        for letter in letters:
            if f"{letter}:" in _SHORT:
                if not rest:
                    raise UsageError(f"Old option '{letter}' requires an argument.", 2)
                front += [f"-{letter}", rest.pop(0)]
            else:
                front.append(f"-{letter}")
        call.argv = front + rest
    job = Job()
    for option, value in _ordered(call):
        _take(call, job, option, value)
    if not job.modes:
        raise UsageError(MODES + HINT, 2)
    return job


def _take(call: Call, job: Job, option: str, value: str) -> None:
    if option in tuple("cxtrudD"):
        if job.modes and option not in job.modes:
            raise UsageError(ONE_MODE + HINT, 2)
        job.modes.append(option)
    elif option == "f":
        job.archive = value
    elif option == "C":
        job.folder = posixpath.join(job.folder, value)
        if not call.is_folder(call.path(job.folder)):
            job.lost = value
    elif option == "exclude":
        (job.late if job.names and job.modes[:1] in (["c"], ["r"], ["u"]) else job.exclude).append(value)
    elif option in ("mtime", "owner", "group", "mode"):
        job.values[option] = value
    elif option == "v" and "v" in job.flags:
        job.flags.add("vv")
    elif option == "strip":
        job.strip = int(value) if value.isdigit() else 0
    elif option == "transform":
        job.changes += [_change(part) for part in value.split(";") if part]
    elif option == "T":
        job.names += [(job.folder, line) for line in _listed(call, value) if line]
    elif option == "X":
        job.exclude += [line for line in _listed(call, value) if line]
    elif option == "":
        job.names.append((job.folder, value))
    else:
        job.flags.add(option)


def _listed(call: Call, word: str) -> list[str]:
    data = content(call, word)
    if isinstance(data, str):
        raise UsageError(
            f"{word}: Cannot stat: {data}\ntar: Error is not recoverable: exiting now", 2, hint=False
        )
    return re.split("[\0\n]", text_of(data))


def _ordered(call: Call) -> Iterator[tuple[str, str]]:
    """Options and names in their order, since ``-C`` holds for the names behind it."""
    rest = list(call.argv)
    while rest:
        call.argv = rest
        found, rest = options(call, _SHORT, list(_LONG), code=64, permute=False)
        for option, value in found:
            name = option.lstrip("-")
            long = _LONG.get(name, _LONG.get(f"{name}=", "?")) if option.startswith("--") else name
            if long not in ("", "?"):
                yield long, value
        if rest:
            yield "", rest.pop(0)


def _change(text: str) -> Callable[[str], str]:
    """The change of names that an expression ``s/PATTERN/REPLACEMENT/FLAGS`` stands for."""
    sign = text[1:2] or "/"
    parts = re.split(rf"(?<!\\){re.escape(sign)}", text[2:])
    if text[:1] != "s" or len(parts) != 3:
        raise UsageError("Invalid transform expression" + HINT, 2)
    pattern, new, flags = parts
    pattern = pattern.replace(f"\\{sign}", sign)
    if "x" not in flags:
        pattern = "".join(_extended(piece) for piece in _SWAPPED.findall(pattern))
    try:
        found = compiled(f"(?i){pattern}" if "i" in flags else pattern)
    except ValueError:
        raise UsageError("Invalid transform expression" + HINT, 2) from None
    steps = re.split(r"(\\.|&)", new.replace(f"\\{sign}", sign))

    def change(name: str) -> str:
        out, place = "", 0
        for match in found.finditer(name):
            out += name[place : match.start()]
            for step in steps:
                digit = "0" if step == "&" else step[1:] if re.fullmatch(r"\\\d", step) else ""
                out += (match[int(digit)] or "") if digit else step[1:] if step[:1] == "\\" else step
            place = match.end()
            if "g" not in flags:
                break
        return out + name[place:]

    return change


def _extended(piece: str) -> str:
    """A piece of a basic regular expression in the words of an extended one."""
    if piece[0] == "\\":
        return piece[1] if piece[1] in "(){}|+?" else piece
    return f"\\{piece}" if piece in "(){}|+?" else piece


def excluded(name: str, patterns: list[str]) -> bool:
    """An exclusion fits the whole name or the end of it behind a slash, and everything below."""
    parts = name.rstrip("/").split("/")
    ends = range(1, len(parts) + 1)
    return any(
        fnmatch.fnmatch("/".join(parts[i:j]), pattern) for pattern in patterns for j in ends for i in range(j)
    )
