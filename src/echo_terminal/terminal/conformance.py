"""Two terminals side by side: how often do they give the same output, errors and exit code for a command?"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
import yaml

from echo_terminal.terminal.python_sandbox import INTERPRETER
from echo_terminal.terminal.terminal import (
    CLOCK,
    HOME,
    EngineUnavailable,
    File,
    Observation,
    Terminal,
    open_terminal,
)

PYTHON = "python3.11"  # of Debian 12, where the answers were recorded
_DURATION = re.compile(r"(?<=\bin )\d+\.\d{3}s\b|(?<=\t)\d+m\d+\.\d{3}s$", re.M)  # of unittest and of `time`


@dataclass(frozen=True)
class Case:
    """One command of a corpus."""

    family: str
    command: str


@dataclass(frozen=True)
class Row:
    """One command on two engines; ``error`` says that the reference failed or wrote to standard error."""

    family: str
    command: str
    exact: bool
    error: bool
    tested: Observation
    reference: Observation


@dataclass(frozen=True)
class Fixture:
    """What every command finds: files, and a command run first (it makes the folders that hold no file)."""

    files: Mapping[str, File]
    setup: str


def read_corpus(path: Path) -> list[Case]:
    """The cases of a JSON Lines file with the keys ``family`` and ``command``."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Case(record["family"], record["command"]) for record in records]


def built_in_fixture() -> Fixture:
    """A small project with data, logs, links and odd files, dated May 2024."""
    data = json.loads(resources.files("echo_terminal.terminal").joinpath("fixture.json").read_text("utf-8"))
    files = {}
    for name, entry in data["files"].items():
        content = base64.b64decode(entry["base64"]) if "base64" in entry else entry.get("text", "").encode()
        files[f"{HOME}/{name}"] = File(
            content, int(entry.get("mode", "644"), 8), entry["mtime"], entry.get("link")
        )
    return Fixture(files, _make_folders(data["folders"]))


def folder_fixture(root: Path) -> Fixture:
    """The files below a host folder, placed in the home folder of the episode."""
    files, empty = {}, []
    for path in sorted(root.rglob("*")):
        status, name = path.lstat(), path.relative_to(root).as_posix()
        if path.is_symlink():
            files[f"{HOME}/{name}"] = File(mtime=int(status.st_mtime), link=path.readlink().as_posix())
        elif path.is_file():
            files[f"{HOME}/{name}"] = File(path.read_bytes(), status.st_mode & 0o777, int(status.st_mtime))
        elif not any(path.iterdir()):
            empty.append(name)
    return Fixture(files, _make_folders(empty))


def _make_folders(names: Iterable[str]) -> str:
    folders = " ".join(shlex.quote(name) for name in names)
    return f"mkdir -p {folders} && touch -d @{CLOCK} . {folders}" if folders else ""


def unlike_record(command: str) -> str:
    """Why the recorded answer to a command does not hold on this machine, whose CPython may be another; empty if it
    does."""
    here = os.path.basename(os.path.realpath(INTERPRETER))
    if here == PYTHON or "python" not in command:
        return ""
    return f"recorded with {PYTHON}; {INTERPRETER} of this machine is {here}"


def answers(
    terminal: Terminal, cases: Iterable[Case], fixture: Fixture, seed: int = 0
) -> Iterator[Observation]:
    """What a terminal says to each command, every one in a fresh episode."""
    for case in cases:
        terminal.reset(fixture.files, seed)
        if fixture.setup:
            terminal.run(fixture.setup)
        yield terminal.run(case.command)


def compare(
    cases: Sequence[Case], tested: Iterable[Observation], reference: Iterable[Observation]
) -> list[Row]:
    """Rows of exact agreement of standard output, standard error and exit code; measured durations count as equal."""
    rows = []
    for case, ours, theirs in zip(cases, tested, reference, strict=True):
        same = _essence(ours) == _essence(theirs)
        error = theirs.exit_code != 0 or theirs.stderr != ""
        rows.append(Row(case.family, case.command, same, error, ours, theirs))
    return rows


def _essence(seen: Observation) -> tuple[str, str, int]:
    return _DURATION.sub("a moment", seen.stdout), _DURATION.sub("a moment", seen.stderr), seen.exit_code


def run_conformance(
    corpus: Sequence[Case], fixture: Fixture, engines: tuple[Terminal, Terminal]
) -> list[Row]:
    """Run a corpus on a tested and a reference engine."""
    tested, reference = engines
    return compare(corpus, answers(tested, corpus, fixture), answers(reference, corpus, fixture))


