"""A sample of imported tasks: the draw, what cannot run, what is counted, and what Harbor is given."""

import json
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from echo_terminal.tasks import imported_check
from echo_terminal.tasks.imported_check import grade_nothing, harbor_nothing, report, sample
from echo_terminal.tasks.imported_run import import_command

FAKE = """import json, pathlib, tomllib
for folder in pathlib.Path("tasks").iterdir():
    image = tomllib.loads((folder / "task.toml").read_text())["environment"]["docker_image"]
    trial = pathlib.Path("jobs/nop", folder.name)
    trial.mkdir(parents=True)
    given = {"reward": 0.0} if image == "built:1" else {}
    result = {"task_id": {"path": str(folder)}, "verifier_result": {"rewards": given}, "exception_info": None}
    (trial / "result.json").write_text(json.dumps(result))
"""


def make(root: Path, name: str, more: str = "") -> Path:
    folder = root / name
    (folder / "environment").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "task.toml").write_text(f'version = "1.0"\n[environment]\ncpus = 1\n{more}')
    (folder / "environment" / "Dockerfile").write_text("FROM x\n")
    (folder / "tests" / "test.sh").write_text("true\n")
    return folder


def test_a_seed_draws_the_same_tasks(tmp_path: Path) -> None:
    for i in range(9):
        make(tmp_path, f"t{i}")
    make(tmp_path, "broken").joinpath("task.toml").write_text("[")
    names = [[t.name for t in sample(tmp_path, 5, seed)] for seed in (0, 0, 1)]
    assert names[0] == names[1] != names[2] and len(set(names[0])) == 5
    assert len(sample(tmp_path, 50)) == 9


def test_what_cannot_run_is_counted_with_its_reason(tmp_path: Path) -> None:
    make(tmp_path, "gpu", "gpus = 2\n")
    row = grade_nothing(sample(tmp_path, 1)[0])
    assert row == {"task": "gpu", "image": "x", "ours": None, "reason": "gpu cannot run: it needs 2 GPUs"}
    rows = [row, {"task": "a", "ours": 0, "harbor": 0.0}, {"task": "b", "ours": 1, "harbor": 0.0}]
    assert report(rows) == [
        "gpu: cannot run: gpu cannot run: it needs 2 GPUs",
        "b: doing nothing is worth 1",
        "2 of 3 ran here; doing nothing is worth 0 on 1",
        "Harbor's nop agrees on 1 of 2",
    ]


def test_harbor_is_given_the_image_that_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "all", "a")
    make(tmp_path / "all", "b")
    monkeypatch.setattr(
        imported_check, "build_image", lambda task: "built:1" if task.name == "a" else "other"
    )
    (tmp_path / "fake.py").write_text(FAKE)
    harbor = [sys.executable, str(tmp_path / "fake.py")]
    tasks = sample(tmp_path / "all", 2)
    assert harbor_nothing(tasks, harbor, tmp_path / "out") == {"a": 0.0, "b": None}
    with pytest.raises(RuntimeError, match="harbor ended with 1"):
        harbor_nothing(tasks, shlex.split("false"), tmp_path / "again")


def test_the_command_tries_some(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(import_command)
    make(tmp_path, "gpu", "gpus = 2\n")
    done = CliRunner().invoke(app, [str(tmp_path), "--try", "3"])
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == "0 of 1 ran here; doing nothing is worth 0 on 0"
    done = CliRunner().invoke(app, [str(tmp_path), "--try", "3", "--json"])
    assert json.loads(done.output)["ours"] is None
