"""``make repro``: checks what can be checked before the work, lets DVC do it, checks the results, prints the digest."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from echo_terminal.pipeline.digest import digest
from echo_terminal.pipeline.dvcfile import StageSpec, stage_key
from echo_terminal.pipeline.errors import UserError, exit_status
from echo_terminal.pipeline.layout import find_root, profile_folder
from echo_terminal.pipeline.locks import (
    TEMPORARY,
    alone,
    drop_stale_locks,
    forget_lock_file,
    keep_lock_file,
    mend_lock_file,
)
from echo_terminal.pipeline.params import load_params, read_params
from echo_terminal.pipeline.processes import RUN_VARIABLE, die_with_parent, lead_the_run, tie_to_parent
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
    with alone(root):
        drop_stale_locks(root / TEMPORARY / "rwlock")
        if mend_lock_file(root, folder):
            print(f"{folder / 'dvc.lock'} was cut short: put back as the last stage found it", flush=True)
        keep_lock_file(root, folder)
        target = (folder / "dvc.yaml").as_posix()
        # The file's stages in its order, which is theirs; without the option DVC first reads every profile's file.
        command = [sys.executable, "-m", "dvc", "repro", "--single-item"]
        command += [target] if only is None else ["--force", f"{target}:{only}"]
        done = subprocess.run(command, cwd=root, preexec_fn=tie_to_parent)
        forget_lock_file(root, folder)
        if done.returncode:
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
    probe = root / TEMPORARY
    probe.mkdir(parents=True, exist_ok=True)
    (probe / "writable").write_text("")


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
    if RUN_VARIABLE in os.environ:  # make names itself
        die_with_parent()
    lead_the_run()

    def work() -> None:
        value = reproduce(find_root(), arguments.profile, arguments.only)
        print(f"results/{arguments.profile}: digest {value}")

    return exit_status(work, "interrupted: the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
