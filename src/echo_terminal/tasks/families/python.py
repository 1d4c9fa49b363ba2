"""pyterm: Python scripts to write or to repair; tracebacks are what the terminal says. Needs CPython as
python3.

The checks run the script on files that the agent has not seen, so a printed constant does not pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from echo_terminal.tasks.families.draw import Draft, Draw, Template, absolute, runs, unchanged
from echo_terminal.tasks.task import Check, Step

T = TypeVar("T")


def _lines(rows: Sequence[object]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _two(
    rows: Callable[[int], list[T]], shown: int, hidden: int, answer: Callable[[list[T]], int]
) -> list[list[T]]:
    """Rows to show and rows to check with, whose answers differ: who prints the first has solved nothing."""
    seen, unseen = rows(shown), rows(hidden)
    while answer(unseen) == answer(seen):
        unseen = rows(hidden)
    return [seen, unseen]


def _repair(
    draw: Draw,
    broken: str,
    edits: list[str],
    bad_edits: list[str],
    answer: Callable[[list[int]], int],
    what: str,
) -> Draft:
    """A script that fails on every file; ``edits`` are sed programs that mend it."""
    stem, sample, hidden = draw.names(3)
    seen, unseen = _two(lambda count: draw.numbers(count, 2, 99), 4, 6, answer)
    script, data = f"{stem}.py", f"{sample}.txt"
    run = f"python3 {script} {data}"
    sed = [f"sed -i '{e}' {script}" for e in edits]
    return Draft(
        instruction=f"fix {script}: python3 {script} FILE must print {what} of the numbers in FILE, "
        f"{draw.pick(('for instance', 'for example'))} {data}",
        files={script: broken, data: _lines(seen)},
        checks=[
            runs(run, {absolute(data): _lines(seen)}, str(answer(seen)), "number"),
            runs(
                f"python3 {script} {hidden}.txt",
                {absolute(f"{hidden}.txt"): _lines(unseen)},
                str(answer(unseen)),
                "number",
            ),
            unchanged(data, _lines(seen)),
        ],
        oracle=[Step(run), Step(f"cat {script}"), *[Step(s) for s in sed], Step(run)],
        wrong=[
            [run],
            [f"echo 'print({answer(seen)})' > {script}"],
            [f"rm {script}"],
            *[[f"sed -i '{e}' {script}"] for e in bad_edits],
        ],
    )


def py_fix_name(draw: Draw) -> Draft:
    """A NameError: a variable is misspelt."""
    good, bad = draw.names(2)
    broken = (
        f"import sys\n{good} = 0\nfor line in open(sys.argv[1]):\n    {good} += int(line)\nprint({bad})\n"
    )
    return _repair(draw, broken, [f"s/{bad}/{good}/"], [f"s/{bad}/0/"], sum, "the sum")


def py_fix_index(draw: Draw) -> Draft:
    """An IndexError: one step beyond the end."""
    name = draw.name()
    broken = f"import sys\n{name} = [int(x) for x in open(sys.argv[1])]\nprint({name}[len({name})])\n"
    return _repair(draw, broken, [f"s/len({name})/-1/"], [f"s/len({name})/0/"], lambda n: n[-1], "the last")


def py_fix_type(draw: Draw) -> Draft:
    """A TypeError: text and number are added."""
    name = draw.name()
    broken = f"import sys\n{name} = 0\nfor line in open(sys.argv[1]):\n    {name} += line\nprint({name})\n"
    return _repair(draw, broken, ["s/+= line/+= int(line)/"], ["s/+= line/= int(line)/"], sum, "the sum")


def py_fix_logic(draw: Draw) -> Draft:
    """No error at all, but a wrong answer: the smallest instead of the largest."""
    name = draw.name()
    broken = f"import sys\n{name} = [int(x) for x in open(sys.argv[1])]\nprint(min({name}))\n"
    return _repair(draw, broken, ["s/min/max/"], ["s/min/sum/"], max, "the largest")


def py_fix_import(draw: Draw) -> Draft:
    """A ModuleNotFoundError: the module beside the script has another name."""
    module, old, function = draw.names(3)
    draft = _repair(
        draw,
        f"import sys\nfrom {old} import {function}\nprint({function}(open(sys.argv[1])))\n",
        [f"s/{old}/{module}/"],
        [f"s/import {function}/import sum/"],
        sum,
        "the sum",
    )
    helper = f"def {function}(lines):\n    return sum(int(x) for x in lines)\n"
    draft.files[f"{module}.py"] = helper
    draft.checks.append(unchanged(f"{module}.py", helper))
    return draft


def _over_fifty(rows: list[str]) -> int:
    return sum(int(x) > 50 for x in rows)


def _range(rows: list[str]) -> int:
    numbers = [int(x) for x in rows]
    return max(numbers) - min(numbers)


# what to print of FILE, the expression over ``rows`` (its words), the same in this process, a wrong expression
_PROGRAMS: tuple[tuple[str, str, Callable[[list[str]], int], str], ...] = (
    ("the sum of the numbers in", "sum(map(int, rows))", lambda r: sum(map(int, r)), "len(rows)"),
    ("the largest number in", "max(map(int, rows))", lambda r: max(map(int, r)), "min(map(int, rows))"),
    ("the number of lines in", "len(rows)", len, "sum(map(int, rows))"),
    ("the last number in", "rows[-1]", lambda r: int(r[-1]), "rows[0]"),
    ("how many numbers over 50 are in", "sum(int(x) > 50 for x in rows)", _over_fifty, "len(rows)"),
    ("largest minus smallest number in", "max(map(int, rows)) - min(map(int, rows))", _range, "rows[0]"),
)


def _program(expression: str, where: str = "sys.argv[1]") -> str:
    return f"import sys\nrows = open({where}).read().split()\nprint({expression})"


def py_write(draw: Draw) -> Draft:
    """Write a script that computes something of any file."""
    stem, sample, hidden = draw.names(3)
    what, expression, answer, mistake = draw.pick(_PROGRAMS)

    def rows(k: int) -> list[str]:
        return [str(n) for n in [*draw.numbers(k, 2, 50), *draw.numbers(k + 1, 51, 99)]]

    seen, unseen = _two(rows, 2, 3, answer)
    script, data = f"{stem}.py", f"{sample}.txt"

    def write(body: str) -> str:
        return f"cat > {script} << 'EOF'\n{body}\nEOF"

    return Draft(
        instruction=f"write {script}: python3 {script} FILE must print {what} FILE, one number a line, "
        f"{draw.pick(('for instance', 'for example'))} {data}",
        files={data: _lines(seen)},
        checks=[
            Check("exists", absolute(script)),
            runs(f"python3 {script} {data}", {absolute(data): _lines(seen)}, str(answer(seen)), "number"),
            runs(
                f"python3 {script} {hidden}.txt",
                {absolute(f"{hidden}.txt"): _lines(unseen)},
                str(answer(unseen)),
                "number",
            ),
        ],
        oracle=[Step(write(_program(expression))), Step(f"python3 {script} {data}")],
        wrong=[
            [write(f"print({answer(seen)})")],
            [write(_program(expression, repr(data)))],
            [write(_program(mistake))],
            [write("import sys\nprint(sys.argv[1])")],
        ],
    )


def py_json(draw: Draw) -> Draft:
    """Write a script that turns NAME,NUMBER rows into a JSON object."""
    stem, sample, hidden = draw.names(3)
    tables = [list(zip(draw.names(3), draw.numbers(3), strict=True)) for _ in range(2)]
    seen, unseen = (_lines([f"{a},{b}" for a, b in t]) for t in tables)
    script, data = f"{stem}.py", f"{sample}.csv"

    def write(value: str, dump: str = "json.dumps(found)") -> str:
        body = (
            "import json, sys\nrows = [line.strip().split(',') for line in open(sys.argv[1])]\n"
            f"found = {{a: {value} for a, b in rows}}\nprint({dump})"
        )
        return f"cat > {script} << 'EOF'\n{body}\nEOF"

    def check(path: str, content: str, table: list[tuple[str, int]]) -> Check:
        return runs(f"python3 {script} {path}", {absolute(path): content}, json.dumps(dict(table)), "json")

    return Draft(
        instruction=f"write {script}: python3 {script} FILE must print rows NAME,NUMBER of FILE as one JSON object "
        f"from names to numbers, {draw.pick(('for instance', 'for example'))} {data}",
        files={data: seen},
        checks=[
            Check("exists", absolute(script)),
            check(data, seen, tables[0]),
            check(f"{hidden}.csv", unseen, tables[1]),
        ],
        oracle=[Step(write("int(b)")), Step(f"python3 {script} {data}")],
        wrong=[[write("b")], [write("int(b)", "found")], [write("int(b)", "json.dumps(rows)")]],
    )


TEMPLATES = [
    Template(f.__name__, "pyterm", f)
    for f in (py_fix_name, py_fix_index, py_fix_type, py_fix_logic, py_fix_import, py_write, py_json)
]
