"""Rows of the lake from what the program holds in memory: tasks, transcripts, metrics, cross-entropies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from echo_terminal.agent.transcript import Finish, Role, Transcript
from echo_terminal.evaluation.heldout_ce import CERow
from echo_terminal.evaluation.token_class import Decode
from echo_terminal.tasks.task import Task

Row = dict[str, Any]


@dataclass(frozen=True)
class RunPoint:
    """Where in which run something was measured: the first columns of every table but ``tasks``."""

    run_id: str
    start: str
    objective: str
    seed: int
    phase: str  # train | eval | corpus
    step: int
    recorded_at: datetime | None = None


def task_row(task: Task) -> Row:
    """One row of ``tasks``."""
    same = (
        "suite",
        "task_id",
        "template",
        "domain",
        "difficulty",
        "machine",
        "seed",
        "instruction",
        "canonical_hash",
    )
    row = {name: getattr(task, name) for name in same}
    return row | {"oracle_steps": len(task.oracle), "facts": len(task.facts)}


def attempt_row(
    point: RunPoint, task: Task, attempt: int, transcript: Transcript, reward: float | None
) -> Row:
    """One row of ``attempts``; ``reward`` None where there is no verdict."""
    turns = transcript.turns
    return {
        **asdict(point),
        **{name: getattr(task, name) for name in ("suite", "task_id", "template", "domain", "machine")},
        "attempt": attempt,
        "reward": reward,
        "finish": None if transcript.finish is None else str(transcript.finish),
        "done": transcript.finish == Finish.DONE,
        "turns": len(turns),
        "action_tokens": transcript.count(Role.ACTION),
        "output_tokens": transcript.count(Role.OUTPUT),
        "warning_tokens": transcript.count(Role.WARNING),
        "timeouts": sum(t.status == "timeout" for t in turns),
        "malformed": sum(t.command is None and t.call not in ("done", "confirm") for t in turns),
        "imagined": sum(t.imagined for t in turns),
        "seconds": sum(t.seconds for t in turns),
    }


def turn_rows(point: RunPoint, task: Task, attempt: int, transcript: Transcript, decode: Decode) -> list[Row]:
    """The rows of ``turns`` of one attempt. A line of output is new if the same attempt did not
    show it before.
    """
    shown: dict[int, str] = {}
    for segment in transcript.segments:
        if segment.role == Role.OUTPUT and segment.kind != "exit":
            text = decode(transcript.ids[segment.start : segment.end])
            shown[segment.turn] = shown.get(segment.turn, "") + text
    rows, seen = [], set[str]()
    for i, turn in enumerate(transcript.turns):
        lines = shown.get(i, "").splitlines(keepends=True)
        new = sum(len(line) for line in dict.fromkeys(lines) if line not in seen)
        seen.update(lines)
        rows.append(
            {
                **asdict(point),
                "suite": task.suite,
                "task_id": task.task_id,
                "attempt": attempt,
                "turn": i,
                **asdict(turn),
                "new_chars": new,
                "shown_chars": sum(map(len, lines)),
            }
        )
    return rows


def step_rows(point: RunPoint, metrics: Mapping[str, float]) -> list[Row]:
    """One row of ``steps`` for each metric."""
    return [{**asdict(point), "name": name, "value": float(value)} for name, value in metrics.items()]


def ce_rows(point: RunPoint, corpus: str, rows: Iterable[CERow]) -> list[Row]:
    """Rows of ``ce``; ``corpus`` is the digest of the fixed trajectories."""
    return [{**asdict(point), "corpus": corpus, **asdict(row)} for row in rows]


def rollout_rows(
    point: RunPoint,
    tasks: Sequence[Task],
    attempts: Sequence[int],
    transcripts: Sequence[Transcript],
    rewards: Sequence[float | None],
    decode: Decode,
) -> dict[str, list[Row]]:
    """``attempts`` and ``turns`` of a batch of rollouts."""
    cases = list(zip(tasks, attempts, transcripts, rewards, strict=True))
    return {
        "attempts": [attempt_row(point, *case) for case in cases],
        "turns": [row for task, i, t, _ in cases for row in turn_rows(point, task, i, t, decode)],
    }
