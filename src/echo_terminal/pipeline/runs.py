"""Long runs that survive interruption: each has a folder, a key, and a mark when it is complete."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from echo_terminal.pipeline.processes import run_parallel

MARK = "run.json"


def complete_runs(
    function: Callable[..., Any],
    folders: Mapping[str, Path],
    arguments: Mapping[str, Mapping[str, Any]],
    keys: Mapping[str, str],
    workers: int = 2,
) -> list[str]:
    """Bring every run to its end by ``function(folder=..., **arguments[name])``, in parallel; returns who was not.

    A folder made under another key is emptied first; one that was interrupted under the same key is handed over as it
    is, and ``function`` resumes from the checkpoints in it. A complete one is left alone.

    Raises:
        RuntimeError: a run failed (``run_parallel``).
    """
    jobs = {}
    for name, folder in folders.items():
        mark, key = _read(folder), keys[name]
        if mark == {"key": key, "complete": True}:
            continue
        if mark != {"key": key, "complete": False}:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            _write(folder, key, complete=False)
        jobs[name] = {"function": function, "folder": folder, "key": key, "arguments": dict(arguments[name])}
    run_parallel(_complete, jobs, workers)
    return list(jobs)


def _complete(function: Callable[..., Any], folder: Path, key: str, arguments: dict[str, Any]) -> None:
    function(folder=folder, **arguments)
    _write(folder, key, complete=True)


def _read(folder: Path) -> dict[str, Any] | None:
    path = folder / MARK
    return json.loads(path.read_text()) if path.is_file() else None


def _write(folder: Path, key: str, *, complete: bool) -> None:
    part = folder / f"{MARK}.tmp"
    part.write_text(json.dumps({"key": key, "complete": complete}))
    os.replace(part, folder / MARK)
