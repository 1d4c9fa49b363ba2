"""Development and tooling: versions, names, reports, scripts that have to be written or repaired."""

from __future__ import annotations

from echo_terminal.tasks.families.draw import Draft, Draw, Template, absolute, runs, text, unchanged
from echo_terminal.tasks.task import Check, Step


def bump_version(draw: Draw) -> Draft:
    """Set one version in every settings file of a folder."""
    folder, *stems = draw.names(2 + draw.level)
    new = f"{draw.rng.randrange(3, 9)}.{draw.rng.randrange(10)}"
    files = {f"{folder}/{s}.cfg": f"name={s}\nversion=1.{i}\n" for i, s in enumerate(stems)}
    paths = list(files)
    return Draft(
        instruction=f"set version to {new} in {draw.pick(('every', 'each'))} cfg file of {folder}, nothing else",
        files=files,
        checks=[text(p, c.split("version")[0] + f"version={new}\n") for p, c in files.items()],
        oracle=[Step(f"sed -i s/version=.*/version={new}/ {folder}/*.cfg")],
        wrong=[
            [f"sed -i s/version=.*/version={new}/ {paths[0]}"],
            [f"for f in {folder}/*; do echo version={new} > $f; done"],
            [f"for f in {folder}/*; do echo version={new} >> $f; done"],
        ],
    )


def rename_function(draw: Draw) -> Draft:
    """Rename a function in the scripts of a folder, and leave the notes alone."""
    folder, one, two, notes, old, new = draw.names(6)
    files = {
        f"{folder}/{one}.sh": f"{old}() {{ echo {one}; }}\n{old}\n",
        f"{folder}/{two}.sh": f". ./{one}.sh\n{old}\n",
        f"{folder}/{notes}.txt": f"call {old}\n",
    }
    scripts = [p for p in files if p.endswith(".sh")]
    return Draft(
        instruction=f"rename function {old} to {new} in all sh files of {folder} {draw.pick(('only', 'alone'))}",
        files=files,
        checks=[text(p, files[p].replace(old, new)) for p in scripts]
        + [unchanged(f"{folder}/{notes}.txt", files[f"{folder}/{notes}.txt"])],
        oracle=[Step(f"sed -i s/{old}/{new}/g {folder}/*.sh")],
        wrong=[
            [f"sed -i s/{old}/{new}/g {folder}/*"],
            [f"sed -i s/{old}/{new}/g {scripts[0]}"],
            [f"sed -i s/^{old}$/{new}/ {folder}/*.sh"],
        ],
    )


def todo_report(draw: Draw) -> Draft:
    """List the files that still hold a TODO."""
    folder, out, *stems = draw.names(3 + 2 * draw.level)
    marked = stems[: len(stems) // 2 + 1]
    files = {
        f"{folder}/{s}.{draw.extension()}": f"{draw.name()}\n" + ("TODO\n" if s in marked else "")
        for s in stems
    }
    wanted = [p for p, c in files.items() if "TODO" in c]
    return Draft(
        instruction=f"list the files in {folder} that contain TODO, as {folder}/NAME, "
        f"{draw.pick(('one a line', 'one per line'))}, any order, in {out}.txt",
        files=files,
        checks=[Check("lines_any_order", absolute(f"{out}.txt"), "".join(f"{p}\n" for p in wanted))]
        + [unchanged(p, c) for p, c in files.items()],
        oracle=[Step(f"grep -l TODO {folder}/* > {out}.txt")],
        wrong=[
            [f"ls {folder} > {out}.txt"],
            [f"grep TODO {folder}/* > {out}.txt"],
            [f"grep -L TODO {folder}/* > {out}.txt"],
            [f"grep -l TODO {folder}/* | head -n 1 > {out}.txt"]
            if len(wanted) > 1
            else [f"echo x > {out}.txt"],
        ],
    )


def fix_path(draw: Draw) -> Draft:
    """A script reads a file that is not there any more; make it read the one that is."""
    script, folder, old, new, out, word, hidden = draw.names(7)
    extension = draw.extension()
    path = f"{folder}/{new}.{extension}"
    body = f"cat {folder}/{old}.{extension} > {out}.txt\n"
    return Draft(
        instruction=f"{script}.sh reads a file in {folder} that was renamed: "
        f"{draw.pick(('make it read', 'let it read'))} the file there and run it",
        files={f"{script}.sh": body, path: f"{word}\n"},
        checks=[
            text(f"{out}.txt", word),
            unchanged(path, f"{word}\n"),
            runs(f"bash {script}.sh && cat {out}.txt", {absolute(path): f"{hidden}\n"}, hidden),
        ],
        oracle=[Step(f"ls {folder}"), Step(f"sed -i s/{old}/{new}/ {script}.sh"), Step(f"bash {script}.sh")],
        wrong=[
            [f"bash {script}.sh"],
            [f"echo {word} > {out}.txt"],
            [f"echo 'echo {word} > {out}.txt' > {script}.sh", f"bash {script}.sh"],
            [f"cp {path} {folder}/{old}.{extension}", f"bash {script}.sh"],
        ],
    )


_PRINTS = (
    ("the number of lines of", "wc -l < $1", "number", lambda rows: str(len(rows)), "echo 3"),
    ("the first line of", "head -n 1 $1", "text", lambda rows: rows[0], "tail -n 1 $1"),
    ("the last line of", "tail -n 1 $1", "text", lambda rows: rows[-1], "head -n 1 $1"),
    ("the sorted lines of", "sort $1", "text", lambda rows: "\n".join(sorted(rows)), "cat $1"),
    ("the lines, last first, of", "tac $1", "text", lambda rows: "\n".join(rows[::-1]), "sort -r $1"),
)


def write_script(draw: Draw) -> Draft:
    """Write a script that works on any file."""
    stem, sample, hidden = draw.names(3)
    what, body, rule, expect, mistake = draw.pick(_PRINTS)
    rows = [draw.names(4), draw.names(5)]
    while rows[1] in (sorted(rows[1]), sorted(rows[1])[::-1]):
        draw.rng.shuffle(rows[1])
    seen, unseen = ("".join(f"{r}\n" for r in part) for part in rows)
    checks = [
        runs(f"bash {stem}.sh {hidden}.txt", {absolute(f"{hidden}.txt"): unseen}, expect(rows[1]), rule),
        runs(f"bash {stem}.sh {sample}.txt", {absolute(f"{sample}.txt"): seen}, expect(rows[0]), rule),
    ]
    return Draft(
        instruction=f"write {stem}.sh so that bash {stem}.sh FILE prints {what} FILE, "
        f"{draw.pick(('for instance', 'for example'))} {sample}.txt",
        files={f"{sample}.txt": seen},
        checks=[Check("exists", absolute(f"{stem}.sh")), *checks],
        oracle=[Step(f"echo '{body}' > {stem}.sh")],
        wrong=[
            [f"echo '{mistake}' > {stem}.sh"],
            [f"echo '{body.replace('$1', f'{sample}.txt')}' > {stem}.sh"],
            [f"{body.replace('$1', f'{sample}.txt')} > {stem}.sh"],
            [f"touch {stem}.sh"],
        ],
    )


TEMPLATES = [
    Template(f.__name__, "development", f, levels=levels)
    for f, levels in (
        (bump_version, (1, 2)),
        (rename_function, (1,)),
        (todo_report, (1, 2)),
        (fix_path, (1,)),
        (write_script, (1,)),
    )
]
