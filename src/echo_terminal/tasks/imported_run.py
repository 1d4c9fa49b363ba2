"""Imported tasks on our docker engine: build the image, open a terminal in it, grade apart from the agent.

Grading starts a fresh container from what the agent left: none of its processes, the task's own tests put back, the
place of the reward emptied, and only a finite number in [0, 1] counts. An agent that is root can still change the
programs that its grading uses, as in Harbor's shared mode.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import secrets
import tarfile
from pathlib import Path
from typing import Annotated, Any

import requests
import typer
from docker.errors import APIError, BuildError, NotFound

from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.imported import ImportedTask, as_json, engine_for, table
from echo_terminal.tasks.verify import Verdict
from echo_terminal.terminal.docker import DockerParams, DockerTerminal, connect, nano_cpus
from echo_terminal.terminal.terminal import EngineUnavailable, Terminal

REWARDS = ("/logs/verifier/reward.txt", "/logs/verifier/reward.json")


def image_tag(task: ImportedTask) -> str:
    """Name of a task's image; it changes with every file that the image is built from."""
    total = hashlib.sha256(task.dockerfile.encode())
    context = task.folder / "environment"
    for path in sorted(p for p in context.rglob("*") if p.is_file()):
        total.update(str(path.relative_to(context)).encode() + b"\0" + path.read_bytes())
    return f"echo-terminal/imported:{total.hexdigest()[:20]}"


def build_image(task: ImportedTask) -> str:
    """Build the image of a task if it is not there; returns its name. Building may use the network.

    Raises:
        EngineUnavailable: no engine of ours can run the task, no daemon answers, or its image cannot be built.
    """
    engine, reason = engine_for(task)
    if engine is None:
        raise EngineUnavailable(f"{task.name} cannot run: {reason}")
    if not task.dockerfile:
        return task.image
    client, tag = connect(), image_tag(task)
    try:
        if not client.images.list(tag):
            client.images.build(
                fileobj=io.BytesIO(_context(task)), custom_context=True, tag=tag, rm=True, forcerm=True
            )
    except (BuildError, APIError) as error:
        last = str(error).strip().splitlines()[-1]
        raise EngineUnavailable(f"{task.name}: its image ({task.image}) cannot be built: {last}") from error
    finally:
        client.close()
    return tag


def _context(task: ImportedTask) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        if (task.folder / "environment").is_dir():
            tar.add(task.folder / "environment", arcname=".")
        text = task.dockerfile.encode()
        member = tarfile.TarInfo("Dockerfile")  # the last of its name counts
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    return out.getvalue()


def open_imported(task: ImportedTask) -> DockerTerminal:
    """A terminal in the task's image, by the task's own limits; ``reset({}, seed)`` starts an episode.

    Raises:
        EngineUnavailable: see ``build_image``.
    """
    params = DockerParams(
        image=build_image(task),
        network=task.network,
        as_image=True,
        workdir=task.workdir,
        variables=task.variables,
        memory_mb=max(64, task.memory_mb),
        cpus=task.cpus,
        processes=512,
    )
    return DockerTerminal(params)


@grade.register
def grade_imported(task: ImportedTask, terminal: Terminal) -> Verdict:
    """Reward of the state that an episode was left in; what is no finite number in [0, 1] is worth 0.

    Raises:
        ValueError: the terminal is not one of ``open_imported``, or the task has no tests.
    """
    if not isinstance(terminal, DockerTerminal) or task.tests is None:
        raise ValueError(f"{task.name} is graded on the docker engine, by its tests")
    client, image, given = connect(), terminal.commit(), f"/given-{secrets.token_hex(8)}"
    script = f"rm -rf /tests /logs/verifier; mkdir -p /logs/verifier && cp -r {given} /tests && {task.test_command}"
    container = client.containers.create(
        image,
        ["-c", script],
        entrypoint=["bash"],
        user="0",
        network_mode="bridge" if task.network else "none",
        mem_limit=f"{max(64, task.memory_mb)}m",
        pids_limit=1024,
        nano_cpus=nano_cpus(client, task.cpus),
        environment={**task.variables, **task.verifier_variables},
    )
    try:
        container.put_archive("/", _folder(task.tests, given.strip("/")))
        container.start()
        try:
            container.wait(timeout=task.verifier_timeout)
        except requests.exceptions.RequestException:  # how the SDK reports that the time is over
            return Verdict(0, (f"the tests did not end in {task.verifier_timeout:g} s",))
        text = next((t for t in (_read(container, path) for path in REWARDS) if t is not None), None)
        reward = parse_reward(text)
        return Verdict(int(reward == 1.0), () if reward == 1.0 else (f"its tests give {reward:g}",))
    finally:
        container.remove(force=True)
        with contextlib.suppress(APIError):  # an image that another container still uses
            client.images.remove(image)
        client.close()


def parse_reward(text: str | None) -> float:
    """A reward file's number: plain text, or JSON with ``reward`` or one value; 0 for what is not in [0, 1]."""
    try:
        value: Any = json.loads((text or "").strip())
    except ValueError:
        return 0.0
    if isinstance(value, dict):
        value = value.get("reward", next(iter(value.values())) if len(value) == 1 else None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.0
    return float(value) if 0 <= value <= 1 else 0.0


def _read(container: Any, path: str) -> str | None:
    try:
        stream, _ = container.get_archive(path)
    except NotFound:
        return None
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
        member = tar.next()
        file = (
            tar.extractfile(member) if member is not None and member.isreg() and member.size < 4096 else None
        )
        return file.read().decode("utf-8", "replace") if file else None


def _folder(path: Path, name: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(path, arcname=name)
    return out.getvalue()


def import_command(
    folder: Annotated[Path, typer.Argument(help="a task, a folder of tasks, or a tasks.json")],
    as_lines: Annotated[bool, typer.Option("--json", help="one JSON object a task")] = False,
    try_some: Annotated[
        int, typer.Option("--try", min=0, help="grade doing nothing on so many of them, drawn at random")
    ] = 0,
    seed: Annotated[int, typer.Option(help="of the draw")] = 0,
) -> None:
    """Read foreign tasks: what each needs, which engine can run it, or why none can."""
    if try_some:
        from echo_terminal.tasks.imported_check import grade_nothing, report, sample

        tried = [grade_nothing(task) for task in sample(folder, try_some, seed)]
        typer.echo(as_json(tried) if as_lines else "\n".join(report(tried)), nl=not as_lines)
        raise typer.Exit(0 if all(row["ours"] in (0, None) for row in tried) else 1)
    rows, errors = table(folder)
    if as_lines:
        typer.echo(as_json(rows), nl=False)
    else:
        for row in rows:
            needs = f"{row['image'] or 'no image'}, {row['memory_mb']} MB, {row['size_bytes']} bytes"
            extras = [f"packages: {row['packages']}"] if row["packages"] else []
            extras += [f"services: {row['services']}"] if row["services"] else []
            extras += [f"GPUs: {row['gpus']}"] if row["gpus"] else []
            network = "network" if row["network"] else "no network"
            typer.echo(f"{row['name']} ({row['form']}): {'; '.join([needs, network, *extras])}")
            typer.echo(f"    {row['engine']}: {row['reason']}")
    for line in errors:
        typer.echo(line, err=True)
    runnable = sum(row["engine"] != "none" for row in rows)
    typer.echo(f"{len(rows)} tasks read, {runnable} can run, {len(errors)} could not be read", err=True)
    if not rows:
        raise typer.Exit(2)
