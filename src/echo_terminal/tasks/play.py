"""A person in the agent's chair: the same task, the same terminal, the same verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from echo_terminal.tasks.families import TEMPLATES, make_task
from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.suites import TaskParams, build_suite
from echo_terminal.tasks.task import Playable, Task
from echo_terminal.tasks.verify import Verdict
from echo_terminal.terminal.terminal import EngineUnavailable, Terminal, open_terminal

DONE = "done"


def find_task(name: str, params: TaskParams, machine: int) -> Task:
    """The task called ``TEMPLATE``, ``TEMPLATE/SEED`` (on that machine) or ``SUITE/TEMPLATE/SEED``.

    Raises:
        ValueError: there is none of that name.
    """
    parts = name.split("/")
    if len(parts) == 3:
        found = [t for t in build_suite(params, parts[0]) if t.task_id == name]
        if not found:
            raise ValueError(f"suite {parts[0]} has no task {name}")
        return found[0]
    template, seed = (parts[0], parts[1]) if len(parts) == 2 else (name, "0")
    if len(parts) > 3 or not seed.isdecimal():
        raise ValueError(f"{name!r} is not a task: write TEMPLATE, TEMPLATE/SEED or SUITE/TEMPLATE/SEED")
    return make_task(template, int(seed), params.machine(machine))


def play(
    task: Playable,
    terminal: Terminal,
    ask: Callable[[str], str],
    say: Callable[[str], None],
    turns: int = 16,
) -> Verdict:
    """Let ``ask`` give the commands, one a turn, until it says ``done``, ends its input or has no turn left."""
    terminal.reset(task.files, task.seed)
    say(f"Task {task.template}: {task.instruction}")
    say(f"You have {turns} turns; {DONE!r} ends the episode and takes one.")
    cwd = "/home/user"
    for _ in range(turns):
        try:
            command = ask(f"{cwd}$ ")
        except EOFError:
            break
        if command.strip() == DONE:
            break
        seen = terminal.run(command)
        cwd = seen.cwd
        say(f"exit code: {seen.exit_code}")
        for text in (seen.stdout, seen.stderr):
            if text:
                say(text.removesuffix("\n"))
    else:
        say("No turns left.")
    verdict = grade(task, terminal)
    say(f"Reward {verdict.reward}." + "".join(f" Does not hold: {f}." for f in verdict.failed))
    for finding in verdict.tampering:
        say(f"Flagged: {finding}")
    return verdict


def play_command(
    task: Annotated[
        str,
        typer.Argument(
            help="TEMPLATE, TEMPLATE/SEED, SUITE/TEMPLATE/SEED, or the folder of an imported task"
        ),
    ],
    machine: Annotated[int, typer.Option(help="seed of the machine")] = 1,
    engine: Annotated[str, typer.Option(help="virtual, bubblewrap or docker")] = "virtual",
    turns: Annotated[int, typer.Option(min=1, help="most turns, done included")] = 16,
    show_oracle: Annotated[bool, typer.Option(help="print the oracle first")] = False,
) -> None:
    """Sit in the agent's chair: solve one task by hand."""
    try:
        chosen, terminal = _open(task, machine, engine)
    except (ValueError, EngineUnavailable) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    if show_oracle and isinstance(chosen, Task):
        for step in chosen.oracle:
            typer.echo(f"oracle: {step.command}")
    try:
        verdict = play(chosen, terminal, input, typer.echo, turns)
    finally:
        terminal.close()
    raise typer.Exit(0 if verdict.reward else 1)


def _open(name: str, machine: int, engine: str) -> tuple[Playable, Terminal]:
    if not Path(name).is_dir():
        return find_task(name, TaskParams(), machine), open_terminal(engine)
    from echo_terminal.tasks.imported import read_task
    from echo_terminal.tasks.imported_run import open_imported

    imported = read_task(Path(name))
    return imported, open_imported(imported)


def template_table() -> list[dict[str, str]]:
    """One row a template: name, domain, needs, levels and what it is about."""
    return [
        {
            "template": t.name,
            "domain": t.domain,
            "needs": t.needs,
            "levels": " ".join(map(str, t.levels)),
            "about": (t.build.__doc__ or "").split("\n")[0],
        }
        for t in TEMPLATES.values()
    ]
