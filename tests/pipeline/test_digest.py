import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from echo_terminal.pipeline.digest import differences, digest


def results(folder: Path, seconds: float = 1.0, value: float = 0.5, compression: str = "snappy") -> Path:
    (folder / "04/a").mkdir(parents=True)
    (folder / "provenance").mkdir()
    table = pa.table(
        {"step": [0, 1], "pass_rate": [0.1, value], "seconds": [seconds, 2.0], "tokens_per_s": [1, 2]}
    )
    pq.write_table(table, folder / "04/a/metrics.parquet", compression=compression)
    (folder / "04/table.json").write_text(json.dumps([{"n": 1, "value": value, "step_seconds": seconds}]))
    (folder / "04/table.csv").write_text(f"n,value,wall\n1,{value},{seconds}\n")
    (folder / "04/timing.csv").write_text(f"{seconds}\n")
    (folder / "04/figure.png").write_bytes(bytes([int(seconds)]))
    (folder / "provenance/04.json").write_text(str(seconds))
    return folder


def test_times_files_and_encodings_do_not_count(tmp_path: Path) -> None:
    a, b = results(tmp_path / "a"), results(tmp_path / "b", seconds=9.0, compression="gzip")
    assert digest(a) == digest(b) and differences(a, b) == []


def test_every_value_and_every_table_counts(tmp_path: Path) -> None:
    a, b = results(tmp_path / "a"), results(tmp_path / "b", value=0.5000001)
    assert digest(a) != digest(b)
    assert differences(a, b) == [
        "04/a/metrics.parquet: differs",
        "04/table.csv: differs",
        "04/table.json: differs",
    ]
    c = results(tmp_path / "c")
    (c / "04/table.csv").unlink()
    assert digest(a) != digest(c)
    assert differences(a, c) == [f"04/table.csv: only in {a}"]
