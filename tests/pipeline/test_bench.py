import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from echo_terminal.pipeline import bench
from echo_terminal.pipeline.errors import UserError


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import echo_terminal.pipeline.benchmarks  # noqa: F401  registers the real ones, which stay out of these tests

    monkeypatch.setattr(bench, "REGISTRY", {})
    yield


def row(**changes: object) -> bench.Row:
    return {"name": "a", "value": 1.5, "unit": "ratio", "target": "<= 1.02", "holds": False} | changes


def test_rows_get_machine_and_commit_and_a_miss_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.benchmark("one")(lambda: [row(), row(name="b", target="", holds=None), row(name="c", holds=True)])
    rows = bench.run(tmp_path)
    saved = json.loads((tmp_path / "results/bench.json").read_text())
    assert [r["name"] for r in saved] == ["a", "b", "c"]
    assert set(saved[0]) == {"name", "value", "unit", "target", "holds", "machine", "commit"}
    assert saved[0]["machine"]["cores"] >= 1 and saved[0]["commit"] == "not a git checkout"
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0].endswith("<= 1.02      MISSED") and lines[1].endswith("ratio") and lines[2].endswith("holds")
    )
    assert bench.summary(rows) == "3 figures, 1 of 2 targets hold"


def test_a_named_benchmark_replaces_its_own_rows(tmp_path: Path) -> None:
    bench.benchmark("one")(lambda: [row(), row(name="b")])
    bench.benchmark("two")(lambda: [row(name="b", value=2.0)])
    bench.run(tmp_path, ["one"])
    bench.run(tmp_path, ["two"])
    saved = json.loads((tmp_path / "results/bench.json").read_text())
    assert [(r["name"], r["value"]) for r in saved] == [("a", 1.5), ("b", 2.0)]


def test_what_cannot_run_is_left_out_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def needs_gpu() -> list[bench.Row]:
        raise bench.CannotRun("no CUDA device")

    bench.benchmark("gpu")(needs_gpu)
    bench.benchmark("one")(lambda: [row()])
    assert [r["name"] for r in bench.run(tmp_path)] == ["a"]
    assert "gpu: left out: no CUDA device" in capsys.readouterr().out
    assert bench.run(tmp_path, ["gpu"]) == []


def test_faults(tmp_path: Path) -> None:
    bench.benchmark("one")(lambda: [{"name": "a"}])
    with pytest.raises(ValueError, match="two benchmarks are named one"):
        bench.benchmark("one")(list)
    with pytest.raises(ValueError, match="benchmark one: a row has the keys name, value"):
        bench.run(tmp_path)
    with pytest.raises(UserError, match="no benchmark 'two': choose from one"):
        bench.run(tmp_path, ["two"])
