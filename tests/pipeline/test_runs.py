import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from echo_terminal.pipeline.processes import run_parallel
from echo_terminal.pipeline.runs import complete_runs
from echo_terminal.progress import progress_line

# Counts to `steps`, one checkpoint a step; the log shows where each process began.
TRAINER = """
import os, pathlib, time

def train(folder, steps, pause=0.0, fail=False):
    path = pathlib.Path(folder) / "count"
    start = int(path.read_text()) if path.exists() else 0
    with open(pathlib.Path(folder).parent / "log", "a") as log:
        log.write(f"{pathlib.Path(folder).name} {start} {os.getpid()}\\n")
    for step in range(start, steps):
        time.sleep(pause)
        part = path.with_suffix(".tmp")
        part.write_text(str(step + 1))
        os.replace(part, path)
        if fail:
            raise ValueError("no luck")
"""


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    (tmp_path / "trainer_of_test.py").write_text(TRAINER)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("trainer_of_test").train
    del sys.modules["trainer_of_test"]


def log(folder: Path) -> list[tuple[str, int]]:
    rows = [line.split() for line in (folder / "log").read_text().splitlines()]
    return sorted((name, int(start)) for name, start, _ in rows)


def test_results_keep_the_order_of_the_jobs_and_processes_have_one_thread() -> None:
    jobs = {"b": {"key": "OMP_NUM_THREADS"}, "a": {"key": "NOT_SET", "default": "none"}}
    before = os.environ.get("OMP_NUM_THREADS")
    assert list(run_parallel(os.getenv, jobs).items()) == [("b", "1"), ("a", "none")]
    assert os.environ.get("OMP_NUM_THREADS") == before


def test_a_failed_job_is_named() -> None:
    with pytest.raises(RuntimeError, match="(?s)second failed: .*FileNotFoundError"):
        run_parallel(os.listdir, {"second": {"path": "/no such folder"}})
    with pytest.raises(RuntimeError, match="first failed: the process ended with exit code 3"):
        run_parallel(os._exit, {"first": {"status": 3}})


def test_complete_runs_are_left_alone_and_other_keys_start_over(tmp_path: Path, train) -> None:  # type: ignore[no-untyped-def]
    folders = {name: tmp_path / name for name in ("echo", "grpo")}
    arguments = {name: {"steps": 3} for name in folders}
    assert complete_runs(train, folders, arguments, dict.fromkeys(folders, "k")) == ["echo", "grpo"]
    assert [f.joinpath("count").read_text() for f in folders.values()] == ["3", "3"]
    assert complete_runs(train, folders, arguments, dict.fromkeys(folders, "k")) == []
    assert complete_runs(train, folders, arguments, {"echo": "other", "grpo": "k"}) == ["echo"]
    assert log(tmp_path) == [("echo", 0), ("echo", 0), ("grpo", 0)]


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path: Path, train) -> None:  # type: ignore[no-untyped-def]
    folders = {"echo": tmp_path / "echo"}
    with pytest.raises(RuntimeError, match="no luck"):
        complete_runs(train, folders, {"echo": {"steps": 3, "fail": True}}, {"echo": "k"})
    assert complete_runs(train, folders, {"echo": {"steps": 3}}, {"echo": "k"}) == ["echo"]
    assert log(tmp_path) == [("echo", 0), ("echo", 1)]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_workers_end_with_their_parent(tmp_path: Path, train) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "echo"
    script = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from pathlib import Path
from trainer_of_test import train
from echo_terminal.pipeline.runs import complete_runs
if __name__ == "__main__":
    folders = {{"echo": Path({str(folder)!r})}}
    complete_runs(train, folders, {{"echo": {{"steps": 10_000, "pause": 0.01}}}}, {{"echo": "k"}})
"""
    (tmp_path / "script.py").write_text(script)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "script.py")])
    deadline = time.monotonic() + 600
    while not (folder / "count").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    time.sleep(0.5)
    reached = int((folder / "count").read_text())
    time.sleep(0.3)
    assert int((folder / "count").read_text()) == reached  # the worker is gone
    assert json.loads((folder / "run.json").read_text()) == {"key": "k", "complete": False}
    assert complete_runs(train, {"echo": folder}, {"echo": {"steps": reached + 2}}, {"echo": "k"}) == ["echo"]
    assert log(tmp_path) == [("echo", 0), ("echo", reached)]


def test_progress_line() -> None:
    assert progress_line("train", 40, 100, "step", 20.0, {"pass_rate": 0.52}) == (
        "train 40/100 step · 2 step/s · 30 s left · pass_rate 0.52"
    )
    assert progress_line("train", 100, 100, "step", 50.0, {}) == "train 100/100 step · 2 step/s"
