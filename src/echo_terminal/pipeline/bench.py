"""Benchmarks: a function registers itself by name and returns rows; ``make bench`` runs all and writes one file.

A target that is missed shows as missed; a benchmark that this machine cannot run says why and is left out.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from echo_terminal.pipeline import provenance

MODULES = ("echo_terminal.pipeline.benchmarks",)


class CannotRun(Exception):
    """This machine lacks what the benchmark needs; the message says what."""


@dataclass(frozen=True)
class Row:
    """One figure. ``target`` reads ``<= 1.02`` or ``>= 3``; empty where there is none."""

    name: str
    value: float
    unit: str
    target: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the target is reached; None without a target."""
        if not self.target:
            return None
        relation, bound = self.target.split()
        return {"<=": self.value <= float(bound), ">=": self.value >= float(bound)}[relation]


Benchmark = Callable[[], Iterable[Row]]
REGISTRY: dict[str, Benchmark] = {}


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


def run(root: Path, names: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Run the named benchmarks (all of them without a name); rows with machine and commit added.

    Raises:
        KeyError: no such benchmark.
    """
    for module in MODULES:
        importlib.import_module(module)
    record = provenance.collect(root)
    machine = record["hardware"] | {"load": round(os.getloadavg()[0], 1)}
    rows = []
    for name in names or REGISTRY:
        try:
            found = list(REGISTRY[name]())
        except CannotRun as reason:
            print(f"{name}: left out: {reason}", flush=True)
            continue
        for row in found:
            print(table_line(row), flush=True)
            rows.append(asdict(row) | {"holds": row.holds, "machine": machine, "commit": record["revision"]})
    return rows


def write(root: Path, rows: list[dict[str, Any]]) -> Path:
    """Write results/bench.json in one step."""
    path = root / "results" / "bench.json"
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".json.tmp")
    part.write_text(json.dumps(rows, indent=1) + "\n")
    os.replace(part, path)
    return path


def table_line(row: Row) -> str:
    """``name  value unit  target  verdict`` in columns."""
    verdict = {None: "", True: "holds", False: "MISSED"}[row.holds]
    return f"{row.name:<52} {row.value:>12.4g} {row.unit:<14} {row.target:<10} {verdict}"
