"""Tasks as plain rows and files: Parquet for the pipeline, JSON lines for people and other programs.

What a machine brings is stored once, not once a task.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from echo_terminal.tasks.task import Check, Step, Task
from echo_terminal.terminal.terminal import File

_FILE = pa.struct(
    {
        "path": pa.string(),
        "content": pa.binary(),
        "mode": pa.int32(),
        "mtime": pa.int64(),
        "link": pa.string(),
    }
)
_SCHEMA = pa.schema(
    {
        "task_id": pa.string(),
        **dict.fromkeys(("suite", "template", "domain"), pa.string()),
        **dict.fromkeys(("seed", "machine"), pa.int64()),
        "difficulty": pa.int32(),
        **dict.fromkeys(("instruction", "checks", "oracle", "wrong", "canonical_hash"), pa.string()),
        **dict.fromkeys(("facts", "tokens_of_facts"), pa.list_(pa.string())),
        "files": pa.list_(_FILE),
    }
)
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
    return _task(
        row,
        {
            path: File(content.encode("latin-1"), mode, mtime, link)
            for path, (content, mode, mtime, link) in json.loads(row["files"]).items()
        },
    )


def _task(row: dict[str, Any], files: dict[str, File]) -> Task:
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
    """Write Parquet, JSON lines or JSON lines in gzip, by the name's end; returns the number of tasks.

    The same tasks give the same bytes. Parquet: one row a task, its files as a list of structs. JSON: a line
    ``{"blob": digest, "file": …}`` comes before the first task that uses the file.
    """
    if path.suffix == ".parquet":
        return _write_parquet(path, tasks)
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
    # zlib writes the same header on every Python; gzip.compress does not
    path.write_bytes(zlib.compress(data, 6, 31) if path.suffix == ".gz" else data)
    return count


def read_tasks(path: Path) -> Iterator[Task]:
    """Read what ``write_tasks`` wrote.

    Raises:
        ValueError: a task that does not match its canonical hash.
    """
    if path.suffix == ".parquet":
        yield from _read_parquet(path)
        return
    data = path.read_bytes()
    blobs: dict[str, Any] = {}
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        row = json.loads(line)
        if "blob" in row:
            blobs[row["blob"]] = row["file"]
        else:
            yield from_row(row | {"files": json.dumps({p: blobs[d] for p, d in row["files"].items()})})


_shared = lru_cache(maxsize=4096)(File)  # a machine's file is one object, whatever the number of its tasks


def _write_parquet(path: Path, tasks: Iterable[Task]) -> int:
    count, stream = 0, iter(tasks)
    # A dictionary of any size: within a row group the content of a machine's tool stands once.
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd", dictionary_pagesize_limit=1 << 28) as writer:
        while group := list(islice(stream, 1000)):
            rows = [{**to_row(task), "files": _files(task)} for task in group]
            writer.write_table(pa.Table.from_pylist(rows, _SCHEMA))
            count += len(group)
    return count


def _files(task: Task) -> list[dict[str, Any]]:
    return [
        {"path": p, "content": f.content, "mode": f.mode, "mtime": f.mtime, "link": f.link}
        for p, f in task.files.items()
    ]


def _read_parquet(path: Path) -> Iterator[Task]:
    for batch in pq.ParquetFile(path).iter_batches(256):
        for row in batch.to_pylist():
            files = {f["path"]: _shared(f["content"], f["mode"], f["mtime"], f["link"]) for f in row["files"]}
            yield _task(row, files)
