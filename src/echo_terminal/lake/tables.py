"""Delta tables that training and evaluation append to: every row once, whatever repeats, stops or runs
beside.

An append reads the keys that are already there, drops those rows, and commits only if no other commit came
in between; if one did, it looks again. So a repeated or resumed run adds nothing twice, two writers lose
nothing, and a killed writer leaves at most a data file that no version names. This needs no lock, only that
the storage can create a file if absent, which Delta needs anyway. Reading is the business of any Delta
reader (``lake.spark``, ``read`` below).
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from deltalake import CommitProperties, DeltaTable, Field, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import PrimitiveType

from echo_terminal.lake.schemas import SCHEMAS, Schema, conform

ATTEMPTS_TO_COMMIT = 200
BATCH_ROWS = 20_000


def table_path(root: Path, name: str) -> Path:
    """Where a table lies below the lake's root.

    Raises:
        ValueError: no such table.
    """
    if name not in SCHEMAS:
        raise ValueError(f"no table {name!r}: choose {', '.join(SCHEMAS)}")
    return root / name


def create(root: Path, name: str) -> DeltaTable:
    """Open the table, made empty if it is not there yet."""
    path, schema = str(table_path(root, name)), SCHEMAS[name]
    if not DeltaTable.is_deltatable(path):
        try:
            DeltaTable.create(
                path, schema=schema.arrow, mode="ignore", configuration={"delta.checkpointInterval": "20"}
            )
        except (CommitFailedError, DeltaError):
            if not DeltaTable.is_deltatable(path):  # else another writer made it in this moment
                raise
    return DeltaTable(path)


def _keys_there(table: DeltaTable, schema: Schema, batch: pa.Table) -> pa.Table:
    """Keys of the table that can equal one of the batch: same runs, steps within the batch's range."""
    filters: list[tuple[str, str, Any]] = []
    if "run_id" in schema.key:
        filters.append(("run_id", "in", batch["run_id"].unique().to_pylist()))
    if schema.narrow is not None:
        bounds = pc.call_function("min_max", [batch[schema.narrow]])
        filters += [
            (schema.narrow, ">=", bounds["min"].as_py()),
            (schema.narrow, "<=", bounds["max"].as_py()),
        ]
    return table.to_pyarrow_table(columns=list(schema.key), filters=filters or None)


def _new_rows(table: DeltaTable, schema: Schema, batch: pa.Table) -> pa.Table:
    there = _keys_there(table, schema, batch)
    if there.num_rows == 0:
        return batch
    numbered = batch.append_column("_row", pa.array(range(batch.num_rows), pa.int64()))
    there = there.cast(pa.schema([schema.arrow.field(name) for name in schema.key]))
    kept = numbered.join(there, keys=list(schema.key), join_type="left anti")["_row"]
    return batch.take(kept.combine_chunks().sort())


def append(root: Path, name: str, rows: pa.Table | Sequence[Mapping[str, Any]]) -> int:
    """Append the rows whose key is not there yet; returns their number.

    Raises:
        ValueError: the batch does not fit the schema (``schemas.conform``); nothing is written.
        RuntimeError: other writers won every one of ``ATTEMPTS_TO_COMMIT`` races.
    """
    schema = SCHEMAS[name]
    batch = conform(schema, rows)
    if batch.num_rows == 0:
        return 0
    only_if_unchanged = CommitProperties(max_commit_retries=0)
    for attempt in range(ATTEMPTS_TO_COMMIT):
        table = create(root, name)
        new = _new_rows(table, schema, batch)
        if new.num_rows == 0:
            return 0
        extra = [f for f in pa.schema(table.schema().to_arrow()) if f.name not in schema.arrow.names]
        for field in extra:  # columns that a migration added
            new = new.append_column(field.name, pa.nulls(new.num_rows, field.type))
        try:
            write_deltalake(table, new, mode="append", commit_properties=only_if_unchanged)
        except CommitFailedError:
            # Only spreads the writers out in time: no result depends on it.
            time.sleep(random.SystemRandom().uniform(0, 0.01 * min(attempt + 1, 10)))
            continue
        return int(new.num_rows)
    raise RuntimeError(
        f"{table_path(root, name)}: too many writers, {ATTEMPTS_TO_COMMIT} commits lost the race"
    )


class Writer:
    """Collects rows and appends them in batches, so that a run makes few files.

    A context manager: leaving it writes what is left, also after an error, so that measured rows are kept.
    """

    def __init__(self, root: Path, batch_rows: int = BATCH_ROWS) -> None:
        self.root, self.batch_rows = root, batch_rows
        self._rows: dict[str, list[Mapping[str, Any]]] = {}

    def add(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take rows of one table; writes when a batch is full."""
        table_path(self.root, name)
        waiting = self._rows.setdefault(name, [])
        waiting += rows
        if len(waiting) >= self.batch_rows:
            self._flush(name)

    def flush(self) -> None:
        """Write everything that waits."""
        for name in list(self._rows):
            self._flush(name)

    def _flush(self, name: str) -> None:
        append(self.root, name, self._rows[name])
        self._rows[name] = []

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()


def read(root: Path, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """The whole table in Arrow, for small ones; the order of rows is not defined.

    Raises:
        FileNotFoundError: the table was never written.
    """
    path = str(table_path(root, name))
    if not DeltaTable.is_deltatable(path):
        raise FileNotFoundError(f"no table at {path}: run the stage that writes it first")
    return DeltaTable(path).to_pyarrow_table(columns=list(columns) if columns else None)


def digest(root: Path, name: str) -> str:
    """SHA-256 of the content: rows in key order, without wall times; the same however the rows lie in files."""
    schema = SCHEMAS[name]
    table = read(root, name, schema.stable).sort_by([(k, "ascending") for k in schema.key])
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return hashlib.sha256(memoryview(sink.getvalue())).hexdigest()


def assert_unique(root: Path, name: str) -> int:
    """The number of rows, after checking that no key is there twice: call it before a table is printed.

    Raises:
        ValueError: some key is.
    """
    key = list(SCHEMAS[name].key)
    keys = read(root, name, key)
    distinct = keys.group_by(key).aggregate([]).num_rows
    if distinct != keys.num_rows:
        raise ValueError(f"{table_path(root, name)}: {keys.num_rows} rows but {distinct} keys")
    return int(keys.num_rows)


def compact(root: Path, name: str) -> int:
    """Join small files into large ones and write a checkpoint; content stays. Returns the number of files left.

    Old files stay readable for older versions; ``vacuum`` removes them.
    """
    table = DeltaTable(str(table_path(root, name)))
    table.optimize.compact()
    table.create_checkpoint()
    return len(table.file_uris())


def vacuum(root: Path, name: str) -> list[str]:
    """Remove files that no version of the last seven days names. Only while nobody writes."""
    return DeltaTable(str(table_path(root, name))).vacuum(retention_hours=168, dry_run=False)


def migrate(root: Path, name: str, column: str, kind: str) -> None:
    """Add a nullable column (``kind``: string, integer, long, double, boolean); old rows read null.

    The schema here must learn the column before batches may carry it.
    """
    table = create(root, name)
    table.alter.add_columns([Field(column, PrimitiveType(kind), nullable=True)])
