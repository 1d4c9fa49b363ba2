"""Site tools: run two or three of the machine's own tools. Short; the right verb is the fact to remember."""

from __future__ import annotations

from echo_terminal.tasks.families.draw import Draft, Draw, Template, ledger, unchanged
from echo_terminal.tasks.lexicon import VERBS
from echo_terminal.tasks.machine import LEDGER, Tool
from echo_terminal.tasks.task import Step


def tool_step(draw: Draw, tool: Tool, path: str) -> Step:
    """The right call; what a stranger to the machine types first is the same call with another verb."""
    others = [v for v in VERBS if v != tool.verb]
    return Step(tool.call(path), tuple(tool.call(path, v) for v in draw.rng.sample(others, 3)))


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
    look = [Step(f"ls {folder}")] if find else []
    return Draft(
        instruction=f"{draw.pick(('run', 'use'))} {then} on {target}",
        files={path: content},
        checks=[ledger([(t, path, content) for t in tools]), unchanged(path, content)],
        oracle=look + steps,
        wrong=[
            right[:-1],  # the last tool left out
            right[::-1],  # the other order
            [*right[:-1], steps[-1].misses[0]],  # a wrong verb
            [f"cp {path} {stem}.bak", *[t.call(f"{stem}.bak") for t in tools]],  # another file
            [f"echo '{t.name} {t.verb} /home/user/{path} 1 1' >> {LEDGER}" for t in tools],  # a forged record
        ],
        facts=[f"verb:{t.name}" for t in tools],
        fact_words=[t.verb for t in tools],
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


TEMPLATES = [
    Template("site_two", "system", site_two, needs_machine=True),
    Template("site_three", "system", site_three, needs_machine=True),
    Template("site_find", "system", site_find, needs_machine=True),
]
