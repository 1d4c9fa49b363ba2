"""What else a machine has of its own: services and their settings, folders and names, projects to build and
test.
"""

from __future__ import annotations

from echo_terminal.tasks.families.draw import Draft, Draw, Template, absent, ledger, text, unchanged
from echo_terminal.tasks.lexicon import VERBS
from echo_terminal.tasks.machine import LEDGER, Machine
from echo_terminal.tasks.task import Step


def _start(machine: Machine, name: str) -> list[Step]:
    """Settings right, then started; a stranger starts it first and reads what it lacks."""
    key, value = machine.services[name]
    start = f"svc start {name}"
    return [Step(f"sed -i s/{key}=.*/{key}={value}/ etc/{name}.cfg", (start,)), Step(start)]


def service_start(draw: Draw) -> Draft:
    """Start a service: its settings must be right, and at level 2 another has to run before."""
    machine = draw.on("service")
    options = [n for n in machine.services if (n in machine.after) == (draw.level == 2)]
    name = draw.pick(options)
    chain = [machine.after[name], name] if draw.level == 2 else [name]
    note = draw.names(2)  # an unrelated file, so that no two tasks are the same
    steps = [step for n in chain for step in _start(machine, n)]
    if draw.level == 2:
        steps[0] = Step(steps[0].command, (f"svc start {name}", *steps[0].misses))
    commands = [s.command for s in steps]
    return Draft(
        instruction=draw.pick((f"start service {name}", f"get service {name} started"))
        + f" and write {note[0]} to {note[1]}.txt",
        files={},
        checks=[
            ledger([("svc", "start", f"etc/{n}.cfg", None) for n in chain]),
            text(f"{note[1]}.txt", note[0]),
        ],
        oracle=[*steps, Step(f"echo {note[0]} > {note[1]}.txt")],
        wrong=[
            commands,
            [f"svc start {name}", f"echo {note[0]} > {note[1]}.txt"],
            [*commands[:-1], f"echo {note[0]} > {note[1]}.txt"],
            [
                *commands[:-1],
                f"echo {note[0]} > {note[1]}.txt",
                f"echo 'svc start /home/user/etc/{name}.cfg 1 1' >> {LEDGER}",
            ],
        ],
        facts=[f"service:{n}" for n in chain] + ([f"after:{name}"] if draw.level == 2 else []),
        fact_words=[w for n in chain for w in machine.services[n]],
    )


def store_file(draw: Draw) -> Draft:
    """Move files to the folders where this machine keeps their kind; the README tells which."""
    machine = draw.on("folder")
    extensions = draw.extensions(draw.level)
    stems, words = draw.names(draw.level), draw.names(draw.level)
    names = [f"{s}.{e}" for s, e in zip(stems, extensions, strict=True)]
    moves = [f"mv {n} {machine.folders[e]}" for n, e in zip(names, extensions, strict=True)]
    other = next(f for e, f in machine.folders.items() if e not in extensions)
    verb = draw.pick(("move", "put"))
    return Draft(
        instruction=f"{verb} {' and '.join(names)} where files of that kind belong on this machine",
        files={n: f"{w}\n" for n, w in zip(names, words, strict=True)},
        checks=[
            check
            for n, e, w in zip(names, extensions, words, strict=True)
            for check in (text(f"{machine.folders[e]}/{n}", w), absent(n))
        ],
        oracle=[Step(m, ("cat README",) if i == 0 else ()) for i, m in enumerate(moves)],
        wrong=[
            [m.replace("mv", "cp") for m in moves],
            moves[:-1],
            [*moves[:-1], f"mv {names[-1]} {other}"],
        ],
        facts=[f"folder:{e}" for e in extensions],
        fact_words=[machine.folders[e] for e in extensions],
    )


def backup_file(draw: Draw) -> Draft:
    """Make a backup copy under the ending that this machine uses, then change the original."""
    machine = draw.on("folder")
    stem, old, new = draw.names(3)
    name = f"{stem}.{draw.extension()}"
    copy = f"{name}.{machine.backup}"
    return Draft(
        instruction=f"{draw.pick(('make', 'write'))} a backup copy of {name} by this machine's rule, beside it, "
        f"then replace {old} by {new} in {name}",
        files={name: f"{old}\n"},
        checks=[text(copy, old), text(name, new)],
        oracle=[Step(f"cp {name} {copy}", ("cat README",)), Step(f"sed -i s/{old}/{new}/ {name}")],
        wrong=[
            [f"sed -i s/{old}/{new}/ {name}", f"cp {name} {copy}"],
            [f"cp {name} {name}.bak", f"sed -i s/{old}/{new}/ {name}"],
            [f"cp {name} {copy}"],
        ],
        facts=["backup"],
        fact_words=[machine.backup],
    )


def _project(draw: Draw) -> tuple[Machine, str, str, str, str]:
    machine = draw.on("target")
    name = draw.pick(list(machine.targets))
    old, new = draw.names(2)
    return machine, name, f"{name}/main.txt", old, new


def build_project(draw: Draw) -> Draft:
    """Change a project's main file, then build it with its one right target."""
    machine, name, path, old, new = _project(draw)
    target = machine.targets[name]
    edit, build = f"sed -i s/{old}/{new}/ {path}", f"build {name} {target}"
    others = draw.rng.sample([v for v in VERBS if v != target], 3)
    return Draft(
        instruction=f"{draw.pick(('replace', 'swap'))} {old} by {new} in {path} then build project {name}",
        files={path: f"{old}\n"},
        checks=[text(path, new), ledger([("build", target, path, f"{new}\n")])],
        oracle=[Step(edit), Step(build, tuple(f"build {name} {v}" for v in others))],
        wrong=[[edit], [build, edit], [edit, f"build {name} {others[0]}"], [build]],
        facts=[f"target:{name}"],
        fact_words=[target],
    )


def check_project(draw: Draw) -> Draft:
    """Build a project and let its tests pass: both want their own word."""
    machine, name, path, old, _ = _project(draw)
    target, level = machine.targets[name], machine.levels[name]
    build, check = f"build {name} {target}", f"check {name} {level}"
    others = draw.rng.sample([v for v in VERBS if v != target], 3)
    return Draft(
        instruction=f"{draw.pick(('build project', 'build'))} {name} and run its check until it passes",
        files={path: f"{old}\n"},
        checks=[
            ledger([("build", target, path, f"{old}\n"), ("check", level, path, f"{old}\n")]),
            unchanged(path, f"{old}\n"),
        ],
        oracle=[
            Step(build, tuple(f"build {name} {v}" for v in others)),
            Step(check, (f"check {name}", f"check {name} {target}")),
        ],
        wrong=[
            [build],
            [check, build],
            [build, f"check {name} {target}x"],
            [build, f"echo x > {path}", check],
        ],
        facts=[f"target:{name}", f"level:{name}"],
        fact_words=[target, level],
    )


TEMPLATES = [
    Template("service_start", "system", service_start, "service", levels=(1, 2)),
    Template("store_file", "system", store_file, "folder", levels=(1, 2, 3)),
    Template("backup_file", "system", backup_file, "folder"),
    Template("build_project", "development", build_project, "target"),
    Template("check_project", "development", check_project, "target"),
]
