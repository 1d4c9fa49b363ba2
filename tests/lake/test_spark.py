"""The session, its refusals, and what would happen without them on the embedded engine."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from echo_terminal.lake import spark as lake
from echo_terminal.lake.spark import SparkParams, SparkUnavailable, check_jvm, load, refuse, write_delta
from echo_terminal.lake.tables import append

Row = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def spark() -> Any:
    return lake.connect()


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(r) for r in frame.collect())


def test_reads_what_training_appended(spark: Any, tmp_path: Path, turn: Row) -> None:
    instant = datetime(2020, 5, 5, tzinfo=UTC)
    append(tmp_path, "turns", [turn(recorded_at=instant), turn(turn=1, exit_code=2)])
    frame = load(spark, tmp_path, "turns")
    assert rows(frame.select("turn", "exit_code")) == [(0, 0), (1, 2)]
    as_text = frame.where("recorded_at is not null").selectExpr(
        "date_format(recorded_at, 'yyyy-MM-dd HH:mm')"
    )
    assert rows(as_text) == [("2020-05-05 00:00",)]
    with pytest.raises(FileNotFoundError, match="run the stage that writes it"):
        load(spark, tmp_path, "ce")


def test_an_instant_is_the_same_in_every_zone(spark: Any, tmp_path: Path, turn: Row) -> None:
    """H04: written from Vilnius, partitioned by the UTC date, read with sessions of two zones."""
    written = datetime(2020, 5, 5, 3, tzinfo=ZoneInfo("Europe/Vilnius"))  # 2020-05-05T00:00:00Z
    append(tmp_path, "turns", [turn(recorded_at=written)])
    micros = int(written.timestamp()) * 10**6
    assert micros == 1_588_636_800_000_000
    instant, day = "unix_micros(recorded_at) as micros", "date_format(recorded_at, 'yyyy-MM-dd') as day"
    frame = load(spark, tmp_path, "turns").selectExpr(instant, day)
    write_delta(frame, tmp_path / "by_day", partition_by=["day"])
    for zone in ("UTC", "America/Los_Angeles"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            assert rows(load(spark, tmp_path, "turns").selectExpr(instant)) == [(micros,)]
            parted = spark.read.format("delta").load(str(tmp_path / "by_day"))
            assert rows(parted.select("micros", "day")) == [(micros, "2020-05-05")]
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_one_process_one_engine(spark: Any) -> None:
    assert lake.connect() is spark
    with pytest.raises(RuntimeError, match="one engine in one process"):
        lake.connect(SparkParams(engine="remote", address="sc://127.0.0.1:1"))


@pytest.mark.parametrize(
    "options",
    [
        {"partitionOverwriteMode": "dynamic"},
        {"spark.sql.sources.partitionOverwriteMode": "DYNAMIC"},
        {"mergeSchema": "true"},
        {"MERGESCHEMA": False},
        {"overwriteSchema": True},
        {"txnAppId": "a", "txnVersion": 1},
        {"txnVersion": 1},
        {"replaceWhere": "a = 1"},
    ],
)
def test_refused_options(spark: Any, tmp_path: Path, options: dict[str, Any]) -> None:
    frame = spark.createDataFrame([(1, "x")], "a int, b string")
    with pytest.raises(ValueError, match="is refused"):
        write_delta(frame, tmp_path / "t", "overwrite", options=options)
    assert not (tmp_path / "t").exists()


def test_the_session_setting_is_refused_too(spark: Any, tmp_path: Path) -> None:
    key = "spark.sql.sources.partitionOverwriteMode"
    spark.conf.set(key, "dynamic")
    try:
        with pytest.raises(ValueError, match="it replaces the whole table"):
            write_delta(spark.createDataFrame([(1,)], "a int"), tmp_path / "t", "overwrite", ["a"])
    finally:
        spark.conf.set(key, "static")
    refuse({key: "static"})


def test_why_they_are_refused(spark: Any, tmp_path: Path) -> None:
    """The embedded engine's own answers. When one of these fails, the engine has learnt it: lift the refusal."""
    frame = spark.createDataFrame([(1, "x"), (2, "y")], "a int, b string")
    other = spark.createDataFrame([(2, "z")], "a int, b string")

    def written(name: str, **options: str) -> list[tuple[Any, ...]]:
        path = str(tmp_path / name)
        frame.write.format("delta").partitionBy("a").save(path)
        mode = "append" if "txnAppId" in options else "overwrite"
        for _ in range(2):
            other.write.format("delta").mode(mode).options(**options).save(path)
        return rows(spark.read.format("delta").load(path).select("a", "b"))

    assert written("dynamic", partitionOverwriteMode="dynamic") == [(2, "z")]  # Spark keeps partition 1
    assert written("txn", txnAppId="app", txnVersion="1").count((2, "z")) == 2  # Spark writes once
    assert (2, "z") in written("where", replaceWhere="a = 1")  # Spark refuses the row


