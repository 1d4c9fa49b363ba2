"""``tar`` after GNU tar 1.34 for archives in files.

bashkit hands text from program to program, so archives in pipes stay with its own ``tar``: ``VirtualTerminal`` calls
this one where the archive is a file.
"""

from __future__ import annotations

import bz2
import fnmatch
import gzip
import io
import lzma
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.archive.packing import Readable, fits, packed, unpacked
from echo_terminal.terminal.programs.call import NO_ENTRY, Call, Meta, UsageError, options
from echo_terminal.terminal.programs.files.making import refusal
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.terminal import CLOCK, USER

HINT = "\nTry 'tar --help' or 'tar --usage' for more information."
LATE = (
    "The following options were used after any non-optional arguments in archive create or update mode.  These "
    "options are positional and affect only arguments that follow them.  Please, rearrange them properly."
)
WIDTH = 19  # columns of owner, group and size
_SHORT = "cxtrudf:vzjJaC:OkpPhmT:X:"
_LONG = {
    "create": "c", "extract": "x", "get": "x", "list": "t", "append": "r", "update": "u", "diff": "d", "compare": "d",
    "file=": "f", "verbose": "v", "gzip": "z", "bzip2": "j", "xz": "J", "auto-compress": "a", "directory=": "C",
    "to-stdout": "O", "keep-old-files": "k", "preserve-permissions": "p", "absolute-names": "P", "dereference": "h",
    "touch": "m", "files-from=": "T", "exclude=": "exclude", "strip-components=": "strip", "wildcards": "wildcards",
    "sort=": "", "mtime=": "", "owner=": "", "group=": "", "numeric-owner": "", "no-same-owner": "", "overwrite": "",
    "null": "",
}  # fmt: skip
_PACK: dict[str, Callable[[bytes], bytes]] = {
    "z": lambda data: packed(zlib.compressobj(9, zlib.DEFLATED, 31), data),
    "j": lambda data: packed(bz2.BZ2Compressor(), data),
    "J": lambda data: packed(lzma.LZMACompressor(), data),
}  # fmt: skip


_OPEN: dict[bytes, Callable[[io.BytesIO], Readable]] = {
    b"\x1f\x8b": lambda file: gzip.open(file),
    b"BZ": lambda file: bz2.open(file),
    b"\xfd7": lambda file: lzma.open(file),
}


class Fatal(Exception):
    """The error ends the program; ``child``: it happened in the process that compresses."""

    def __init__(self, message: str, *, child: bool = False) -> None:
        super().__init__(message)
        self.child = child


@dataclass
class Job:
    """What the command line asks for."""

    modes: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    archive: str = ""
    folder: str = "."
    lost: str = ""  # a folder that is not there
    exclude: list[str] = field(default_factory=list)
    strip: int = 0
    names: list[tuple[str, str]] = field(default_factory=list)  # folder and name
    late: list[str] = field(default_factory=list)  # exclusions behind the names, which have no effect

    @property
    def packed(self) -> bool:
        """Does a child process compress the archive?"""
        return bool(self.flags & {"z", "j", "J"})


def tar(call: Call) -> None:
    """Make, list or unpack an archive."""
    call.name = "tar"
    try:
        job = _job(call)
        if not job.modes:
            raise UsageError(
                "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options" + HINT, 2
            )
        if job.modes[0] in "cru":
            _write(call, job)
        else:
            _read(call, job)
    except Fatal as error:
        if str(error):
            call.fail(str(error), 2)
        if error.child:
            call.err = [line.replace("tar: ", "tar (child): ", 1) for line in call.err]
            call.err.append("tar (child): Error is not recoverable: exiting now\n")
            call.fail("Child returned status 2", 2)
        call.fail("Error is not recoverable: exiting now", 2)
        return
    except UsageError as error:
        call.fail(error.message + ("" if HINT in error.message else HINT), error.code)
        return
    if call.code:
        call.fail("Exiting with failure status due to previous errors", 2)


