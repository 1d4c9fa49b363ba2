"""Generic core templates: short files, short commands; nothing of a machine has to be known."""

from __future__ import annotations

from echo_terminal.tasks.families.draw import Draft, Draw, Template, absent, absolute, text, unchanged
from echo_terminal.tasks.task import Check, Step


def fetch_value(draw: Draw) -> Draft:
    """Find the one file of a folder and write one of its values elsewhere."""
    folder, stem, out = draw.names(3)
    keys, values = draw.keys(3), draw.names(3)
    which = draw.rng.randrange(3)
    path = f"{folder}/{stem}.{draw.extension()}"
    content = "".join(f"{k}={v}\n" for k, v in zip(keys, values, strict=True))
    verb = draw.pick(("write", "put", "copy"))
    return Draft(
        instruction=f"{verb} the value of {keys[which]} from the file in {folder} to {out}.txt",
        files={path: content},
        checks=[text(f"{out}.txt", values[which]), unchanged(path, content)],
        oracle=[Step(f"ls {folder}"), Step(f"cat {path}"), Step(f"echo {values[which]} > {out}.txt")],
        wrong=[
            [f"echo {values[which - 1]} > {out}.txt"],
            [f"grep {keys[which]} {path} > {out}.txt"],
            [f"cp {path} {out}.txt"],
            [f"echo {values[which]} > {folder}/{out}.txt"],
        ],
    )


def rename_by_extension(draw: Draw) -> Draft:
    """Of three files in a folder, rename the one with the given extension."""
    folder, *stems, new = draw.names(5)
    extensions, contents = draw.extensions(3), draw.names(3)
    paths = [f"{folder}/{s}.{e}" for s, e in zip(stems, extensions, strict=True)]
    which = draw.rng.randrange(3)
    source, target = paths[which], f"{folder}/{new}.{extensions[which]}"
    others = [i for i in range(3) if i != which]
    verb = draw.pick(("rename", "change", "move"))
    return Draft(
        instruction=f"{verb} the {extensions[which]} file in {folder} to {new}.{extensions[which]} there",
        files={p: f"{c}\n" for p, c in zip(paths, contents, strict=True)},
        checks=[
            text(target, contents[which]),
            absent(source),
            *[unchanged(paths[i], f"{contents[i]}\n") for i in others],
        ],
        oracle=[Step(f"ls {folder}"), Step(f"mv {source} {target}")],
        wrong=[
            [f"cp {source} {target}"],
            [f"mv {source} {new}.{extensions[which]}"],
            [f"mv {paths[others[0]]} {target}"],
            [f"mv {source} {target}", f"rm {paths[others[0]]}"],
        ],
    )


def set_key(draw: Draw) -> Draft:
    """Change one value of a settings file in place."""
    folder, stem, new = draw.names(3)
    keys, values = draw.keys(2), draw.names(2)
    which = draw.rng.randrange(2)
    path = f"{folder}/{stem}.{draw.extension()}"
    key, old = keys[which], values[which]
    content = "".join(f"{k}={v}\n" for k, v in zip(keys, values, strict=True))
    verb = draw.pick(("set", "change"))
    return Draft(
        instruction=f"{verb} {key} to {new} in the file in {folder}",
        files={path: content},
        checks=[text(path, content.replace(f"{key}={old}\n", f"{key}={new}\n"))],
        oracle=[Step(f"ls {folder}"), Step(f"sed -i s/{key}=.*/{key}={new}/ {path}")],
        wrong=[
            [f"echo {key}={new} > {path}"],
            [f"echo {key}={new} >> {path}"],
            [f"sed -i s/{keys[which - 1]}=.*/{keys[which - 1]}={new}/ {path}"],
        ],
    )


