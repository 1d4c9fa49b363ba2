"""Data processing: sort, count, sum, select and join. Levels add rows and one more condition."""

from __future__ import annotations

from collections import Counter

from echo_terminal.tasks.families.draw import Draft, Draw, Template, number, text, unchanged
from echo_terminal.tasks.task import Check, Step

_ROWS = {1: 4, 2: 8, 3: 16}


def _lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _table(draw: Draw) -> tuple[str, str, list[str], list[int]]:
    """Input and output name, row names and distinct numbers, neither column sorted."""
    source, out = draw.names(2)
    count = _ROWS[draw.level]
    names, numbers = draw.names(count), draw.numbers(count, 10, 99)
    while names in (sorted(names), sorted(names)[::-1]):
        draw.rng.shuffle(names)
    while numbers in (sorted(numbers), sorted(numbers)[::-1]):
        draw.rng.shuffle(numbers)
    return f"{source}.txt", f"{out}.txt", names, numbers


def sort_lines(draw: Draw) -> Draft:
    """Sort lines by byte order, backwards, or by a number."""
    path, out, names, numbers = _table(draw)
    rows = [f"{a} {b}" for a, b in zip(names, numbers, strict=True)]
    how, flags, wanted = {
        1: ("", "", sorted(rows)),
        2: (" in reverse order", "-r ", sorted(rows, reverse=True)),
        3: (" by number, smallest first", "-n -k 2 ", sorted(rows, key=lambda r: int(r.split()[1]))),
    }[draw.level]
    content = _lines(rows)
    other = "-r " if draw.level == 1 else ""
    return Draft(
        instruction=f"sort the lines of {path}{how} {draw.pick(('into', 'and write them to'))} {out}",
        files={path: content},
        checks=[text(out, _lines(wanted)), unchanged(path, content)],
        oracle=[Step(f"sort {flags}{path} > {out}")],
        wrong=[
            [f"cp {path} {out}"],
            [f"sort {other}{path} > {out}"],
            [f"sort {flags}{path} > {out}", f"mv {out} {path}"],
            [f"sort {flags}{path} | head -n 1 > {out}"],
        ],
    )


def count_matching(draw: Draw) -> Draft:
    """Count the lines that contain a word."""
    source, out, word, *others = draw.names(3 + _ROWS[draw.level])
    hits = draw.rng.randrange(2, len(others))
    rows = [f"{word} {o}" if i < hits else o for i, o in enumerate(others)]
    draw.rng.shuffle(rows)
    content = _lines(rows)
    return Draft(
        instruction=f"{draw.pick(('write', 'put'))} the number of lines in {source}.txt that contain {word} "
        f"in {out}.txt",
        files={f"{source}.txt": content},
        checks=[number(f"{out}.txt", hits), unchanged(f"{source}.txt", content)],
        oracle=[Step(f"grep -c {word} {source}.txt > {out}.txt")],
        wrong=[
            [f"grep -c . {source}.txt > {out}.txt"],
            [f"grep {word} {source}.txt > {out}.txt"],
            [f"echo {hits + 1} > {out}.txt"],
            [f"grep -c {word} {source}.txt"],
        ],
    )


def sum_column(draw: Draw) -> Draft:
    """Sum numbers: of a file, of a CSV column, of the rows of one name."""
    path, out, names, numbers = _table(draw)
    if draw.level == 1:
        rows, what = [str(n) for n in numbers], f"the numbers in {path}"
        total, script = sum(numbers), "{s+=$1} END {print s}"
        near_miss = "{s=$1} END {print s}"
    elif draw.level == 2:
        rows = [f"{a},{b}" for a, b in zip(names, numbers, strict=True)]
        what, total = f"column 2 of {path} (comma separated)", sum(numbers)
        script, near_miss = "{s+=$2} END {print s}", "{s+=1} END {print s}"
    else:
        rows = [f"{names[i % 3]},{n}" for i, n in enumerate(numbers)]
        what = f"column 2 of {path} (comma separated) over the rows of {names[0]}"
        total = sum(n for i, n in enumerate(numbers) if i % 3 == 0)
        script = f'$1 == "{names[0]}" {{s+=$2}} END {{print s}}'
        near_miss = "{s+=$2} END {print s}"
    content = _lines(rows)
    return Draft(
        instruction=f"{draw.pick(('write', 'put'))} the sum of {what} in {out}",
        files={path: content},
        checks=[number(out, total), unchanged(path, content)],
        oracle=[Step(f"awk -F, '{script}' {path} > {out}")],
        wrong=[
            [f"awk -F, '{near_miss}' {path} > {out}"],
            [f"wc -l < {path} > {out}"],
            [f"echo 1{total} > {out}"],
            [f"echo {total} {total} > {out}"],
        ],
    )


