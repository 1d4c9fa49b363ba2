"""Harbor as the judge of our export: what is asked of it, how its results are read, and the real one where it is."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from echo_terminal.tasks.families import TEMPLATES
from echo_terminal.tasks.harbor import slug
from echo_terminal.tasks.harbor_check import compare, export_all, one_of_each, rewards, solutions, summary
from echo_terminal.tasks.suites import TaskParams

# Stands in for Harbor: judges a task by the words of its solution, as a trial of that name would be written down.
FAKE = """import json, pathlib, sys
words = sys.argv[1:]
if words[0] == "lint":
    print(json.dumps([{"rule": "root-agent", "path": words[-1]}] if "REMARK" == "%s" else []))
    sys.exit()
agent, job = words[words.index("-a") + 1], words[words.index("--job-name") + 1]
for folder in pathlib.Path(words[words.index("-p") + 1]).iterdir():
    trial = pathlib.Path("jobs", job, folder.name[:30] + "__" + str(abs(hash(folder.name))))
    trial.mkdir(parents=True)
    reward = 1.0 if agent == "oracle" and job == "oracle" else 0.0
    result = {"task_id": {"path": str(folder)}, "verifier_result": {"rewards": {"reward": reward}}}
    (trial / "result.json").write_text(json.dumps(result | {"exception_info": None}))
"""


def fake_harbor(folder: Path, word: str = "") -> str:
    (folder / "fake.py").write_text(FAKE % word)
    return shlex.join([sys.executable, str(folder / "fake.py")])


@pytest.fixture(scope="module")
def tasks():
    return one_of_each(TaskParams())


def test_one_task_of_every_template(tasks) -> None:
    assert {t.template for t in tasks} == set(TEMPLATES) and len(tasks) == len(TEMPLATES) >= 40
    assert len({slug(t) for t in tasks}) == len(tasks)
    assert any(t.machine is not None for t in tasks)


def test_a_wrong_solution_is_the_same_task_with_other_commands(tasks, tmp_path: Path) -> None:
    task = tasks[0]
    export_all([task], tmp_path, most_wrong=2)
    found = {p.name for p in (tmp_path / "wrong").iterdir()}
    assert found == {f"{slug(task)}-wrong-0", f"{slug(task)}-wrong-1"}
    right, wrong = tmp_path / "tasks" / slug(task), tmp_path / "wrong" / f"{slug(task)}-wrong-1"
    for file in ("task.toml", "environment/Dockerfile", "environment/files.tar", "tests/task.json"):
        assert (right / file).read_bytes() == (wrong / file).read_bytes()
    assert "\n".join(solutions(task, 2)["wrong-1"]) in (wrong / "solution" / "solve.sh").read_text()
    with pytest.raises(FileExistsError):
        export_all([task], tmp_path, most_wrong=0)


def test_results_are_read_as_they_are(tasks, terminal, tmp_path: Path) -> None:
    task = tasks[0]
    for name, result in {
        "a": {"verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": None},
        "b": {"verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": {"exception_type": "X"}},
        "c": {"verifier_result": None, "exception_info": None},
    }.items():
        (tmp_path / "jobs" / "oracle" / name).mkdir(parents=True)
        path = f"tasks/{slug(task)}" if name == "a" else f"tasks/{name}"
        file = tmp_path / "jobs" / "oracle" / name / "result.json"
        file.write_text(json.dumps({"task_id": {"path": path}} | result))
    assert rewards(tmp_path / "jobs" / "oracle") == {slug(task): 1.0, "b": None, "c": None}
    rows = compare([task], tmp_path, terminal, most_wrong=1)
    assert [(r["solution"], r["due"], r["harbor"], r["ours"]) for r in rows] == [
        ("oracle", 1, 1.0, 1),
        ("nop", 0, None, 0),
        ("wrong-0", 0, None, 0),
    ]
    assert summary(rows, ["a remark"]) == [
        "oracle: Harbor right on 1 of 1 judged, agrees with our verifier on 1; 0 without a result",
        "nop: Harbor right on 0 of 0 judged, agrees with our verifier on 0; 1 without a result",
        "wrong: Harbor right on 0 of 0 judged, agrees with our verifier on 0; 1 without a result",
        "lint: 1 remarks",
        "a remark",
    ]
    assert len(summary(rows, None)) == 3


def check(*arguments: str):
    import typer

    from echo_terminal.tasks.harbor_check import check_command

    app = typer.Typer()
    app.command()(check_command)
    return CliRunner().invoke(app, list(arguments))


def test_the_command(tmp_path: Path) -> None:
    few = ["--limit", "2", "--most-wrong", "1", "--table", str(tmp_path / "t.json")]
    done = check(str(tmp_path / "out"), "--harbor", fake_harbor(tmp_path), *few)
    assert done.exit_code == 0, done.output
    assert "oracle: Harbor right on 2 of 2 judged" in done.output and "lint: 0 remarks" in done.output
    assert [row["harbor"] for row in json.loads((tmp_path / "t.json").read_text())] == [1.0, 0.0, 0.0] * 2
    again = check(str(tmp_path / "out"), *few)
    assert again.exit_code == 2 and "there already" in again.output
    remarked = check(str(tmp_path / "other"), "--harbor", fake_harbor(tmp_path, "REMARK"), *few)
    assert "root-agent tasks/" in remarked.output
    absent = check(str(tmp_path / "absent"), "--harbor", "/nonexistent/harbor", *few)
    assert absent.exit_code == 2 and "No such file" in absent.output


@pytest.mark.slow
@pytest.mark.docker
def test_the_real_harbor_agrees(tmp_path: Path) -> None:
    """Two templates; ``echo-terminal check-harbor`` asks for all. HARBOR names the command if it is not on PATH."""
    harbor = os.environ.get("HARBOR", "harbor")
    if shutil.which(shlex.split(harbor)[0]) is None:
        pytest.skip("no harbor on PATH: install it, or name its command in HARBOR")
    options = ["--harbor", harbor, "--network", "public", "--limit", "2", "--most-wrong", "1"]
    done = check(str(tmp_path / "out"), *options)
    assert done.exit_code == 0, done.output
    assert "lint: 0 remarks" in done.output
