"""Figures of the virtual engine: speed, repeatability, endurance. Each function returns rows for ``make bench``.

Where a target is "per core", time is the CPU time of this process with all its threads, so that other work on the
machine does not count; comparisons of engines are wall time in the same run.
"""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from echo_terminal.terminal.conformance import built_in_fixture
from echo_terminal.terminal.sessions import generate
from echo_terminal.terminal.terminal import HOME, EngineUnavailable, File, Terminal, open_terminal

Row = dict[str, object]

TOOL = b"""#!/bin/bash
case "$1" in
  status) echo "service $2: running"; exit 0 ;;
  set) [ -n "$3" ] || { echo "usage: svc set NAME VALUE" >&2; exit 2; }; echo "$2=$3" >> ~/svc.conf ;;
  *) echo "usage: svc status|set" >&2; exit 2 ;;
esac
"""
MIX = (
    "ls", "cat notes/f1.txt", "echo hello > out.txt", "sed -i 's/1/one/' notes/f2.txt", "ls -l notes",
    "mv out.txt moved.txt", "grep -c line notes/f3.txt", "svc status web", "svc set port 8080", "svc set port",
    "cat svc.conf", "cp moved.txt out.txt", "wc -l notes/f4.txt", "cd notes; pwd; cd ..", "cat nosuch.txt",
    "sort notes/f5.txt | head -n 2", "cut -d' ' -f2 notes/f6.txt", "rm moved.txt",
)  # fmt: skip
EPISODE = (
    "ls",
    "cat notes/f1.txt",
    "sed 's/1/one/' notes/f2.txt > out.txt",
    "mv out.txt moved.txt",
    "svc status web",
)


def files() -> dict[str, File]:
    """Thirty files and a site tool."""
    notes = {f"{HOME}/notes/f{n}.txt": File(b"line 1\nline 2\nline 3\n") for n in range(30)}
    return {**notes, "/usr/local/bin/svc": File(TOOL, 0o755)}


def _row(name: str, value: float, unit: str, target: str = "", holds: bool | None = None) -> Row:
    return {"name": name, "value": value, "unit": unit, "target": target, "holds": holds}


def _cpu(action: Callable[[], object], times: int) -> float:
    """Seconds of CPU of one call."""
    start = time.process_time()
    for _ in range(times):
        action()
    return (time.process_time() - start) / times


def speed(rounds: int = 60) -> list[Row]:
    """Commands of the tasks' mix per second of CPU, and the cost of an episode's start with thirty files."""
    terminal, content = open_terminal("virtual"), files()

    def mix() -> None:
        for command in MIX:
            terminal.run(command)

    def start() -> None:
        terminal.reset(content, 0)

    start()
    mix()
    rate = len(MIX) / _cpu(mix, rounds)
    cost = 1000 * _cpu(start, 200)
    return [
        _row("steps per second of a core", rate, "1/s", ">= 2500", rate >= 2500),
        _row("start of an episode with 30 files", cost, "ms", "<= 2", cost <= 2),
    ]


def _episodes(terminal: Terminal, count: int) -> float:
    """Seconds of wall time of an episode of five commands, start included."""
    content, start = files(), time.perf_counter()
    for seed in range(count):
        terminal.reset(content, seed)
        for command in EPISODE:
            terminal.run(command)
    terminal.close()
    return (time.perf_counter() - start) / count


def against_bubblewrap(count: int = 20) -> list[Row]:
    """Five-command episodes, start and close included: how many times faster than a persistent shell in bubblewrap.

    Raises:
        EngineUnavailable: bubblewrap cannot run here.
    """
    real = open_terminal("bubblewrap")
    slow = _episodes(real, count)
    fast = _episodes(open_terminal("virtual"), 10 * count)
    ratio = slow / fast
    return [
        _row("episode of five commands, virtual", 1000 * fast, "ms"),
        _row("episode of five commands, bubblewrap", 1000 * slow, "ms"),
        _row("virtual against bubblewrap", ratio, "times", ">= 30", ratio >= 30),
    ]


def transcript_digest(commands: int = 10_000, seed: int = 5) -> str:
    """Hex digest of everything that the virtual engine answers to random commands."""
    terminal, fixture, found = open_terminal("virtual"), built_in_fixture(), hashlib.sha256()
    extra = (
        "echo $RANDOM",
        "date",
        "mktemp",
        "shuf ~/data/a.txt",
        "ls -l --full-time",
        "ls -lt",
        "touch n; stat n",
    )
    for number, session in enumerate(generate(-(-commands // 8), seed)):
        terminal.reset(fixture.files, number)
        terminal.run(fixture.setup)
        for command in (*session, *(extra[(number + n) % len(extra)] for n in range(2))):
            seen = terminal.run(command)
            found.update(repr((seen.stdout, seen.stderr, seen.exit_code, seen.cwd, seen.status)).encode())
        found.update(terminal.fingerprint().encode())
    return found.hexdigest()


def repeatability(commands: int = 10_000) -> list[Row]:
    """Do two processes give the same transcripts of the same random commands?"""
    code = f"from echo_terminal.terminal.benchmarks import transcript_digest as d; print(d({commands}))"
    digests = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        digests.append(done.stdout.strip())
    same = digests[0] == digests[1]
    return [_row(f"same transcripts of {commands} random commands in two processes", same, "", "yes", same)]


def _resident_mb() -> float:
    words = Path("/proc/self/statm").read_text().split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _children() -> int:
    return sum(len((task / "children").read_text().split()) for task in Path("/proc/self/task").iterdir())


def endurance(episodes: int = 20_000) -> list[Row]:
    """Growth of memory from the tenth part of the episodes to their end, and processes left over."""
    terminal, content = open_terminal("virtual"), files()
    before, early = _children(), 0.0
    for seed in range(episodes):
        terminal.reset(content, seed)
        terminal.run(MIX[seed % len(MIX)])
        terminal.run("x=1; sort notes/f1.txt > sorted.txt")
        if seed == episodes // 10:
            gc.collect()
            early = _resident_mb()
    terminal.close()
    gc.collect()
    growth, left = _resident_mb() - early, _children() - before
    return [
        _row(f"growth of memory over {episodes} episodes", growth, "MiB", "<= 20", growth <= 20),
        _row("processes left over", left, "", "0", left == 0),
    ]


__all__ = [
    "EngineUnavailable",
    "against_bubblewrap",
    "endurance",
    "repeatability",
    "speed",
    "transcript_digest",
]
