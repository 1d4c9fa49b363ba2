"""Doing nothing on a sample of imported tasks must be worth 0, on our docker engine and under Harbor alike.

Harbor is given the image that our engine has built (``docker_image`` in a copy of ``task.toml``), so that both judge
the same machine. What cannot run here is counted with its reason, not left out.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.harbor_check import rewards
from echo_terminal.tasks.imported import ImportedTask, NotATask, read_tasks_below
from echo_terminal.tasks.imported_run import build_image, open_imported
from echo_terminal.terminal.terminal import EngineUnavailable

Row = dict[str, Any]


def sample(root: Path, count: int, seed: int = 0) -> list[ImportedTask]:
    """A random sample of the tasks below a folder, the same for a seed."""
    tasks = [task for task in read_tasks_below(root) if not isinstance(task, NotATask)]
    tasks.sort(key=lambda task: task.name)
    return random.Random(seed).sample(tasks, min(count, len(tasks)))


def grade_nothing(task: ImportedTask) -> Row:
    """The reward of one look around, or why the task cannot run here."""
    try:
        terminal = open_imported(task)
    except EngineUnavailable as reason:
        return {"task": task.name, "image": task.image, "ours": None, "reason": str(reason)}
    try:
        terminal.reset(task.files, task.seed)
        terminal.run("pwd")
        return {
            "task": task.name,
            "image": task.image,
            "ours": grade(task, terminal).reward,
            "reason": "",
        }
    finally:
        terminal.close()


def report(rows: Sequence[Row]) -> list[str]:
    """What the sample says, in lines; ``harbor`` is None where it was not asked or gave no result."""
    ran = [row for row in rows if row["ours"] is not None]
    both = [row for row in ran if row.get("harbor") is not None]
    lines = [f"{row['task']}: cannot run: {row['reason']}" for row in rows if row["ours"] is None]
    lines += [f"{row['task']}: doing nothing is worth {row['ours']}" for row in ran if row["ours"]]
    zero = sum(row["ours"] == 0 for row in ran)
    lines.append(f"{len(ran)} of {len(rows)} ran here; doing nothing is worth 0 on {zero}")
    if both:
        agree = sum(row["harbor"] == row["ours"] for row in both)
        lines.append(f"Harbor's nop agrees on {agree} of {len(both)}")
    return lines


def harbor_nothing(
    tasks: Sequence[ImportedTask], harbor: Sequence[str], out: Path
) -> dict[str, float | None]:
    """Harbor's nop on tasks whose images are there, by the name of the task's folder; ``out`` must not exist.

    Raises:
        RuntimeError: Harbor ended with an error of its own.
    """
    for task in tasks:
        copy = out / "tasks" / task.folder.name
        shutil.copytree(task.folder, copy)
        settings = (copy / "task.toml").read_text(encoding="utf-8")
        line = f'[environment]\ndocker_image = "{build_image(task)}"'
        (copy / "task.toml").write_text(settings.replace("[environment]", line, 1), encoding="utf-8")
    command = "run -p tasks -a nop -e docker -y -o jobs --job-name nop".split()
    done = subprocess.run([*harbor, *command], cwd=out)
    if done.returncode:
        raise RuntimeError(f"harbor ended with {done.returncode}")
    return rewards(out / "jobs" / "nop")
