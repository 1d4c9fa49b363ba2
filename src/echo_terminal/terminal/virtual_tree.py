"""The file system of the virtual engine: laying out an episode's files, reading them back, what is read-only."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from bashkit import Bash, FileSystem

from echo_terminal.terminal.programs.call import Clock
from echo_terminal.terminal.programs.drawing import Draw
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.text.devices import asked
from echo_terminal.terminal.shell_session import GROUP, INSIDE, PASSWD, WRITABLE
from echo_terminal.terminal.terminal import CLOCK, HOME, HOSTNAME, USER, Entry, File

UPTIME = b"0.00 0.00\n"  # of /proc/uptime
RANDOM_BYTES = 1 << 20
SYSTEM = {"/etc/passwd": File(PASSWD.encode()), "/etc/group": File(GROUP.encode())}
LARGEST = 10_000_000  # bytes that a file of bashkit may hold
Mounts = list[tuple[str, FileSystem]]
BORN_WITH = ("dev", "home", "tmp")  # folders of a new FileSystem


def split(files: Mapping[str, File]) -> tuple[dict[str, File], dict[str, File]]:
    """The files that commands may change, and those outside ``WRITABLE``, which are read-only.

    Raises:
        ValueError: a path that is not absolute, or a file that is too large.
    """
    own: dict[str, File] = {}
    fixed: dict[str, File] = {}
    for path, file in files.items():
        if not path.startswith("/"):
            raise ValueError(f"path of a file must be absolute: {path!r}")
        if len(file.content) > LARGEST:
            size = len(file.content)
            raise ValueError(f"{path}: {size} bytes; a file of the virtual engine holds at most {LARGEST}")
        (own if path.startswith(INSIDE) else fixed)[path] = file
    return own, fixed


def lay_out(own: Mapping[str, File], fixed: Mounts, shell: Bash, clock: Clock) -> FileSystem:
    """Put files into a pristine shell; returns the file system of those that commands may change."""
    fs = FileSystem()
    fs.copy("/dev/null", "/dev/zero")
    for folder in dict.fromkeys([*WRITABLE, *(path.rpartition("/")[0] for path in own)]):
        fs.mkdir(folder, recursive=True)
    for path, file in own.items():
        if file.link is not None:
            fs.symlink(file.link, path)
            continue
        fs.write_file(path, file.content)
        if file.mode != 0o644:
            fs.chmod(path, file.mode)
    mount(shell, fs, fixed)
    lines = []
    for path, file in own.items():
        if file.mtime == CLOCK:
            continue
        if file.link is not None:
            clock.kept[_stamp(fs, path)] = float(file.mtime)
        else:
            lines.append(f"touch -t {format_time(file.mtime, '%Y%m%d%H%M.%S')} {_quoted(path)}")
    if lines:
        shell.execute_sync("\n".join(lines))
    return fs


def draw_devices(shell: Bash, draw: Draw, text: bytes) -> bool:
    """Where a text may name them, mount devices of random bytes in place of the host's, and the file that gives a UUID;
    whether it did. A device is a file of ``RANDOM_BYTES``, another one for the next command."""
    if b"urandom" not in text and b"/random" not in text:
        return False
    size = max(RANDOM_BYTES, min(asked(text.decode("utf-8", "replace")), LARGEST))
    devices, kernel = _empty(), _empty()
    for name in ("zero", "null", "random", "urandom"):
        drawn = draw.text(size) if "random" in name else bytes(RANDOM_BYTES)
        devices.write_file(f"/{name}", b"" if name == "null" else drawn)
        devices.chmod(f"/{name}", 0o666)
    kernel.write_file("/uuid", f"{draw.uuid()}\n".encode())
    shell.mount("/dev", devices)
    shell.mount("/proc/sys/kernel/random", kernel, read_only=True)
    return True


def mounts(fixed: Mapping[str, File]) -> Mounts:
    """The file systems of what is only read, by where they go; a shell keeps them over a reset."""
    return _mounts(tuple(fixed.items()))


def mount(shell: Bash, fs: FileSystem, fixed: Mounts) -> None:
    """Give a shell the files that commands may change, and those that they only read."""
    shell.mount("/", fs)
    for point, content in fixed:
        shell.mount(point, content, read_only=True)


def settle_times(shell: Bash, clock: Clock, *, new: bool) -> None:
    """Give files and folders that carry the host's time the episode's; those written by commands too if ``new``."""
    fs, end = shell.fs(), float("inf") if new else clock.ready
    paths = [
        path
        for root in WRITABLE
        for path, entry, stamp in walk(fs, root)
        if stamp < end and clock.written(stamp) and stamp not in clock.kept and entry.kind != "link"
    ]
    when = format_time(CLOCK, "%Y%m%d%H%M.%S")
    for start in range(0, len(paths), 500):
        names = " ".join(_quoted(path) for path in (HOME, *paths[start : start + 500]))
        shell.execute_sync(f"/usr/bin/touch -t {when} {names}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _stamp(fs: FileSystem, path: str) -> float:
    parent, _, name = path.rpartition("/")
    return next(e["metadata"]["modified"] for e in fs.read_dir(parent or "/") if e["name"] == name)


@functools.lru_cache(maxsize=64)
def _mounts(fixed: tuple[tuple[str, File], ...]) -> Mounts:
    """/usr/local is apart, since machines differ there."""
    groups: dict[str, dict[str, File]] = {"/usr/local": {}, "/root": {}}
    for path, file in {**_system(), **SYSTEM, **dict(fixed)}.items():
        point = "/usr/local" if path.startswith("/usr/local/") else "/" + path.split("/")[1]
        groups.setdefault(point, {})[path[len(point) :]] = file
    return [(point, _read_only(tuple(sorted(content.items())))) for point, content in groups.items()]


@functools.lru_cache(maxsize=1)
def _system() -> dict[str, File]:
    """bashkit's own files in the folders of the system: its programs, as files to find and run."""
    fs = Bash(username=USER, hostname=HOSTNAME).fs()
    found = {}
    for root in ("/usr", "/bin", "/proc"):
        for path, entry, _ in walk(fs, root):
            if entry.kind == "file":
                found[path] = File(fs.read_file(path), entry.mode)
            elif entry.kind == "link":
                found[path] = File(b"", link=entry.target)
    return {**found, "/usr/bin/python3": File(b"#!/bin/sh\n", 0o755), "/proc/uptime": File(UPTIME)}


