"""A job directory of Harbor as our tables: a row of ``attempts`` a trial, ``turns``, the CE of the terminal's output.

Trajectories are read id by id where our own harness's agent ran (``transcript.json``), else from ATIF, tokenised with
the scoring policy's tokenizer. A trial without a verdict has reward null, one that never ended no row; both are said.
Trials are identified by Harbor's own id, rows by their key, so importing twice adds nothing twice.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from echo_terminal.agent.prompt import Codec
from echo_terminal.agent.record import from_record
from echo_terminal.agent.transcript import Finish, Transcript
from echo_terminal.evaluation.atif import read_atif
from echo_terminal.tasks.task import Task


@dataclass(frozen=True)
class Trial:
    """One attempt as Harbor recorded it. ``reward`` None: no verdict; ``error`` is the exception's type or empty."""

    trial_id: str
    name: str
    agent: str
    model: str
    task: Task
    number: int  # 0-based among the trials of its agent and task, by the time of their start
    reward: float | None
    error: str
    transcript: Transcript


@dataclass(frozen=True)
class Job:
    """The trials that ended, in order of their names, and the names of those that did not."""

    name: str
    trials: list[Trial]
    unfinished: list[str]


def read_job(folder: Path, codec: Codec, tasks: Path | None = None) -> Job:
    """Every trial below ``folder``; ``tasks`` holds the folders of the tasks, for their suite, template and machine.

    Raises:
        FileNotFoundError: no trial there.
        ValueError: a file is not what Harbor writes, one trial is there twice, or another tokenizer sampled it.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no job directory {folder}")
    described = {} if tasks is None else _described(tasks)
    trials, seen, unfinished = [], dict[str, str](), []
    for child in sorted(p for p in folder.iterdir() if _is_trial(p)):
        if not (child / "result.json").exists():
            unfinished.append(child.name)
            continue
        result = _load(child / "result.json")
        try:
            trial = _trial(child, result, codec, described)
            started = str(result["started_at"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{child / 'result.json'} is not the result of a trial (at {error})") from error
        if trial.trial_id in seen:
            raise ValueError(f"{child.name} and {seen[trial.trial_id]} are the same trial: remove one")
        seen[trial.trial_id] = child.name
        trials.append((started, trial))
    if not trials and not unfinished:
        raise FileNotFoundError(f"{folder} holds no trial of Harbor: name one job's own folder, jobs/NAME")
    counts: dict[tuple[str, str, str], int] = {}
    numbered = []
    for _, trial in sorted(trials, key=lambda pair: (pair[0], pair[1].name)):
        key = (trial.agent, trial.model, trial.task.task_id)
        numbered.append(replace(trial, number=counts.get(key, 0)))
        counts[key] = counts.get(key, 0) + 1
    return Job(folder.resolve().name, sorted(numbered, key=lambda t: t.name), unfinished)


def _is_trial(folder: Path) -> bool:
    """Whether Harbor began a trial in this folder."""
    config = folder / "config.json"
    return config.is_file() and "trial_name" in _load(config)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON ({error.msg})") from error


def _described(tasks: Path) -> dict[str, dict[str, Any]]:
    """Metadata of every task below a folder, by its name."""
    found = {}
    for file in sorted(tasks.rglob("task.toml")):
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
        if "name" in settings.get("task", {}):
            found[settings["task"]["name"]] = settings.get("metadata", {})
    return found


def _trial(folder: Path, result: dict[str, Any], codec: Codec, described: dict[str, dict[str, Any]]) -> Trial:
    rewards = (result["verifier_result"] or {}).get("rewards") or {}
    error = (result["exception_info"] or {}).get("exception_type", "")
    reward = rewards.get("reward")
    transcript = _transcript(folder, codec)
    if transcript.finish is None and transcript.turns and transcript.turns[-1].call == "done":
        transcript.finish = Finish.DONE
    elif transcript.finish is None:
        transcript.finish = Finish.TIME if error == "AgentTimeoutError" else Finish.TURNS
    if reward is None:
        transcript.finish = Finish.LOST
    model = (result["agent_info"]["model_info"] or {}).get("name", "none")
    task = _task(result["task_name"], result.get("source"), described)
    return Trial(
        trial_id=result["id"],
        name=folder.name,
        agent=result["agent_info"]["name"],
        model=model,
        task=task,
        number=0,
        reward=None if reward is None else float(reward),
        error=error,
        transcript=transcript,
    )


def _transcript(folder: Path, codec: Codec) -> Transcript:
    """The trial's trajectory; empty for an agent that writes none (oracle, nop)."""
    own, atif = folder / "agent" / "transcript.json", folder / "agent" / "trajectory.json"
    if own.exists():
        transcript = from_record(_load(own))
        for turn, segment in zip(
            transcript.turns, (s for s in transcript.segments if s.role == 1), strict=True
        ):
            if turn.command and turn.command not in codec.decode(transcript.ids[segment.start : segment.end]):
                raise ValueError(f"{own}: sampled with another tokenizer than the policy's")
        return transcript
    if atif.exists():
        return read_atif(_load(atif), codec, folder.name).transcript
    return Transcript(scripted=True)


