"""Foreign tasks: both generations of Harbor's format, Endless Terminals, and what stands in the way of running them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.tasks.endless_terminals import to_dockerfile
from echo_terminal.tasks.imported import (
    NotATask,
    base_image,
    describe,
    engine_for,
    instructions,
    packages,
    read_harbor,
    read_task,
    read_tasks_below,
    table,
)
from echo_terminal.tasks.imported_run import build_image, grade_imported, open_imported, parse_reward
from echo_terminal.terminal.terminal import EngineUnavailable

OLD = """version = "1.0"
[verifier]
timeout_sec = 60.0
[environment]
cpus = 2
memory = "3G"
allow_internet = false
"""
NEW = """schema_version = "1.4"
[task]
name = "someone/a-task"
[agent]
timeout_sec = 33
[environment]
network_mode = "public"
memory_mb = 512
gpus = 2
"""
DOCKERFILE = """# comment
FROM debian:trixie AS build
RUN true
FROM --platform=linux/amd64 build
RUN apt-get update && \\
    # a comment in between
    apt-get install -y --no-install-recommends curl=8.1 \\
    git && pip3 install --no-cache-dir 'numpy==2.0' pandas
RUN cat <<EOF > /x
FROM nothing
RUN apt-get install -y never
EOF
COPY a /b
"""


def make(folder: Path, settings: str, dockerfile: str = "FROM x\n", test: bool = True) -> Path:
    (folder / "environment").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "task.toml").write_text(settings)
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "environment" / "Dockerfile").write_text(dockerfile)
    if test:
        (folder / "tests" / "test.sh").write_text("#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
    return folder


def test_first_generation(tmp_path: Path) -> None:
    task = read_harbor(make(tmp_path / "old", OLD))
    assert (task.name, task.form, task.instruction) == ("old", "harbor 1.0", "Do it.\n")
    assert (task.network, task.cpus, task.memory_mb, task.verifier_timeout) == (False, 2.0, 3072, 60.0)
    assert engine_for(task)[0] == "docker"


def test_second_generation(tmp_path: Path) -> None:
    task = read_harbor(make(tmp_path / "new", NEW))
    assert (task.name, task.form, task.network, task.memory_mb) == ("someone/a-task", "harbor 1.4", True, 512)
    assert engine_for(task) == (None, "it needs 2 GPUs")
    assert describe(task)["engine"] == "none"


def test_variables_of_the_environment(tmp_path: Path) -> None:
    settings = '[verifier.env]\nKEY = "${HOST_KEY}"\n[environment]\nworkdir = "/w"\n[environment.env]\n'
    folder = make(tmp_path / "t", settings + 'MODE = "fast"\nLEVEL = "${LEVEL:-3}"\n')
    task = read_harbor(folder)
    assert (task.workdir, task.variables, task.verifier_variables) == (
        "/w",
        {"MODE": "fast", "LEVEL": "3"},
        {"KEY": ""},
    )
    assert engine_for(task) == (None, "it needs HOST_KEY of the host's environment")


def test_obstacles(tmp_path: Path) -> None:
    bare = make(tmp_path / "bare", "", dockerfile="", test=False)
    assert (
        engine_for(read_harbor(bare))[1]
        == "it has neither a Dockerfile nor an image; it has no tests/test.sh"
    )
    composed = make(tmp_path / "composed", "")
    (composed / "environment" / "docker-compose.yaml").write_text(
        "services: {main: {}, db: {image: postgres}}\n"
    )
    assert engine_for(read_harbor(composed)) == (None, "it needs other containers beside its own: db")
    content = make(tmp_path / "content", "", dockerfile="FROM x\nCOPY docker-compose.yaml /app/\n")
    (content / "environment" / "docker-compose.yaml").write_text("services: {web: {}, db: {}}\n")
    assert engine_for(read_harbor(content))[0] == "docker"


def test_dockerfiles() -> None:
    assert [word for word, _ in instructions(DOCKERFILE)] == ["FROM", "RUN", "FROM", "RUN", "RUN", "COPY"]
    assert base_image(DOCKERFILE) == "debian:trixie"
    assert packages(DOCKERFILE) == ("curl=8.1", "git", "numpy==2.0", "pandas")
    assert base_image("") == "" and packages("") == ()


@given(st.text())
def test_any_text_is_read_as_a_dockerfile(text: str) -> None:
    base_image(text)
    assert all(name for name in packages(text))


def test_folder_of_tasks_reports_what_it_cannot_read(tmp_path: Path) -> None:
    make(tmp_path / "b", OLD)
    make(tmp_path / "a", "not toml [")
    (tmp_path / "notes").mkdir()
    rows, errors = table(tmp_path)
    assert [row["name"] for row in rows] == ["b"]
    assert len(errors) == 1 and "task.toml is no TOML" in errors[0] and "\n" not in errors[0]
    assert table(tmp_path / "absent") == ([], [f"{tmp_path / 'absent'}: no such file or folder"])
    with pytest.raises(NotATask, match=r"no task\.toml"):
        read_harbor(tmp_path / "notes")


def test_one_task_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path / "all" / "a", OLD)
    assert read_task(tmp_path / "all" / "a").task_id == "imported/a"
    make(tmp_path / "all" / "b", OLD)
    with pytest.raises(NotATask, match="holds 2 tasks: name the folder of one"):
        read_task(tmp_path / "all")
    make(tmp_path / "broken", "[")
    with pytest.raises(NotATask, match=r"task\.toml is no TOML"):
        read_task(tmp_path / "broken")


def test_endless_terminals(tmp_path: Path) -> None:
    folder = tmp_path / "task_000001_ab"
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps({"description": "Say hi.", "truth": "secret"}))
    definition = (
        "Bootstrap: localimage\nFrom: ./u.sif\n%post\n  apt-get install -y jq\n%environment\n  export A=b\n"
    )
    (folder / "container.def").write_text(definition)
    (folder / "test_final_state.py").write_text("def test(): pass\n")
    listing = [{"task_id": "t1", "instruction": "Do.", "config": {"environment": {"memory_mb": 99}}}, 5]
    (tmp_path / "tasks.json").write_text(json.dumps(listing))
    listed, broken, task = read_tasks_below(tmp_path)
    assert (listed.name, listed.memory_mb, engine_for(listed)[0]) == ("t1", 99, None)
    assert isinstance(broken, NotATask)
    assert (task.instruction, task.image, task.packages) == ("Say hi.", "ubuntu:22.04", ("jq",))
    assert engine_for(task)[0] == "docker"
    assert "secret" not in task.instruction
    assert to_dockerfile("Bootstrap: docker\nFrom: alpine:3\n")[0] == "alpine:3"


@pytest.mark.parametrize(
    ("text", "reward"),
    [("1\n", 1.0), ("0.5", 0.5), ('{"reward": 1}', 1.0), ('{"a": 0}', 0.0), ("nan", 0.0), ("NaN", 0.0)]
    + [("1.5", 0.0), ("-1", 0.0), ("Infinity", 0.0), ("true", 0.0), ("", 0.0), (None, 0.0), ("1 1", 0.0)],
)
def test_only_numbers_from_0_to_1_are_rewards(text: str | None, reward: float) -> None:
    assert parse_reward(text) == reward


@pytest.mark.docker
def test_runs_like_ours(tmp_path: Path) -> None:
    """The no-op gets 0, a solution 1, forgers 0: a planted reward, a planted test, a process that waits for grading."""
    from echo_terminal.terminal.docker import IMAGE, check_available

    try:
        check_available()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    settings = OLD + 'workdir = "/app"\n[environment.env]\nWORD = "hello"\n[verifier.env]\nSEEN = "1"\n'
    settings = settings.replace("cpus = 2", "cpus = 4096")  # more than any daemon has
    folder = make(tmp_path / "t", settings, dockerfile=f"FROM {IMAGE}\nCOPY word /app/word\n")
    (folder / "environment" / "word").write_text("hello\n")
    test = 'D=/logs/verifier\n[ "$(cat /app/out)" = hello ] && r=1 || r=0\n[ -e /tests/extra ] && r=1\n'
    test += '[ "$WORD$SEEN" = hello1 ] || r=0\necho $r > $D/reward.txt\n'
    (folder / "tests" / "test.sh").write_text(test)
    task = read_harbor(folder)
    terminal = open_imported(task)
    try:
        rewards = {}
        for name, command in {
            "nop": "pwd",
            "solution": "cp word out",
            "by its environment": "echo $WORD$SEEN > out",
            "reward": "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt",
            "test": "mkdir /tests; touch /tests/extra; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh",
            "waits": "(while sleep 0.1; do echo 1 > /logs/verifier/reward.txt; done) > /dev/null 2>&1 &",
        }.items():
            terminal.reset(task.files, task.seed)
            seen = terminal.run(command, 20.0)
            assert seen.cwd == "/app"
            rewards[name] = grade_imported(task, terminal).reward
        assert rewards == {
            "nop": 0,
            "solution": 1,
            "by its environment": 1,
            "reward": 0,
            "test": 0,
            "waits": 0,
        }
    finally:
        terminal.close()


def test_what_cannot_run_says_why(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="it needs 2 GPUs"):
        build_image(read_harbor(make(tmp_path / "gpu", NEW)))