def read_recorded(path: Path) -> dict[str, Observation]:
    """Command -> recorded answer of a reference engine (JSON Lines: command, stdout, stderr, exit_code)."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {r["command"]: Observation(r["stdout"], r["stderr"], r["exit_code"], "") for r in records}


def record(cases: Iterable[Case], observations: Iterable[Observation]) -> str:
    """JSON Lines that ``read_recorded`` reads."""
    return "".join(
        json.dumps(
            {"family": c.family, "command": c.command, "stdout": o.stdout, "stderr": o.stderr,
             "exit_code": o.exit_code},
            ensure_ascii=False,
        ) + "\n"
        for c, o in zip(cases, observations, strict=True)
    )  # fmt: skip


def by_family(rows: Iterable[Row]) -> list[tuple[str, int, int]]:
    """Family, exact, all; sorted by family, then error commands and the whole."""
    counts: dict[str, list[int]] = {}
    rows = list(rows)
    for row in rows:
        count = counts.setdefault(row.family, [0, 0])
        count[0] += row.exact
        count[1] += 1
    errors = [row for row in rows if row.error]
    return [
        *((family, exact, total) for family, (exact, total) in sorted(counts.items())),
        ("commands that fail", sum(r.exact for r in errors), len(errors)),
        ("all", sum(r.exact for r in rows), len(rows)),
    ]


def reasons() -> list[tuple[re.Pattern[str], str]]:
    """Known differences: a pattern that a command matches as a whole or in part, and why it differs."""
    text = resources.files("echo_terminal.terminal").joinpath("differences.yaml").read_text("utf-8")
    return [(re.compile(entry["pattern"], re.S), entry["reason"]) for entry in yaml.safe_load(text)]


def differences(rows: Iterable[Row]) -> list[tuple[str, str, str, str]]:
    """Family, command, what differs, and the reason where it is known, of every row that is not exact."""
    known, found = reasons(), []
    for row in rows:
        if not row.exact:
            ours, theirs = row.tested, row.reference
            parts = [
                f"{name}: {_short(a)} instead of {_short(b)}"
                for name, a, b in (
                    ("stdout", ours.stdout, theirs.stdout),
                    ("stderr", ours.stderr, theirs.stderr),
                    ("exit code", ours.exit_code, theirs.exit_code),
                )
                if a != b
            ]
            reason = next((why for pattern, why in known if pattern.search(row.command)), "")
            found.append((row.family, row.command, "; ".join(parts), reason))
    return found


def _short(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit // 2]}...{text[-limit // 2 :]}"


def report(rows: Sequence[Row]) -> str:
    """Tables of families and differences; the last line states the agreement."""
    lines = [f"{'family':<40} {'exact':>6} {'of':>6} {'%':>6}"]
    families = by_family(rows)
    lines += [
        f"{name:<40} {exact:>6} {total:>6} {_percent(exact, total):>6}" for name, exact, total in families
    ]
    lines.append("")
    for family, command, what, reason in differences(rows):
        lines += [f"{family}: {command!r}", f"    {what}", f"    reason: {reason or 'not listed'}"]
    _, exact, total = families[-1]
    return "\n".join([*lines, f"exact agreement: {_percent(exact, total)} % ({exact} of {total})"])


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "0.0"


def conformance(
    corpus: Annotated[Path, typer.Option(exists=True, help="JSON Lines with the keys family and command.")],
    fixture: Annotated[
        Path | None, typer.Option(exists=True, help="Folder of files; a built-in project without it.")
    ] = None,
    tested: Annotated[str, typer.Option(help="The engine under test.")] = "virtual",
    reference: Annotated[str, typer.Option(help="The engine that is right.")] = "bubblewrap",
    recorded: Annotated[
        Path | None,
        typer.Option(exists=True, help="Recorded answers (JSON Lines) in place of the reference engine."),
    ] = None,
) -> None:
    """Run a corpus of commands on two terminals and print how often they agree."""
    cases = read_corpus(corpus)
    files = built_in_fixture() if fixture is None else folder_fixture(fixture)
    try:
        ours = open_terminal(tested)
        theirs = None if recorded is not None else open_terminal(reference)
    except EngineUnavailable as error:
        typer.echo(f"{error}; or give --recorded FILE", err=True)
        raise typer.Exit(1) from None
    if theirs is None:
        assert recorded is not None
        known = read_recorded(recorded)
        if missing := [case.command for case in cases if case.command not in known]:
            typer.echo(f"{recorded} has no answer to {len(missing)} commands, first {missing[0]!r}", err=True)
            raise typer.Exit(1)
        alike = [case for case in cases if not unlike_record(case.command)]
        rows = compare(alike, answers(ours, alike, files), [known[case.command] for case in alike])
        if reason := next(filter(None, (unlike_record(case.command) for case in cases)), ""):
            typer.echo(f"left out: {len(cases) - len(alike)} commands ({reason})")
    else:
        rows = run_conformance(cases, files, (ours, theirs))
        theirs.close()
    ours.close()
    typer.echo(report(rows))
