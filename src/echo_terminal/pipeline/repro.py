"""``make repro``: checks what can be checked before the work, lets DVC do it, checks the results, prints the digest."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import yaml

from echo_terminal.pipeline.digest import digest
from echo_terminal.pipeline.dvcfile import StageSpec, stage_key
from echo_terminal.pipeline.errors import UserError, os_error_line
from echo_terminal.pipeline.layout import find_root, profile_folder
from echo_terminal.pipeline.params import load_params, read_params
from echo_terminal.pipeline.processes import die_with_parent
from echo_terminal.pipeline.stage import pipeline_of

FREE_BYTES = 2 << 30


def reproduce(root: Path, profile: str, only: str | None = None) -> str:
    """Bring a profile (or one stage of it, from the results at hand) up to date; returns the digest of its tables.

    Raises:
        UserError: something is in the way, or a stage failed.
    """
    folder = profile_folder(root, profile)
    params_file = (folder / "params.yaml").as_posix()
    load_params(root / params_file)
    params = read_params(root / params_file)
    if params["profile"] != profile:
        raise UserError(
            f"{params_file}: profile is {params['profile']!r}, its folder says {profile!r}: make them equal"
        )
    check_disk(root)
    check_lock(root / folder / "dvc.lock")
    with alone(root):
        drop_stale_locks(root / ".dvc" / "tmp" / "rwlock")
        target = (folder / "dvc.yaml").as_posix()
        command = [sys.executable, "-m", "dvc", "repro"]
        command += [target] if only is None else ["--force", "--single-item", f"{target}:{only}"]
        if subprocess.run(command, cwd=root, preexec_fn=die_with_parent).returncode:
            raise UserError(
                f"stopped at the stage named above; what succeeded is kept: `make repro PROFILE={profile}` goes on"
            )
    specs = pipeline_of(root, params_file, params)
    if only is None:
        check_results(root, profile, specs, params)
    return digest(root / "results" / profile)


def check_disk(root: Path, needed: int = FREE_BYTES) -> None:
    """Room and permission to write.

    Raises:
        UserError: too little room.
        OSError: nothing can be written.
    """
    free = shutil.disk_usage(root).free
    if free < needed:
        raise UserError(f"{free >> 20} MB free on this disk, {needed >> 20} are needed: free some space")
    probe = root / ".dvc" / "tmp"
    probe.mkdir(parents=True, exist_ok=True)
    (probe / "writable").write_text("")


def check_lock(path: Path) -> None:
    """dvc.lock can be read.

    Raises:
        UserError: it is damaged, by a merge say.
    """
    if not path.exists():
        return
    try:
        lock = yaml.safe_load(path.read_text())
    except yaml.YAMLError:
        lock = None
    if not isinstance(lock, dict) or "stages" not in lock:
        raise UserError(f"{path.name} is damaged: git checkout {path.name}, or delete it to run every stage")


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the repository's lock, which the system frees whatever way the process ends.

    Raises:
        UserError: another run holds it.
    """
    with (root / ".dvc" / "tmp" / "repro.lock").open("a+") as file:
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


def drop_stale_locks(path: Path) -> None:
    """Remove DVC's record of who reads and writes what if every process in it has ended.

    DVC does so itself, but takes a killed process that nobody has reaped (as in a container) for a live one.

    Raises:
        UserError: a process is alive.
    """
    if not path.exists() or not path.stat().st_size:
        return
    for entry in json.loads(path.read_text()).values():
        for holder in [entry.get("write"), *entry.get("read", [])]:
            if holder and is_alive(holder["pid"]):
                raise UserError(
                    f"dvc is at work in this folder (process {holder['pid']}): wait for it or end it"
                )
    path.unlink()


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and waits to be reaped does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def check_results(root: Path, profile: str, specs: list[StageSpec], params: dict[str, object]) -> None:
    """Every stage's record is there and was made from the code, settings and inputs of now.

    Raises:
        UserError: the first that was not.
    """
    for spec in specs:
        record = root / f"results/{profile}/provenance/{spec.name}.json"
        if not record.is_file() or json.loads(record.read_text())["key"] != stage_key(root, spec, params):
            raise UserError(
                f"{spec.name} was made from other code or settings: delete {record.relative_to(root)}, run again"
            )


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="echo_terminal.pipeline.repro")
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--only", metavar="STAGE", help="this stage alone, from the results at hand")
    arguments = parser.parse_args(argv)
    if "MAKELEVEL" in os.environ:
        die_with_parent()
    try:
        value = reproduce(find_root(), arguments.profile, arguments.only)
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        return 130
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        line = os_error_line(error)
        if line is None:
            raise
        print(f"error: {line}", file=sys.stderr)
        return 1
    print(f"results/{arguments.profile}: digest {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