@functools.lru_cache(maxsize=64)
def _read_only(files: tuple[tuple[str, File], ...]) -> FileSystem:
    """A file system that many episodes share: nothing can be written to it."""
    fs = _empty()
    for path, file in files:
        fs.mkdir(path.rpartition("/")[0] or "/", recursive=True)
        if file.link is not None:
            fs.symlink(file.link, path)
        else:
            fs.write_file(path, file.content)
            fs.chmod(path, file.mode)
    return fs


def _empty() -> FileSystem:
    fs = FileSystem()
    for name in BORN_WITH:
        fs.remove(f"/{name}", recursive=True)
    return fs


def walk(fs: FileSystem, root: str) -> Iterator[tuple[str, Entry, float]]:
    """Every path below a folder with its entry and its stamp, folders before what they hold."""
    if not fs.exists(root) or fs.stat(root)["file_type"] != "directory":
        return
    pending = [root.rstrip("/")]
    while pending:
        for path, found, stamp in children(fs, pending.pop()):
            if found.kind == "directory":
                pending.append(path)
            yield path, found, stamp


def children(fs: FileSystem, folder: str) -> Iterator[tuple[str, Entry, float]]:
    """The same for what one folder holds."""
    for item in fs.read_dir(folder or "/"):
        path, meta = f"{folder}/{item['name']}", item["metadata"]
        kind = meta["file_type"]
        if kind == "symlink":
            found = Entry("link", 0o777, 0, fs.read_link(path))
        elif kind == "file":
            found = Entry(kind, meta["mode"], meta["size"])
        else:
            found = Entry(kind if kind == "directory" else "other", meta["mode"], 0)
        yield path, found, meta["modified"]


def entry(fs: FileSystem, path: str) -> Entry | None:
    """The entry at an absolute path; None where a part of it is missing, or a link on the way."""
    *folders, name = [part for part in path.split("/") if part] or [""]
    above = ""
    for part in folders:
        above += f"/{part}"
        if not fs.exists(above) or _is_link(fs, above):
            return None
    if not fs.exists(above or "/") or fs.stat(above or "/")["file_type"] != "directory":
        return None
    return next((found for path, found, _ in children(fs, above) if path == f"{above}/{name}"), None)


def is_file(fs: FileSystem, path: str) -> bool:
    """Is a regular file at an absolute path, without a link on the way?"""
    found = entry(fs, path)
    return found is not None and found.kind == "file"


def _is_link(fs: FileSystem, path: str) -> bool:
    try:
        fs.read_link(path)
    except RuntimeError:
        return False
    return True
