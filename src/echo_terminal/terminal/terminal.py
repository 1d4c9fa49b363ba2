"""The terminal protocol: what an episode may do to an environment, the same on every engine.

An engine runs commands one after another in one shell session: the working directory, variables and functions
persist, standard input is at end-of-file, output comes back in the normal form of ``normalise.normal_form``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

HOME = "/home/user"
USER = "user"
HOSTNAME = "sim"
PATH = "/usr/local/bin:/usr/bin:/bin"
CLOCK = 1_717_200_000  # 2024-06-01 00:00:00 UTC, the time at which every episode starts

# The variables of a fresh episode, the same on every engine. TIME_STYLE: listings that do not depend on today.
ENVIRONMENT = {
    "HOME": HOME,
    "LOGNAME": USER,
    "PATH": PATH,
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "TIME_STYLE": "long-iso",
    "TZ": "UTC",
    "USER": USER,
}

TIMEOUT_EXIT = 124
KILLED_EXIT = 137


class Status(StrEnum):
    """How a command ended."""

    OK = "ok"  # it ran to its end, whatever its exit code
    TIMEOUT = "timeout"  # the time limit fired: exit code 124, partial output kept
    KILLED = "killed"  # a resource limit or a signal ended it: exit code 137
    LOST = "lost"  # the engine failed (not the command): the episode is void, never graded


@dataclass(frozen=True)
class File:
    """One file at reset. ``link`` makes it a symbolic link; ``mtime`` is in seconds since the epoch."""

    content: bytes = b""
    mode: int = 0o644
    mtime: int = CLOCK
    link: str | None = None


@dataclass(frozen=True)
class Observation:
    """What one command did. ``seconds`` is wall time and takes no part in comparison."""

    stdout: str
    stderr: str
    exit_code: int
    cwd: str
    status: Status = Status.OK
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Entry:
    """One path in a listing: kind is ``file``, ``directory`` or ``link``; size in bytes (0 for others)."""

    kind: str
    mode: int
    size: int
    target: str | None = None


@runtime_checkable
class Terminal(Protocol):
    """One environment. Not thread-safe; one object serves many episodes through ``reset``."""

    name: str

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        """Start a fresh episode holding ``files`` (absolute path -> file; parent directories are made)."""

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        """Run one command; returns within ``timeout`` + 1 seconds, whatever the command does."""

    def read(self, path: str) -> bytes | None:
        """Content of a regular file, following no shell code of the agent; None where there is none."""

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """Every path below ``root`` (not ``root`` itself), sorted, symbolic links not followed."""

    def fingerprint(self) -> str:
        """Hex digest of working directory, variables set by the agent, and the tree below HOME."""

    def close(self) -> None:
        """Free everything; idempotent."""


class EngineUnavailable(RuntimeError):
    """This machine cannot run the engine; the message says how to allow it, in one line."""


def open_terminal(engine: str = "virtual", **options: object) -> Terminal:
    """Open an engine by name.

    Raises:
        ValueError: no such engine.
        EngineUnavailable: the machine cannot run it.
    """
    if engine == "virtual":
        from echo_terminal.terminal.virtual import VirtualTerminal

        return VirtualTerminal(**options)  # type: ignore[arg-type]
    if engine == "bubblewrap":
        from echo_terminal.terminal.bubblewrap import BubblewrapTerminal

        return BubblewrapTerminal(**options)  # type: ignore[arg-type]
    if engine == "docker":
        from echo_terminal.terminal.docker import DockerTerminal

        return DockerTerminal(**options)  # type: ignore[arg-type]
    raise ValueError(f"unknown terminal engine {engine!r}: choose virtual, bubblewrap or docker")
