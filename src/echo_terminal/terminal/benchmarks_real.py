"""What a container costs: creation, ``docker exec`` a command (what other harnesses do), against the virtual engine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

from echo_terminal.terminal.docker import IMAGE, check_available, connect
from echo_terminal.terminal.terminal import File, open_terminal

FILES = {"/home/user/data.txt": File(b"b 2\na 1\nc 3\n"), "/home/user/notes/todo.md": File(b"# todo\n")}
COMMANDS = (
    "ls",
    "cat data.txt",
    "sort data.txt > sorted.txt",
    "awk '{s += $2} END {print s}' data.txt",
    "wc -l *.txt",
)


def container_episodes(count: int = 5, image: str = IMAGE) -> list[dict[str, Any]]:
    """Whole five-command episodes in a container by ``docker exec``, and the same on the virtual engine, in turns.

    Raises:
        EngineUnavailable: no daemon, or no image.
    """
    check_available(image)
    client, virtual = connect(), open_terminal("virtual")
    virtual.reset(FILES, 0)
    creations, commands, ratios = [], [], []
    for number in range(count):
        started = time.perf_counter()
        container = client.containers.run(
            image,
            ["sleep", "infinity"],
            detach=True,
            network_mode="none",
            labels={"echo-terminal": "benchmark"},
        )
        created = time.perf_counter()
        try:
            for path, file in FILES.items():
                container.exec_run(
                    ["bash", "-c", f"mkdir -p $(dirname {path}); printf %b '{_escaped(file)}' > {path}"]
                )
            ready = time.perf_counter()
            for command in COMMANDS:
                container.exec_run(["bash", "-c", command], workdir="/home/user")
            ran = time.perf_counter()
        finally:
            removing = time.perf_counter()
            container.remove(force=True)
        ended = time.perf_counter()
        creations.append(created - started + ended - removing)
        commands.append((ran - ready) / len(COMMANDS))
        ratios.append((ended - started) / _virtual_seconds(virtual, FILES, number))
    client.close()
    virtual.close()
    ratio = statistics.median(ratios)
    return [
        _row("container_create_and_remove", statistics.median(creations), "s"),
        _row("docker_exec_command", 1e3 * statistics.median(commands), "ms"),
        _row("episode_docker_exec_over_virtual", ratio, "ratio", ">= 150", ratio >= 150),
    ]


def _virtual_seconds(virtual: Any, files: Mapping[str, File], seed: int) -> float:
    started = time.perf_counter()
    virtual.reset(files, seed)
    for command in COMMANDS:
        virtual.run(command)
    return time.perf_counter() - started


def _escaped(file: File) -> str:
    return file.content.decode().replace("\n", "\\n")


def _row(name: str, value: float, unit: str, target: str = "", holds: bool | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "target": target, "holds": holds}
