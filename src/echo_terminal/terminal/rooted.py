"""Reading a tree that somebody hostile owns: paths are opened component by component and no link is followed.

A link to ``/etc/shadow``, or a folder swapped for a link while we look, leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from echo_terminal.terminal.terminal import Entry

READ_LIMIT = 64 << 20  # bytes; a larger (say, sparse) file reads as absent


class RootedTree:
    """A folder of the host seen as ``/``."""

    def __init__(self, root: str) -> None:
        self.root = root

    def read(self, path: str) -> bytes | None:
        """Content of a regular file that no symbolic link leads to; None where there is none to be read."""
        try:
            with self._open(path) as handle:
                info = os.fstat(handle)
                if not stat.S_ISREG(info.st_mode) or info.st_size > READ_LIMIT:
                    return None
                return _content(handle, stat.S_IMODE(info.st_mode))
        except OSError as error:
            if error.errno in _UNREACHABLE:
                return None
            raise

    def list(self, root: str) -> dict[str, Entry]:
        """Every path below ``root``; what no path of 4096 bytes reaches, or may not be opened, is left out."""
        found: dict[str, Entry] = {}
        todo = [root.rstrip("/") or "/"]
        while todo:
            folder = todo.pop()
            try:
                with self._open(folder) as handle:
                    names = os.listdir(f"/proc/self/fd/{handle}")
                    entries = {name: _entry(name, handle) for name in names}
            except OSError as error:
                if error.errno in _UNREACHABLE:
                    continue
                raise
            for name, entry in entries.items():
                path = f"{folder.rstrip('/')}/{name}"
                if entry is not None:
                    found[path] = entry
                    if entry.kind == "directory":
                        todo.append(path)
        return dict(sorted(found.items()))

    @contextmanager
    def _open(self, path: str) -> Iterator[int]:
        """An O_PATH descriptor of ``path``, without following a link anywhere."""
        handle = os.open(self.root, os.O_PATH | os.O_CLOEXEC)
        try:
            for part in path.split("/"):
                if part:
                    below = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
                    os.close(handle)
                    handle = below
            yield handle
        finally:
            os.close(handle)


_UNREACHABLE = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})


def _content(handle: int, mode: int) -> bytes:
    """Bytes behind an O_PATH descriptor of a file that we own, if need be with read permission for a moment."""
    path = f"/proc/self/fd/{handle}"
    locked = not os.access(path, os.R_OK)
    if locked:
        os.chmod(path, mode | stat.S_IRUSR)
    try:
        with open(path, "rb") as file:
            return file.read(READ_LIMIT)
    finally:
        if locked:
            os.chmod(path, mode)


def _entry(name: str, folder: int) -> Entry | None:
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        mode = stat.S_IMODE(info.st_mode)
        if stat.S_ISLNK(info.st_mode):
            return Entry("link", mode, 0, os.readlink(name, dir_fd=folder))
        if stat.S_ISDIR(info.st_mode):
            return Entry("directory", mode, 0)
        return Entry("file", mode, info.st_size) if stat.S_ISREG(info.st_mode) else Entry("other", mode, 0)
    except FileNotFoundError:  # gone since it was listed
        return None
