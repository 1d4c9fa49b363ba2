"""Tasks that others wrote: what each needs, which of our engines can run it, and why not where none can.

Harbor tasks of both generations (``version = "1.0"`` with ``allow_internet``; ``schema_version`` with
``network_mode``) are read here, Endless Terminals tasks in ``endless_terminals``. Nothing of a task is executed by
reading it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from echo_terminal.terminal.terminal import File

_INSTRUCTION = re.compile(r"^\s*(?P<word>[A-Za-z]+)\s+(?P<rest>.*)$", re.S)
_INSTALL = re.compile(
    r"(?:apt-get|apt|apk|dnf|yum|pip3?|uv pip|npm|gem|cargo)\s+(?:-\S+\s+)*(?:install|add)\s+([^;&|\n]*)"
)
_PRIVILEGES = re.compile(r"docker\.sock|privileged|SYS_ADMIN|NET_ADMIN|--cap-add|systemctl|/sbin/init", re.I)


@dataclass(frozen=True)
class ImportedTask:
    """A foreign task. ``context`` holds its Dockerfile, ``tests`` the files that grade it and ``test_command``."""

    name: str
    form: str  # harbor 1.0, harbor 1.4, endless-terminals ...
    instruction: str
    folder: Path
    dockerfile: str = ""
    image: str = ""  # what the Dockerfile starts from, or the ready image
    packages: tuple[str, ...] = ()
    network: bool = False  # while the agent works; building an image is another matter
    services: tuple[str, ...] = ()
    gpus: int = 0
    cpus: float = 1.0
    memory_mb: int = 2048
    storage_mb: int = 10240
    size_bytes: int = 0
    agent_timeout: float = 900.0
    verifier_timeout: float = 600.0
    tests: Path | None = None
    test_command: str = "bash /tests/test.sh"
    workdir: str = ""
    variables: dict[str, str] = field(default_factory=dict)  # of the agent's environment, beside the image's
    verifier_variables: dict[str, str] = field(default_factory=dict)
    obstacles: tuple[str, ...] = ()
    files: dict[str, File] = field(default_factory=dict)  # none of ours: everything is in the image
    seed: int = 0

    suite: str = "imported"
    machine: int | None = None  # none of ours

    @property
    def task_id(self) -> str:
        """As in records of rollouts."""
        return f"{self.suite}/{self.name}"

    @property
    def template(self) -> str:
        """What ``play`` shows as the task's name."""
        return self.name


class NotATask(ValueError):
    """A folder that holds no task that can be read; one line says why."""


def read_harbor(folder: Path) -> ImportedTask:
    """Read a Harbor task of either generation.

    Raises:
        NotATask: no task.toml, or one that is no TOML.
    """
    try:
        settings = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
    except OSError as error:
        raise NotATask(f"{folder}: no task.toml to read") from error
    except ValueError as error:
        raise NotATask(f"{folder}: task.toml is no TOML: {error}") from error
    environment = _table(settings, "environment")
    context = folder / "environment"
    dockerfile = _text(context / "Dockerfile")
    compose = _text(context / "docker-compose.yaml")
    services, obstacles = _compose(compose, dockerfile)
    if environment.get("os", "linux") != "linux":
        obstacles.append(f"it needs {environment['os']}")
    if settings.get("steps"):
        obstacles.append(f"it has {len(settings['steps'])} steps, each with a verifier of its own")
    if not dockerfile and not environment.get("docker_image"):
        obstacles.append("it has neither a Dockerfile nor an image")
    tests = folder / "tests"
    if not (tests / "test.sh").is_file():
        obstacles.append("it has no tests/test.sh")
    if _table(settings, "verifier").get("environment_mode") == "separate":
        obstacles.append("its verifier runs in an environment of its own")
    variables = _variables(environment, obstacles)
    verifier_variables = _variables(_table(settings, "verifier"), obstacles)
    version = settings.get("schema_version") or settings.get("version") or "1.0"
    return ImportedTask(
        name=str(_table(settings, "task").get("name") or folder.name),
        form=f"harbor {version}",
        instruction=_text(folder / "instruction.md"),
        folder=folder,
        dockerfile=dockerfile,
        image=str(environment.get("docker_image") or base_image(dockerfile)),
        packages=packages(dockerfile),
        network=_network(environment),
        services=tuple(services),
        gpus=int(environment.get("gpus") or 0),
        cpus=float(environment.get("cpus") or 1),
        memory_mb=int(environment.get("memory_mb") or _megabytes(environment.get("memory")) or 2048),
        storage_mb=int(environment.get("storage_mb") or _megabytes(environment.get("storage")) or 10240),
        size_bytes=_size(folder),
        agent_timeout=float(_table(settings, "agent").get("timeout_sec") or 900),
        verifier_timeout=float(_table(settings, "verifier").get("timeout_sec") or 600),
        tests=tests if tests.is_dir() else None,
        workdir=str(environment.get("workdir") or ""),
        variables=variables,
        verifier_variables=verifier_variables,
        obstacles=tuple(obstacles),
    )


def read_tasks_below(root: Path) -> Iterator[ImportedTask | NotATask]:
    """Every task of a folder, in order of names: the folder itself, or those below it; what is none, as an error."""
    from echo_terminal.tasks.endless_terminals import is_endless, read_endless, read_listing

    if not root.exists():
        yield NotATask(f"{root}: no such file or folder")
        return
    if root.is_file():
        yield from read_listing(root)
        return
    if (root / "task.toml").is_file():
        yield _read_or_error(root)
    elif is_endless(root):
        yield read_endless(root)
    else:
        if (root / "tasks.json").is_file():
            yield from read_listing(root / "tasks.json")
        for folder in sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")):
            if (folder / "task.toml").is_file():
                yield _read_or_error(folder)
            elif is_endless(folder):
                yield read_endless(folder)