def test_write_delta_modes(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "x")], "a int, b string")
    write_delta(frame, tmp_path / "t")
    write_delta(frame, tmp_path / "t", "append")
    assert rows(spark.read.format("delta").load(str(tmp_path / "t"))) == [(1, "x")] * 2
    write_delta(frame, tmp_path / "t", "overwrite")
    assert rows(spark.read.format("delta").load(str(tmp_path / "t"))) == [(1, "x")]


def test_a_remote_address_must_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake, "_SESSION", None)
    with pytest.raises(SparkUnavailable, match="not of the form sc://host:port"):
        lake.connect(SparkParams(engine="remote", address="localhost:15002"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(SparkUnavailable, match=f"no Spark Connect server answers at 127.0.0.1:{port}"):
        lake.connect(SparkParams(engine="remote", address=f"sc://127.0.0.1:{port}"))


def fake_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    """A pyspark that brings its jars, and a ``java`` that states a version (None: no java)."""
    import pyspark

    (tmp_path / "pyspark" / "jars").mkdir(parents=True)
    monkeypatch.setattr(pyspark, "__file__", str(tmp_path / "pyspark" / "__init__.py"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if version:
        java = tmp_path / "bin" / "java"
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
        java.chmod(0o755)


def test_jvm_needs_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jvm(tmp_path, monkeypatch, None)
    with pytest.raises(SparkUnavailable, match="needs Java 17 or newer: install it or set JAVA_HOME"):
        check_jvm(SparkParams(engine="jvm"))


def test_jvm_needs_a_new_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jvm(tmp_path, monkeypatch, "1.8.0_292")
    with pytest.raises(SparkUnavailable, match="needs Java 17 or newer, .*1.8.0"):
        check_jvm(SparkParams(engine="jvm"))


def test_jvm_needs_both_delta_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jvm(tmp_path, monkeypatch, "17.0.15")
    assert check_jvm(SparkParams(engine="jvm")) == []  # Maven coordinates
    folder = tmp_path / "jars"
    for present, missing in (("", "delta-spark_"), ("delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-")):
        if present:
            folder.mkdir()
            (folder / present).touch()
        with pytest.raises(SparkUnavailable, match=f"no {missing}\\*.jar in the jars folder"):
            check_jvm(SparkParams(engine="jvm", jars=str(folder)))
    (folder / "delta-storage-4.4.0.jar").touch()
    assert len(check_jvm(SparkParams(engine="jvm", jars=str(folder)))) == 2


def test_jvm_needs_the_full_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setattr(pyspark, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(SparkUnavailable, match=r"pip install 'echo-terminal\[jvm\]'"):
        check_jvm(SparkParams(engine="jvm"))


def test_python_c_and_workers_get_a_session() -> None:
    """pyspark-client takes `python -c` for its doctests and looks for files that only the JVM edition has."""
    code = "from echo_terminal.lake import spark; print(spark.connect().range(3).count())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (run.returncode, run.stdout.strip()) == (0, "3"), run.stderr


@pytest.mark.parametrize(
    ("limit", "shown"),
    [("", "counted 4"), ("lake.IDLE_SECONDS = 1", "is not running")],
    ids=["ours", "one second, to see that the limit is the one that the engine obeys"],
)
def test_an_idle_session_lives_as_long_as_the_process(limit: str, shown: str) -> None:
    code = f"""
import time
from echo_terminal.lake import spark as lake
{limit}
spark = lake.connect()
assert spark.range(3).count() == 3
time.sleep(4)
try:
    print("counted", spark.range(4).count())
except Exception as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SAIL_SPARK__SESSION_TIMEOUT_SECS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0 and shown in run.stdout, run.stdout + run.stderr
