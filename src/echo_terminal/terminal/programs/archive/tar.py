"""``tar`` after GNU tar 1.34."""

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
from collections.abc import Callable

from echo_terminal.terminal.programs.archive.packing import Readable, fits, packed, unpacked
from echo_terminal.terminal.programs.archive.tar_words import HINT, Job, excluded, read_job
from echo_terminal.terminal.programs.call import NO_ENTRY, Call, Meta, UsageError
from echo_terminal.terminal.programs.dates import parse_date
from echo_terminal.terminal.programs.files.making import refusal
from echo_terminal.terminal.programs.files.modes import parse_mode
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.text.columns import content as held
from echo_terminal.terminal.terminal import CLOCK, USER

LATE = (
    "The following options were used after any non-optional arguments in archive create or update mode.  These "
    "options are positional and affect only arguments that follow them.  Please, rearrange them properly."
)
_LEAD = re.compile(r"\A(?:/+|(?:[^/]*/)*\.\./)")  # what no member's name begins with
WIDTH = 19  # columns of owner, group and size
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


_FOREIGN = {
    "z": "\ngzip: stdin: not in gzip format\n",
    "j": "bzip2: (stdin) is not a bzip2 file.\n",
    "J": "xz: (stdin): File format not recognized\n",
}


class Fatal(Exception):
    """The error ends the program; ``child``: it happened in the process that compresses."""

    def __init__(self, message: str, *, child: bool = False) -> None:
        super().__init__(message)
        self.child = child


def tar(call: Call) -> None:
    """Make, list, change or unpack an archive."""
    try:
        job = read_job(call)
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
        call.fail(error.message + ("" if HINT in error.message or not error.hint else HINT), error.code)
        return
    if call.code > 1:
        call.fail("Exiting with failure status due to previous errors", 2)


# -- reading -----------------------------------------------------------------------------------------------------------


def _open(call: Call, job: Job) -> tarfile.TarFile | None:
    data = held(call, job.archive)
    if isinstance(data, str):
        reason = f"Cannot {'read' if data == 'Is a directory' else 'open'}: {data}"
        reason += "\ntar: At beginning of tape, quitting now" if data == "Is a directory" else ""
        raise Fatal(f"{job.archive}: {reason}", child=job.packed)
    unpack = _OPEN.get(data[:2])
    if unpack is None and job.packed:
        call.err.append(next(text for letter, text in _FOREIGN.items() if letter in job.flags))
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
    if job.lost:
        raise Fatal(f"{job.lost}: Cannot open: {NO_ENTRY}")
    wanted = {name.rstrip("/"): (folder, False) for folder, name in job.names}
    kept = []
    rooted = False
    for member in archive or ():
        name = member.name
        if name.startswith("/") and "P" not in job.flags and not rooted:
            call.err.append("tar: Removing leading `/' from member names\n")
            rooted = True
        hit = next((w for w in wanted if name == w or name.startswith(f"{w}/") or
                    ("wildcards" in job.flags and fnmatch.fnmatch(name, w))), None)  # fmt: skip
        if (wanted and hit is None) or excluded(name, job.exclude):
            kept.append(member)
            continue
        folder = job.folder
        if hit is not None:
            folder = wanted[hit][0]
            wanted[hit] = (folder, True)
        shown = name + ("/" if member.isdir() else "")
        if job.modes[0] == "D" or archive is None:
            continue
        if job.modes[0] in "td":
            if job.modes[0] == "t" or "v" in job.flags:
                full = "v" in job.flags and job.modes[0] == "t"
                call.line(_described(job, member, shown) if full else shown)
            if job.modes[0] == "d":
                _compare(call, archive, member, posixpath.join(folder, name))
            continue
        parts = job.named(name).split("/")[job.strip :]
        if parts and parts != [""]:
            if "v" in job.flags:
                (call.err if "O" in job.flags else call.out).append(f"{shown}\n")
            _unpack(call, job, archive, member, posixpath.join(folder, "/".join(parts).lstrip("/")))
    if job.modes[0] == "D" and archive is not None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as new:
            for member in kept:
                new.addfile(member, archive.extractfile(member) if member.isfile() else None)
        call.fs.write_file(call.path(job.archive), buffer.getvalue())
    for name, (_, seen) in wanted.items():
        if not seen:
            call.fail(f"{name}: Not found in archive", 2)


