"""The solvability filter."""

from __future__ import annotations

from dataclasses import replace

from echo_terminal.agent.solver import first_passes, first_passes_parallel, solve
from echo_terminal.tasks.families import make_task
from echo_terminal.tasks.machine import make_machine
from echo_terminal.tasks.task import Check
from echo_terminal.terminal.terminal import open_terminal

MACHINE = make_machine(1)
TASKS = [make_task("site_three", seed, MACHINE, "train") for seed in range(12)]


def test_a_solver_without_misses_needs_a_turn_a_step_and_one_to_say_done():
    terminal, task = open_terminal("virtual"), TASKS[0]
    assert len(task.oracle) == 3
    assert solve(task, 0, terminal, turns=4, misses=0.0)
    assert not solve(task, 0, terminal, turns=3, misses=0.0)


def test_the_first_try_that_passes_is_counted_from_one():
    # with 4 turns any miss loses the try: it passes with probability 0.7 ** 3 = 0.34
    found = first_passes(TASKS, open_terminal("virtual"), {"train": 4})
    by_hand = [[solve(t, i, open_terminal("virtual"), 4) for i in range(16)] for t in TASKS]
    assert found == [passed.index(True) + 1 if True in passed else None for passed in by_hand]
    assert len(set(found)) > 2


def test_a_task_that_nobody_can_solve_is_none():
    broken = replace(TASKS[0], checks=(Check("text", "/home/user/never.txt", "x"),))
    assert first_passes([broken], open_terminal("virtual"), {"train": 5}, tries=3) == [None]


def test_processes_change_nothing():
    alone = first_passes(TASKS, open_terminal("virtual"), {"train": 5})
    assert list(first_passes_parallel(TASKS, {"train": 5})) == alone
