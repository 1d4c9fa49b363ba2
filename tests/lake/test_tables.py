"""Appends: every row once whatever repeats, races or dies (H01), and few files (H03)."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from echo_terminal.lake import tables
from echo_terminal.lake.tables import Writer, append, assert_unique, compact, digest, read, table_path, vacuum

Row = Callable[..., dict[str, Any]]
SPAWN = multiprocessing.get_context("spawn")


def rows_of(writer: int, batch: int, size: int = 2) -> list[dict[str, Any]]:
    key = {"run_id": f"r{writer}", "phase": "train", "step": batch, "task_id": "t", "attempt": 0}
    return [key | {"turn": i, "command": f"echo {i}"} for i in range(size)]


def write_batches(root: Path, writer: int, batches: int) -> None:
    for batch in range(batches):
        append(root, "turns", rows_of(writer, batch))


def write_for_ever(root: Path) -> None:
    for batch in range(10_000):
        append(root, "turns", rows_of(0, batch))
        part = root / "committed.part"
        part.write_text(f"{batch}\n")
        part.rename(root / "committed")  # the note is there whole, whenever this process is killed


def test_a_repeated_run_adds_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        write_batches(tmp_path, 0, 3)
    assert assert_unique(tmp_path, "turns") == 6
    assert append(tmp_path, "turns", rows_of(0, 2, size=5)) == 3  # a resumed run that cut its batch elsewhere
    assert append(tmp_path, "turns", rows_of(1, 2)) == 2  # the same step of another run
    assert append(tmp_path, "turns", []) == 0
    first = read(tmp_path, "turns").to_pylist()
    assert len(first) == 11


def test_a_table_without_a_run_is_keyed_by_its_own_name(tmp_path: Path) -> None:
    task = {"suite": "val", "task_id": "val/a/1", "machine": None}
    assert append(tmp_path, "tasks", [task]) == 1
    assert append(tmp_path, "tasks", [task, {**task, "task_id": "val/a/2"}]) == 1


def test_a_commit_in_between_is_seen_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other writer commits the same rows after our key check: the check runs again and nothing doubles."""
    append(tmp_path, "turns", rows_of(0, 0))
    find, calls = tables._new_rows, []

    def slow(*args: Any) -> Any:
        found = find(*args)
        calls.append(found.num_rows)
        if len(calls) == 1:
            monkeypatch.setattr(tables, "_new_rows", find)
            append(tmp_path, "turns", rows_of(0, 1))
            monkeypatch.setattr(tables, "_new_rows", slow)
        return found

    monkeypatch.setattr(tables, "_new_rows", slow)
    assert append(tmp_path, "turns", rows_of(0, 1)) == 0
    assert calls == [2, 0]
    assert assert_unique(tmp_path, "turns") == 4


def test_writers_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    """Two writers with rows of their own and a third that repeats the first's."""
    processes = [SPAWN.Process(target=write_batches, args=(tmp_path, w, 12)) for w in (0, 1, 0)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=600)
        assert process.exitcode == 0
    assert assert_unique(tmp_path, "turns") == 48


def write_one_by_one(root: Path, writer: int) -> None:
    with Writer(root, batch_rows=10) as lake:
        for step in range(50):
            lake.add("turns", rows_of(writer, step, size=1))


def test_eight_processes_of_fifty_rows_one_of_them_killed_and_run_again(tmp_path: Path) -> None:
    """H01: 8 × 50 rows in batches of ten, one process killed between its first and its last commit, then rerun."""
    processes = [SPAWN.Process(target=write_one_by_one, args=(tmp_path, w)) for w in range(8)]
    for process in processes:
        process.start()
    log = table_path(tmp_path, "turns") / "_delta_log"
    victim = processes[0]
    while b"r0" not in b"".join(p.read_bytes() for p in log.glob("*.json")):
        assert victim.exitcode is None, "it ended before any commit of it was seen"
        time.sleep(0.01)
    victim.kill()
    for process in processes:
        process.join(timeout=600)
    assert [p.exitcode for p in processes] == [-signal.SIGKILL] + [0] * 7
    assert 7 * 50 + 10 <= assert_unique(tmp_path, "turns") < 400
    write_one_by_one(tmp_path, 0)
    assert assert_unique(tmp_path, "turns") == 400
    found = read(tmp_path, "turns", ["run_id", "step"])
    keys = set(zip(found["run_id"].to_pylist(), found["step"].to_pylist(), strict=True))
    assert keys == {(f"r{writer}", step) for writer in range(8) for step in range(50)}


