"""Score anyone's trajectories under a policy: held-out CE by suite and class of output, as a table.

Accepted: our JSON Lines of transcripts (``agent.record``), Harbor's trajectories (``atif``; a file, JSON
Lines of them, or a job folder with ``trajectory.json`` files in it). Transcripts are scored id by id, so
they must have been recorded with the policy's own tokenizer; Harbor's are tokenised here.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from echo_terminal.agent.prompt import Codec
from echo_terminal.agent.record import from_record
from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.evaluation.atif import is_atif, read_atif
from echo_terminal.evaluation.heldout_ce import CERow, HeldOut, Scorer, digest, prepare, score, summarise


class ScoringPolicy(Scorer, Protocol):
    """What ``policy.weights.load_policy`` returns."""

    @property
    def tokenizer(self) -> Codec:
        """The policy's codec."""


@dataclass(frozen=True)
class Corpus:
    """Trajectories ready to be scored. ``cut`` were longer than the limit, ``omitted`` parts were not text."""

    trajectories: list[HeldOut]
    cut: int
    omitted: int


def documents(path: Path) -> Iterator[tuple[str, Any]]:
    """(name, JSON value) of every trajectory in a file or folder.

    Raises:
        FileNotFoundError: nothing there.
        ValueError: text that is not JSON, with file and line.
    """
    if path.is_dir():
        files = sorted(path.rglob("trajectory.json"))
        if not files:
            raise FileNotFoundError(f"{path} holds no trajectory.json")
        for file in files:
            for _, document in documents(file):
                yield str(file.relative_to(path).parent), document
        return
    if not path.exists():
        raise FileNotFoundError(f"no trajectories at {path}")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        yield path.stem, _parse(text, str(path))
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield f"{path.stem}:{number}", _parse(line, f"{path}, line {number}")


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: not JSON ({error.msg})") from error


def check_tokenizer(transcript: Transcript, codec: Codec, name: str) -> None:
    """Raises ValueError where the ids of an action do not spell its command: they are another tokenizer's."""
    for segment in transcript.segments:
        if segment.role == Role.ACTION:
            command = transcript.turns[segment.turn].command
            if command is not None and command not in codec.decode(
                transcript.ids[segment.start : segment.end]
            ):
                raise ValueError(f"{name}: recorded with another tokenizer than the policy's")


def _shorten(held: HeldOut, limit: int) -> HeldOut:
    return replace(
        held,
        ids=held.ids[:limit],
        classes=held.classes[:limit],
        sizes=held.sizes[:limit],
        floors=held.floors[:limit],
    )


def load_corpus(path: Path, codec: Codec, max_tokens: int | None = None) -> Corpus:
    """Read and classify every trajectory; longer ones are cut after ``max_tokens`` tokens and counted.

    Raises:
        ValueError: a document of neither kind, or recorded with another tokenizer.
    """
    trajectories, cut, omitted = [], 0, 0
    for name, document in documents(path):
        if is_atif(document):
            reading = read_atif(document, codec, name)
            omitted += reading.omitted
            identity, transcript, task, suite = reading.trajectory_id, reading.transcript, name, "harbor"
        elif isinstance(document, dict) and {"ids", "segments", "turns"} <= set(document):
            transcript = from_record(document)
            check_tokenizer(transcript, codec, name)
            identity, task, suite = name, document["task_id"], document["suite"]
        else:
            raise ValueError(f"{name}: neither a recorded transcript nor a Harbor (ATIF) trajectory")
        held = prepare(transcript, codec.decode, trajectory_id=identity, task_id=task, suite=suite)
        if max_tokens is not None and len(held.ids) > max_tokens:
            held, cut = _shorten(held, max_tokens), cut + 1
        trajectories.append(held)
    names = [t.trajectory_id for t in trajectories]
    if len(set(names)) != len(names):  # runs of one session share its id: tell them apart by place
        trajectories = [
            replace(t, trajectory_id=f"{t.trajectory_id}#{i}") for i, t in enumerate(trajectories)
        ]
    return Corpus(trajectories, cut, omitted)


def table(rows: Sequence[CERow]) -> list[dict[str, Any]]:
    """CE by suite and class, and over all classes of terminal output (class ``all``)."""
    means = {(suite, "all"): ce for (suite,), ce in summarise(rows).items()}
    means |= {(key[0], key[1]): ce for key, ce in summarise(rows, by=("suite", "token_class")).items()}
    return [
        {"suite": suite, "token_class": name, **asdict(ce)} for (suite, name), ce in sorted(means.items())
    ]


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows of equal keys; numbers with all their digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def score_ce(
    policy: Path,
    trajectories: Path,
    out: Path | None = None,
    max_tokens: int | None = None,
    batch_size: int = 16,
) -> list[str]:
    """The command ``echo-terminal score-ce``: score, write ``out`` (CSV), and return the lines to print.

    Raises:
        FileNotFoundError, ValueError: a folder or file is not what it should be; one line says what.
    """
    from echo_terminal.policy.weights import load_policy

    loaded = load_policy(policy)
    return report(loaded, trajectories, out, max_tokens, batch_size)


def report(
    policy: ScoringPolicy, trajectories: Path, out: Path | None, max_tokens: int | None, batch_size: int
) -> list[str]:
    """``score_ce`` with a policy that is loaded already."""
    corpus = load_corpus(trajectories, policy.tokenizer, max_tokens)
    rows = table(score(corpus.trajectories, policy, batch_size))
    if not rows:
        raise ValueError(f"{trajectories} holds no terminal output to score")
    if out is not None:
        write_csv(out, rows)
    lines = [f"{'suite':<12} {'class':<14} {'tokens':>8} {'nats/token':>11} {'nats/seq':>9} {'bits/byte':>9}"]
    for row in rows:
        bits = "" if row["bits_per_byte"] is None else f"{row['bits_per_byte']:.3f}"
        lines.append(
            f"{row['suite']:<12} {row['token_class']:<14} {row['tokens']:>8} {row['per_token']:>11.4f} "
            f"{row['per_sequence']:>9.4f} {bits:>9}"
        )
    count = len(corpus.trajectories)
    lines.append(
        f"{count} trajectories, corpus {digest(corpus.trajectories)}; warnings are not terminal output"
    )
    if corpus.cut:
        lines.append(f"{corpus.cut} of them were cut after {max_tokens} tokens")
    if corpus.omitted:
        lines.append(f"{corpus.omitted} pictures or sounds were left out")
    return lines