def unique_lines(draw: Draw) -> Draft:
    """The different lines, or those that occur more than once, sorted."""
    source, out, *words = draw.names(2 + _ROWS[draw.level])
    repeated = words[: len(words) // 2]
    rows = words + repeated
    while rows == sorted(rows) or rows[: len(words)] == words:
        draw.rng.shuffle(rows)
    if draw.level == 1:
        what, wanted, command = "the different lines of", sorted(words), f"sort -u {source}.txt"
    else:
        what, wanted = "each line that occurs more than once in", sorted(repeated)
        command = f"sort {source}.txt | uniq -d"
    content = _lines(rows)
    return Draft(
        instruction=f"write {what} {source}.txt {draw.pick(('once and sorted', 'sorted and once'))} to {out}.txt",
        files={f"{source}.txt": content},
        checks=[text(f"{out}.txt", _lines(wanted)), unchanged(f"{source}.txt", content)],
        oracle=[Step(f"{command} > {out}.txt")],
        wrong=[
            [f"sort {source}.txt > {out}.txt"],
            [f"uniq {source}.txt > {out}.txt"],
            [f"sort {source}.txt | uniq -u > {out}.txt"],
            [f"sort -ru {source}.txt > {out}.txt"],
        ],
    )


def extract_column(draw: Draw) -> Draft:
    """One column of a comma separated file, at level 2 without its header."""
    source, out = draw.names(2)
    rows = [draw.names(3) for _ in range(_ROWS[draw.level])]
    which = draw.rng.randrange(3)
    header = [f"col{i}" for i in (1, 2, 3)] if draw.level > 1 else None
    content = _lines([",".join(r) for r in ([header] if header else []) + rows])
    cut = f"cut -d, -f{which + 1}"
    command = f"tail -n +2 {source}.csv | {cut}" if header else f"{cut} {source}.csv"
    return Draft(
        instruction=f"write column {which + 1} of {source}.csv {'without its header ' if header else ''}"
        f"to {out}.txt{draw.pick((', order kept', ' in the same order'))}",
        files={f"{source}.csv": content},
        checks=[text(f"{out}.txt", _lines([r[which] for r in rows])), unchanged(f"{source}.csv", content)],
        oracle=[Step(f"{command} > {out}.txt")],
        wrong=[
            [f"cut -d, -f{(which + 1) % 3 + 1} {source}.csv > {out}.txt"],
            [f"cut -f{which + 1} {source}.csv > {out}.txt"],
            [f"{command} | sort -r | head -n 1 > {out}.txt"],
            [f"{cut} {source}.csv{'' if header else ' | tail -n +2'} > {out}.txt"],
        ],
    )


def join_files(draw: Draw) -> Draft:
    """Join two files on their first word."""
    left, right, out, *names = draw.names(3 + _ROWS[draw.level])
    values = [draw.numbers(len(names)), draw.numbers(len(names))]
    orders = [draw.rng.sample(range(len(names)), len(names)) for _ in range(2)]
    files = {
        f"{f}.txt": _lines([f"{names[i]} {v[i]}" for i in order])
        for f, v, order in zip((left, right), values, orders, strict=True)
    }
    wanted = [f"{n} {a} {b}" for n, a, b in zip(names, *values, strict=True)]
    program = "NR==FNR {v[$1]=$2; next} {print $1, v[$1], $2}"
    return Draft(
        instruction=f"join {left}.txt and {right}.txt on their first word: lines NAME X Y, "
        f"{draw.pick(('in any order,', 'order free,'))} in {out}.txt",
        files=files,
        checks=[Check("lines_any_order", f"/home/user/{out}.txt", _lines(wanted))]
        + [unchanged(p, c) for p, c in files.items()],
        oracle=[Step(f"awk '{program}' {left}.txt {right}.txt > {out}.txt")],
        wrong=[
            [f"cat {left}.txt {right}.txt > {out}.txt"],
            [f"awk '{program}' {right}.txt {left}.txt > {out}.txt"],
            [f"awk '{program}' {left}.txt {right}.txt | tail -n +2 > {out}.txt"],
        ],
    )


def top_row(draw: Draw) -> Draft:
    """The name beside the largest, smallest or second largest number."""
    path, out, names, numbers = _table(draw)
    content = _lines([f"{a} {b}" for a, b in zip(names, numbers, strict=True)])
    ranked = [n for _, n in sorted(zip(numbers, names, strict=True), reverse=True)]
    what, place, cut = {
        1: ("largest", 0, "sort -rn -k 2 {} | head -n 1"),
        2: ("smallest", -1, "sort -n -k 2 {} | head -n 1"),
        3: ("second largest", 1, "sort -rn -k 2 {} | head -n 2 | tail -n 1"),
    }[draw.level]
    command = cut.format(path)
    return Draft(
        instruction=f"write the name with the {what} number in {path} to {out}{draw.pick(('', ' (name only)'))}",
        files={path: content},
        checks=[text(out, ranked[place]), unchanged(path, content)],
        oracle=[Step(f"{command} | cut -d ' ' -f 1 > {out}")],
        wrong=[
            [f"echo {ranked[place - 1]} > {out}"],
            [f"echo {names[0] if names[0] != ranked[place] else names[1]} > {out}"],
            [f"{command} > {out}"],
        ],
    )


def filter_rows(draw: Draw) -> Draft:
    """The rows whose number is over a bound, in their order."""
    path, out, names, numbers = _table(draw)
    bound = sorted(numbers)[len(numbers) // 2 - 1]  # at least one row over it, at least one not
    rows = [f"{a} {b}" for a, b in zip(names, numbers, strict=True)]
    content = _lines(rows)
    wanted = [r for r, n in zip(rows, numbers, strict=True) if n > bound]
    return Draft(
        instruction=f"write the lines of {path} whose number is {draw.pick(('over', 'greater than'))} {bound}, "
        f"order kept, to {out}",
        files={path: content},
        checks=[text(out, _lines(wanted)), unchanged(path, content)],
        oracle=[Step(f"awk '$2 > {bound}' {path} > {out}")],
        wrong=[
            [f"awk '$2 >= {bound}' {path} > {out}"],
            [f"awk '$2 < {bound}' {path} > {out}"],
            [f"awk '$2 > {bound} {{print $1}}' {path} > {out}"],
            [f"cp {path} {out}"],
        ],
    )


def merge_files(draw: Draw) -> Draft:
    """All lines of a folder's files, sorted, in one file."""
    folder, out, *stems = draw.names(2 + 1 + draw.level)
    files = {f"{folder}/{s}.{draw.extension()}": _lines(draw.names(3)) for s in stems}
    wanted = sorted(line for c in files.values() for line in c.splitlines())
    return Draft(
        instruction=f"put the lines of all files in {folder} {draw.pick(('sorted', 'in sorted order'))} in {out}.txt",
        files=files,
        checks=[text(f"{out}.txt", _lines(wanted)), *[unchanged(p, c) for p, c in files.items()]],
        oracle=[Step(f"sort {folder}/* > {out}.txt")],
        wrong=[
            [f"sort -r {folder}/* > {out}.txt"],
            [f"sort {min(files)} > {out}.txt"],
            [f"ls {folder} > {out}.txt"],
            [f"sort {folder}/* > {folder}/{out}.txt"],
        ],
    )


def group_count(draw: Draw) -> Draft:
    """How often each word occurs."""
    source, out, *words = draw.names(2 + 2 + draw.level)
    rows = [w for i, w in enumerate(words) for _ in range(i % 3 + 1)]
    draw.rng.shuffle(rows)
    content = _lines(rows)
    wanted = _lines([f"{w} {n}" for w, n in Counter(rows).items()])
    return Draft(
        instruction=f"count each word of {source}.txt: lines WORD COUNT, {draw.pick(('any order', 'in any order'))}, "
        f"in {out}.txt",
        files={f"{source}.txt": content},
        checks=[
            Check("lines_any_order", f"/home/user/{out}.txt", wanted),
            unchanged(f"{source}.txt", content),
        ],
        oracle=[Step(f"sort {source}.txt | uniq -c | awk '{{print $2, $1}}' > {out}.txt")],
        wrong=[
            [f"sort {source}.txt | uniq -c > {out}.txt"],
            [f"sort -u {source}.txt > {out}.txt"],
            [f"sort {source}.txt | uniq -c | awk '{{print $2, $1 + 1}}' > {out}.txt"],
        ],
    )


def mean_column(draw: Draw) -> Draft:
    """The mean of numbers, to two decimals at least."""
    path, out, _, numbers = _table(draw)
    content = _lines([str(n) for n in numbers])
    mean = sum(numbers) / len(numbers)
    return Draft(
        instruction=f"{draw.pick(('write', 'put'))} the mean of the numbers in {path}, two decimals or more, in {out}",
        files={path: content},
        checks=[number(out, mean, 0.00501), unchanged(path, content)],
        oracle=[Step(f"awk '{{s+=$1}} END {{printf \"%.4f\\n\", s/NR}}' {path} > {out}")],
        wrong=[
            [f"awk '{{s+=$1}} END {{print s}}' {path} > {out}"],
            [f"echo {mean + 0.25} > {out}"],
            [f"echo nan > {out}"],
        ],
    )


TEMPLATES = [
    Template(f.__name__, "data", f, levels=levels)
    for f, levels in (
        (sort_lines, (1, 2, 3)),
        (count_matching, (1, 2, 3)),
        (sum_column, (1, 2, 3)),
        (unique_lines, (1, 2)),
        (extract_column, (1, 2)),
        (join_files, (1, 2)),
        (top_row, (1, 2, 3)),
        (filter_rows, (1, 2, 3)),
        (merge_files, (1, 2, 3)),
        (group_count, (1, 2, 3)),
        (mean_column, (1, 2, 3)),
    )
]
