"""The five tables of the lake: every column, its type, unit and meaning, and the key that makes a row unique.

All columns may be null except those of the key. Nothing is inferred from data: a batch is cast to its schema
or refused (``conform``). Instants are UTC microseconds; no table is partitioned by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

_TEXT, _INT, _LONG, _REAL, _FLAG = pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()
_INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Schema:
    """One table. ``key`` columns identify a row; ``volatile`` columns (wall time) never enter digests.

    ``narrow`` is the integer column of the key that batches advance along: it bounds the search for repeated
    keys.
    """

    name: str
    arrow: pa.Schema
    key: tuple[str, ...]
    narrow: str | None = None
    volatile: tuple[str, ...] = ("seconds", "recorded_at")

    @property
    def stable(self) -> list[str]:
        """The columns that a repeated run gives again."""
        return [name for name in self.arrow.names if name not in self.volatile]


def _table(
    name: str, columns: Mapping[str, pa.DataType], key: Sequence[str], narrow: str | None = None
) -> Schema:
    fields = [pa.field(column, kind, nullable=True) for column, kind in columns.items()]
    return Schema(name, pa.schema(fields), tuple(key), narrow)


# Which run, and at which update step, a row was measured; ``phase`` is train, eval or corpus.
_RUN = {"run_id": _TEXT, "start": _TEXT, "objective": _TEXT, "seed": _INT, "phase": _TEXT, "step": _INT}
_TASK = {"suite": _TEXT, "task_id": _TEXT}
_RUN_KEY = ("run_id", "phase", "step")

TASKS = _table(
    "tasks",
    {
        **_TASK,
        "template": _TEXT,
        "domain": _TEXT,
        "difficulty": _INT,
        "machine": _LONG,  # seed of the machine; null on a bare one
        "seed": _LONG,
        "instruction": _TEXT,
        "oracle_steps": _INT,
        "facts": _INT,  # number of the machine's facts that a solution needs
        "canonical_hash": _TEXT,
    },
    ("task_id",),
)

ATTEMPTS = _table(
    "attempts",
    {
        **_RUN,
        **_TASK,
        "attempt": _INT,  # 0-based, within run, step and task
        "template": _TEXT,
        "domain": _TEXT,
        "machine": _LONG,
        "reward": _REAL,  # null: no verdict
        "finish": _TEXT,  # done, turns, context or lost
        "done": _FLAG,
        "turns": _INT,
        "action_tokens": _INT,
        "output_tokens": _INT,
        "warning_tokens": _INT,
        "timeouts": _INT,  # commands stopped at their time limit
        "malformed": _INT,  # turns in which nothing ran, done signals (and calls that only confirm one) apart
        "imagined": _INT,  # turns that imitate a reply
        "seconds": _REAL,
        "recorded_at": _INSTANT,
    },
    (*_RUN_KEY, "task_id", "attempt"),
    "step",
)

TURNS = _table(
    "turns",
    {
        **_RUN,
        **_TASK,
        "attempt": _INT,
        "turn": _INT,  # 0-based
        "call": _TEXT,  # ok, done, or the reason of a warning
        "command": _TEXT,  # null: nothing ran
        "exit_code": _INT,
        "status": _TEXT,  # ok, timeout, killed or lost
        "action_tokens": _INT,
        "output_tokens": _INT,
        "output_chars": _LONG,
        "omitted_chars": _LONG,
        "new_chars": _LONG,  # of the shown output: in lines not shown earlier in the same attempt
        "shown_chars": _LONG,
        "changed_state": _FLAG,
        "warned": _FLAG,
        "imagined": _FLAG,
        "seconds": _REAL,
        "recorded_at": _INSTANT,
    },
    (*_RUN_KEY, "task_id", "attempt", "turn"),
    "step",
)

STEPS = _table(
    "steps",
    {**_RUN, "name": _TEXT, "value": _REAL, "recorded_at": _INSTANT},
    (*_RUN_KEY, "name"),
    "step",
)

CE = _table(
    "ce",
    {
        **_RUN,
        **_TASK,
        "corpus": _TEXT,  # digest of the fixed trajectories and their mask
        "trajectory_id": _TEXT,
        "token_class": _TEXT,  # evaluation.token_class, or warning
        "tokens": _LONG,
        "bytes": _LONG,  # UTF-8 bytes of the tokens' text
        "nll": _REAL,  # nats, summed over the tokens
        "floor": _REAL,  # nats that no predictor can save in expectation, summed
        "recorded_at": _INSTANT,
    },
    (*_RUN_KEY, "corpus", "trajectory_id", "token_class"),
    "step",
)

SCHEMAS: dict[str, Schema] = {s.name: s for s in (TASKS, ATTEMPTS, TURNS, STEPS, CE)}


def _refuse_naive(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> None:
    for name in schema.arrow.names:
        if pa.types.is_timestamp(schema.arrow.field(name).type):
            for row in rows:
                value = row.get(name)
                if isinstance(value, datetime) and value.utcoffset() is None:
                    raise ValueError(f"{schema.name}.{name}: {value} has no time zone; give it one (UTC)")


def _column(schema: Schema, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast without loss: integers widen or become floats, nulls take any type, all else must match."""
    have, want = column.type, field.type
    same_family = (
        have == want
        or pa.types.is_null(have)
        or (pa.types.is_integer(have) and (pa.types.is_integer(want) or pa.types.is_floating(want)))
        or (pa.types.is_floating(have) and pa.types.is_floating(want))
        or (pa.types.is_large_string(have) and pa.types.is_string(want))
        or (pa.types.is_dictionary(have) and have.value_type == want)
        or (pa.types.is_timestamp(have) and pa.types.is_timestamp(want) and have.tz is not None)
    )
    if not same_family:
        raise ValueError(f"{schema.name}.{field.name} is {want}, the batch has {have}: nothing was written")
    try:
        return column.cast(want, safe=True)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{schema.name}.{field.name} is {want}: {error}; nothing was written") from error


def conform(schema: Schema, rows: pa.Table | Sequence[Mapping[str, Any]]) -> pa.Table:
    """The batch in exactly the table's columns and types; missing columns become null.

    Raises:
        ValueError: an unknown column (new ones need a migration), a value of another type, a null in the
            key, a naive datetime, or one key twice.
    """
    if isinstance(rows, pa.Table):
        table = rows
    else:
        _refuse_naive(schema, rows)
        names = list(dict.fromkeys(name for row in rows for name in row))
        try:
            table = pa.table({name: [row.get(name) for row in rows] for name in names})
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(f"{schema.name}: a column mixes types: {error}; nothing was written") from error
    unknown = sorted(set(table.column_names) - set(schema.arrow.names))
    if unknown:
        raise ValueError(f"{schema.name} has no column {', '.join(unknown)}: add it with migrate() first")
    columns = [
        _column(schema, field, table[field.name])
        if field.name in table.column_names
        else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        for field in schema.arrow
    ]
    result = pa.table(columns, schema=schema.arrow)
    for name in schema.key:
        if result[name].null_count:
            raise ValueError(f"{schema.name}.{name} is part of the key and may not be null")
    if result.select(list(schema.key)).group_by(list(schema.key)).aggregate([]).num_rows != result.num_rows:
        raise ValueError(f"{schema.name}: the batch holds one key twice ({', '.join(schema.key)})")
    return result
