"""Group-relative advantages: (reward - mean) / std over the rollouts of one prompt.

The paper says "over its std" without naming the estimator. The default is the sample standard deviation (n
- 1), as in the common implementations; ``std="population"`` divides by n. No epsilon is added to the std:
whether a group is trivial is decided by max - min, so equal rewards give exactly 0 whatever the rounding of
their mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Std = Literal["sample", "population"]


@dataclass(frozen=True)
class Advantages:
    """``values`` [B] float64, NaN for lost rows; ``trivial`` [B]: the row's group has equal rewards;
    ``lost`` [B]."""

    values: NDArray[np.float64]
    trivial: NDArray[np.bool_]
    lost: NDArray[np.bool_]

    @property
    def zero_variance_share(self) -> float:
        """Share of the rows that are not lost whose group has equal rewards; 0 when every row is lost."""
        kept = int((~self.lost).sum())
        return float((self.trivial & ~self.lost).sum() / kept) if kept else 0.0


def group_advantages(
    rewards: Sequence[float | None],
    groups: Sequence[Hashable],
    *,
    std: Std = "sample",
    tolerance: float = 1e-9,
) -> Advantages:
    """Advantages of rollouts whose prompts are named by ``groups``; both of length B, in any order.

    A reward of None is a row whose infrastructure failed: it leaves the statistics of its group and its own
    value is NaN, so that a misuse shows. A group left with a single row by such losses has advantage 0
    (nothing to compare).

    Raises:
        ValueError: lengths differ, a reward is not finite, or a group has one row to begin with.
    """
    if len(rewards) != len(groups):
        raise ValueError(f"{len(rewards)} rewards but {len(groups)} group names")
    lost = np.array([r is None for r in rewards], dtype=np.bool_)
    reward = np.array([np.nan if r is None else r for r in rewards], dtype=np.float64)
    if not np.isfinite(reward[~lost]).all():
        raise ValueError("rewards must be finite numbers, or None for a lost rollout")
    values = np.full(len(rewards), np.nan)
    trivial = np.zeros(len(rewards), dtype=np.bool_)
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    for group, rows in members.items():
        if len(rows) == 1:
            raise ValueError(
                f"group {group!r} holds one rollout: a group-relative advantage needs at least two a prompt"
            )
        kept = np.array([row for row in rows if not lost[row]], dtype=np.int64)
        if kept.size == 0:
            continue
        of_group = reward[kept]
        if of_group.max() - of_group.min() <= tolerance:
            values[kept] = 0.0
            trivial[kept] = True
        else:
            values[kept] = (of_group - of_group.mean()) / of_group.std(ddof=1 if std == "sample" else 0)
    return Advantages(values, trivial, lost)
