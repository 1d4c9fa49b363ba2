"""Each call of ``run_stage`` starts a kernel, which takes seconds, so a test asks much of one run."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.runner import check_arrived, check_unchanged, explain, main, run_stage

HELLO = 'print("hello from", stage.profile)'
CHATTY = """
from echo_terminal.progress import Progress
bar = Progress("train", 2, every=0)
bar.update()
bar.update(pass_rate=0.5)
print(object(), stage.root, stage.output("more.json").write_text("[]"))
"""


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture(autouse=True)
def _there(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(repository)
    before = dict(os.environ)
    yield
    for name in set(os.environ) - set(
        before
    ):  # the runner is a process of its own: what it sets ends with it
        del os.environ[name]
    os.environ.update(before)


def test_two_runs(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Results, notebook and record are in place; nothing but the wall time differs between two runs."""
    edit(repository / "notebooks/01_first.py", HELLO, CHATTY)
    texts = []
    for _ in range(2):
        run_stage(repository, "01_first", "params.yaml", {})
        notebook = nbformat.read(repository / "executed/cpu/01_first.ipynb", as_version=4)
        assert notebook.cells.pop().source.startswith("Wall time: ")
        texts.append(nbformat.writes(notebook))
    assert texts[0] == texts[1]
    assert json.loads((repository / "results/cpu/01_first/numbers.json").read_text()) == [0, 100]
    record = json.loads((repository / "results/cpu/provenance/01_first.json").read_text())
    assert (
        len(record["revision"]) == 40
        and record["uncommitted"] == ["notebooks/01_first.py"]
        and record["seed"] == 0
    )
    assert record["hardware"]["cores"] >= 1 and "torch" in record["versions"] and record["wall_seconds"] > 0
    assert notebook.cells[0].source == "# First"
    assert (
        record["revision"] in notebook.cells[1].source and record["params_hash"] in notebook.cells[1].source
    )
    assert str(repository) not in texts[0] and "<object object at 0x…> . 2" in texts[0]
    shown = capsys.readouterr().out
    assert (
        "01_first | " in shown
        and "train 1/2 step" in shown
        and "s left" in shown
        and "pass_rate 0.5" in shown
    )
    assert (
        "train 2/2 step" in (repository / "logs/cpu/01_first.log").read_text() and "train 2/2" not in texts[0]
    )
    assert not (repository / ".staging/cpu/01_first").exists()


def test_value_overwritten_in_the_notebook_fails(repository: Path) -> None:  # fault G01
    edit(
        repository / "notebooks/01_first.py",
        "import json",
        'import json\nparams_file = "profiles/smoke/params.yaml"',
    )
    with pytest.raises(
        UserError, match="params.yaml' was asked for, but the notebook ran with 'profiles/smoke"
    ):
        run_stage(repository, "01_first", "params.yaml", {})
    assert not (repository / "results").exists() and not (repository / "executed").exists()


def test_notebook_that_never_opens_its_stage_fails(repository: Path) -> None:  # fault G01
    (repository / "notebooks/01_first.py").write_text(
        '# %% tags=["parameters"]\nparams_file = "x"\n# %%\nprint(params_file)\n'
    )
    with pytest.raises(UserError, match="never called Stage.open"):
        run_stage(repository, "01_first", "params.yaml", {})


def test_code_that_changes_during_the_run_fails(repository: Path) -> None:  # fault G03
    (repository / "results/cpu/01_first").mkdir(parents=True)
    (repository / "results/cpu/01_first/numbers.json").write_text("old")
    edit(repository / "notebooks/01_first.py", HELLO, "open('code/module.py', 'a').write('# more')")
    with pytest.raises(UserError, match="stage 01_first: code changed while it ran"):
        run_stage(repository, "01_first", "params.yaml", {})
    assert (repository / "results/cpu/01_first/numbers.json").read_text() == "old"
    assert not (repository / "executed").exists()


def test_failure_is_one_line(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository / "notebooks/01_first.py", HELLO, "1 / 0")
    assert main(["01_first"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "01_first failed: ZeroDivisionError: division by zero" in error
    assert "ZeroDivisionError" in (repository / "logs/cpu/01_first.log").read_text()
    assert (repository / ".staging/cpu/01_first/executed.ipynb").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["02_second", "-p", "sede=1"], "no item {'sede': 1}: choose one of seed=0, seed=1"),
        (["02_second", "-p", "seed=7"], "choose one of seed=0, seed=1"),
        (["02_second", "-p", "seed='1'"], "choose one of seed=0, seed=1"),
        (["02_second"], "has no item {}"),
        (
            ["02_second", "-p", "seed=1"],
            "results/cpu/01_first/numbers.json is missing: run the stage that makes it",
        ),
        (["01_first", "-p", "seed"], "write -p NAME=VALUE"),
        (["01_frist"], "no stage '01_frist': choose one of 01_first, 02_second"),
        (["01_first", "--params", "parms.yaml"], "no params file"),
    ],
)
def test_wrong_command_line_is_one_line(  # fault G02
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert line in error and error.startswith("error: ") and error.count("\n") == 1


def test_values_that_did_not_arrive_are_named() -> None:  # fault G01
    check_arrived({"seed": 1}, {"seed": 1, "other": 2}, "x")
    with pytest.raises(UserError, match="seed = 1 was asked for, but the notebook ran with 0"):
        check_arrived({"seed": 1}, {"seed": 0}, "x")
    with pytest.raises(UserError, match="lam = 0.05 was asked for, but the notebook ran with None"):
        check_arrived({"lam": 0.05}, {}, "x")


def test_what_changed_is_named() -> None:  # fault G03
    check_unchanged({"params: seed": "a", "code": "b"}, {"params: seed": "a", "code": "b"}, "x")
    with pytest.raises(UserError, match="params: seed, code changed while it ran"):
        check_unchanged({"params: seed": "a", "code": "b"}, {"params: seed": "b"}, "x")


def test_full_disk_and_user_errors_are_said_plainly() -> None:
    assert explain("OSError", "[Errno 28] No space left on device", "p").startswith(": the disk is full")
    assert explain("PermissionError", "[Errno 13] Permission denied: 'x'", "p").startswith(": no permission")
    assert explain("UserError", "add it", "p") == ": add it"
    assert explain("FileNotFoundError", "[Errno 2] No such file: 'x'", "p") == (
        " failed: FileNotFoundError: [Errno 2] No such file: 'x' (p)"
    )
