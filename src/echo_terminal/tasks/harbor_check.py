"""The real Harbor as the judge of our export: its oracle, its nop and every wrong solution, beside our own verifier.

One task of every template is exported; a wrong solution is the same task with other commands in ``solve.sh``, so
that Harbor's oracle agent plays it. Harbor is a program of its own (``--harbor``: it needs a Python and a Docker
engine that this package does not); what it has not finished counts as no reward at all.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from echo_terminal.tasks.gate import play
from echo_terminal.tasks.harbor import IMAGE, Network, export_task, slug
from echo_terminal.tasks.suites import TaskParams, build_suite
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal, open_terminal

Row = dict[str, Any]


def one_of_each(params: TaskParams) -> list[Task]:
    """The first task of every template, from the first suite that has it; train is asked last."""
    found: dict[str, Task] = {}
    for name in sorted(params.suites, key=lambda n: n == "train"):
        size = min(params.suites[name].size, 120)
        small = params.suites[name].model_copy(update={"size": size})
        for task in build_suite(params.model_copy(update={"suites": {name: small}}), name):
            found.setdefault(task.template, task)
    return list(found.values())


def solutions(task: Task, most_wrong: int) -> dict[str, list[str]]:
    """Commands by name: the oracle, nothing, and at most so many wrong solutions."""
    wrong = {f"wrong-{i}": list(commands) for i, commands in enumerate(task.wrong[:most_wrong])}
    return {"oracle": [step.command for step in task.oracle], "nop": [], **wrong}


def export_all(
    tasks: Sequence[Task],
    out: Path,
    image: str = IMAGE,
    network: Network = "no-network",
    most_wrong: int = 100,
) -> None:
    """Write ``out/tasks`` and, for the wrong solutions, ``out/wrong``.

    Raises:
        FileExistsError: they are there already.
    """
    for task in tasks:
        export_task(task, out / "tasks" / slug(task), image, network)
        for name, commands in solutions(task, most_wrong).items():
            if name.startswith("wrong"):
                export_task(task, out / "wrong" / f"{slug(task)}-{name}", image, network, commands)


def run_harbor(harbor: Sequence[str], out: Path, at_once: int) -> list[str]:
    """Lint all tasks, then run nop, oracle and wrong solutions; returns the remarks of the linter.

    Raises:
        RuntimeError: Harbor ended with an error of its own.
    """
    folders = [f"tasks/{p.name}" for p in sorted((out / "tasks").iterdir())]
    linted = subprocess.run([*harbor, "lint", "--json", *folders], cwd=out, capture_output=True, text=True)
    remarks = [" ".join(map(str, found.values())) for found in json.loads(linted.stdout or "[]")]
    if linted.returncode and not remarks:
        raise RuntimeError(f"harbor lint failed: {linted.stderr.strip()[-500:]}")
    for job, folder, agent in (
        ("nop", "tasks", "nop"),
        ("oracle", "tasks", "oracle"),
        ("wrong", "wrong", "oracle"),
    ):
        command = ["run", "-p", folder, "-a", agent, "-e", "docker", "-y", "-n", str(at_once)]
        done = subprocess.run([*harbor, *command, "-o", "jobs", "--job-name", job], cwd=out)
        if done.returncode:
            raise RuntimeError(f"harbor {shlex.join(command)} ended with {done.returncode}")
    return remarks


def rewards(job: Path) -> dict[str, float | None]:
    """Reward of every finished trial of a job by the name of the task's folder; None where Harbor failed."""
    found: dict[str, float | None] = {}
    for file in sorted(job.glob("*/result.json")):
        trial = json.loads(file.read_text())
        given = (trial.get("verifier_result") or {}).get("rewards") or {}
        failed = trial.get("exception_info") is not None or "reward" not in given
        found[Path(trial["task_id"]["path"]).name] = None if failed else float(given["reward"])
    return found


def compare(tasks: Sequence[Task], out: Path, terminal: Terminal, most_wrong: int = 100) -> list[Row]:
    """One row a solution: what it must be worth, what Harbor gives (None: no result), and what our verifier gives."""
    by_job = {job: rewards(out / "jobs" / job) for job in ("nop", "oracle", "wrong")}
    rows = []
    for task in tasks:
        for name, commands in solutions(task, most_wrong).items():
            wrong = name.startswith("wrong")
            folder = f"{slug(task)}-{name}" if wrong else slug(task)
            harbor = by_job["wrong" if wrong else name].get(folder)
            ours = play(task, commands, terminal).reward
            rows.append(
                {
                    "template": task.template,
                    "domain": task.domain,
                    "suite": task.suite,
                    "task": slug(task),
                    "solution": name,
                    "due": int(name == "oracle"),
                    "harbor": harbor,
                    "ours": ours,
                }
            )
    return rows


def summary(rows: Sequence[Row], remarks: Sequence[str] | None) -> list[str]:
    """Counts of what Harbor and our verifier give, one line for each kind of solution; the linter's, where it ran."""
    lines = []
    for kind in ("oracle", "nop", "wrong"):
        due = [r for r in rows if r["solution"].startswith(kind)]
        judged = [r for r in due if r["harbor"] is not None]
        right = sum(r["harbor"] == r["due"] for r in judged)
        agree = sum(r["harbor"] == r["ours"] for r in judged)
        lines.append(
            f"{kind}: Harbor right on {right} of {len(judged)} judged, agrees with our verifier on {agree}; "
            f"{len(due) - len(judged)} without a result"
        )
    return lines if remarks is None else [*lines, f"lint: {len(remarks)} remarks", *sorted(set(remarks))]


def check_command(
    out: Annotated[Path, typer.Argument(help="new folder for the tasks and Harbor's jobs")],
    harbor: Annotated[str, typer.Option(help="command that runs Harbor")] = "harbor",
    image: Annotated[str, typer.Option(help="base image of the tasks")] = IMAGE,
    network: Annotated[str, typer.Option(help="no-network or public")] = "no-network",
    limit: Annotated[int, typer.Option(min=1, help="at most so many templates")] = 1000,
    most_wrong: Annotated[int, typer.Option(min=0, help="at most so many wrong solutions a task")] = 100,
    at_once: Annotated[int, typer.Option(min=1, help="trials at a time")] = 2,
    table: Annotated[Path | None, typer.Option(help="write what Harbor has judged as JSON")] = None,
    read_only: Annotated[bool, typer.Option(help="only read what an earlier run has left")] = False,
) -> None:
    """Export one task of every template and let the real Harbor judge oracle, nop and wrong solutions."""
    if network not in ("no-network", "public"):
        typer.echo(f"unknown network mode {network!r}: choose no-network or public", err=True)
        raise typer.Exit(2)
    tasks = list(islice(one_of_each(TaskParams()), limit))
    remarks: list[str] | None = None
    if not read_only:
        if out.exists():
            typer.echo(f"{out} is there already: remove it or choose another folder", err=True)
            raise typer.Exit(2)
        export_all(tasks, out, image, network, most_wrong)  # type: ignore[arg-type]
        try:
            remarks = run_harbor(shlex.split(harbor), out, at_once)
        except (OSError, RuntimeError) as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(2) from None
    terminal = open_terminal("virtual")
    rows = compare(tasks, out, terminal, most_wrong)
    terminal.close()
    if table is not None:
        judged = [json.dumps(row) for row in rows if row["harbor"] is not None]
        table.write_text("[\n" + ",\n".join(judged) + "\n]\n")
    for line in summary(rows, remarks):
        typer.echo(line)
    raise typer.Exit(0 if all(r["harbor"] == r["due"] == r["ours"] for r in rows) else 1)