def _unpack(call: Call, job: Job, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
    source = archive.extractfile(member) if member.isfile() else None
    fits(member.size)  # a hole takes no place in an archive
    content = source.read() if source is not None else b""
    if "O" in job.flags:
        call.write(content)
        return
    path = call.path(name)
    name = member.name
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


def _compare(call: Call, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
    """Tell how a file differs from the member of its name."""
    path, shown = call.path(name), member.name
    meta = call.lstat(path)
    if meta is None:
        call.err.append(f"tar: {shown}: Warning: Cannot stat: {NO_ENTRY}\n")
        call.code = max(call.code, 1)
        return
    source = archive.extractfile(member) if member.isfile() else None
    size = len(call.fs.read_file(path)) if meta.kind == "file" and meta.readable else 0
    found = [
        ("Mode differs", meta.mode & 0o7777 != member.mode and not member.issym()),
        ("Mod time differs", int(call.shown_time(meta.modified)) != member.mtime),
        ("Size differs", source is not None and size != member.size),
    ]
    found.append(
        (
            "Contents differ",
            source is not None and not found[-1][1] and source.read() != call.fs.read_file(path),
        )
    )
    for text, differs in found:
        if differs:
            call.line(f"{shown}: {text}")
            call.code = max(call.code, 1)


def _described(job: Job, member: tarfile.TarInfo, shown: str) -> str:
    kind = "d" if member.isdir() else "l" if member.issym() else "-"
    bits = "".join(c if member.mode >> (8 - i) & 1 else "-" for i, c in enumerate("rwxrwxrwx"))
    named = "numeric" not in job.flags
    owner = f"{named and member.uname or member.uid}/{named and member.gname or member.gid}"
    when = format_time(float(member.mtime), "%Y-%m-%d %H:%M:%S" if "full" in job.flags else "%Y-%m-%d %H:%M")
    size = str(member.size).rjust(max(WIDTH - len(owner), len(str(member.size)) + 1))
    return f"{kind}{bits} {owner}{size} {when} {shown}" + (f" -> {member.linkname}" if member.issym() else "")


# -- writing -----------------------------------------------------------------------------------------------------------


def _write(call: Call, job: Job) -> None:
    if job.modes[0] == "c" and not job.names:
        raise UsageError("Cowardly refusing to create an empty archive", 2)
    if job.modes[0] in "ru" and job.packed:
        raise UsageError("Cannot update compressed archives", 2)
    path, buffer = call.path(job.archive), io.BytesIO()
    if job.lost:
        raise Fatal(f"{job.lost}: Cannot open: {NO_ENTRY}")
    if not job.piped:
        _check(call, job, path)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        if job.modes[0] != "c" and call.readable(job.archive):
            old = _open(call, job)
            for member in old or ():
                archive.addfile(member, old.extractfile(member) if old and member.isfile() else None)
        if job.late:
            call.fail(LATE)
            for pattern in job.late:
                call.fail(f"--exclude '{pattern}' has no effect", 2)
        removed: set[str] = set()
        for folder, name in job.names:
            meta = call.lstat(call.path(posixpath.join(folder, name)))
            if meta is None:
                call.fail(f"{name}: Cannot stat: {NO_ENTRY}", 2)
                continue
            lead = _LEAD.match(name)
            if lead is not None and "P" not in job.flags and lead[0] not in removed:
                call.err.append(f"tar: Removing leading `{lead[0]}' from member names\n")
                removed.add(lead[0])
            _add(call, job, archive, folder, name, meta)
    kind = next((letter for letter in "zjJ" if letter in job.flags), "")
    if "a" in job.flags:
        kind = next((k for end, k in ((r"\.t?gz$", "z"), (r"\.t?bz2?$", "j"), (r"\.t?xz$", "J"))
                     if re.search(end, job.archive)), "")  # fmt: skip
    data = buffer.getvalue()
    data = _PACK[kind](data) if kind else data
    if job.piped:
        call.write(data)
    else:
        call.fs.write_file(path, data)


def _check(call: Call, job: Job, path: str) -> None:
    """Can the archive be written?"""
    if not call.is_folder(posixpath.dirname(path)):
        raise Fatal(f"{job.archive}: Cannot open: {NO_ENTRY}", child=job.packed)
    if call.is_folder(path):
        raise Fatal(f"{job.archive}: Cannot open: Is a directory")
    if reason := refusal(call, path):
        raise Fatal(f"{job.archive}: Cannot open: {reason}", child=job.packed)


def _add(call: Call, job: Job, archive: tarfile.TarFile, folder: str, name: str, meta: Meta) -> None:
    if excluded(name, job.exclude):
        return
    path = call.path(posixpath.join(folder, name))
    if "h" in job.flags:
        meta = call.stat(path) or meta
    stored = name if "P" in job.flags else _LEAD.sub("", name) or "."
    info = tarfile.TarInfo(job.named(stored.rstrip("/") or "/"))
    info.mode, info.mtime = meta.mode & 0o7777, int(call.shown_time(meta.modified))
    info.uname, info.uid = _owner(job.values.get("owner", USER))
    info.gname, info.gid = _owner(job.values.get("group", USER))
    if "mtime" in job.values:
        info.mtime = _date(job.values["mtime"])
    if "mode" in job.values:
        mode = parse_mode(job.values["mode"], info.mode, folder=meta.kind == "directory")
        if mode is None:
            raise Fatal("Invalid mode given on option")
        info.mode = mode
    if meta.kind == "directory":
        info.type = tarfile.DIRTYPE
    elif meta.kind == "file":
        info.size = meta.size
    if "v" in job.flags:
        shown = name.rstrip("/") + "/" if meta.kind == "directory" else name
        shown = _described(job, info, shown) if "vv" in job.flags else shown
        (call.err if job.piped else call.out).append(f"{shown}\n")
    if meta.kind == "directory":
        archive.addfile(info)
        for child, inner in call.children(path).items() if "flat" not in job.flags else ():
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
        if "remove" in job.flags:
            call.fs.remove(path)


def _owner(text: str) -> tuple[str, int]:
    """Name and number of an owner ``NAME[:NUMBER]`` or ``NUMBER``."""
    name, _, number = text.partition(":")
    if name.isdigit():
        return ("root" if int(name) == 0 else USER if int(name) == 1000 else ""), int(name)
    return name, int(number) if number.isdigit() else 0 if name == "root" else 1000


def _date(text: str) -> int:
    try:
        return int(parse_date(text))
    except ValueError:
        raise Fatal(f"Substituting -9223372036854775808 for unknown date format '{text}'") from None
