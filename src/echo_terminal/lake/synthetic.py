"""A lake of made-up attempts and turns of any size, in the shape of real ones: for benchmarks and
conformance tests.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

STARTS, OBJECTIVES, SUITES = ("base_small", "sft"), ("grpo", "echo"), ("val", "itd", "lite")
SEEDS, TASKS, TRIES, MAX_TURNS = 3, 90, 8, 15
COMMANDS = (
    "ls -la", "cat data/in_{}.csv", "head -n {} log.txt", "grep -c err log_{}.txt", "cd src && ls", "pwd",
    "echo {} > out.txt", "sed -i s/a/{}/ conf.cfg", "mkdir -p out_{}", "cp a.txt b_{}.txt", "python3 run.py {}",
    "./build.sh", "frob knit file_{}", "frob --help", "make test", "sh run_tests.sh", "wc -l < in_{}.csv",
    "awk '$1 > {}' in.csv", "LC_ALL=C sort -u x_{}", "find . -name '*.py' 2>/dev/null",
)  # fmt: skip
RUNS = len(STARTS) * len(OBJECTIVES) * SEEDS


def _pick(values: tuple[str, ...], index: NDArray[np.int64]) -> NDArray[np.str_]:
    return np.asarray(values)[index]


def _run_columns(attempt: NDArray[np.int64]) -> dict[str, NDArray[np.generic]]:
    """Key columns of attempts numbered through: tries of a task, tasks of a step, runs, steps.

    Steps turn slowest, as in a training that writes while it goes on.
    """
    rest, attempts = np.divmod(attempt, TRIES)
    rest, task = np.divmod(rest, TASKS)
    step, run = np.divmod(rest, RUNS)
    cell, seed = np.divmod(run, SEEDS)
    start, objective = np.divmod(cell, len(OBJECTIVES))
    suite = task % len(SUITES)
    names = np.asarray([f"{SUITES[t % len(SUITES)]}/template_{t % 9}/{t}" for t in range(TASKS)])
    return {
        "run_id": np.asarray([f"run{r:02d}" for r in range(RUNS)])[run],
        "start": _pick(STARTS, start),
        "objective": _pick(OBJECTIVES, objective),
        "seed": seed.astype(np.int32),
        "phase": np.full(len(attempt), "eval"),
        "step": (10 * step).astype(np.int32),
        "suite": _pick(SUITES, suite),
        "task_id": names[task],
        "attempt": attempts.astype(np.int32),
    }


def generate(turns: int, seed: int = 0) -> tuple[pa.Table, pa.Table]:
    """``attempts`` and ``turns`` tables with exactly ``turns`` turns (the last attempt may be cut short)."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, MAX_TURNS + 1, size=turns)  # more than enough attempts
    ends = np.cumsum(lengths)
    count = int(np.searchsorted(ends, turns)) + 1
    lengths = lengths[:count]
    lengths[-1] -= ends[count - 1] - turns
    attempt = np.repeat(np.arange(count), lengths)
    turn = np.arange(turns) - np.repeat(np.cumsum(lengths) - lengths, lengths)

    done = rng.random(count) < 0.7
    last = turn == np.repeat(lengths, lengths) - 1
    stop = last & done[attempt]
    malformed = ~stop & (rng.random(turns) < 0.05)
    ran = ~stop & ~malformed
    texts = np.asarray([c.format(n) for c in COMMANDS for n in range(6)])
    command = texts[rng.integers(len(texts), size=turns)]
    code = np.where(rng.random(turns) < 0.25, rng.choice([1, 2, 124, 127], size=turns), 0)
    shown = rng.integers(0, 400, size=turns) * ran
    calls = np.where(stop, "done", np.where(malformed, "no_call", "ok"))
    status = np.where(code == 124, "timeout", "ok")
    action = rng.integers(8, 60, size=turns)

    turn_table = {
        **_run_columns(attempt),
        "turn": turn.astype(np.int32),
        "call": calls,
        "command": pa.array(command, mask=~ran),
        "exit_code": pa.array(code.astype(np.int32), mask=~ran),
        "status": pa.array(status, mask=~ran),
        "action_tokens": action.astype(np.int32),
        "output_tokens": (shown // 4).astype(np.int32),
        "output_chars": shown,
        "omitted_chars": np.zeros(turns, np.int64),
        "new_chars": (shown * rng.random(turns)).astype(np.int64),
        "shown_chars": shown,
        "changed_state": pa.array(rng.random(turns) < 0.3, mask=~ran),
        "seconds": rng.random(turns),
    }

    def per_attempt(values: NDArray[np.generic]) -> NDArray[np.int32]:
        return np.bincount(attempt, weights=values.astype(float), minlength=count).astype(np.int32)

    finish = np.where(done, "done", np.where(rng.random(count) < 0.02, "lost", "turns"))
    passed = (done & (rng.random(count) < 0.5)).astype(float)
    attempt_table = {
        **_run_columns(np.arange(count)),
        "reward": pa.array(passed, mask=finish == "lost"),
        "finish": finish,
        "done": done,
        "turns": lengths.astype(np.int32),
        "action_tokens": per_attempt(action),
        "output_tokens": per_attempt(shown // 4),
        "timeouts": per_attempt(ran & (code == 124)),
        "malformed": per_attempt(malformed),
    }
    return pa.table(attempt_table), pa.table(turn_table)
