"""System operations: folders, files, names, permissions and links."""

from __future__ import annotations

from echo_terminal.tasks.families.draw import (
    Draft,
    Draw,
    Template,
    absent,
    absolute,
    text,
    unchanged,
)
from echo_terminal.tasks.task import Check, Step


def _listing(folder: str, names: list[str]) -> Check:
    return Check("listing", absolute(folder), "\n".join(sorted(names)))


def make_tree(draw: Draw) -> Draft:
    """Make folders, and at level 2 a file in one."""
    top, first, second, stem, word = draw.names(5)
    make = f"mkdir -p {top}/{first} {top}/{second}"
    file = f"{top}/{first}/{stem}.txt"
    checks = [_listing(top, [first, second]), Check("exists", absolute(f"{top}/{second}"), "directory")]
    steps = [Step(make)]
    more = ""
    if draw.level == 2:
        more = f" and a file {file} that holds {word}"
        steps.append(Step(f"echo {word} > {file}"))
        checks.append(text(file, word))
    else:
        checks.append(_listing(f"{top}/{first}", []))
    return Draft(
        instruction=f"{draw.pick(('make', 'create'))} a folder {top} with two folders {first} and {second} in it{more}",
        files={},
        checks=checks,
        oracle=steps,
        wrong=[
            [f"mkdir {top} {first} {second}"],
            [f"mkdir -p {top}/{first}"],
            [f"mkdir -p {top}/{first}/{second}"],
            [make, f"touch {top}/{stem}"],
        ],
    )


def _folder(draw: Draw, kept: int) -> tuple[str, str, list[str], list[str], dict[str, str]]:
    """A folder: its name, an extension, the files that have it, those that have not, contents by path."""
    folder, *stems = draw.names(1 + 2 * kept)
    extension, *others = draw.extensions(3)
    chosen = [f"{s}.{extension}" for s in stems[:kept]]
    rest = [f"{s}.{draw.pick(others)}" for s in stems[kept:]]
    contents = {f"{folder}/{n}": f"{draw.name()}\n" for n in chosen + rest}
    return folder, extension, chosen, rest, contents


def delete_by_extension(draw: Draw) -> Draft:
    """Delete the files of one kind in a folder."""
    folder, extension, _, rest, files = _folder(draw, draw.level + 1)
    return Draft(
        instruction=f"{draw.pick(('delete', 'remove'))} all {extension} files in {folder} and nothing else",
        files=files,
        checks=[_listing(folder, rest), *[unchanged(f"{folder}/{n}", files[f"{folder}/{n}"]) for n in rest]],
        oracle=[Step(f"rm {folder}/*.{extension}")],
        wrong=[[f"rm {folder}/*"], [f"rm -r {folder}"], [f"rm {folder}/{rest[0]}"], [f"rm *.{extension}"]],
    )


def collect_by_extension(draw: Draw) -> Draft:
    """Move the files of one kind to a new folder."""
    folder, extension, chosen, rest, files = _folder(draw, draw.level + 1)
    target = draw.name()
    return Draft(
        instruction=f"move all {extension} files in {folder} to a {draw.pick(('new folder', 'folder'))} {target}",
        files=files,
        checks=[
            _listing(folder, rest),
            _listing(target, chosen),
            *[text(f"{target}/{n}", files[f"{folder}/{n}"]) for n in chosen],
        ],
        oracle=[Step(f"mkdir {target}"), Step(f"mv {folder}/*.{extension} {target}")],
        wrong=[
            [f"mkdir {target}", f"cp {folder}/*.{extension} {target}"],
            [f"mkdir {target}", f"mv {folder}/* {target}"],
            [f"mv {folder} {target}"],
            [f"mkdir {target}", f"mv {folder}/{chosen[0]} {target}"],
        ],
    )