def _job(call: Call) -> Job:
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
    words = _ordered(call)
    for option, value in words:
        if option in ("c", "x", "t", "r", "u", "d"):
            job.modes.append(option)
        elif option == "f":
            job.archive = value
        elif option == "C":
            job.folder = posixpath.join(job.folder, value)
            if not call.is_folder(call.path(job.folder)):
                job.lost = value
        elif option == "exclude":
            (job.late if job.names and job.modes[:1] in (["c"], ["r"], ["u"]) else job.exclude).append(value)
        elif option == "strip":
            job.strip = int(value) if value.isdigit() else 0
        elif option == "T":
            listed = call.stdin
            if value != "-":
                known = call.readable(value)
                listed = call.fs.read_file(call.path(value)).decode("utf-8", "replace") if known else ""
            job.names += [(job.folder, line) for line in re.split("[\0\n]", listed) if line]
        elif option == "":
            job.names.append((job.folder, value))
        else:
            job.flags.add(option)
    return job


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


# -- reading -----------------------------------------------------------------------------------------------------------


def _open(call: Call, job: Job) -> tarfile.TarFile | None:
    path = call.path(job.archive)
    if not call.readable(job.archive):
        reason = "Cannot read: Is a directory" if call.is_folder(path) else f"Cannot open: {NO_ENTRY}"
        raise Fatal(f"{job.archive}: {reason}", child=job.packed)
    data = call.fs.read_file(path)
    unpack = _OPEN.get(data[:2])
    if unpack is None and "z" in job.flags:
        call.err.append("\ngzip: stdin: not in gzip format\n")
        call.fail("Child returned status 1", 2)
        raise Fatal("")
    try:
        return tarfile.open(
            fileobj=io.BytesIO(data if unpack is None else unpacked(unpack(io.BytesIO(data))))
        )
    except (tarfile.ReadError, OSError, EOFError, lzma.LZMAError):
        call.fail("This does not look like a tar archive", 2)
        return None


def _read(call: Call, job: Job) -> None:
    archive = _open(call, job)
    if archive is None:
        return
    if job.lost:
        raise Fatal(f"{job.lost}: Cannot open: {NO_ENTRY}")
    wanted = {name.rstrip("/"): False for _, name in job.names}
    for member in archive:
        name = member.name
        hit = next((w for w in wanted if name == w or name.startswith(f"{w}/") or
                    ("wildcards" in job.flags and fnmatch.fnmatch(name, w))), None)  # fmt: skip
        if (wanted and hit is None) or any(_matches(name, pattern) for pattern in job.exclude):
            continue
        if hit is not None:
            wanted[hit] = True
        shown = name + ("/" if member.isdir() else "")
        if job.modes[0] == "t":
            call.line(_described(member, shown) if "v" in job.flags else shown)
            continue
        if job.modes[0] == "d":
            continue
        parts = name.split("/")[job.strip :]
        if parts and parts != [""]:
            if "v" in job.flags:
                call.line(shown)
            _unpack(call, job, archive, member, "/".join(parts))
    for name, seen in wanted.items():
        if not seen:
            call.fail(f"{name}: Not found in archive", 2)


