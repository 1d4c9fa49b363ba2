"""Two terminals side by side: how often do they give the same output, errors and exit code for a command?"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from echo_terminal.terminal.terminal import CLOCK, HOME, File, Observation, Terminal


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
    """Rows of exact agreement of standard output, standard error and exit code."""
    rows = []
    for case, ours, theirs in zip(cases, tested, reference, strict=True):
        same = (ours.stdout, ours.stderr, ours.exit_code) == (theirs.stdout, theirs.stderr, theirs.exit_code)
        error = theirs.exit_code != 0 or theirs.stderr != ""
        rows.append(Row(case.family, case.command, same, error, ours, theirs))
    return rows


def run_conformance(
    corpus: Sequence[Case], fixture: Fixture, engines: tuple[Terminal, Terminal]
) -> list[Row]:
    """Run a corpus on a tested and a reference engine."""
    tested, reference = engines
    return compare(corpus, answers(tested, corpus, fixture), answers(reference, corpus, fixture))