def last_committed(root: Path) -> int:
    """The writer's own note of its last batch."""
    return int((root / "committed").read_text())


def test_a_kill_loses_no_committed_batch(tmp_path: Path) -> None:
    tmp_path.joinpath("committed").write_text("-1\n")
    for wait in (0.05, 0.12):
        process = SPAWN.Process(target=write_for_ever, args=(tmp_path,))
        before = last_committed(tmp_path)
        process.start()
        while last_committed(tmp_path) <= before:
            assert process.exitcode is None, "it ended before it committed anything"
            time.sleep(0.01)
        time.sleep(wait)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    committed = last_committed(tmp_path)
    steps = set(read(tmp_path, "turns", ["step"])["step"].to_pylist())
    assert steps in (
        set(range(committed + 1)),
        set(range(committed + 2)),
    )  # the last may have missed its mark
    assert assert_unique(tmp_path, "turns") == 2 * len(steps)
    write_batches(tmp_path, 0, committed + 3)
    assert assert_unique(tmp_path, "turns") == 2 * (committed + 3)


def test_a_doubled_key_is_found(tmp_path: Path) -> None:
    append(tmp_path, "turns", rows_of(0, 0))
    from deltalake import write_deltalake

    write_deltalake(str(table_path(tmp_path, "turns")), read(tmp_path, "turns"), mode="append")
    with pytest.raises(ValueError, match="4 rows but 2 keys"):
        assert_unique(tmp_path, "turns")


def test_the_writer_makes_few_files(tmp_path: Path) -> None:
    with Writer(tmp_path, batch_rows=100) as writer:
        for batch in range(120):
            writer.add("turns", rows_of(0, batch))
        assert assert_unique(tmp_path, "turns") == 200
    assert assert_unique(tmp_path, "turns") == 240
    assert len(DeltaTable(str(table_path(tmp_path, "turns"))).file_uris()) == 3
    with pytest.raises(ValueError, match="no table 'turn': choose"):
        writer.add("turn", [])


def test_rows_are_kept_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Writer(tmp_path) as writer:
        writer.add("turns", rows_of(0, 0))
        _ = 1 / 0
    assert assert_unique(tmp_path, "turns") == 2


def test_compaction_keeps_content_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    write_batches(tmp_path, 0, 25)
    content = digest(tmp_path, "turns")
    assert len(DeltaTable(str(table_path(tmp_path, "turns"))).file_uris()) == 25
    assert compact(tmp_path, "turns") == 1
    assert digest(tmp_path, "turns") == content
    assert assert_unique(tmp_path, "turns") == 50
    assert (table_path(tmp_path, "turns") / "_delta_log" / "_last_checkpoint").exists()
    assert vacuum(tmp_path, "turns") == []  # the old files are younger than the retention time
    assert append(tmp_path, "turns", rows_of(0, 3)) == 0


def test_two_thousand_appends_of_one_row_make_one_file(tmp_path: Path) -> None:  # fault H03
    with Writer(tmp_path) as writer:
        for step in range(2000):
            writer.add("turns", rows_of(0, step, size=1))
    table = DeltaTable(str(table_path(tmp_path, "turns")))
    assert (assert_unique(tmp_path, "turns"), len(table.file_uris()), table.version()) == (2000, 1, 1)


def test_a_vacuum_while_a_writer_is_about_to_commit_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H03: the file of an append lies there and no version names it yet when the vacuum runs."""
    write_batches(tmp_path, 0, 3)
    compact(tmp_path, "turns")
    folder, commit = table_path(tmp_path, "turns"), tables.write_deltalake
    unnamed = folder / "part-unnamed.parquet"
    removed = []

    def vacuum_first(table: DeltaTable, rows: Any, **options: Any) -> None:
        unnamed.write_bytes(
            next(folder.glob("*.parquet")).read_bytes()
        )  # as the writer leaves it before it commits
        removed.extend(vacuum(tmp_path, "turns"))
        commit(table, rows, **options)

    monkeypatch.setattr(tables, "write_deltalake", vacuum_first)
    assert append(tmp_path, "turns", rows_of(0, 3)) == 2
    assert removed == [] and unnamed.exists()
    assert assert_unique(tmp_path, "turns") == 8


def test_reading_what_was_never_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run the stage that writes it"):
        read(tmp_path, "ce")
