"""Benchmarks: functions registered by name that return rows; ``make bench`` runs all and writes one file.

A row has ``name``, ``value``, ``unit``, ``target`` (text, empty without one) and ``holds`` (None without a target). A
target that is missed shows as missed; a benchmark that this machine cannot run says why and is left out.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from echo_terminal.pipeline import provenance
from echo_terminal.pipeline.errors import UserError

KEYS = ("name", "value", "unit", "target", "holds")
Row = dict[str, Any]
Benchmark = Callable[[], Iterable[Row]]
REGISTRY: dict[str, Benchmark] = {}


class CannotRun(Exception):
    """This machine lacks what the benchmark needs; the message says what."""


def benchmark(name: str) -> Callable[[Benchmark], Benchmark]:
    """Register a function under ``name``.

    Raises:
        ValueError: the name is taken.
    """

    def register(function: Benchmark) -> Benchmark:
        if name in REGISTRY:
            raise ValueError(f"two benchmarks are named {name}")
        REGISTRY[name] = function
        return function

    return register


def run(root: Path, names: Iterable[str] = ()) -> list[Row]:
    """Run the named benchmarks (all of them without a name); rows with machine and commit added, each benchmark's
    written as soon as it ends.

    Raises:
        UserError: no such benchmark.
        ValueError: a row lacks a key or has another.
    """
    importlib.import_module("echo_terminal.pipeline.benchmarks")
    record = provenance.collect(root)
    machine = record["hardware"] | {"load": round(os.getloadavg()[0], 1)}
    rows = []
    for name in names or REGISTRY:
        if name not in REGISTRY:
            raise UserError(f"no benchmark {name!r}: choose from {', '.join(REGISTRY)}")
        try:
            found = list(REGISTRY[name]())
        except CannotRun as reason:
            print(f"{name}: left out: {reason}", flush=True)
            continue
        for row in found:
            if tuple(row) != KEYS:
                raise ValueError(
                    f"benchmark {name}: a row has the keys {', '.join(KEYS)}, not {', '.join(row)}"
                )
            print(table_line(row), flush=True)
        found = [row | {"machine": machine, "commit": record["revision"]} for row in found]
        write(root, found)
        rows += found
    return rows


def write(root: Path, rows: list[Row]) -> Path:
    """Put rows into results/bench.json in one step: in the place of those of the same name, the others stay."""
    path = root / "results" / "bench.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text()) if path.is_file() else []
    names = {row["name"] for row in rows}
    kept = [row for row in before if row["name"] not in names]
    part = path.with_suffix(".json.tmp")
    part.write_text(json.dumps(kept + rows, indent=1, ensure_ascii=False) + "\n")
    os.replace(part, path)
    return path


def summary(rows: list[Row]) -> str:
    """``12 figures, 9 of 10 targets hold``."""
    targets = [row["holds"] for row in rows if row["holds"] is not None]
    return f"{len(rows)} figures, {sum(targets)} of {len(targets)} targets hold"


def table_line(row: Row) -> str:
    """``name  value unit  target  verdict`` in columns."""
    verdict = {None: "", True: "holds", False: "MISSED"}[row["holds"]]
    return f"{row['name']:<52} {row['value']:>12.4g} {row['unit']:<16} {row['target']:<12} {verdict}".rstrip()
