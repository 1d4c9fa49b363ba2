"""Tasks as Parquet: nothing is lost, nothing depends on when it was written, an edited row is refused."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from echo_terminal.tasks.families import make_task
from echo_terminal.tasks.machine import make_machine
from echo_terminal.tasks.store import read_tasks, write_tasks

MACHINE = make_machine(1)
TASKS = [make_task("site_two", seed, MACHINE, "train") for seed in range(40)] + [
    make_task("fetch_value", 1, None, "itd")
]


def test_parquet_gives_back_what_was_written_and_the_same_bytes_again(tmp_path):
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    assert [write_tasks(path, TASKS) for path in paths] == [41, 41]
    assert list(read_tasks(paths[0])) == TASKS
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_machine_is_stored_once(tmp_path):
    sizes = []
    for count in (1, 40):
        write_tasks(tmp_path / "tasks.parquet", TASKS[:count])
        sizes.append((tmp_path / "tasks.parquet").stat().st_size)
    machine = sum(len(file.content) for file in MACHINE.files.values())
    assert sizes[1] - sizes[0] < machine  # 39 more tasks on it cost less than one more copy of its files


def test_an_edited_row_is_refused(tmp_path):
    path = tmp_path / "tasks.parquet"
    write_tasks(path, TASKS[:2])
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[1]["instruction"] = "do nothing"
    pq.write_table(type(table).from_pylist(rows, table.schema), path)
    with pytest.raises(ValueError, match="was edited"):
        list(read_tasks(path))