def largest_file(draw: Draw) -> Draft:
    """Which file of a folder is the largest."""
    folder, out, *stems = draw.names(3 + draw.level + 1)
    sizes = draw.rng.sample(range(2, 9), len(stems))
    names = [f"{s}.{draw.extension()}" for s in stems]
    files = {
        f"{folder}/{n}": "".join(f"{draw.name()}\n" for _ in range(k))
        for n, k in zip(names, sizes, strict=True)
    }
    ranked = [n for _, n in sorted(zip(sizes, names, strict=True), reverse=True)]
    return Draft(
        instruction=f"write the name of the largest file in {folder}, "
        f"{draw.pick(('without the folder', 'the name alone'))}, to {out}.txt",
        files=files,
        checks=[text(f"{out}.txt", ranked[0]), *[unchanged(p, c) for p, c in files.items()]],
        oracle=[Step(f"ls -S {folder} | head -n 1 > {out}.txt")],
        wrong=[
            [f"echo {ranked[1]} > {out}.txt"],
            [f"echo {folder}/{ranked[0]} > {out}.txt"],
            [f"ls -S {folder} > {out}.txt"],
        ],
    )


def make_executable(draw: Draw) -> Draft:
    """Give a script its permission and run it."""
    stem, out, word = draw.names(3)
    script = f"{stem}.sh"
    content = f"echo {word} > {out}.txt\n"
    return Draft(
        instruction=f"make {script} executable {draw.pick(('and run it', 'then run it'))}, unchanged, from here",
        files={script: content},
        checks=[Check("executable", absolute(script)), text(f"{out}.txt", word), unchanged(script, content)],
        oracle=[Step(f"chmod +x {script}"), Step(f"./{script}")],
        wrong=[[f"bash {script}"], [f"chmod +x {script}"], [f"chmod -x {script}", f"bash {script}"]],
    )


def link_file(draw: Draw) -> Draft:
    """Make a symbolic link."""
    folder, stem, link, word = draw.names(4)
    path = f"{folder}/{stem}.{draw.extension()}"
    return Draft(
        instruction=f"make {link} a symbolic link to {path}{draw.pick(('', ' and keep that file'))}",
        files={path: f"{word}\n"},
        checks=[Check("link", absolute(link), absolute(path)), unchanged(path, f"{word}\n")],
        oracle=[Step(f"ln -s {path} {link}")],
        wrong=[
            [f"cp {path} {link}"],
            [f"ln -s {folder} {link}"],
            [f"ln -s {link} {path}"],
            [f"mv {path} {link}"],
        ],
    )


def swap_files(draw: Draw) -> Draft:
    """Swap two files."""
    one, two, temporary, *words = draw.names(5)
    paths = [f"{one}.txt", f"{two}.txt"]
    return Draft(
        instruction=f"swap the contents of {paths[0]} and {paths[1]}{draw.pick(('', ' with each other'))}",
        files={p: f"{w}\n" for p, w in zip(paths, words, strict=True)},
        checks=[text(paths[0], words[1]), text(paths[1], words[0])],
        oracle=[
            Step(f"mv {paths[0]} {temporary}"),
            Step(f"mv {paths[1]} {paths[0]}"),
            Step(f"mv {temporary} {paths[1]}"),
        ],
        wrong=[[f"cp {paths[0]} {paths[1]}"], [f"mv {paths[0]} {paths[1]}"], [f"cp {paths[1]} {paths[0]}"]],
    )


def flatten_folder(draw: Draw) -> Draft:
    """Move files out of the folders below a folder."""
    top, *folders = draw.names(2 + draw.level)
    names = [f"{s}.{draw.extension()}" for s in draw.names(len(folders))]
    words = draw.names(len(folders))
    paths = [f"{top}/{f}/{n}" for f, n in zip(folders, names, strict=True)]
    return Draft(
        instruction=f"move every file from the folders {draw.pick(('inside', 'in'))} {top} up into {top} itself",
        files={p: f"{w}\n" for p, w in zip(paths, words, strict=True)},
        checks=[
            check
            for p, n, w in zip(paths, names, words, strict=True)
            for check in (absent(p), text(f"{top}/{n}", w))
        ],
        oracle=[Step(f"mv {top}/*/* {top}")],
        wrong=[[f"cp {top}/*/* {top}"], [f"mv {paths[0]} {top}"], [f"mv {top}/*/* ."]],
    )


TEMPLATES = [
    Template(f.__name__, "system", f, levels=levels)
    for f, levels in (
        (make_tree, (1, 2)),
        (delete_by_extension, (1, 2)),
        (collect_by_extension, (1, 2)),
        (largest_file, (1, 2, 3)),
        (make_executable, (1,)),
        (link_file, (1,)),
        (swap_files, (1,)),
        (flatten_folder, (1, 2)),
    )
]
