"""Rows of unequal length in groups that cost about the same."""

from __future__ import annotations

from collections.abc import Sequence


def micro_batches(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Rows grouped so that rows x longest row <= ``token_budget``, longest first; ties by index.

    A row longer than the budget is a group of its own. Every row appears exactly once.
    """
    if token_budget < 1:
        raise ValueError(f"token_budget must be at least 1, got {token_budget}")
    sizes = [int(n) for n in lengths]
    groups: list[list[int]] = []
    for index in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        if groups and (len(groups[-1]) + 1) * sizes[groups[-1][0]] <= token_budget:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
