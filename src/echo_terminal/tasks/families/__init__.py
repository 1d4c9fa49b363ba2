"""Templates by name, and the one function that makes a task of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from echo_terminal.tasks.families import (
    compose,
    core,
    data,
    development,
    documents,
    python,
    services,
    site,
    system,
)
from echo_terminal.tasks.families.draw import Draw, Template, absolute
from echo_terminal.tasks.machine import RANDOM_MACHINES, Machine, make_machine
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import File

_MODULES = (core, site, services, data, documents, system, development, python, compose)
TEMPLATES: dict[str, Template] = {t.name: t for module in _MODULES for t in module.TEMPLATES}

_HELD_OUT = """site_each backup_file check_project group_count top_row json_update make_executable link_file
    flatten_folder todo_report fix_path""".split()
_HARD = ("site_four", "site_find_three", "site_long")

# Names that a suite may give instead of listing templates.
TEMPLATE_SETS: dict[str, tuple[str, ...]] = {
    "core": tuple(t.name for t in core.TEMPLATES),
    "held_out": tuple(_HELD_OUT),
    "pyterm": tuple(t.name for t in python.TEMPLATES),
    "trained": tuple(
        n
        for n, t in TEMPLATES.items()
        if n not in (*_HELD_OUT, *_HARD) and t.domain not in ("pyterm", "composed")
    ),
}


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Template names, those of sets spelt out, each once.

    Raises:
        ValueError: neither a template nor a set.
    """
    found: dict[str, None] = {}
    for name in names:
        if name not in TEMPLATES and name not in TEMPLATE_SETS:
            raise ValueError(
                f"unknown template {name!r}: choose from the sets {', '.join(TEMPLATE_SETS)} "
                f"or the templates {', '.join(TEMPLATES)}"
            )
        found |= dict.fromkeys(TEMPLATE_SETS.get(name, (name,)))
    return tuple(found)


def make_task(
    template: str,
    seed: int,
    machine: Machine | Literal["random"] | None = None,
    suite: str = "",
    level: int | None = None,
) -> Task:
    """Generate one task; the same arguments give the same task.

    ``machine="random"`` makes a machine that only this task has. ``level`` is drawn from the template's
    levels if it is not given.

    Raises:
        ValueError: no such template or level, or a template that needs a machine and has none.
    """
    if template not in TEMPLATES:
        raise ValueError(f"unknown template {template!r}: choose from {', '.join(TEMPLATES)}")
    spec = TEMPLATES[template]
    if machine == "random":
        machine = make_machine(RANDOM_MACHINES + seed)
    if level is not None and level not in spec.levels:
        raise ValueError(f"template {template} has levels {spec.levels}, not {level}")
    draw = Draw(f"{template} {seed}", machine, spec.levels if level is None else (level,))
    draft = spec.build(draw)
    files = {
        absolute(p): File(c.encode(), 0o755 if c.startswith("#!") else 0o644) for p, c in draft.files.items()
    }
    return Task(
        template=template,
        seed=seed,
        domain=spec.domain,
        instruction=draft.instruction,
        files=(machine.files | files) if machine else files,
        checks=tuple(draft.checks),
        oracle=tuple(draft.oracle),
        wrong=tuple(tuple(w) for w in draft.wrong),
        suite=suite,
        difficulty=draw.level,
        machine=machine.seed if machine else None,
        facts=tuple(draft.facts),
        tokens_of_facts=tuple(draft.fact_words),
    )
