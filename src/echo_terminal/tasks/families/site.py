"""Site tools: run the machine's own tools. Short; the right call is the fact to remember."""

from __future__ import annotations

from echo_terminal.tasks.families.draw import Draft, Draw, Template, ran, text, unchanged
from echo_terminal.tasks.lexicon import VERBS
from echo_terminal.tasks.machine import LEDGER, Tool
from echo_terminal.tasks.task import Step


def tool_step(draw: Draw, tool: Tool, path: str) -> Step:
    """The right call; a stranger to the machine types ``NAME VERB FILE`` with some other verb."""
    others = draw.rng.sample([v for v in VERBS if v != tool.verb], 3)
    return Step(tool.call(path), tuple(f"{tool.name} {v} {path}" for v in others))


def facts_of(tools: list[Tool]) -> tuple[list[str], list[str]]:
    """Names of the facts that calling these tools needs, and the words that state them."""
    names = [name for t in tools for name in t.facts]
    return names, [w for t in tools for w in (t.verb, t.flag, *(t.setting or ())) if w]


def _site(draw: Draw, count: int, find: bool) -> Draft:
    tools = draw.tools(count)
    folder, stem, word = draw.names(3)
    name = f"{stem}.{draw.extension()}"
    path = f"{folder}/{name}" if find else name
    content = f"{word}\n"
    then = " then ".join(t.name for t in tools)
    target = f"the file in {folder}" if find else path
    steps = [tool_step(draw, t, path) for t in tools]
    right = [s.command for s in steps]
    facts, words = facts_of(tools)
    return Draft(
        instruction=f"{draw.pick(('run', 'use'))} {then} on {target}",
        files={path: content},
        checks=[ran(tools, path, content), unchanged(path, content)],
        oracle=([Step(f"ls {folder}")] if find else []) + steps,
        wrong=[
            right[:-1],  # the last tool left out
            right[::-1],  # the other order
            [*right[:-1], steps[-1].misses[0]],  # a wrong verb
            [f"cp {path} {stem}.bak", *[t.call(f"{stem}.bak") for t in tools]],  # another file
            [f"echo '{t.name} {t.verb} /home/user/{path} 1 1' >> {LEDGER}" for t in tools],  # a forged record
        ],
        facts=facts,
        fact_words=words,
    )


def site_two(draw: Draw) -> Draft:
    """Run two tools on a file."""
    return _site(draw, 2, find=False)


def site_three(draw: Draw) -> Draft:
    """Run three tools on a file."""
    return _site(draw, 3, find=False)


def site_find(draw: Draw) -> Draft:
    """Look for the file in a folder, then run two tools on it."""
    return _site(draw, 2, find=True)


def site_four(draw: Draw) -> Draft:
    """Run four tools on a file."""
    return _site(draw, 4, find=False)


def site_find_three(draw: Draw) -> Draft:
    """Look for the file in a folder, then run three tools on it."""
    return _site(draw, 3, find=True)


def site_long(draw: Draw) -> Draft:
    """Look for the file, then run four to six tools on it."""
    return _site(draw, 3 + draw.level, find=True)


def site_each(draw: Draw) -> Draft:
    """Run one tool on every file of a folder, in any order."""
    tool = draw.tools(1)[0]
    folder, *stems = draw.names(2 + draw.level)
    words = draw.names(len(stems))
    paths = [f"{folder}/{stem}.{draw.extension()}" for stem in stems]
    steps = [tool_step(draw, tool, path) for path in paths]
    right = [s.command for s in steps]
    facts, fact_words = facts_of([tool])
    return Draft(
        instruction=f"{draw.pick(('run', 'use'))} {tool.name} on {draw.pick(('every', 'each'))} file in {folder}",
        files={p: f"{w}\n" for p, w in zip(paths, words, strict=True)},
        checks=[ran([tool], p, f"{w}\n") for p, w in zip(paths, words, strict=True)],
        oracle=[Step(f"ls {folder}"), *steps],
        wrong=[right[:-1], right[1:], [s.misses[0] for s in steps], [right[0], right[0]]],
        facts=facts,
        fact_words=fact_words,
    )


def site_copy(draw: Draw) -> Draft:
    """Copy a file to a folder, then run tools on the copy; the original stays untouched."""
    tools = draw.tools(draw.level)
    folder, stem, keep, word = draw.names(4)
    name = f"{stem}.{draw.extension()}"
    copy, content = f"{folder}/{name}", f"{word}\n"
    steps = [tool_step(draw, t, copy) for t in tools]
    right = [s.command for s in steps]
    facts, words = facts_of(tools)
    return Draft(
        instruction=f"copy {name} to folder {folder} then {draw.pick(('run', 'use'))} "
        f"{' then '.join(t.name for t in tools)} on the copy",
        files={name: content, f"{folder}/{keep}.txt": f"{keep}\n"},
        checks=[text(copy, word), unchanged(name, content), ran(tools, copy, content)],
        oracle=[Step(f"cp {name} {folder}"), *steps],
        wrong=[
            [f"cp {name} {folder}", *[t.call(name) for t in tools]],  # on the original
            [f"mv {name} {folder}", *right],
            [f"cp {name} {folder}", *right[:-1], steps[-1].misses[0]],
            right,
        ],
        facts=facts,
        fact_words=words,
    )


def site_setting(draw: Draw) -> Draft:
    """Run a tool that refuses until its settings file is right; it says what it needs."""
    tool = draw.tools(1, setting=True)[0]
    others = draw.tools(draw.level - 1) if draw.level > 1 else []
    assert tool.setting is not None
    key, value = tool.setting
    stem, word = draw.names(2)
    path = f"{stem}.{draw.extension()}"
    tools = [tool, *others]
    settings = f"/home/user/etc/{tool.name}.cfg"
    change = Step(f"sed -i s/{key}=.*/{key}={value}/ etc/{tool.name}.cfg", (tool.call(path),))
    steps = [tool_step(draw, t, path) for t in tools]
    right = [s.command for s in steps]
    facts, words = facts_of(tools)
    return Draft(
        instruction=f"{draw.pick(('run', 'use'))} {' then '.join(t.name for t in tools)} on {path}",
        files={path: f"{word}\n"},
        checks=[ran(tools, path, f"{word}\n"), unchanged(path, f"{word}\n")],
        oracle=[change, *steps],
        wrong=[
            right,  # settings as they were
            [change.command],
            [f"echo {key}={stem} > {settings}", *right],
            [change.command, *right[:-1], steps[-1].misses[0]],
        ],
        facts=facts,
        fact_words=words,
    )


TEMPLATES = [
    Template("site_two", "system", site_two, "verb"),
    Template("site_three", "system", site_three, "verb"),
    Template("site_find", "system", site_find, "verb"),
    Template("site_four", "system", site_four, "verb"),
    Template("site_find_three", "system", site_find_three, "verb"),
    Template("site_long", "system", site_long, "verb", levels=(1, 2, 3)),
    Template("site_each", "system", site_each, "verb", levels=(1, 2, 3)),
    Template("site_copy", "system", site_copy, "verb", levels=(1, 2)),
    Template("site_setting", "system", site_setting, "setting", levels=(1, 2)),
]
