"""The benchmarks in small: they run, count right, and would show a loss."""

from pathlib import Path
from typing import Any

import pytest

from echo_terminal.lake import benchmarks
from echo_terminal.lake.synthetic import TRIES, generate
from echo_terminal.lake.tables import append, assert_unique


def test_generated_lakes_are_exact_and_repeatable(tmp_path: Path) -> None:
    attempts, turns = generate(1000, seed=3)
    assert turns.num_rows == 1000
    assert sum(attempts["turns"].to_pylist()) == 1000
    assert generate(1000, seed=3)[1].equals(turns) and not generate(1000, seed=4)[1].equals(turns)
    append(tmp_path, "attempts", attempts)
    append(tmp_path, "turns", turns)
    assert assert_unique(tmp_path, "turns") == 1000
    assert max(attempts["attempt"].to_pylist()) == TRIES - 1


def test_small_run(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []

    def report(attempts: Any, turns: Any) -> None:
        reports.append((attempts.count(), turns.count()))

    rows = benchmarks.million_turns(tmp_path, report, sizes=(200, 400))
    assert [t for _, t in reports] == [200, 400]
    assert [r["target"] for r in rows] == ["<= 60", "<= 60", "<= 6", "<= 1.1", "<= 1.1"]
    assert rows[0]["holds"] is True and rows[2]["value"] > 0


def test_writers_and_kills(tmp_path: Path) -> None:
    (writers,) = benchmarks.two_writers(tmp_path / "w", batches=3, size=2)
    (kills,) = benchmarks.random_kills(tmp_path / "k", kills=2, size=3)
    assert (writers["value"], writers["holds"], kills["value"], kills["holds"]) == (0, True, 0, True)


def test_a_lost_batch_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, "turns", benchmarks._batch(0, 0, 5))
    monkeypatch.setattr(benchmarks, "_write_batches", print)  # writers that write nothing
    (row,) = benchmarks.two_writers(tmp_path, writers=1, batches=2, size=5)
    assert (row["value"], row["holds"]) == (5, False)
