import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.locks import (
    alone,
    drop_stale_locks,
    forget_lock_file,
    is_alive,
    is_whole,
    keep_lock_file,
    mend_lock_file,
)

LOCK = b"""schema: '2.0'
stages:
  a:
    cmd: run
    deps:
    - path: code
      hash: md5
      md5: 0a1b
      size: 4
"""


def test_which_halves_dvc_can_read() -> None:
    assert is_whole(LOCK)
    assert not is_whole(b"") and not is_whole(b"7") and not is_whole(b"\xff")
    assert not is_whole(LOCK[: LOCK.index(b"path")])  # YAML, but a dependency without a path
    assert not is_whole(LOCK.replace(b"'2.0'", b"'2"))


def test_half_a_lock_file_is_replaced_by_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "dvc.lock"
    assert not mend_lock_file(tmp_path, Path())  # none yet
    path.write_bytes(LOCK)
    keep_lock_file(tmp_path, Path())
    assert not mend_lock_file(tmp_path, Path())
    path.write_bytes(LOCK[:9])
    assert mend_lock_file(tmp_path, Path()) and path.read_bytes() == LOCK
    cut = LOCK[: LOCK.index(b"      size")]  # what is left can be read
    assert is_whole(cut)
    path.write_bytes(cut)
    assert mend_lock_file(tmp_path, Path()) and path.read_bytes() == LOCK
    more = LOCK + LOCK[LOCK.index(b"  a:") :].replace(b"  a:", b"  b:")
    path.write_bytes(more)
    assert not mend_lock_file(tmp_path, Path()) and path.read_bytes() == more
    forget_lock_file(tmp_path, Path())  # the run ended: whatever comes after is somebody's wish
    path.write_bytes(cut)
    assert not mend_lock_file(tmp_path, Path()) and path.read_bytes() == cut
    folder = Path("profiles/smoke")  # a first run: the copy says that there was none
    (tmp_path / folder).mkdir(parents=True)
    keep_lock_file(tmp_path, folder)
    (tmp_path / folder / "dvc.lock").write_bytes(b"")
    assert mend_lock_file(tmp_path, folder) and not (tmp_path / folder / "dvc.lock").exists()
    assert path.read_bytes() == cut


def test_a_damaged_lock_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "dvc.lock"
    path.write_bytes(LOCK[:9])
    with pytest.raises(UserError, match="dvc.lock is damaged: git checkout dvc.lock, or delete it"):
        mend_lock_file(tmp_path, Path())
    path.write_bytes(LOCK)
    keep_lock_file(tmp_path, Path())
    path.write_bytes(b"<<<<<<< HEAD\n" + LOCK)  # two truths: not ours to choose
    with pytest.raises(UserError, match="dvc.lock is damaged"):
        mend_lock_file(tmp_path, Path())


def test_two_runs_at_once_and_a_lock_left_behind(tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    (tmp_path / ".dvc/tmp/repro.lock").write_text("999999")  # of a process that was killed
    with alone(tmp_path):
        with pytest.raises(UserError, match=f"another run is at work in this folder .process {os.getpid()}."):
            with alone(tmp_path):
                pass
    with alone(tmp_path):
        pass


def record(write: int, read: int) -> str:
    """As DVC writes it (dvc/rwlock.py)."""
    return json.dumps(
        {"write": {"/a": {"pid": write, "cmd": "dvc"}}, "read": {"/b": [{"pid": read, "cmd": "dvc"}]}}
    )


def test_locks_of_dead_processes_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rwlock"
    drop_stale_locks(path)  # none yet
    for half in ("", '{"write": {"/a'):
        path.write_text(half)
        drop_stale_locks(path)
        assert not path.exists()
    zombie = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not reaped yet
    assert psutil.pid_exists(zombie.pid) and not is_alive(zombie.pid)
    path.write_text(record(zombie.pid, zombie.pid))
    drop_stale_locks(path)
    assert not path.exists()
    zombie.wait()
    for write, read in ((zombie.pid, os.getpid()), (os.getpid(), zombie.pid)):
        path.write_text(record(write, read))
        with pytest.raises(UserError, match=f"dvc is at work in this folder .process {os.getpid()}."):
            drop_stale_locks(path)
        assert path.exists()


def test_the_record_is_read_as_dvc_writes_it(tmp_path: Path) -> None:
    from dvc.fs import localfs
    from dvc.rwlock import rwlock

    with rwlock(str(tmp_path), localfs, "a test", read=["/in"], write=["/out"], hardlink=False):
        with pytest.raises(UserError, match="dvc is at work in this folder"):
            drop_stale_locks(tmp_path / "rwlock")
    drop_stale_locks(tmp_path / "rwlock")
    assert not (tmp_path / "rwlock").exists()
