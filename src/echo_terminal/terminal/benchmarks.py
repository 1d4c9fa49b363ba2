"""Is the virtual engine real bash, and the same every time? Figures for ``make bench``.

Agreement is measured against recorded answers of the reference engine (``tests/data``), so it needs nothing but this
process; what a container costs is in ``benchmarks_real``, speed and endurance on tasks in ``tasks.benchmarks``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from echo_terminal.terminal.conformance import (
    Row,
    answers,
    built_in_fixture,
    by_family,
    compare,
    read_corpus,
    read_recorded,
    unlike_record,
)
from echo_terminal.terminal.sessions import compare_states, generate, states
from echo_terminal.terminal.terminal import open_terminal

CORPORA = (
    "bash_corpus",
    "bash_corpus_2",
    "bash_corpus_3",
    "bash_corpus_4",
    "bash_corpus_5a",
    "bash_corpus_5b",
    "bash_corpus_6a",
    "bash_corpus_6b",
)
# What oracles of tasks call; the other families are measured without a target of their own.
TASK_FAMILIES = frozenset(
    {"ls", "cat/head/tail", "grep", "find", "sed", "awk", "sort/uniq/cut/tr/wc", "shell language", "python -c",
     "python script", "hash/encode", "jq"}
)  # fmt: skip
EXTRA = (
    "echo $RANDOM",
    "date",
    "mktemp",
    "shuf ~/data/a.txt",
    "ls -l --full-time",
    "ls -lt",
    "touch n; stat n",
)
SESSIONS = 320  # as many as were recorded


def row(name: str, value: float, unit: str, target: str = "", holds: bool | None = None) -> dict[str, Any]:
    """One line of the benchmark table."""
    return {"name": name, "value": round(value, 4), "unit": unit, "target": target, "holds": holds}


def fidelity(data: Path, corpora: Sequence[str] = CORPORA) -> list[dict[str, Any]]:
    """Exact agreement with real bash: all commands, those that fail, the families that tasks use, each family."""
    known = read_recorded(data / "bash_answers.jsonl")
    listed = chain.from_iterable(read_corpus(data / f"{name}.jsonl") for name in corpora)
    cases = [case for case in listed if not unlike_record(case.command)]
    found = compare(
        cases, answers(open_terminal("virtual"), cases, built_in_fixture()), [known[c.command] for c in cases]
    )
    used = [r for r in found if r.family in TASK_FAMILIES]
    errors = [r for r in found if r.error]
    rows = [
        _share("commands exactly as in bash", found, 93),
        _share("commands that fail exactly as in bash", errors, 90),
        _share("commands of the families of tasks exactly as in bash", used, 97),
    ]
    for family, exact, total in by_family(found)[:-2]:
        share = 100 * exact / total
        target, holds = (">= 97", share >= 97) if family in TASK_FAMILIES else ("", None)
        rows.append(row(f"exactly as in bash: {family}", share, "%", target, holds))
    return rows


def _share(name: str, found: Sequence[Row], least: float) -> dict[str, Any]:
    share = 100 * sum(r.exact for r in found) / len(found)
    return row(name, share, f"% of {len(found)}", f">= {least}", share >= least)


def session_states(data: Path, seed: int = 11) -> list[dict[str, Any]]:
    """Directory, variables and files after every command of generated sessions, against the recorded ones."""
    lines = (data / "sessions_expected.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(line)["states"] for line in lines]
    sessions = generate(len(expected), seed)
    found = [
        [s[:16] for s in steps] for steps in states(open_terminal("virtual"), sessions, built_in_fixture())
    ]
    same = [r.same for r in compare_states(sessions, found, expected)]
    share = 100 * sum(same) / len(same)
    return [row(f"states of {len(sessions)} sessions as in bash", share, "%", ">= 97", share >= 97)]


def transcript_digests(commands: int, seed: int = 5) -> list[str]:
    """One hex digest a session: everything that the virtual engine answers to eight random commands, and its state."""
    terminal, fixture, digests = open_terminal("virtual"), built_in_fixture(), []
    for number, session in enumerate(generate(-(-commands // 8), seed)):
        seen = hashlib.sha256()
        terminal.reset(fixture.files, number)
        terminal.run(fixture.setup)
        for command in (*session, *(EXTRA[(number + n) % len(EXTRA)] for n in range(2))):
            o = terminal.run(command)
            seen.update(repr((o.stdout, o.stderr, o.exit_code, o.cwd, o.status)).encode())
        seen.update(terminal.fingerprint().encode())
        digests.append(seen.hexdigest())
    terminal.close()
    return digests


def determinism(commands: int = 10_000) -> list[dict[str, Any]]:
    """Sessions whose transcripts differ between two processes with other hash seeds."""
    code = f"from echo_terminal.terminal.benchmarks import transcript_digests as d; print(*d({commands}))"
    found = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        call = [sys.executable, "-c", code]
        done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
        found.append(done.stdout.split())
    different = sum(a != b for a, b in zip(*found, strict=True))
    name = f"sessions that differ in two processes ({commands} commands)"
    return [row(name, different, "sessions", "= 0", different == 0)]
