"""DVC on the repository in miniature: what runs again, what does not, and what is said when something is in the way."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from echo_terminal.pipeline import repro
from echo_terminal.pipeline.digest import digest
from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.params import read_params
from echo_terminal.pipeline.repro import check_disk, check_results
from echo_terminal.pipeline.stage import pipeline_of

COMMAND = [sys.executable, "-m", "echo_terminal.pipeline.repro"]


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run([*COMMAND, *arguments], cwd=root, env=environment, capture_output=True, text=True)


def git_changes(root: Path) -> list[str]:
    lines = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    )
    return [line[3:] for line in lines.stdout.splitlines()]


def test_a_killed_run_goes_on_and_gives_the_digest_of_an_undisturbed_one(
    repository: Path, tmp_path: Path
) -> None:
    """One long story, since each stage takes seconds: run, run again, another profile, delete, kill, compare."""
    first = run(repository, "--profile", "smoke")
    assert first.returncode == 0, first.stderr
    undisturbed = digest(repository / "results/smoke")
    assert first.stdout.splitlines()[-1] == f"results/smoke: digest {undisturbed}"
    assert set(git_changes(repository)) == {"executed/", "profiles/smoke/dvc.lock", "results/"}
    assert not (repository / "dvc.lock").exists()
    record = repository / "results/smoke/provenance/01_first.json"
    before = record.read_text()
    lock = repository / "profiles/smoke/dvc.lock"
    (kept := repository / ".dvc/tmp/smoke.dvc.lock").write_text(lock.read_text())
    lock.write_text(lock.read_text()[:40])  # as a kill leaves it that comes while DVC writes

    again = run(repository, "--profile", "smoke")
    assert "profiles/smoke/dvc.lock was cut short: put back as the last stage found it" in again.stdout
    assert again.returncode == 0 and record.read_text() == before and "Running stage" not in again.stdout
    assert not kept.exists()
    command = [sys.executable, "-m", "dvc", "repro", "profiles/smoke/dvc.yaml"]
    by_hand = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert by_hand.returncode == 0 and "up to date" in by_hand.stdout and record.read_text() == before

    shutil.rmtree(repository / "results/smoke/02_second/0")
    killed = subprocess.Popen(
        [*COMMAND, "--profile", "smoke"],
        cwd=repository,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ECHO_TERMINAL_RUN": str(os.getpid()),
        },
    )
    deadline = time.monotonic() + 600
    while (
        not (repository / ".staging/smoke/02_second-0/opened.json").exists() and time.monotonic() < deadline
    ):
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    resumed = run(repository, "--profile", "smoke")
    assert resumed.returncode == 0, resumed.stderr
    assert record.read_text() == before  # only what was deleted ran again
    assert digest(repository / "results/smoke") == undisturbed

    (repository / "code/module.py").write_text("x = 2\n")
    params = read_params(repository / "profiles/smoke/params.yaml")
    specs = pipeline_of(repository, "profiles/smoke/params.yaml", params)
    with pytest.raises(
        UserError, match="01_first was made from other code or settings: delete results/smoke/prov"
    ):
        check_results(repository, "smoke", specs, params)


def test_a_failed_stage_is_two_lines(repository: Path) -> None:
    path = repository / "notebooks/01_first.py"
    path.write_text(path.read_text().replace("print(", "raise ValueError("))
    failed = run(repository)
    assert failed.returncode == 1 and "Traceback" not in failed.stderr
    assert "error: 01_first failed: ValueError: " in failed.stderr
    assert failed.stderr.splitlines()[-1].startswith(
        "error: stopped at the stage named above; what succeeded is kept"
    )


def test_full_disk(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="MB free on this disk, 9223372036854 are needed: free some space"):
        check_disk(tmp_path, 9223372036854 << 20)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            PermissionError(13, "Permission denied", "results"),
            "error: no permission to write here (results): use a folder",
        ),
        (OSError(30, "Read-only file system", "x"), "error: no permission to write here (x)"),
        (OSError(28, "No space left on device"), "error: the disk is full: free some space"),
        (UserError("no profile"), "error: no profile"),
    ],
)
def test_what_is_in_the_way_is_one_line(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    line: str,
) -> None:
    def fail(*_: object) -> str:
        raise error

    monkeypatch.chdir(repository)
    monkeypatch.setattr(repro, "reproduce", fail)
    assert repro.main([]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(line) and shown.count("\n") == 1


def test_profile_and_folder_agree(repository: Path) -> None:
    path = repository / "profiles/smoke/params.yaml"
    path.write_text(path.read_text().replace("profile: smoke", "profile: smoky"))
    with pytest.raises(UserError, match="profile is 'smoky', its folder says 'smoke'"):
        repro.reproduce(repository, "smoke")


def test_outside_the_repository(tmp_path: Path) -> None:
    outside = run(tmp_path)
    assert outside.returncode == 1 and "is not inside the repository: change into it" in outside.stderr
    assert outside.stdout == ""
