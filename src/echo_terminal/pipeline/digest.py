"""One digest over all result tables of a profile, to compare two runs of the same thing.

CSV, JSON and Parquet count, by content. Provenance, the paper's ``values.json`` (it states wall times) and
whatever has ``timing`` or ``bench`` in its path do not, nor do columns and keys that hold durations
(``seconds``, ``..._seconds``, ``..._s``, ``tokens_per_...``, ``steps_per_...``).
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

SUFFIXES = (".csv", ".json", ".parquet")
LEFT_OUT = ("provenance", "timing", "bench", "values.json")
_DURATION = re.compile(r"(^|_)(seconds|s|cpu_s|wall)$|_per_(cpu_)?(second|s)$")


def table_digests(folder: Path) -> dict[str, str]:
    """Hex digest of each table below ``folder``, by relative path."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES):
        name = path.relative_to(folder).as_posix()
        if not any(word in name for word in LEFT_OUT):
            found[name] = hashlib.sha256(repr(_content(path)).encode()).hexdigest()
    return found


def digest(folder: Path) -> str:
    """One hex digest of ``table_digests``."""
    return hashlib.sha256(json.dumps(table_digests(folder)).encode()).hexdigest()


def differences(a: Path, b: Path) -> list[str]:
    """One line for each table that is not the same in both folders; empty if their digests are equal."""
    left, right = table_digests(a), table_digests(b)
    lines = []
    for name in sorted(left.keys() | right.keys()):
        if name not in left or name not in right:
            lines.append(f"{name}: only in {a if name in left else b}")
        elif left[name] != right[name]:
            lines.append(f"{name}: differs")
    return lines


def _content(path: Path) -> Any:
    if path.suffix == ".json":
        return _without_durations(json.loads(path.read_text()))
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return [_without_durations(row) for row in csv.DictReader(file)]
    table = pq.read_table(path)
    kept = [name for name in table.column_names if not _DURATION.search(name)]
    return [(name, str(table.schema.field(name).type), table[name].to_pylist()) for name in kept]


def _without_durations(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_durations(v) for k, v in value.items() if not _DURATION.search(str(k))}
    if isinstance(value, list):
        return [_without_durations(item) for item in value]
    return value
