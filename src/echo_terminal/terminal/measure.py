"""Measurements on terminals: what one answers where it can, whether it repeats itself, how fast it is."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from echo_terminal.terminal.conformance import Case, Fixture, answers, built_in_fixture, unlike_record
from echo_terminal.terminal.sessions import generate
from echo_terminal.terminal.terminal import EngineUnavailable, File, Observation, Terminal, open_terminal

Episode = tuple[Mapping[str, File], Sequence[str]]  # files at reset, commands


def answers_where_possible(
    terminal: Terminal, cases: Iterable[Case], fixture: Fixture
) -> Iterator[tuple[Observation | None, str]]:
    """``conformance.answers``, but a command that this machine cannot run as it was recorded gives None and why."""
    for case in cases:
        if reason := unlike_record(case.command):
            yield None, reason
            continue
        try:
            yield next(answers(terminal, [case], fixture)), ""
        except EngineUnavailable as reason:
            yield None, str(reason)


def session_digest(count: int, seed: int, options: Mapping[str, Any] | None = None) -> str:
    """SHA-256 over everything that ``count`` generated sessions show on the virtual engine: outputs, exit codes and
    the state after each command."""
    terminal, fixture, seen = (
        open_terminal("virtual", **dict(options or {})),
        built_in_fixture(),
        hashlib.sha256(),
    )
    for number, commands in enumerate(generate(count, seed)):
        terminal.reset(fixture.files, number)
        for command in [fixture.setup, *commands]:
            o = terminal.run(command)
            shown = [o.stdout, o.stderr, o.exit_code, o.cwd, str(o.status), terminal.fingerprint()]
            seen.update(json.dumps(shown).encode())
    terminal.close()
    return seen.hexdigest()


def speed(terminal: Terminal, episodes: Sequence[Episode]) -> dict[str, float]:
    """Play whole episodes, the first one uncounted; returns ``episodes``, ``commands``, and wall seconds by part:
    ``reset_seconds`` (all resets), ``run_seconds`` (all commands)."""
    reset = ran = 0.0
    commands = 0
    for number, (files, lines) in enumerate(episodes):
        started = time.perf_counter()
        terminal.reset(files, number)
        ready = time.perf_counter()
        for line in lines:
            terminal.run(line)
        if number:
            reset, ran = reset + ready - started, ran + time.perf_counter() - ready
            commands += len(lines)
    return {
        "episodes": len(episodes) - 1,
        "commands": commands,
        "reset_seconds": reset,
        "run_seconds": ran,
    }