def _unpack(call: Call, job: Job, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
    source = archive.extractfile(member) if member.isfile() else None
    fits(member.size)  # a hole takes no place in an archive
    content = source.read() if source is not None else b""
    if "O" in job.flags:
        call.out.append(content.decode("utf-8", "replace"))
        return
    path = call.path(posixpath.join(job.folder, name.lstrip("/")))
    if reason := refusal(call, path):
        call.fail(f"{name}: Cannot open: {reason}", 2)
        return
    old = call.lstat(path)
    if old is not None and "k" in job.flags and not member.isdir():
        call.fail(f"{name}: Cannot open: File exists", 2)
        return
    if member.isdir():
        call.fs.mkdir(path, recursive=True)
        call.fs.chmod(path, member.mode & ~0o022 & 0o777)
        return
    call.fs.mkdir(posixpath.dirname(path), recursive=True)
    if old is not None:
        call.fs.remove(path, recursive=old.kind == "directory")
    if member.issym():
        call.fs.symlink(member.linkname, path)
        return
    call.fs.write_file(path, content)
    call.fs.chmod(path, member.mode & (0o777 if "p" in job.flags else ~0o022 & 0o777))
    written = call.stat(path)
    if written is not None and "m" not in job.flags and member.mtime != CLOCK:
        call.clock.kept[written.modified] = float(member.mtime)


def _described(member: tarfile.TarInfo, shown: str) -> str:
    kind = "d" if member.isdir() else "l" if member.issym() else "-"
    bits = "".join(c if member.mode >> (8 - i) & 1 else "-" for i, c in enumerate("rwxrwxrwx"))
    owner = f"{member.uname}/{member.gname}"
    when = format_time(float(member.mtime), "%Y-%m-%d %H:%M")
    size = str(member.size).rjust(max(WIDTH - len(owner), len(str(member.size)) + 1))
    return f"{kind}{bits} {owner}{size} {when} {shown}" + (f" -> {member.linkname}" if member.issym() else "")


# -- writing -----------------------------------------------------------------------------------------------------------


def _write(call: Call, job: Job) -> None:
    if job.modes[0] == "c" and not job.names:
        raise UsageError("Cowardly refusing to create an empty archive", 2)
    path, buffer = call.path(job.archive), io.BytesIO()
    if job.lost:
        raise Fatal(f"{job.lost}: Cannot open: {NO_ENTRY}")
    if not call.is_folder(posixpath.dirname(path)):
        raise Fatal(f"{job.archive}: Cannot open: {NO_ENTRY}", child=job.packed)
    if call.is_folder(path):
        raise Fatal(f"{job.archive}: Cannot open: Is a directory")
    if reason := refusal(call, path):
        raise Fatal(f"{job.archive}: Cannot open: {reason}")
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        if job.modes[0] != "c" and call.readable(job.archive):
            old = _open(call, job)
            for member in old or ():
                archive.addfile(member, old.extractfile(member) if old and member.isfile() else None)
        if job.late:
            call.fail(LATE)
            for pattern in job.late:
                call.fail(f"--exclude '{pattern}' has no effect", 2)
        removed = False
        for folder, name in job.names:
            meta = call.lstat(call.path(posixpath.join(folder, name)))
            if meta is None:
                call.fail(f"{name}: Cannot stat: {NO_ENTRY}", 2)
                continue
            if name.startswith("/") and "P" not in job.flags and not removed:
                call.err.append("tar: Removing leading `/' from member names\n")
                removed = True
            _add(call, job, archive, folder, name, meta)
    kind = next((letter for letter in "zjJ" if letter in job.flags), "")
    if "a" in job.flags:
        kind = next((k for end, k in ((r"\.t?gz$", "z"), (r"\.t?bz2?$", "j"), (r"\.t?xz$", "J"))
                     if re.search(end, job.archive)), "")  # fmt: skip
    data = buffer.getvalue()
    call.fs.write_file(path, _PACK[kind](data) if kind else data)


def _matches(name: str, pattern: str) -> bool:
    """An exclusion fits the whole name or the end of it behind a slash, and everything below."""
    parts = name.split("/")
    ends = range(1, len(parts) + 1)
    return any(fnmatch.fnmatch("/".join(parts[i:j]), pattern) for j in ends for i in range(j))


def _add(call: Call, job: Job, archive: tarfile.TarFile, folder: str, name: str, meta: Meta) -> None:
    if any(_matches(name.rstrip("/"), pattern) for pattern in job.exclude):
        return
    path = call.path(posixpath.join(folder, name))
    if "h" in job.flags:
        meta = call.stat(path) or meta
    stored = name if "P" in job.flags else name.lstrip("/") or "."
    info = tarfile.TarInfo(stored.rstrip("/") or "/")
    info.mode, info.mtime = meta.mode & 0o7777, int(call.shown_time(meta.modified))
    info.uname = info.gname = USER
    info.uid = info.gid = 1000
    if "v" in job.flags:
        call.line(name.rstrip("/") + "/" if meta.kind == "directory" else name)
    if meta.kind == "directory":
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
        for child, inner in call.children(path).items():
            _add(call, job, archive, folder, posixpath.join(name, child), inner)
    elif meta.kind == "symlink":
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, call.fs.read_link(path), 0o777
        archive.addfile(info)
    elif path == call.path(job.archive):
        call.err.append(f"tar: {name}: file is the archive; not dumped\n")
    elif not meta.readable:
        call.fail(f"{name}: Cannot open: Permission denied", 2)
    else:
        content = call.fs.read_file(path)
        info.size = len(content)
        fits(archive.offset + info.size)
        archive.addfile(info, io.BytesIO(content))
