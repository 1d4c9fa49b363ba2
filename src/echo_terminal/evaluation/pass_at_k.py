"""pass@k over tasks, and the two bounds that attempts without a verdict leave open.

The estimator is the unbiased one of Chen et al. (arXiv 2107.03374, eq. 1): for a task with n attempts of
which c passed, ``1 - C(n-c, k) / C(n, k)``, then the plain mean over tasks. With n < k it is undefined and
is never reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, fsum


@dataclass(frozen=True)
class PassAtK:
    """``value`` is the mean over the ``tasks`` with at least k attempts (None where there is none).

    ``too_few`` counts the tasks left out because they have fewer than k attempts: print it beside the value.
    """

    k: int
    value: float | None
    tasks: int
    too_few: int


@dataclass(frozen=True)
class PassRate:
    """Attempts by verdict. ``headline`` counts an attempt without a verdict as failed, ``upper`` leaves it
    out.
    """

    passed: int
    failed: int
    missing: int

    @property
    def headline(self) -> float | None:
        """passed / all attempts; None where there is no attempt."""
        total = self.passed + self.failed + self.missing
        return self.passed / total if total else None

    @property
    def upper(self) -> float | None:
        """passed / attempts with a verdict; None where there is none."""
        total = self.passed + self.failed
        return self.passed / total if total else None


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of k attempts, drawn without replacement from n with c passes, passed.

    Raises:
        ValueError: not 0 <= c <= n, k < 1, or n < k (undefined).
    """
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"need k >= 1 and 0 <= c <= n, got n={n} c={c} k={k}")
    if n < k:
        raise ValueError(f"pass@{k} is undefined for a task with {n} attempts")
    return 1.0 - comb(n - c, k) / comb(n, k)


def mean_pass_at_k(counts: Iterable[tuple[int, int]], k: int) -> PassAtK:
    """pass@k of a suite. ``counts`` holds one (attempts, passes) pair for each task."""
    counts = list(counts)
    values = [pass_at_k(n, c, k) for n, c in counts if n >= k]
    mean = fsum(values) / len(values) if values else None
    return PassAtK(k, mean, len(values), len(counts) - len(values))


def pass_rate(verdicts: Sequence[bool | None]) -> PassRate:
    """Count attempts. A verdict counts whatever ended the agent (a time-out too); None is an attempt without
    one.
    """
    passed = sum(v is True for v in verdicts)
    missing = sum(v is None for v in verdicts)
    return PassRate(passed, len(verdicts) - passed - missing, missing)