def _task(name: str, source: str | None, described: dict[str, dict[str, Any]]) -> Task:
    """The task as far as its rows need it; a foreign one goes by its name, its suite is the data set's."""
    known = described.get(name, {})
    if "template" not in known:
        suite, template = source or "harbor", name.rpartition("/")[2]
        return Task(template, 0, str(known.get("category", "")), "", {}, (), (), suite=suite)
    machine = known["machine"]
    return Task(
        known["template"],
        int(known["seed"]),
        known["category"],
        "",
        {},
        (),
        (),
        suite=known["suite"],
        machine=None if machine == "none" else int(machine),
    )


def tables(job: Job, policy: Any) -> dict[str, list[dict[str, Any]]]:
    """Rows of ``attempts``, ``turns`` and ``ce`` (``policy`` scores; longer trajectories are cut to its context)."""
    from echo_terminal.evaluation.heldout_ce import digest, prepare, score
    from echo_terminal.lake.rows import RunPoint, attempt_row, ce_rows, turn_rows

    decode, limit = policy.tokenizer.decode, policy.model.params.max_positions
    rows: dict[str, list[dict[str, Any]]] = {"attempts": [], "turns": [], "ce": []}
    points = {t.name: RunPoint(f"{job.name}/{t.agent}", t.model, t.agent, 0, "eval", 0) for t in job.trials}
    held: dict[str, list[Any]] = {}
    for t in job.trials:
        point = points[t.name]
        rows["attempts"].append(attempt_row(point, t.task, t.number, t.transcript, t.reward))
        rows["turns"] += turn_rows(point, t.task, t.number, t.transcript, decode)
        whole = prepare(
            t.transcript, decode, trajectory_id=t.trial_id, task_id=t.task.task_id, suite=t.task.suite
        )
        cut = {name: getattr(whole, name)[:limit] for name in ("ids", "classes", "sizes", "floors")}
        if any(c is not None for c in cut["classes"]):
            held.setdefault(t.agent, []).append(replace(whole, **cut))
    for agent, trajectories in held.items():
        point = next(p for p in points.values() if p.objective == agent)
        rows["ce"] += ce_rows(point, digest(trajectories), score(trajectories, policy))
    return rows


def summary(job: Job, rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    """One line an agent, and one for what is missing."""
    lines = []
    for agent in sorted({t.agent for t in job.trials}):
        of_agent = [t for t in job.trials if t.agent == agent]
        judged = [t.reward for t in of_agent if t.reward is not None]
        ce = [r for r in rows["ce"] if r["objective"] == agent and r["token_class"] != "warning"]
        tokens = sum(r["tokens"] for r in ce)
        nats = f"{sum(r['nll'] for r in ce) / tokens:.3f} nats over {tokens} tokens" if tokens else "none"
        mean = f"{sum(judged) / len(judged):.3f}" if judged else "none"
        lines.append(
            f"{agent}: {len(of_agent)} trials, mean reward {mean} of {len(judged)}, "
            f"{sum(len(t.transcript.turns) for t in of_agent)} turns, CE of output {nats}"
        )
        for t in of_agent:
            if t.reward is None:
                lines.append(f"{t.name}: no verdict ({t.error or 'not graded'})")
    if job.unfinished:
        lines.append(f"never ended, not imported: {', '.join(job.unfinished)}")
    return lines


def import_job(folder: Path, policy_folder: Path, out: Path, tasks: Path | None = None) -> list[str]:
    """Read, score, append to the lake at ``out``; the lines to print."""
    from echo_terminal.lake.tables import Writer
    from echo_terminal.policy.weights import load_policy

    policy = load_policy(policy_folder)
    job = read_job(folder, policy.tokenizer, tasks)
    rows = tables(job, policy)
    with Writer(out) as writer:
        for name, new in rows.items():
            if new:
                writer.add(name, new)
    return [*summary(job, rows), f"attempts, turns and ce in {out}"]


def import_command(
    folder: Annotated[Path, typer.Argument(help="one job of Harbor, jobs/NAME")],
    policy: Annotated[Path, typer.Option(help="policy whose tokenizer reads and whose log-probs score")],
    out: Annotated[Path | None, typer.Option(help="lake to append to (default: FOLDER/lake)")] = None,
    tasks: Annotated[Path | None, typer.Option(help="folder of the tasks that ran, for their suites")] = None,
) -> None:
    """Turn a job of Harbor into attempts, turns and CE tables."""
    from echo_terminal.pipeline.errors import UserError

    try:
        lines: Sequence[str] = import_job(folder, policy, out or folder / "lake", tasks)
    except (FileNotFoundError, ValueError) as error:
        raise UserError(str(error)) from error
    typer.echo("\n".join(lines))
