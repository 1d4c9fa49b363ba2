"""Tasks as plain rows and files. A row holds text, numbers and lists of text alone, fit for JSON lines and
Parquet.

What a machine brings is stored once a file, not once a task: rows name files by digest.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from echo_terminal.tasks.task import Check, Step, Task
from echo_terminal.terminal.terminal import File

_FIELDS = ("template", "seed", "domain", "instruction", "suite", "difficulty", "machine")


def to_row(task: Task) -> dict[str, Any]:
    """A flat, self-contained row: nested parts are JSON text, contents latin-1 text (one character a byte)."""
    files = {p: [f.content.decode("latin-1"), f.mode, f.mtime, f.link] for p, f in task.files.items()}
    return {name: getattr(task, name) for name in _FIELDS} | {
        "task_id": task.task_id,
        "canonical_hash": task.canonical_hash,
        "facts": list(task.facts),
        "tokens_of_facts": list(task.tokens_of_facts),
        "files": json.dumps(files),
        "checks": json.dumps([[c.kind, c.path, c.value] for c in task.checks]),
        "oracle": json.dumps([[s.command, list(s.misses)] for s in task.oracle]),
        "wrong": json.dumps([list(w) for w in task.wrong]),
    }


def from_row(row: dict[str, Any]) -> Task:
    """The task of a row.

    Raises:
        ValueError: the row's content does not have the canonical hash that it states.
    """
    files = {
        path: File(content.encode("latin-1"), mode, mtime, link)
        for path, (content, mode, mtime, link) in json.loads(row["files"]).items()
    }
    task = Task(
        **{name: row[name] for name in _FIELDS},
        files=files,
        checks=tuple(Check(*c) for c in json.loads(row["checks"])),
        oracle=tuple(Step(c, tuple(m)) for c, m in json.loads(row["oracle"])),
        wrong=tuple(tuple(w) for w in json.loads(row["wrong"])),
        facts=tuple(row["facts"]),
        tokens_of_facts=tuple(row["tokens_of_facts"]),
    )
    if task.canonical_hash != row["canonical_hash"]:
        raise ValueError(f"task {row['task_id']} does not match its canonical hash: the row was edited")
    return task


def write_tasks(path: Path, tasks: Iterable[Task]) -> int:
    """Write JSON lines (gzip if the name ends in ``.gz``); returns the number of tasks.

    A line ``{"blob": digest, "file": …}`` comes before the first task that uses the file. The same tasks give
    the same bytes.
    """
    known: set[str] = set()
    lines: list[str] = []
    count = 0
    for task in tasks:
        count += 1
        row = to_row(task)
        names = {}
        for name, file in json.loads(row["files"]).items():
            digest = hashlib.sha256(json.dumps(file).encode()).hexdigest()[:16]
            names[name] = digest
            if digest not in known:
                known.add(digest)
                lines.append(json.dumps({"blob": digest, "file": file}) + "\n")
        lines.append(json.dumps(row | {"files": names}) + "\n")
    data = "".join(lines).encode()
    path.write_bytes(gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data)
    return count


def read_tasks(path: Path) -> Iterator[Task]:
    """Read what ``write_tasks`` wrote.

    Raises:
        ValueError: a task that does not match its canonical hash.
    """
    data = path.read_bytes()
    blobs: dict[str, Any] = {}
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        row = json.loads(line)
        if "blob" in row:
            blobs[row["blob"]] = row["file"]
        else:
            yield from_row(row | {"files": json.dumps({p: blobs[d] for p, d in row["files"].items()})})
