"""Casts and refusals: cases H02 (schema drift) and H04 (time zones) of the fault list."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from echo_terminal.lake.schemas import ATTEMPTS, SCHEMAS, TURNS, conform
from echo_terminal.lake.tables import append, digest, migrate, read, table_path

Row = Callable[..., dict[str, Any]]
KEY = {"run_id": "r", "phase": "eval", "step": 0, "task_id": "t"}


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_column_is_nullable_and_the_key_is_part_of_the_table(name: str) -> None:
    schema = SCHEMAS[name]
    assert all(field.nullable for field in schema.arrow)
    assert set(schema.key) <= set(schema.arrow.names)
    assert schema.narrow is None or (schema.narrow in schema.key and "run_id" in schema.key)


def test_integers_then_floats_then_text_then_a_new_column(tmp_path: Path) -> None:
    def attempts(first: int, **columns: list[Any]) -> list[dict[str, Any]]:
        size = len(next(iter(columns.values())))
        return [KEY | {"attempt": first + i} | {c: v[i] for c, v in columns.items()} for i in range(size)]

    assert append(tmp_path, "attempts", attempts(0, reward=[0, 1], turns=[None, None])) == 2
    assert append(tmp_path, "attempts", attempts(2, reward=[0.5], turns=[137])) == 1
    with pytest.raises(
        ValueError, match="attempts.turns is int32, the batch has string: nothing was written"
    ):
        append(tmp_path, "attempts", attempts(3, turns=["124"]))
    with pytest.raises(ValueError, match="no column colour: add it with migrate"):
        append(tmp_path, "attempts", attempts(3, colour=["red"]))
    migrate(tmp_path, "attempts", "colour", "string")
    assert append(tmp_path, "attempts", attempts(4, reward=[1])) == 1  # goes on without the new column
    table = DeltaTable(str(table_path(tmp_path, "attempts"))).to_pyarrow_table()
    assert table["colour"].to_pylist() == [None] * 4
    assert sorted(table["reward"].to_pylist()) == [0.0, 0.5, 1.0, 1.0]
    assert [table.schema.field(f.name).type for f in ATTEMPTS.arrow] == ATTEMPTS.arrow.types


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("exit_code", "124"),
        ("exit_code", 1.0),
        ("exit_code", True),
        ("exit_code", 2**31),  # does not fit
        ("command", 5),
        ("changed_state", 1),
        ("seconds", "0.1"),
        ("recorded_at", "2020-05-05"),
        ("recorded_at", datetime(2020, 5, 5)),  # naive
        ("task_id", None),  # part of the key
    ],
)
def test_refused_not_cast(turn: Row, column: str, value: Any) -> None:
    with pytest.raises(ValueError, match=column):
        conform(TURNS, [turn(**{column: value})])


def test_mixed_columns_and_repeated_keys_are_refused(turn: Row) -> None:
    with pytest.raises(ValueError, match="mixes types"):
        conform(TURNS, [turn(exit_code=1), turn(turn=1, exit_code="x")])
    with pytest.raises(ValueError, match="one key twice"):
        conform(TURNS, [turn(), turn(command="pwd")])


def test_arrow_batches_are_cast_too(turn: Row) -> None:
    table = pa.Table.from_pylist([turn()])
    assert conform(TURNS, table).schema == TURNS.arrow
    coded = table.set_column(
        table.column_names.index("command"), "command", table["command"].dictionary_encode()
    )
    assert conform(TURNS, coded)["command"].to_pylist() == ["ls"]


def test_an_instant_is_the_same_whatever_zone_it_was_written_in(tmp_path: Path, turn: Row) -> None:
    vilnius = timezone(timedelta(hours=3))  # its summer time
    instant = datetime(2020, 5, 5, tzinfo=UTC)
    append(
        tmp_path, "turns", [turn(recorded_at=instant), turn(turn=1, recorded_at=instant.astimezone(vilnius))]
    )
    stored = read(tmp_path, "turns", ["recorded_at"])["recorded_at"]
    assert stored.type == pa.timestamp("us", tz="UTC")
    assert stored.cast(pa.int64()).to_pylist() == [1_588_636_800_000_000] * 2  # 18,387 days of 86,400 s
    assert {v.astimezone(UTC).date().isoformat() for v in stored.to_pylist()} == {"2020-05-05"}


def test_wall_times_stay_out_of_the_digest(tmp_path: Path, turn: Row) -> None:
    append(
        tmp_path / "a",
        "turns",
        [turn(seconds=1.0, recorded_at=datetime(2020, 5, 5, tzinfo=UTC)), turn(turn=1)],
    )
    append(tmp_path / "b", "turns", [turn(turn=1, seconds=2.0)])
    append(tmp_path / "b", "turns", [turn()])
    append(tmp_path / "c", "turns", [turn(), turn(turn=1, exit_code=1)])
    assert (
        digest(tmp_path / "a", "turns") == digest(tmp_path / "b", "turns") != digest(tmp_path / "c", "turns")
    )
