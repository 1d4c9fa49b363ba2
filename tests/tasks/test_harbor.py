"""Export to Harbor's format: the files say what they must, and the exported verifier agrees with our own."""

import io
import runpy
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from echo_terminal.tasks.gate import forgers
from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.harbor import STATE, export_suite, export_task, slug, solution
from echo_terminal.tasks.suites import TaskParams, build_suite

ROOTS = ("/home/user", "/var/site", "/usr/local/bin", "/logs", "/tests")


def pack(terminal, path: Path) -> None:
    """What the collect hook packs, of an episode on one of our engines."""
    with tarfile.open(path, "w") as tar:
        for root in ROOTS:
            for name, entry in terminal.list(root).items():
                member = tarfile.TarInfo(name.lstrip("/"))
                member.mode = entry.mode
                content = b""
                if entry.kind == "directory":
                    member.type = tarfile.DIRTYPE
                elif entry.kind == "link":
                    member.type, member.linkname = tarfile.SYMTYPE, entry.target
                else:
                    content = terminal.read(name)
                    member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def exported_reward(folder: Path, state: Path) -> str:
    """Run the exported verifier as a program of its own, without this package."""
    reward = state.with_suffix(".reward")
    command = [sys.executable, "-s", "-E", folder / "tests" / "grade.py", folder / "tests", state, reward]
    subprocess.run(command, check=True, capture_output=True, cwd="/")
    return reward.read_text()


@pytest.fixture
def exported_main(tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """``main`` of an exported verifier, loaded from its folder: quicker than a program for each state."""
    export_task(tasks[0], tmp_path / "verifier")
    monkeypatch.syspath_prepend(tmp_path / "verifier" / "tests")
    monkeypatch.delitem(sys.modules, "verify", raising=False)
    return runpy.run_path(str(tmp_path / "verifier" / "tests" / "grade.py"))["main"]


@pytest.fixture(scope="module")
def tasks():
    """One task of every template of three suites that no check of kind ``runs`` grades."""
    found = {}
    for suite in ("val", "itd", "lite"):
        for task in build_suite(TaskParams(), suite):
            if all(check.kind != "runs" for check in task.checks):
                found.setdefault(task.template, task)
    return list(found.values())


def test_exported_verifier_agrees_with_ours(tasks, terminal, tmp_path: Path, exported_main) -> None:
    kinds = set()
    state, reward = tmp_path / "state.tar", tmp_path / "reward"
    for task in tasks:
        folder = tmp_path / slug(task)
        export_task(task, folder)
        oracle = [step.command for step in task.oracle]
        for name, commands in [("oracle", oracle), ("nop", []), *enumerate([*task.wrong, *forgers(task)])]:
            terminal.reset(task.files, task.seed)
            for command in commands:
                terminal.run(command)
            pack(terminal, state)
            ours = grade(task, terminal).reward
            exported_main(str(folder / "tests"), str(state), str(reward))
            assert reward.read_text() == f"{ours}\n", (task.template, name)
            assert ours == (name == "oracle"), (task.template, name)
        kinds |= {check.kind for check in task.checks}
    assert exported_reward(folder, state) == reward.read_text()
    assert len(tasks) >= 20
    assert {"text", "ledger", "listing", "absent", "unchanged"} <= kinds


def test_without_a_collected_state_the_reward_is_zero(tasks, tmp_path: Path) -> None:
    export_task(tasks[0], tmp_path / "task")
    assert exported_reward(tmp_path / "task", tmp_path / "absent.tar") == "0\n"


def test_settings(tasks, tmp_path: Path) -> None:
    task = tasks[0]
    export_task(task, tmp_path / "task", image="example/image:1", network="public")
    settings = tomllib.loads((tmp_path / "task" / "task.toml").read_text())
    assert settings["schema_version"] == "1.4"
    assert settings["task"]["name"] == f"echo-terminal/{slug(task)}"
    assert settings["artifacts"] == [STATE]
    assert settings["verifier"]["environment_mode"] == "separate"
    assert STATE in settings["verifier"]["collect"][0]["command"]
    assert settings["environment"]["network_mode"] == "public"
    assert settings["metadata"]["canonical_hash"] == task.canonical_hash
    for part in ("environment", "tests"):
        assert (tmp_path / "task" / part / "Dockerfile").read_text().startswith("FROM example/image:1\n")


def test_archive_holds_every_file_with_its_owner(tasks, tmp_path: Path) -> None:
    task = next(t for t in tasks if t.machine is not None)
    export_task(task, tmp_path / "task")
    with tarfile.open(tmp_path / "task" / "environment" / "files.tar") as tar:
        members = {f"/{m.name}": m for m in tar}
        for path, file in task.files.items():
            assert tar.extractfile(members[path]).read() == file.content
            assert members[path].mode == file.mode
            assert members[path].uid == (0 if path.startswith("/usr/local") else 1000)
    assert not {"/usr", "/usr/local", "/usr/local/bin", "/home", "/var"} & members.keys()


def test_exported_oracle_solves_in_real_bash(tasks, tmp_path: Path) -> None:
    from echo_terminal.terminal.bubblewrap import BubblewrapTerminal
    from echo_terminal.terminal.terminal import EngineUnavailable

    try:
        terminal = BubblewrapTerminal()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    for task in tasks[:8]:
        terminal.reset(task.files, task.seed)
        terminal.run(f"bash -c {_quoted(solution(s.command for s in task.oracle))}")
        assert grade(task, terminal).reward == 1, task.template
    terminal.close()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def test_suite_on_one_machine(tmp_path: Path) -> None:
    folders = export_suite(tmp_path / "out", "val", limit=4, machine=77)
    assert len(folders) == len(set(folders)) == 4
    machines = {tomllib.loads((f / "task.toml").read_text())["metadata"]["machine"] for f in folders}
    assert machines <= {"77", "none"} and "77" in machines
    with pytest.raises(FileExistsError, match="there already"):
        export_suite(tmp_path / "out", "val", limit=1, machine=77)
    with pytest.raises(ValueError, match="unknown suite"):
        export_suite(tmp_path / "out", "nope")
