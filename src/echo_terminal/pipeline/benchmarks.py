"""Which benchmarks there are: the functions of the modules under the names that ``make bench`` knows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from echo_terminal.pipeline.bench import CannotRun, Row, benchmark


@benchmark("learner/term")
def _term() -> list[Row]:
    from echo_terminal.training.benchmarks import cost_of_the_term

    return cost_of_the_term()


@benchmark("learner/rollouts")
def _rollouts() -> list[Row]:
    from echo_terminal.training.benchmarks import rollouts_against_generate

    return rollouts_against_generate()


@benchmark("learner/trl")
def _trl() -> list[Row]:
    from echo_terminal.pipeline.bench import CannotRun
    from echo_terminal.training.bench_trl import TrlAbsent, update_against_trl

    try:
        return update_against_trl()
    except TrlAbsent as reason:
        raise CannotRun(str(reason)) from reason


@benchmark("learner/scaling")
def _scaling() -> list[Row]:
    from echo_terminal.analysis.scaling import scaling_figure
    from echo_terminal.training.bench_scaling import scaling

    rows = scaling()
    scaling_figure(rows, Path("results/bench_scaling.svg"))
    return rows


@benchmark("lake/million-turns")
def _million_turns() -> list[Row]:
    from echo_terminal.analysis.behaviour import report
    from echo_terminal.lake.benchmarks import million_turns

    with tempfile.TemporaryDirectory() as folder:
        return million_turns(Path(folder), report)


@benchmark("lake/two-writers")
def _two_writers() -> list[Row]:
    from echo_terminal.lake.benchmarks import two_writers

    with tempfile.TemporaryDirectory() as folder:
        return two_writers(Path(folder))


@benchmark("lake/kills")
def _kills() -> list[Row]:
    from echo_terminal.lake.benchmarks import random_kills

    with tempfile.TemporaryDirectory() as folder:
        return random_kills(Path(folder))


@benchmark("world/fidelity")
def _fidelity() -> list[Row]:
    from echo_terminal.terminal.benchmarks import fidelity

    return fidelity(Path("tests/data"))


@benchmark("world/states")
def _states() -> list[Row]:
    from echo_terminal.terminal.benchmarks import session_states

    return session_states(Path("tests/data"))


@benchmark("world/determinism")
def _determinism() -> list[Row]:
    from echo_terminal.terminal.benchmarks import determinism

    return determinism()


@benchmark("world/speed")
def _speed() -> list[Row]:
    from echo_terminal.tasks.benchmarks import speed

    return speed()


@benchmark("world/bubblewrap")
def _bubblewrap() -> list[Row]:
    from echo_terminal.tasks.benchmarks import against_bubblewrap

    return _where_possible(against_bubblewrap)


@benchmark("world/containers")
def _containers() -> list[Row]:
    from echo_terminal.terminal.benchmarks_real import container_episodes

    return _where_possible(container_episodes)


@benchmark("world/endurance")
def _endurance() -> list[Row]:
    from echo_terminal.tasks.benchmarks import endurance

    return endurance()


@benchmark("world/task-table")
def _task_table() -> list[Row]:
    from echo_terminal.tasks.benchmarks import task_table

    return task_table()


@benchmark("world/fresh-tasks")
def _fresh_tasks() -> list[Row]:
    from echo_terminal.tasks.benchmarks import fresh_gate

    return fresh_gate()


@benchmark("world/engines-agree")
def _engines_agree() -> list[Row]:
    from echo_terminal.tasks.benchmarks_docker import engines

    return engines()


def _where_possible(measure: Callable[[], list[Row]]) -> list[Row]:
    """Rows, or the reason why this machine has none.

    Raises:
        CannotRun: it lacks the engine.
    """
    from echo_terminal.terminal.terminal import EngineUnavailable

    try:
        return measure()
    except EngineUnavailable as reason:
        raise CannotRun(str(reason)) from reason


@benchmark("harness/fuzz")
def _fuzz() -> list[Row]:
    from echo_terminal.agent.fuzz import fuzz_parser
    from echo_terminal.terminal.benchmarks import row

    result = fuzz_parser(1_000_000, seed=0)
    return [
        row("fuzzed_turns_without_an_exception", result.inputs, "turns", ">= 1e6", result.inputs >= 10**6)
    ]