def follow_chain(draw: Draw) -> Draft:
    """Follow ``next FILE`` lines to the word at the end."""
    *stems, word, decoy, out = draw.names(6)
    hops = draw.rng.choice((1, 2))
    chain = stems[: hops + 1]
    files = {f"{a}.txt": f"next {b}.txt\n" for a, b in zip(chain, chain[1:], strict=False)}
    files[f"{chain[-1]}.txt"] = f"word {word}\n"
    files[f"{stems[-1]}.txt"] = f"word {decoy}\n" if hops == 1 else files[f"{stems[-1]}.txt"]
    verb = draw.pick(("write", "put"))
    return Draft(
        instruction=f"follow the chain from {chain[0]}.txt and {verb} the word in {out}.txt",
        files=files,
        checks=[text(f"{out}.txt", word), *[unchanged(p, c) for p, c in files.items()]],
        oracle=[*[Step(f"cat {s}.txt") for s in chain], Step(f"echo {word} > {out}.txt")],
        wrong=[
            [f"cp {chain[-1]}.txt {out}.txt"],
            [f"echo {decoy} > {out}.txt"],
            [f"echo {chain[1]}.txt > {out}.txt"],
            [f"mv {chain[-1]}.txt {out}.txt", f"echo {word} > {out}.txt"],
        ],
    )


def move_containing(draw: Draw) -> Draft:
    """Of two files, move the one that holds a word to another folder, which may not exist yet."""
    folder, one, two, word, other, target, keep = draw.names(7)
    extensions = draw.extensions(2)
    which, exists = draw.rng.randrange(2), draw.rng.random() < 0.5
    paths = [f"{folder}/{one}.{extensions[0]}", f"{folder}/{two}.{extensions[1]}"]
    words = [word, other] if which == 0 else [other, word]
    files = {p: f"{w}\n" for p, w in zip(paths, words, strict=True)}
    if exists:
        files[f"{target}/{keep}.txt"] = f"{keep}\n"
    source, base = paths[which], paths[which].split("/")[1]
    verb = draw.pick(("contains", "holds"))
    return Draft(
        instruction=f"move the file in {folder} that {verb} {word} to folder {target}",
        files=files,
        checks=[
            text(f"{target}/{base}", word),
            absent(source),
            unchanged(paths[1 - which], f"{other}\n"),
        ],
        oracle=[
            Step(f"grep -rl {word} {folder}"),
            *([] if exists else [Step(f"mkdir {target}")]),
            Step(f"mv {source} {target}"),
        ],
        wrong=[
            [f"mkdir -p {target}", f"cp {source} {target}"],
            [f"mkdir -p {target}", f"mv {paths[1 - which]} {target}"],
            [f"mkdir -p {target}", f"mv {folder}/* {target}"],
            [f"rmdir {target}", f"mv {source} {target}.txt"],
        ],
    )


def fix_script(draw: Draw) -> Draft:
    """A script stops at a missing file or a wrong setting and says so; make it succeed, unchanged."""
    script, needed, config, value, wrong_value = draw.names(5)
    key, extension = draw.keys(1)[0], draw.extension()
    file_missing, key_wrong = draw.pick(((True, False), (False, True), (True, True)))
    body = ""
    fixes = []
    if file_missing:
        file = f"{needed}.{extension}"
        body += f"if [ ! -f {file} ]; then echo '{script}: missing file {file}'; exit 2; fi\n"
        fixes.append(f"touch {file}")
    if key_wrong:
        check = f"grep -q '^{key}={value}$' {config}.cfg"
        body += f"if ! {check}; then echo '{script}: {config}.cfg: {key} must be {value}'; exit 3; fi\n"
        fixes.append(f"sed -i s/{key}=.*/{key}={value}/ {config}.cfg")
    body += "echo ok > done.flag\necho ok\n"
    run = f"bash {script}.sh"
    setting = f"{key}={value if key_wrong else wrong_value}"
    checks = [
        text("done.flag", "ok"),
        unchanged(f"{script}.sh", body),
        Check("has_line", absolute(f"{config}.cfg"), setting),
    ]
    if file_missing:
        checks.append(Check("exists", absolute(file)))
    return Draft(
        instruction=f"run {script}.sh until it {draw.pick(('succeeds', 'works'))} and do not edit it",
        files={f"{script}.sh": body, f"{config}.cfg": f"{key}={wrong_value}\n"},
        checks=checks,
        oracle=[Step(run), *[Step(c) for fix in fixes for c in (fix, run)]],
        wrong=[
            [run],
            ["echo ok > done.flag"],
            fixes,  # never run
            [f"echo 'echo ok > done.flag' > {script}.sh", run],
        ],
    )


TEMPLATES = [
    Template("fetch_value", "data", fetch_value),
    Template("rename_by_extension", "system", rename_by_extension),
    Template("set_key", "system", set_key),
    Template("follow_chain", "data", follow_chain),
    Template("move_containing", "system", move_containing),
    Template("fix_script", "development", fix_script),
]
