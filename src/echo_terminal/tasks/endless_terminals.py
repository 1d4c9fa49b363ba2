"""Endless Terminals tasks (kanishkg/endless-terminals): a folder with ``task.json``, ``container.def`` and two pytest
files, or a ``tasks.json`` that lists instructions only.

The Apptainer definition becomes a Dockerfile: ``From`` is the base, ``%post`` one RUN, exports of ``%environment``
ENV lines. ``localimage`` bases are the project's Ubuntu 22.04.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from echo_terminal.tasks.imported import ImportedTask, NotATask, packages

BASE = "ubuntu:22.04"  # what the project's localimage is made of
TEST = "cd /home/user && python3 -m pytest -q /tests/test_final_state.py"


def is_endless(folder: Path) -> bool:
    """Whether a folder is one of these tasks."""
    return (folder / "task.json").is_file() and (folder / "container.def").is_file()


def read_endless(folder: Path) -> ImportedTask | NotATask:
    """Read a task's folder; what is malformed comes back as an error to report."""
    try:
        task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
        definition = (folder / "container.def").read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        return NotATask(f"{folder}: {error}")
    if not isinstance(task, dict):
        return NotATask(f"{folder}: task.json is no JSON object")
    image, dockerfile = to_dockerfile(definition)
    obstacles = [] if (folder / "test_final_state.py").is_file() else ["it has no test_final_state.py"]
    return ImportedTask(
        name=folder.name,
        form="endless-terminals",
        instruction=str(task.get("description") or task.get("instruction") or ""),
        folder=folder,
        dockerfile=dockerfile,
        image=image,
        packages=packages("RUN " + _sections(definition).get("post", "").replace("\n", "; ")),
        size_bytes=sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()),
        tests=folder,
        test_command=_reward(TEST),
        workdir="/home/user",
        obstacles=tuple(obstacles),
    )


def read_listing(path: Path) -> Iterator[ImportedTask | NotATask]:
    """Tasks of a ``tasks.json``: instructions and limits, without a machine and without tests."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        yield NotATask(f"{path}: no JSON: {error}")
        return
    if not isinstance(entries, list):
        yield NotATask(f"{path}: no list of tasks")
        return
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or "instruction" not in entry:
            yield NotATask(f"{path}: entry {number} is no task")
            continue
        config: dict[str, Any] = entry.get("config") or {}
        environment = config.get("environment") or {}
        yield ImportedTask(
            name=str(entry.get("task_id", number)),
            form="endless-terminals listing",
            instruction=str(entry["instruction"]),
            folder=path.parent,
            cpus=float(environment.get("cpus") or 1),
            memory_mb=int(environment.get("memory_mb") or 2048),
            storage_mb=int(environment.get("storage_mb") or 10240),
            size_bytes=len(json.dumps(entry)),
            agent_timeout=float(config.get("agent_timeout_sec") or 900),
            verifier_timeout=float(config.get("verifier_timeout_sec") or 600),
            obstacles=("it is listed without its machine", "it is listed without its tests"),
        )


def to_dockerfile(definition: str) -> tuple[str, str]:
    """(base image, Dockerfile) of an Apptainer definition."""
    header = definition.split("\n%", 1)[0]
    bootstrap = re.search(r"^\s*Bootstrap:\s*(\S+)", header, re.M | re.I)
    source = re.search(r"^\s*From:\s*(\S+)", header, re.M | re.I)
    local = bootstrap is not None and bootstrap[1].lower() != "docker"
    image = BASE if local or source is None else source[1]
    sections = _sections(definition)
    lines = [f"FROM {image}"]
    if sections.get("post", "").strip():
        script = base64.b64encode(("set -e\n" + sections["post"]).encode()).decode()
        lines.append(f"RUN echo {script} | base64 -d > /post.sh && bash /post.sh && rm /post.sh")
    for name, value in re.findall(r"^\s*export\s+(\w+)=(.*)$", sections.get("environment", ""), re.M):
        lines.append(f"ENV {name}={value.strip()}")
    return image, "\n".join([*lines, "RUN mkdir -p /home/user", "WORKDIR /home/user", ""])


def _sections(definition: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in definition.splitlines():
        match = re.match(r"%(\w+)", line)
        if match:
            name = match[1].lower()
            found[name] = ""
        elif name:
            found[name] += line + "\n"
    return found


def _reward(command: str) -> str:
    return f"{command}; if [ $? -eq 0 ]; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt"
