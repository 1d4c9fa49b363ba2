"""The file system of the virtual engine: laying out an episode's files, reading them back, what is read-only."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from bashkit import Bash, FileSystem

from echo_terminal.terminal.programs.call import Clock
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.shell_session import GROUP, PASSWD, WRITABLE
from echo_terminal.terminal.terminal import CLOCK, HOME, Entry, File

SYSTEM = {"/etc/passwd": File(PASSWD.encode()), "/etc/group": File(GROUP.encode())}
INSIDE = tuple(f"{folder}/" for folder in WRITABLE)  # how the paths begin that commands may change
LARGEST = 10_000_000  # bytes that a file of bashkit may hold
EMPTY_FOLDERS = ("dev", "home", "proc", "root", "tmp", "usr", "bin", "etc")  # what a FileSystem is born with


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


def lay_out(own: Mapping[str, File], fixed: Mapping[str, File], shell: Bash, clock: Clock) -> None:
    """Put the files of ``split`` into a pristine shell."""
    fs = shell.fs()
    for folder in dict.fromkeys(path.rpartition("/")[0] for path in own):
        fs.mkdir(folder, recursive=True)
    for path, file in own.items():
        if file.link is None:
            fs.write_file(path, file.content)
        else:
            fs.symlink(file.link, path)
    fs.chmod("/usr/bin/python3", 0o755)
    for path, file in own.items():
        if file.link is None and file.mode != 0o644:
            fs.chmod(path, file.mode)
    times = {p: ("link" if f.link else "file", float(f.mtime)) for p, f in own.items() if f.mtime != CLOCK}
    restore(shell, fixed, times, clock)


def restore(
    shell: Bash, fixed: Mapping[str, File], times: Mapping[str, tuple[str, float]], clock: Clock
) -> None:
    """Mount the read-only files; date paths by ``times`` (path -> kind and seconds)."""
    for point, content in _mounts(tuple(fixed.items())):
        shell.mount(point, content, read_only=True)
    lines = []
    for path, (kind, seconds) in times.items():
        if kind == "link":
            clock.kept[_stamp(shell.fs(), path)] = seconds
        else:
            lines.append(f"touch -t {format_time(seconds, '%Y%m%d%H%M.%S')} {_quoted(path)}")
    if lines:
        shell.execute_sync("\n".join(lines))


def dated(fs: FileSystem, clock: Clock) -> dict[str, tuple[str, float]]:
    """Kind and time of the files and links that show another time than the episode's."""
    return {
        path: (entry.kind, clock.shown(stamp))
        for root in WRITABLE
        for path, entry, stamp in walk(fs, root)
        if entry.kind != "directory" and clock.shown(stamp) != CLOCK
    }


def settle_times(shell: Bash, clock: Clock, *, new: bool) -> None:
    """Give files and folders that carry the host's time the episode's; those written by commands too if ``new``."""
    fs, end = shell.fs(), float("inf") if new else clock.ready
    paths = [
        path
        for root in WRITABLE
        for path, entry, stamp in walk(fs, root)
        if clock.start <= stamp < end and stamp not in clock.kept and entry.kind != "link"
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
def _mounts(fixed: tuple[tuple[str, File], ...]) -> list[tuple[str, FileSystem]]:
    groups: dict[str, list[tuple[str, File]]] = {"/usr/local": []}
    for path, file in sorted({**SYSTEM, **dict(fixed)}.items()):
        point = "/usr/local" if path.startswith("/usr/local/") else "/" + path.split("/")[1]
        groups.setdefault(point, []).append((path[len(point) :], file))
    return [(point, _read_only(tuple(content))) for point, content in groups.items()]


@functools.lru_cache(maxsize=64)
def _read_only(files: tuple[tuple[str, File], ...]) -> FileSystem:
    """A file system that many episodes share: nothing can be written to it."""
    fs = FileSystem()
    for name in EMPTY_FOLDERS:
        if fs.exists(f"/{name}"):
            fs.remove(f"/{name}", recursive=True)
    fs.mkdir("/bin", recursive=True)
    for path, file in files:
        fs.mkdir(path.rpartition("/")[0] or "/", recursive=True)
        if file.link is not None:
            fs.symlink(file.link, path)
        else:
            fs.write_file(path, file.content)
            fs.chmod(path, file.mode)
    return fs


def walk(fs: FileSystem, root: str) -> Iterator[tuple[str, Entry, float]]:
    """Every path below a folder with its entry and its stamp, folders before what they hold."""
    if not fs.exists(root) or fs.stat(root)["file_type"] != "directory":
        return
    pending = [root.rstrip("/")]
    while pending:
        folder = pending.pop()
        for item in fs.read_dir(folder or "/"):
            path, meta = f"{folder}/{item['name']}", item["metadata"]
            kind = meta["file_type"]
            if kind == "symlink":
                yield path, Entry("link", 0o777, 0, fs.read_link(path)), meta["modified"]
                continue
            if kind == "directory":
                pending.append(path)
            yield path, Entry(kind, meta["mode"], meta["size"] if kind == "file" else 0), meta["modified"]


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
    found = (item for item in walk_one(fs, above) if item[0] == f"{above}/{name}")
    return next((kept for _, kept in found), None)


def is_file(fs: FileSystem, path: str) -> bool:
    """Is a regular file at an absolute path, without a link on the way?"""
    found = entry(fs, path)
    return found is not None and found.kind == "file"


def walk_one(fs: FileSystem, folder: str) -> Iterator[tuple[str, Entry]]:
    """The entries of one folder."""
    for item in fs.read_dir(folder or "/"):
        path, meta = f"{folder}/{item['name']}", item["metadata"]
        kind = "link" if meta["file_type"] == "symlink" else meta["file_type"]
        target = fs.read_link(path) if kind == "link" else None
        yield path, Entry(kind, meta["mode"], meta["size"] if kind == "file" else 0, target)


def _is_link(fs: FileSystem, path: str) -> bool:
    try:
        fs.read_link(path)
    except RuntimeError:
        return False
    return True
