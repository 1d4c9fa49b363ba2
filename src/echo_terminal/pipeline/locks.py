"""Locks: one run at a time, and DVC's own files after a kill.

DVC writes dvc.lock and its record of readers and writers in place, so a kill may leave half of either. Every stage
of a run keeps a copy of dvc.lock before it begins; half a file is replaced by it, and at most one stage runs again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from echo_terminal.pipeline.errors import UserError

TEMPORARY = Path(".dvc/tmp")


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the repository's lock, which the system frees whatever way the process ends.

    Raises:
        UserError: another run holds it.
    """
    with (root / TEMPORARY / "repro.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise UserError(
                f"another run is at work in this folder (process {file.read()}): wait for it or end it"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def keep_lock_file(root: Path, folder: Path) -> None:
    """Copy ``folder``'s dvc.lock (a missing one as an empty file) to where ``mend_lock_file`` looks for it."""
    path, kept = root / folder / "dvc.lock", _kept(root, folder)
    kept.parent.mkdir(parents=True, exist_ok=True)
    part = kept.with_name(f"{kept.name}.tmp")
    part.write_bytes(path.read_bytes() if path.exists() else b"")
    os.replace(part, kept)


def forget_lock_file(root: Path, folder: Path) -> None:
    """Remove the copy: the run came to an end, so dvc.lock is as DVC meant it."""
    _kept(root, folder).unlink(missing_ok=True)


def mend_lock_file(root: Path, folder: Path) -> bool:
    """Put the copy that a killed run left in the place of a dvc.lock that lost some of it; whether that was needed.

    A cut may fall where the rest still reads as YAML: then stages of the copy are missing or shorter.

    Raises:
        UserError: it is damaged in another way (by a merge, say), or there is no copy.
    """
    path, kept = root / folder / "dvc.lock", _kept(root, folder)
    if not path.exists():
        return False
    content = path.read_bytes()
    whole = is_whole(content)
    if not kept.exists() or b"<<<<<<<" in content:
        if whole:
            return False
        shown = folder / "dvc.lock"
        raise UserError(f"{shown} is damaged: git checkout {shown}, or delete it to run every stage")
    before = kept.read_bytes()
    if whole and all(_stages(content).get(name) == stage for name, stage in _stages(before).items()):
        return False
    if before:
        part = path.with_name("dvc.lock.tmp")
        part.write_bytes(before)
        os.replace(part, path)
    else:
        path.unlink()
    return True


def _stages(content: bytes) -> dict[str, Any]:
    return _read(content)["stages"] if content else {}


def _read(content: bytes) -> Any:
    return yaml.load(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def is_whole(content: bytes) -> bool:
    """Whether DVC can read a dvc.lock with this content."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA  # half a second, and needed by few callers
    from voluptuous import Invalid

    try:
        COMPILED_LOCKFILE_SCHEMA(_read(content))
    except (yaml.YAMLError, UnicodeDecodeError, Invalid):
        return False
    return True


def drop_stale_locks(path: Path) -> None:
    """Remove DVC's record of who reads and writes what if every process in it has ended, or half of it is missing.

    DVC does so itself, but takes a killed process that nobody has reaped (as in a container) for a live one.

    Raises:
        UserError: a process is alive.
    """
    if not path.exists():
        return
    try:
        record = json.loads(path.read_text())
    except json.JSONDecodeError:
        record = {}
    holders = [
        *record.get("write", {}).values(),
        *(h for many in record.get("read", {}).values() for h in many),
    ]
    for holder in holders:
        if is_alive(holder["pid"]):
            raise UserError(f"dvc is at work in this folder (process {holder['pid']}): wait for it or end it")
    path.unlink()


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and waits to be reaped does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _kept(root: Path, folder: Path) -> Path:
    return root / TEMPORARY / f"{folder.name or 'default'}.dvc.lock"
