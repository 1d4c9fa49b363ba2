"""One way to a Spark session: ``sail`` (in this process, no JVM), ``remote`` (a Spark Connect address) or
``jvm``.

All three speak Spark Connect, so one DataFrame API serves a laptop and a cluster. Everything that can be
missing (Java, jars, a server) is looked for before anything starts. One process talks to one engine: the
client library holds the session in global state. Times are read in UTC on each of them.

``write_delta`` is the only way to write: it refuses the options that the embedded engine accepts and then
ignores or obeys wrongly, on every engine, so that code which works here works there.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from echo_terminal.config import StrictModel
from echo_terminal.lake.tables import table_path

COORDINATES = "io.delta:delta-spark_4.2_2.13:4.4.0"
NEEDED_JARS = ("delta-spark_", "delta-storage-")
MINIMUM_JAVA = 17
# Sail ends a session that asked nothing for 15 minutes. In this process the session lives as long as the server: a
# year stands for "never", since the engine keeps a timer of this length for every request (its timers end at 2 years).
IDLE_SECONDS = 365 * 24 * 3600

#: what Sail 0.7.2 accepts and does wrong without a word
REFUSED = {
    "partitionoverwritemode": "it replaces the whole table, not the partitions at hand",
    "mergeschema": "new columns may read as 0 or vanish; use lake.tables.migrate",
    "overwriteschema": "the schema of a table is changed by lake.tables.migrate only",
    "txnappid": "it is ignored and rows double; lake.tables.append is idempotent",
    "txnversion": "it is ignored and rows double; lake.tables.append is idempotent",
    "replacewhere": "rows outside the predicate are accepted; overwrite the table or delete first",
}


class SparkUnavailable(RuntimeError):
    """The engine cannot start here; the message says what to do, in one line."""


class SparkParams(StrictModel):
    """``address`` (sc://host:port) is for remote; ``jars`` (a folder of Delta's jars, empty: fetch by Maven
    coordinates) and ``memory`` for jvm; ``cores`` bounds the shuffle partitions of each and jvm's threads.
    """

    engine: Literal["sail", "remote", "jvm"] = "sail"
    address: str = ""
    jars: str = ""
    memory: str = "2g"
    cores: int = Field(default=2, ge=1)


# The embedded server must outlive every session: a collected server leaves its clients hanging.
_SERVER: Any = None
_SESSION: tuple[SparkParams, Any] | None = None


def connect(params: SparkParams | None = None) -> Any:
    """The process's Spark session, started on the first call.

    Raises:
        SparkUnavailable: something is missing.
        RuntimeError: this process already talks to another engine.
    """
    global _SESSION
    params = params or SparkParams()
    if _SESSION is not None:
        if _SESSION[0] != params:
            raise RuntimeError(f"this process already uses {_SESSION[0]}: use one engine in one process")
        return _SESSION[1]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    start = {"sail": _sail, "remote": _remote, "jvm": _jvm}[params.engine]
    session = start(params)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    _SESSION = (params, session)
    return session


def _builder() -> Any:
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is None and not hasattr(main, "__file__"):
        # pyspark takes such a process (`python -c`, a pytest-xdist worker) for its own doctests and wants their files
        main.__spec__ = ModuleSpec("__main__", None)
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkUnavailable(f"pyspark is not installed ({error}): pip install pyspark-client") from error
    return SparkSession.builder


def _sail(params: SparkParams) -> Any:
    global _SERVER
    os.environ.setdefault("RUST_LOG", "error")
    os.environ.setdefault("SAIL_EXECUTION__DEFAULT_PARALLELISM", str(params.cores))
    os.environ["SAIL_SPARK__SESSION_TIMEOUT_SECS"] = str(IDLE_SECONDS)
    try:
        from pysail.spark import SparkConnectServer
    except ImportError as error:
        raise SparkUnavailable(f"pysail is not installed ({error}): pip install pysail") from error
    _SERVER = SparkConnectServer("127.0.0.1", 0)
    _SERVER.start(background=True)
    host, port = _SERVER.listening_address
    return _builder().remote(f"sc://{host}:{port}").create()


def _remote(params: SparkParams) -> Any:
    match = re.fullmatch(r"sc://([^:/;]+)(?::(\d+))?(/.*)?", params.address)
    if match is None:
        raise SparkUnavailable(f"address {params.address!r} is not of the form sc://host:port")
    host, port = match.group(1), int(match.group(2) or 15002)
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        raise SparkUnavailable(f"no Spark Connect server answers at {host}:{port} ({error})") from error
    return _builder().remote(params.address).create()


def check_jvm(params: SparkParams) -> list[str]:
    """The jars to pass, sorted; empty where Maven coordinates are used.

    Raises:
        SparkUnavailable: Java >= 17, the JVM edition of pyspark, or a needed jar is missing.
    """
    import pyspark

    if not (Path(pyspark.__file__).parent / "jars").is_dir():
        raise SparkUnavailable(
            "engine jvm needs Spark itself: pip install 'echo-terminal[jvm]' (pyspark, delta-spark)"
        )
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if java is None:
        raise SparkUnavailable(f"engine jvm needs Java {MINIMUM_JAVA} or newer: install it or set JAVA_HOME")
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version.group(1)) < MINIMUM_JAVA:
        raise SparkUnavailable(
            f"engine jvm needs Java {MINIMUM_JAVA} or newer, {java} is {said.splitlines()[:1]}"
        )
    if not params.jars:
        return []
    jars = sorted(str(p) for p in Path(params.jars).glob("*.jar"))
    for prefix in NEEDED_JARS:
        if not any(Path(jar).name.startswith(prefix) for jar in jars):
            raise SparkUnavailable(
                f"no {prefix}*.jar in the jars folder {params.jars!r}: see 'Delta on the JVM'"
            )
    return jars


def _jvm(params: SparkParams) -> Any:
    jars = check_jvm(params)
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": str(params.cores),
        "spark.databricks.delta.snapshotPartitions": str(params.cores),
        "spark.driver.memory": params.memory,
        "spark.ui.enabled": "false",
        **({"spark.jars": ",".join(jars)} if jars else {"spark.jars.packages": COORDINATES}),
    }
    builder = _builder().remote(f"local[{params.cores}]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def load(spark: Any, root: Path | str, name: str) -> Any:
    """A table of the lake as a DataFrame; ``root`` is a folder or an address that the engine can read (s3://…).

    Raises:
        FileNotFoundError: it was never written (looked for in local folders only).
    """
    if "://" in str(root):
        return spark.read.format("delta").load(f"{str(root).rstrip('/')}/{name}")
    path = table_path(Path(root), name)
    if not (path / "_delta_log").is_dir():
        raise FileNotFoundError(f"no table at {path}: run the stage that writes it first")
    return spark.read.format("delta").load(str(path.resolve()))


def refuse(options: Mapping[str, Any]) -> None:
    """Refuse writer options and settings that an engine would obey wrongly in silence.

    Raises:
        ValueError: one of them is there, spelt in any case, with or without a prefix.
    """
    for key, value in options.items():
        name = key.lower().rsplit(".", 1)[-1]
        harmless = name == "partitionoverwritemode" and str(value).lower() == "static"
        if name in REFUSED and not harmless:
            raise ValueError(f"option {key}={value} is refused: {REFUSED[name]}")


def write_delta(
    frame: Any,
    path: Path | str,
    mode: Literal["error", "append", "overwrite"] = "error",
    partition_by: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> None:
    """Write a DataFrame as a Delta table; ``overwrite`` replaces all of it.

    Raises:
        ValueError: an option, or the session's partition overwrite mode, is one of ``REFUSED``.
    """
    options = dict(options or {})
    refuse(options)
    setting = "spark.sql.sources.partitionOverwriteMode"
    refuse({setting: frame.sparkSession.conf.get(setting, "static")})
    writer = frame.write.format("delta").mode(mode).options(**options)
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    writer.save(str(path))
