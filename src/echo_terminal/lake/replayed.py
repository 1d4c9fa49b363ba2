"""The commands that policies typed, run again: does the terminal answer as it did then, and as real bash does?

A corpus shows how an engine does on commands that somebody thought of; this, on those that the results rest on. The
record is the ``turns`` of a run folder's evaluation. Attempts at one task with the same commands are one episode.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from echo_terminal.lake.tables import read
from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.store import read_tasks
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import EngineUnavailable, Observation, Terminal, open_terminal

COLUMNS = ["suite", "task_id", "attempt", "turn", "command", "exit_code", "output_chars"]


@dataclass(frozen=True)
class Step:
    """A command with what was recorded of its answer: exit code, and characters of both outputs."""

    command: str
    exit_code: int
    output_chars: int


@dataclass(frozen=True)
class Recorded:
    """One episode as it was."""

    suite: str
    task_id: str
    steps: tuple[Step, ...]


@dataclass
class Replayed:
    """Counts over episodes: steps that the policies' engine answers otherwise than recorded, and steps and rewards
    that the other engine gives otherwise than it (``differences``: command, its answer, the other's)."""

    episodes: int = 0
    steps: int = 0
    unlike_record: int = 0
    rewards: int = 0
    differences: list[tuple[str, Observation, Observation]] = field(default_factory=list)


def recorded_episodes(evaluation: Path) -> list[Recorded]:
    """The distinct episodes of a run folder's ``05_evaluate``, in an order that depends on them alone.

    Raises:
        FileNotFoundError: there is no lake.
    """
    lakes = sorted(path.parent for path in evaluation.glob("*/lake/turns"))
    if not lakes:
        raise FileNotFoundError(
            f"{evaluation} has no recorded attempts: run the pipeline with this profile first"
        )
    found: dict[tuple[str, tuple[str, ...]], Recorded] = {}
    for lake in lakes:
        turns = read(lake, "turns", COLUMNS).to_pandas().dropna(subset=["command"]).sort_values("turn")
        for (suite, task_id, _), rows in turns.groupby(["suite", "task_id", "attempt"]):
            steps = tuple(map(Step, rows.command, map(int, rows.exit_code), map(int, rows.output_chars)))
            key = task_id, tuple(step.command for step in steps)
            found.setdefault(key, Recorded(suite, task_id, steps))
    return [found[key] for key in sorted(found)]


def replay(
    tasks: Mapping[str, Task],
    episodes: Iterable[Recorded],
    met: Terminal,
    other: Terminal | None = None,
    timeout: float = 10.0,
) -> Replayed:
    """Run episodes on the engine that the policies met, and on another beside it; ``timeout``: seconds a command."""
    total = Replayed()
    for episode in episodes:
        task = tasks[episode.task_id]
        for terminal in (met, other) if other is not None else (met,):
            terminal.reset(task.files, task.seed)
        for step in episode.steps:
            seen = met.run(step.command, timeout)
            length = len(seen.stdout) + len(seen.stderr)
            total.unlike_record += (seen.exit_code, length) != (step.exit_code, step.output_chars)
            if other is not None:
                real = other.run(step.command, timeout)
                if _answer(seen) != _answer(real):
                    total.differences.append((step.command, seen, real))
        total.episodes += 1
        total.steps += len(episode.steps)
        if other is not None:
            total.rewards += grade(task, met).reward != grade(task, other).reward
    return total


def _answer(seen: Observation) -> tuple[str, str, int]:
    return seen.stdout, seen.stderr, seen.exit_code


def report(total: Replayed, engine: str | None) -> list[str]:
    """What a replay says, in lines."""
    lines = [
        f"{total.steps} commands of {total.episodes} episodes",
        f"virtual: {total.unlike_record} with another exit code or length than recorded",
    ]
    if engine is not None:
        count = len(total.differences)
        lines.append(f"{engine}: {count} answered otherwise, {total.rewards} episodes graded otherwise")
        same = total.steps - count
        lines.append(f"exact agreement: {100 * same / max(total.steps, 1):.2f} % ({same} of {total.steps})")
    return lines


def replay_command(
    profile: Annotated[str, typer.Argument(help="profile whose run folder is replayed")] = "cpu",
    engine: Annotated[
        str, typer.Option(help="engine to compare with: bubblewrap, docker or none")
    ] = "bubblewrap",
    limit: Annotated[int, typer.Option(min=1, help="at most so many episodes, drawn with seed 0")] = 1000,
    show: Annotated[int, typer.Option(min=0, help="at most so many differences in full")] = 20,
) -> None:
    """Run again what the policies of a profile typed: is it answered as recorded, and as in real bash?"""
    from echo_terminal.pipeline.errors import UserError
    from echo_terminal.pipeline.layout import find_root, profile_folder

    root = find_root()
    profile_folder(root, profile)  # says which profiles there are
    try:
        episodes: Sequence[Recorded] = recorded_episodes(root / "runs" / profile / "05_evaluate")
    except FileNotFoundError as error:
        raise UserError(str(error)) from None
    tasks = {t.task_id: t for t in read_tasks(root / "results" / profile / "02_tasks/tasks.parquet")}
    if len(episodes) > limit:
        episodes = random.Random(0).sample(episodes, limit)
    other = None
    if engine != "none":
        try:
            other = open_terminal(engine)
        except (EngineUnavailable, ValueError) as reason:
            raise UserError(f"{reason} (--engine none compares with the record alone)") from None
    total = replay(
        tasks, tqdm(episodes, unit="episode", leave=False, disable=None), open_terminal("virtual"), other
    )
    for command, seen, real in total.differences[:show]:
        typer.echo(f"{command!r}\n  virtual {_answer(seen)}\n  {engine} {_answer(real)}")
    for line in report(total, engine if other is not None else None):
        typer.echo(line)
