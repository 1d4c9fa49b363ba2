"""Suites of tasks: what is trained on, what is held out, and on which machine each is.

``train`` and ``val`` share templates, ``itd`` has templates of its own, ``itd_machine`` the templates of
train on machines never seen (reported apart), ``lite`` harder compositions, ``hard`` the longest, ``pyterm``
Python scripts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Set
from statistics import mean
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from echo_terminal.config import StrictModel
from echo_terminal.tasks.families import TEMPLATES, expand, make_task
from echo_terminal.tasks.machine import FACT_KINDS, RANDOM_MACHINES, Machine, make_machine
from echo_terminal.tasks.split import held_out_combination, seeds, tools_of
from echo_terminal.tasks.task import Task

Names = Annotated[tuple[str, ...], Field(strict=False)]  # a list in a settings file
Integers = Annotated[tuple[int, ...], Field(strict=False)]


class SuiteParams(StrictModel):
    """One suite: how many tasks, of which templates (or sets of them), on which machines, in how many turns.

    The done signal takes a turn. With ``machines`` "each" every task is on a machine of its own. ``levels`` are
    the levels of difficulty that may occur (all if None; a template that has none of them comes at its hardest).
    """

    size: int = Field(ge=0)
    templates: Names
    machines: Literal["train", "held_out", "each", "none"] = "train"
    turns: int = Field(default=16, ge=2)
    levels: Integers | None = None

    @field_validator("templates")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        expand(names)
        return names


class TaskParams(StrictModel):
    """All tasks of one build. ``seed`` shifts every suite to fresh seeds; machines are named by their seeds.

    The defaults are the paper's sizes over all domains; ``core_suites`` are those for a policy of a million
    parameters.
    """

    seed: int = Field(default=0, ge=0, lt=1000)
    tools: int = 24
    facts: Names = FACT_KINDS
    usage: Literal["informative", "silent"] = "informative"
    train_machines: Integers = (1, 2, 3, 4)
    held_out_machines: Integers = (1001, 1002)
    suites: dict[str, SuiteParams] = {
        "train": SuiteParams(size=8770, templates=("trained",)),
        "val": SuiteParams(size=100, templates=("trained",)),
        "itd": SuiteParams(size=71, templates=("held_out",)),
        "itd_machine": SuiteParams(size=71, templates=("trained",), machines="held_out"),
        "lite": SuiteParams(size=100, templates=("compose_two", "site_four", "site_find_three")),
        "hard": SuiteParams(size=89, templates=("compose_three", "compose_four", "site_long"), turns=48),
        "pyterm": SuiteParams(size=100, templates=("pyterm",), machines="none"),
    }

    def machine(self, seed: int) -> Machine:
        """The machine of a seed under these settings."""
        return make_machine(seed, self.tools, self.facts, self.usage)


SITE = ("site_two", "site_three", "site_find")


def core_suites(train: int = 8770, evaluation: int = 96) -> dict[str, SuiteParams]:
    """Short tasks on site tools: five turns, so that what a machine is like has to be remembered."""
    return {
        "train": SuiteParams(size=train, templates=SITE, turns=5),
        "val": SuiteParams(size=evaluation, templates=SITE, turns=5),
        "itd": SuiteParams(size=evaluation, templates=("site_each", "site_copy"), turns=5, levels=(1,)),
        "itd_machine": SuiteParams(size=evaluation, templates=SITE, machines="held_out", turns=5),
        "lite": SuiteParams(size=evaluation, templates=("site_four", "site_find_three"), turns=6),
        "hard": SuiteParams(size=evaluation, templates=("site_long",), turns=9),
    }


def all_templates(params: TaskParams) -> tuple[str, ...]:
    """Every template that occurs in a suite: what a base is pre-trained on, on machines that no suite has."""
    return expand(name for suite in params.suites.values() for name in suite.templates)


def build_suite(params: TaskParams, name: str, taken: Set[str] = frozenset()) -> list[Task]:
    """Generate a suite, without tasks whose canonical hash is in ``taken`` or comes twice.

    Raises:
        ValueError: no such suite; or its templates have too little variety for its size.
    """
    if name not in params.suites:
        raise ValueError(f"unknown suite {name!r}: choose from {', '.join(params.suites)}")
    suite = params.suites[name]
    templates = expand(suite.templates)
    if suite.size and not templates:
        raise ValueError(f"suite {name} has no templates")
    own = {"train": params.train_machines, "held_out": params.held_out_machines}.get(suite.machines, ())
    machines: list[Machine | None] = [params.machine(seed) for seed in own] or [None]
    tasks: list[Task] = []
    seen, stream, refused = set(taken), seeds(name, params.seed), 0
    while len(tasks) < suite.size:
        template = templates[len(tasks) % len(templates)]
        machine = machines[len(tasks) // len(templates) % len(machines)]
        seed = next(stream)
        if suite.machines == "each":
            machine = params.machine(RANDOM_MACHINES + seed)
        task = make_task(template, seed, machine, name, _level(template, seed, suite.levels))
        if task.canonical_hash in seen or not _belongs(task, suite):
            refused += 1
            if refused > 1000 + 100 * suite.size:
                raise ValueError(f"suite {name}: {template} cannot make {suite.size} different tasks")
            continue
        seen.add(task.canonical_hash)
        tasks.append(task)
    return tasks


def _level(template: str, seed: int, allowed: tuple[int, ...] | None) -> int | None:
    if allowed is None:
        return None
    levels = TEMPLATES[template].levels
    both = [level for level in levels if level in allowed]
    return both[seed % len(both)] if both else max(levels)


def _belongs(task: Task, suite: SuiteParams) -> bool:
    """On the training machines, sets of site tools are split between train and the rest."""
    if suite.machines != "train" or len(tools_of(task)) < 2:
        return True
    return held_out_combination(task) == (task.suite != "train")


def build_suites(params: TaskParams) -> list[Task]:
    """Every suite of ``params``, train last, so that it is train that gives way to a task drawn twice."""
    tasks: list[Task] = []
    taken: set[str] = set()
    for name in sorted(params.suites, key=lambda n: n == "train"):
        drawn = build_suite(params, name, taken)
        taken |= {t.canonical_hash for t in drawn}
        tasks += drawn
    return tasks


def solvable(task: Task, solver: Callable[[Task, int], bool], tries: int = 16) -> bool:
    """Whether ``solver(task, attempt)`` passes at least one of ``tries`` attempts, as the paper's filter asks."""
    return any(solver(task, attempt) for attempt in range(tries))


def describe_suites(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """One row a suite and domain: counts, and means of instruction words, oracle commands, facts and difficulty."""
    groups: dict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in tasks:
        groups[task.suite, task.domain].append(task)
    return [
        {
            "suite": suite,
            "domain": domain,
            "tasks": len(members),
            "templates": len({t.template for t in members}),
            "machines": len({t.machine for t in members if t.machine is not None}),
            "instruction_words": mean(len(t.instruction.split()) for t in members),
            "oracle_commands": mean(len(t.oracle) for t in members),
            "longest_oracle": max(len(t.oracle) for t in members),
            "facts": mean(len(set(t.facts)) for t in members),
            "difficulty": mean(t.difficulty for t in members),
        }
        for (suite, domain), members in groups.items()
    ]
