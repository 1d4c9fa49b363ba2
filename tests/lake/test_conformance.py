"""Every behaviour table is the same on the embedded engine and on Spark with delta-spark on a JVM.

The JVM runs in a process of its own (one process, one engine) and reads the same Delta tables.
``ECHO_DELTA_JARS`` names the folder of Delta's jars.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from echo_terminal.analysis import behaviour
from echo_terminal.lake import spark as lake
from echo_terminal.lake.spark import SparkParams, SparkUnavailable, check_jvm
from echo_terminal.lake.synthetic import generate
from echo_terminal.lake.tables import append

JARS = os.environ.get("ECHO_DELTA_JARS", "")
ON_THE_JVM = """
import pickle, sys
from pathlib import Path
from echo_terminal.analysis import behaviour
from echo_terminal.lake import spark as lake

root, jars, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
spark = lake.connect(lake.SparkParams(engine="jvm", jars=jars))
spark.conf.set("spark.sql.codegen.wholeStage", "false")  # compiling costs more than so few rows
tables = behaviour.report(lake.load(spark, root, "attempts"), lake.load(spark, root, "turns"))
lake.write_delta(spark.createDataFrame(tables["command_mix"]), root / "by_jvm")
out.write_bytes(pickle.dumps(tables))
spark.stop()
"""


def why_not() -> str:
    """Why the JVM cannot be tried here; empty if it can."""
    if not JARS:
        return "ECHO_DELTA_JARS does not name a folder of Delta's jars"
    try:
        check_jvm(SparkParams(engine="jvm", jars=JARS))
    except (SparkUnavailable, ImportError) as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_sail_and_jvm_give_the_same_tables(tmp_path: Path) -> None:
    attempts, turns = generate(3000, seed=7)
    append(tmp_path, "attempts", attempts)
    append(tmp_path, "turns", turns)
    out = tmp_path / "tables.pickle"
    command = [sys.executable, "-c", ON_THE_JVM, str(tmp_path), JARS, str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, _ = process.communicate(timeout=1200)
    assert process.returncode == 0, said[-3000:]
    spark = lake.connect()  # now, not before: the embedded engine ends a session that waits for many minutes
    here = behaviour.report(lake.load(spark, tmp_path, "attempts"), lake.load(spark, tmp_path, "turns"))
    there = pickle.loads(out.read_bytes())
    assert set(here) == set(there)
    for name, table in here.items():
        pd.testing.assert_frame_equal(table, there[name], check_dtype=False, obj=name)
        assert len(table) > 0, name
    written = behaviour.collect(spark.read.format("delta").load(str(tmp_path / "by_jvm")))
    pd.testing.assert_frame_equal(written, here["command_mix"], check_dtype=False)
