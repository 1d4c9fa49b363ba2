"""Scripted agents: what they type, and how often it works."""

import random

from echo_terminal.agent.scripted import DONE, corrupt, expert, novice
from echo_terminal.tasks.families import make_task
from echo_terminal.tasks.lexicon import NAMES
from echo_terminal.tasks.machine import make_machine


def test_the_expert_types_the_oracle_and_now_and_then_a_miss():
    task = make_task("site_three", 1, make_machine(1))
    right = [s.command for s in task.oracle]
    assert expert(task, random.Random(0), 0.0) == [*right, DONE]
    always = expert(task, random.Random(0), 1.0)
    assert len(always) == 7 and always[1::2] == right and always[-1] == DONE
    assert all(m in s.misses for m, s in zip(always[0:-1:2], task.oracle, strict=True))


def test_the_novice_reads_with_probability_q_and_errs_with_probability_noise():
    tasks = [make_task("site_two", s, "random") for s in range(400)]
    asked = solved = corrupted = 0
    for i, task in enumerate(tasks):
        right = [s.command for s in task.oracle]
        typed = novice(task, random.Random(i), noise=0.0, q=0.5)
        assert typed[-1] == DONE and len(typed) <= 9
        asked += len(right)
        solved += sum(c in typed for c in right)
        known = set(right) | {m for s in task.oracle for m in s.misses}
        assert set(typed[:-1]) <= known
        noisy = novice(task, random.Random(i), noise=0.2, q=1.0)
        corrupted += sum(c not in known for c in noisy[:-1]) / (len(noisy) - 1) / len(tasks)
    # 1/17 by chance, else half of the rest: 1/17 + 16/17/2 = .529; 800 steps: standard deviation .018
    assert abs(solved / asked - 0.529) < 0.06
    assert 0.12 < corrupted < 0.21  # a corruption of a guess may be another guess


def test_corruption_changes_one_word_for_another_of_its_kind():
    rng = random.Random(0)
    one, two = NAMES[5], NAMES[50]
    for command in (f"{one} pack {two}.txt", f"ls {two}", f"echo {one} > {two}.txt", "pwd"):
        for _ in range(20):
            other = corrupt(command, rng)
            assert other != command
            if command != "pwd":
                assert len(other) >= len(command) - 2 and len(other.split()) == len(command.split())
    assert corrupt("pwd", rng) == "ls"


def test_agents_are_functions_of_their_seed():
    task = make_task("site_find", 1, make_machine(1))
    assert novice(task, random.Random(5)) == novice(task, random.Random(5))
    assert len({tuple(novice(task, random.Random(i))) for i in range(20)}) > 5
