"""Our tasks in Harbor's format (schema 1.4), with the site tools of their machines.

Harbor's separate verifier grades: when the agent has ended, root packs what the checks may look at into one archive,
which is all that the verifier's container sees of it. There ``verify.py`` itself is the judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import typer

from echo_terminal.tasks.suites import TaskParams, build_suite
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.shell_session import archive
from echo_terminal.terminal.terminal import ENVIRONMENT, HOME

IMAGE = "echo-terminal/tasks:trixie"  # built from image/Dockerfile
STATE = "/root/state.tar"
COLLECTED = (HOME, "/var/site", "/usr/local/bin", "/tests", "/logs")  # where ``verify`` looks
EXISTING = ("/home", "/tmp", "/usr", "/usr/local", "/usr/local/bin", "/var", "/etc", "/opt")  # noqa: S108
Network = Literal["no-network", "public"]

# What differs between tasks comes last and runs nothing, so that images are quick to build.
_DOCKERFILE = """FROM {image}
STOPSIGNAL SIGKILL
RUN useradd --uid 1000 --create-home --skel /nowhere --shell /bin/bash user \\
    && install -d -o user -g user /var/site && touch -d @1717200000 {home}
ENV {environment}
WORKDIR {home}
ADD files.tar /
"""
_TEST = """#!/bin/bash
# Grades the archive of the agent's machine by the rules of verify.py; task.json holds what must be true.
chmod 700 /tests
exec python3 -s /tests/grade.py /tests {state} /logs/verifier/reward.txt
"""
_TOML = """schema_version = "1.4"
artifacts = ["{state}"]

[task]
name = {name}
version = "1.0.0"
description = {description}
authors = [{{ name = "echo-terminal" }}]
keywords = {keywords}

[metadata]
difficulty = {difficulty}
category = {category}
suite = {suite}
template = {template}
seed = {seed}
machine = {machine}
canonical_hash = "{digest}"

[verifier]
timeout_sec = 300.0
environment_mode = "separate"

[[verifier.collect]]
command = "cd /; rm -rf {state}; tar --hard-dereference -cf {state} $(ls -d {collected} 2>/dev/null)"
user = "root"

[agent]
timeout_sec = 900.0
user = "user"

[environment]
network_mode = "{network}"
build_timeout_sec = 600.0
cpus = 1
memory_mb = 1024
storage_mb = 2048
"""
LEVELS = {1: "easy", 2: "medium"}


def slug(task: Task) -> str:
    """A folder name for a task, unique over the suites of a build."""
    machine = "" if task.machine is None else f"-m{task.machine}"
    return re.sub(r"[^a-z0-9]+", "-", f"{task.suite}-{task.template}{machine}-{task.seed}".lower()).strip("-")


def export_task(
    task: Task,
    folder: Path,
    image: str = IMAGE,
    network: Network = "no-network",
    commands: Iterable[str] | None = None,
) -> None:
    """Write one task to ``folder``, which must not exist; ``commands`` stand in for its oracle."""
    for name in ("environment", "solution", "tests"):
        (folder / name).mkdir(parents=True)
    files = archive(task.files, None, EXISTING)
    environment = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
    dockerfile = _DOCKERFILE.format(image=image, home=HOME, environment=environment)
    (folder / "instruction.md").write_text(task.instruction + "\n")
    (folder / "task.toml").write_text(_settings(task, network))
    (folder / "environment" / "Dockerfile").write_text(dockerfile)
    (folder / "environment" / "files.tar").write_bytes(files)
    steps = [step.command for step in task.oracle] if commands is None else commands
    _script(folder / "solution" / "solve.sh", solution(steps))
    tests = folder / "tests"
    (tests / "Dockerfile").write_text(dockerfile + "COPY . /tests/\n")
    (tests / "files.tar").write_bytes(files)
    checks = [[c.kind, c.path, c.value] for c in task.checks]
    (tests / "task.json").write_text(
        json.dumps({"checks": checks, "environment": ENVIRONMENT}, indent=1) + "\n"
    )
    package = resources.files("echo_terminal.tasks")
    (tests / "verify.py").write_text(package.joinpath("verify.py").read_text())
    (tests / "grade.py").write_text(package.joinpath("harbor_grade.py").read_text())
    _script(tests / "test.sh", _TEST.format(state=STATE))


def solution(commands: Iterable[str]) -> str:
    """A script of commands that were written for one shell session."""
    return "\n".join(["#!/bin/bash", f"cd {HOME}", *commands, ""])


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _settings(task: Task, network: Network) -> str:
    return _TOML.format(
        state=STATE,
        name=json.dumps(f"echo-terminal/{slug(task)}"),
        description=json.dumps(task.instruction.split("\n")[0][:200]),
        keywords=json.dumps([task.domain, task.suite]),
        difficulty=json.dumps(LEVELS.get(task.difficulty, "hard")),
        category=json.dumps(task.domain),
        suite=json.dumps(task.suite),
        template=json.dumps(task.template),
        seed=task.seed,
        machine=json.dumps("none" if task.machine is None else str(task.machine)),
        digest=task.canonical_hash,
        collected=" ".join(path.lstrip("/") for path in COLLECTED),
        network=network,
    )


def export_suite(
    out: Path,
    suite: str,
    limit: int = 20,
    image: str = IMAGE,
    machine: int | None = None,
    network: Network = "no-network",
    params: TaskParams | None = None,
) -> list[Path]:
    """Write the first ``limit`` tasks of a suite, all on one machine if given; returns their folders.

    Raises:
        ValueError: no such suite.
        FileExistsError: a task's folder is there already.
    """
    params = params or TaskParams()
    if machine is not None:
        params = params.model_copy(update={"train_machines": (machine,), "held_out_machines": (machine,)})
    folders = []
    for task in build_suite(params, suite)[:limit]:
        folder = out / slug(task)
        if folder.exists():
            raise FileExistsError(f"{folder} is there already: remove it or export to another folder")
        export_task(task, folder, image, network)
        folders.append(folder)
    return folders


def export_command(
    out: Annotated[Path, typer.Argument(help="folder for the tasks, one folder each")],
    suite: Annotated[str, typer.Option(help="suite of the tasks")] = "val",
    limit: Annotated[int, typer.Option(min=1, help="at most so many tasks")] = 20,
    image: Annotated[
        str, typer.Option(help="base image; see tasks/image/Dockerfile for what it needs")
    ] = IMAGE,
    machine: Annotated[
        int | None, typer.Option(help="seed of the machine; the suite's own if not given")
    ] = None,
    network: Annotated[str, typer.Option(help="no-network or public")] = "no-network",
) -> None:
    """Write tasks in Harbor's format, site tools included."""
    if network not in ("no-network", "public"):
        typer.echo(f"unknown network mode {network!r}: choose no-network or public", err=True)
        raise typer.Exit(2)
    try:
        folders = export_suite(out, suite, limit, image, machine, network)  # type: ignore[arg-type]
    except (ValueError, FileExistsError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    typer.echo(f"{len(folders)} tasks in {out}")
