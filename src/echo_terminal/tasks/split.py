"""What may stand in which suite, and proof that nothing leaks from one into another.

Three walls: seed ranges never meet; a template of ``itd`` is in no other suite; and of all combinations of
two or more of a machine's facts (which tools together), one in five is kept from ``train``. Single facts are
all in train: they are what is to be learned.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from datasketch import MinHash, MinHashLSH

from echo_terminal.tasks.machine import brought
from echo_terminal.tasks.task import Task

SUITES = ("train", "val", "itd", "itd_machine", "lite", "hard", "pyterm", "pretrain", "teacher")
_SPAN = 1_000_000  # seeds of one suite and build seed
_BUILDS = 1_000


def seeds(suite: str, build_seed: int) -> Iterator[int]:
    """The task seeds of a suite: no two suites and no two build seeds share one.

    Raises:
        ValueError: no such suite, or a build seed outside 0..999.
    """
    if suite not in SUITES:
        raise ValueError(f"unknown suite {suite!r}: choose from {', '.join(SUITES)}")
    if not 0 <= build_seed < _BUILDS:
        raise ValueError(f"the seed of a build must lie in 0..{_BUILDS - 1}, not {build_seed}")
    first = (SUITES.index(suite) * _BUILDS + build_seed) * _SPAN
    return iter(range(first, first + _SPAN))


def tools_of(task: Task) -> list[str]:
    """The site tools that a task needs, sorted."""
    return sorted({name.removeprefix("verb:") for name in task.facts if name.startswith("verb:")})


def held_out_combination(task: Task) -> bool:
    """Whether the task's set of site tools is one of the fifth that training never sees; false below two."""
    tools = tools_of(task)
    return len(tools) > 1 and hashlib.sha256("|".join(tools).encode()).digest()[0] < 51


@dataclass(frozen=True)
class Leak:
    """A task outside train and the most similar task of train; ``similarity`` is MinHash's Jaccard estimate."""

    task: str
    train_task: str
    similarity: float


@dataclass(frozen=True)
class LeakageReport:
    """``collisions``: pairs of tasks with one canonical hash (must be 0). ``near``: per suite, tasks whose
    nearest train task reaches ``threshold``. ``shared_templates``: per suite, share of tasks whose template
    is in train.
    """

    collisions: int
    near: Mapping[str, int]
    sizes: Mapping[str, int]
    shared_templates: Mapping[str, float]
    examples: Sequence[Leak]
    threshold: float


def shingles(task: Task, width: int = 3) -> set[bytes]:
    """Runs of ``width`` words over instruction and own files; what the machine brings does not count."""
    own = [f"{p} {f.content.decode('utf-8', 'replace')}" for p, f in task.files.items() if not brought(p)]
    words = " ".join([task.instruction, *own]).replace("/", " ").replace(".", " ").replace("=", " ").split()
    return {" ".join(words[i : i + width]).encode() for i in range(max(1, len(words) - width + 1))}


def leakage(tasks: Iterable[Task], threshold: float = 0.8, permutations: int = 64) -> LeakageReport:
    """Compare every suite with train."""
    suites: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        suites[task.suite].append(task)
    hashes = Counter(t.canonical_hash for members in suites.values() for t in members)
    index = MinHashLSH(threshold=threshold, num_perm=permutations)
    sketches = {t.task_id: _sketch(t, permutations) for t in suites["train"]}
    for name, sketch in sketches.items():
        index.insert(name, sketch)
    trained = {t.template for t in suites["train"]}
    near, examples = Counter({s: 0 for s in suites if s != "train"}), []
    for suite, members in suites.items():
        for task in members if suite != "train" else ():
            sketch = _sketch(task, permutations)
            found = [(sketch.jaccard(sketches[n]), n) for n in index.query(sketch)]
            best = max(found, default=(0.0, ""))
            if best[0] >= threshold:
                near[suite] += 1
                examples.append(Leak(task.task_id, best[1], best[0]))
    return LeakageReport(
        collisions=sum(n * (n - 1) // 2 for n in hashes.values()),
        near=dict(near),
        sizes={s: len(m) for s, m in suites.items()},
        shared_templates={
            s: float(np.mean([t.template in trained for t in m]))
            for s, m in suites.items()
            if s != "train" and m
        },
        examples=sorted(examples, key=lambda e: (-e.similarity, e.task))[:20],
        threshold=threshold,
    )


def _sketch(task: Task, permutations: int) -> MinHash:
    sketch = MinHash(num_perm=permutations, seed=1)
    sketch.update_batch(sorted(shingles(task)))
    return sketch
