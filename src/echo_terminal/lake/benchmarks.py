"""The lake's figures: a million turns on two cores, two writers at once, random kills.

Each benchmark returns rows of name, value, unit, target and whether it holds. The report to time is passed
in, since the analyses lie above this package.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from echo_terminal.lake.spark import SparkParams, connect, load
from echo_terminal.lake.synthetic import generate
from echo_terminal.lake.tables import append, assert_unique, read

Row = dict[str, Any]
Report = Callable[[Any, Any], Any]
BATCH = 20_000
_SPAWN = multiprocessing.get_context("spawn")


def row(name: str, value: float, unit: str, most: float) -> Row:
    """One line of the benchmark table; every target here is an upper bound."""
    return {
        "name": name,
        "value": round(value, 3),
        "unit": unit,
        "target": f"<= {most:g}",
        "holds": value <= most,
    }


def peak_gib() -> float:
    """Most memory this process ever held, the embedded engine included."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def write_lake(root: Path, turns: int) -> float:
    """Generate a lake and append it in batches; returns the seconds of the appends alone."""
    begun = 0.0
    for name, table in zip(("attempts", "turns"), generate(turns), strict=True):
        start = time.perf_counter()
        for first in range(0, table.num_rows, BATCH):
            append(root, name, table.slice(first, BATCH))
        begun += time.perf_counter() - start
    return begun


def million_turns(
    root: Path,
    report: Report,
    sizes: Sequence[int] = (10_000, 100_000, 1_000_000),
    params: SparkParams | None = None,
) -> list[Row]:
    """Write and report lakes of growing size; the last size is the one that the targets are for."""
    spark = connect(params)
    seconds: dict[int, tuple[float, float]] = {}
    for size in sizes:
        folder = root / str(size)
        written = write_lake(folder, size)
        assert_unique(folder, "turns")
        start = time.perf_counter()
        report(load(spark, folder, "attempts"), load(spark, folder, "turns"))
        seconds[size] = (written, time.perf_counter() - start)
    last, first = sizes[-1], sizes[0]
    write, analysis = seconds[last]
    rows = [
        row(f"lake: write {last:,} turns", write, "s", 60),
        row(f"lake: behaviour report on {last:,} turns", analysis, "s", 60),
        row("lake: peak memory of both", peak_gib(), "GiB", 6),
    ]
    for i, what in enumerate(("write", "report")):
        slope = math.log(seconds[last][i] / seconds[first][i]) / math.log(last / first)
        name = f"lake: growth exponent of {what}, {first:,} to {last:,} turns"
        rows.append(row(name, slope, "", 1.1))
    return rows


def _batch(writer: int, number: int, size: int) -> pa.Table:
    return pa.table(
        {
            "run_id": [f"run{writer}"] * size,
            "phase": ["train"] * size,
            "step": pa.array([number] * size, pa.int32()),
            "task_id": ["t"] * size,
            "attempt": pa.array(range(size), pa.int32()),
            "turn": pa.array([0] * size, pa.int32()),
        }
    )


def _write_batches(root: Path, writer: int, batches: int, size: int) -> None:
    for number in range(batches):
        append(root, "turns", _batch(writer, number, size))


def _write_on(root: Path, mark: Path, size: int) -> None:
    """Append batches until killed; ``mark`` holds one byte for each committed one."""
    with mark.open("ab", buffering=0) as done:
        number = mark.stat().st_size
        while True:
            append(root, "turns", _batch(0, number, size))
            done.write(b".")
            number += 1


def two_writers(root: Path, writers: int = 2, batches: int = 50, size: int = 20) -> list[Row]:
    """Processes that append to one table at once: every row is there once."""
    processes = [_SPAWN.Process(target=_write_batches, args=(root, w, batches, size)) for w in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    lost = writers * batches * size - assert_unique(root, "turns")
    return [row(f"lake: {writers} writers x {batches} batches, rows lost or doubled", abs(lost), "rows", 0)]


def random_kills(root: Path, kills: int = 20, size: int = 500, seed: int = 0) -> list[Row]:
    """SIGKILL a writer at random moments: what it had committed is there, once, and the table can be read."""
    rng = random.Random(seed)
    mark = root / "committed"
    root.mkdir(parents=True, exist_ok=True)
    mark.touch()
    survived = 0
    for _ in range(kills):
        before = mark.stat().st_size
        process = _SPAWN.Process(target=_write_on, args=(root, mark, size))
        process.start()
        while mark.stat().st_size == before and process.is_alive():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.2))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        committed = mark.stat().st_size
        steps = set(read(root, "turns", ["step"])["step"].to_pylist())
        # the last batch may have been committed without its mark
        complete = steps in (set(range(committed)), set(range(committed + 1)))
        survived += complete and assert_unique(root, "turns") == size * len(steps)
    return [row(f"lake: of {kills} kills, those that lost or doubled a row", kills - survived, "kills", 0)]