def read_task(folder: Path) -> ImportedTask:
    """The task of one folder.

    Raises:
        NotATask: it holds none, or more than one.
    """
    found = list(read_tasks_below(folder))
    if len(found) != 1:
        raise NotATask(f"{folder} holds {len(found)} tasks: name the folder of one")
    if isinstance(found[0], NotATask):
        raise found[0]
    return found[0]


def _read_or_error(folder: Path) -> ImportedTask | NotATask:
    try:
        return read_harbor(folder)
    except NotATask as error:
        return error


def engine_for(task: ImportedTask) -> tuple[str | None, str]:
    """Which of our engines can run a task, and what stands in the way of the others (or of all)."""
    reasons = list(task.obstacles)
    if task.gpus:
        reasons.append(f"it needs {task.gpus} GPU{'s' if task.gpus > 1 else ''}")
    if task.services:
        reasons.append(f"it needs other containers beside its own: {', '.join(task.services)}")
    if reasons:
        return None, "; ".join(reasons)
    return "docker", f"virtual and bubblewrap have no image {task.image}"


def describe(task: ImportedTask) -> dict[str, Any]:
    """One row: what the task needs and what can run it."""
    engine, reason = engine_for(task)
    return {
        "name": task.name,
        "form": task.form,
        "engine": engine or "none",
        "reason": reason,
        "image": task.image,
        "packages": " ".join(task.packages),
        "network": task.network,
        "services": " ".join(task.services),
        "gpus": task.gpus,
        "memory_mb": task.memory_mb,
        "storage_mb": task.storage_mb,
        "size_bytes": task.size_bytes,
    }


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """(WORD, rest) of every instruction, continuation lines joined, comments and heredoc bodies left out."""
    found: list[tuple[str, str]] = []
    lines = iter(dockerfile.splitlines())
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text = line
        while text.rstrip().endswith("\\"):
            more = next(lines, None)
            if more is None:
                break
            text = text.rstrip()[:-1] + ("" if more.lstrip().startswith("#") else more)
            if more.lstrip().startswith("#"):
                text += "\\"
        for end in re.findall(r"<<-?\s*[\"']?(\w+)[\"']?", text):
            for body in lines:
                if body.strip() == end:
                    break
        match = _INSTRUCTION.match(text)
        if match:
            found.append((match["word"].upper(), match["rest"].strip()))
    return found


def base_image(dockerfile: str) -> str:
    """What the last stage is built from, through stages of the same file; variables keep their ``${NAME}`` form."""
    stages: dict[str, str] = {}
    image = ""
    for word, rest in instructions(dockerfile):
        if word == "FROM":
            words = [w for w in rest.split() if not w.startswith("--")]
            image = stages.get(words[0], words[0]) if words else ""
            if len(words) >= 3 and words[1].upper() == "AS":
                stages[words[2]] = image
    return image


def packages(dockerfile: str) -> tuple[str, ...]:
    """Names that its RUN lines install, of any package manager, sorted."""
    found: set[str] = set()
    for word, rest in instructions(dockerfile):
        if word == "RUN":
            for arguments in _INSTALL.findall(rest):
                found |= {w.strip("\"'") for w in arguments.split() if re.match(r"[\"']?[A-Za-z0-9]", w)}
    return tuple(sorted(found))


def _compose(compose: str, dockerfile: str) -> tuple[list[str], list[str]]:
    """Services besides the task's own, and what no engine of ours gives; a file that is task content is neither."""
    copied = any(w in ("COPY", "ADD") and "docker-compose" in rest for w, rest in instructions(dockerfile))
    if not compose or copied:
        return [], []
    try:
        content = yaml.safe_load(compose)
    except yaml.YAMLError:
        return [], ["its docker-compose.yaml is no YAML"]
    services = content.get("services") if isinstance(content, dict) else None
    names = list(services) if isinstance(services, dict) else []
    others = [str(n) for n in names if n not in ("main", "client")]
    return others, ["it needs privileges on its host"] if _PRIVILEGES.search(compose) else []


def _network(environment: dict[str, Any]) -> bool:
    if "network_mode" in environment:
        return bool(environment["network_mode"] != "no-network")
    return bool(environment.get("allow_internet", True))


def _table(settings: dict[str, Any], name: str) -> dict[str, Any]:
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def _variables(table: dict[str, Any], obstacles: list[str]) -> dict[str, str]:
    """The ``env`` of a table; a value that the host must supply (``${NAME}`` without a default) is an obstacle."""
    found = {}
    for name, value in _table(table, "env").items():
        match = re.fullmatch(r"\$\{(\w+)(?::-(.*))?\}", str(value), re.S)
        if match and match[2] is None:
            obstacles.append(f"it needs {match[1]} of the host's environment")
        found[str(name)] = str(value) if match is None else match[2] or ""
    return found


def _megabytes(text: object) -> int:
    """``2G``, ``512M`` (the first generation's form) in MiB; 0 for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([GM])i?B?\s*", str(text or ""), re.I)
    return int(float(match[1]) * (1024 if match[2].upper() == "G" else 1)) if match else 0


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _size(folder: Path) -> int:
    return sum(p.lstat().st_size for p in folder.rglob("*") if not p.is_dir())


def table(root: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of all tasks below a folder, and one line for each that could not be read."""
    rows, errors = [], []
    for task in read_tasks_below(root):
        if isinstance(task, NotATask):
            errors.append(str(task))
        else:
            rows.append(describe(task))
    return rows, errors


def as_json(rows: list[dict[str, Any]]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(row) + "\n" for row in rows)
