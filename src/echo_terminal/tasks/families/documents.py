"""Data processing on JSON documents: read one value, change one value."""

from __future__ import annotations

import json

from echo_terminal.tasks.families.draw import Draft, Draw, Template, text, unchanged
from echo_terminal.tasks.task import Check, Step


def json_value(draw: Draw) -> Draft:
    """A value of a JSON file, flat or nested."""
    source, out = draw.names(2)
    keys, values = draw.keys(3), draw.names(3)
    inner = dict(zip(keys, values, strict=True))
    outer = draw.names(1)[0]
    document = inner if draw.level == 1 else {outer: inner, "note": values[0]}
    which = draw.rng.randrange(3)
    query = f".{keys[which]}" if draw.level == 1 else f".{outer}.{keys[which]}"
    content = json.dumps(document) + "\n"
    where = f"{keys[which]}" if draw.level == 1 else f"{keys[which]} inside {outer}"
    return Draft(
        instruction=f"{draw.pick(('write', 'put'))} the value of {where} from {source}.json, no quotes, "
        f"in {out}.txt",
        files={f"{source}.json": content},
        checks=[text(f"{out}.txt", values[which]), unchanged(f"{source}.json", content)],
        oracle=[Step(f"jq -r {query} {source}.json > {out}.txt")],
        wrong=[
            [f"jq {query} {source}.json > {out}.txt"],
            [f"echo {values[which - 1]} > {out}.txt"],
            [f"cp {source}.json {out}.txt"],
        ],
    )


def json_update(draw: Draw) -> Draft:
    """Change one value of a JSON file and keep the rest."""
    source, new, temporary = draw.names(3)
    keys, values = draw.keys(3), draw.names(3)
    document = dict(zip(keys, values, strict=True))
    key = draw.pick(keys)
    query = f'.{key} = "{new}"'
    return Draft(
        instruction=f"{draw.pick(('set', 'change'))} {key} to {new} in {source}.json and keep the rest",
        files={f"{source}.json": json.dumps(document) + "\n"},
        checks=[Check("json", f"/home/user/{source}.json", json.dumps(document | {key: new}))],
        oracle=[
            Step(f"jq '{query}' {source}.json > {temporary}.json"),
            Step(f"mv {temporary}.json {source}.json"),
        ],
        wrong=[
            [f"jq '{query}' {source}.json > {temporary}.json"],
            [f"echo '{json.dumps({key: new})}' > {source}.json"],
            [f"sed -i 's/\"{document[key]}\"/{new}/' {source}.json"],  # no longer JSON
        ],
    )


TEMPLATES = [
    Template("json_value", "data", json_value, levels=(1, 2)),
    Template("json_update", "data", json_update),
]
