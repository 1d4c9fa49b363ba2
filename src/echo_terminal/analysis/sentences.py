"""Numbers in words for the notebooks: a value with its interval, what the interval says, and both arms side by side.

A bound that is NaN means that there is no interval.
"""

from __future__ import annotations

import math
from typing import Any


def signed(value: float, digits: int = 1) -> str:
    """``value`` with its sign, a true minus among them."""
    return f"{value:+.{digits}f}".replace("-", "\u2212")


def with_bounds(value: float, low: float, high: float, digits: int = 1, unit: str = "") -> str:
    """A difference with its interval; without bounds it says so."""
    if math.isnan(low) or math.isnan(high):
        return f"{signed(value, digits)}{unit} (too few runs for an interval)"
    return f"{signed(value, digits)}{unit} [{signed(low, digits)}, {signed(high, digits)}]"


def side(low: float, high: float, below: str, above: str, neither: str = "no clear difference") -> str:
    """What an interval says of its difference: ``below`` 0, ``above`` 0, or neither."""
    return below if high < 0 else above if low > 0 else neither


def arms(row: Any, digits: int = 3, scale: float = 1.0, unit: str = "") -> str:
    """Before RL (where it was measured), GRPO, ECHO, and their difference, from a row of ``prediction.gaps``."""
    before = "" if math.isnan(row.before) else f"{scale * row.before:.{digits}f}{unit} before RL, "
    gap = with_bounds(scale * row.gap, scale * row.low, scale * row.high, digits)
    after = f"{scale * row.grpo:.{digits}f}{unit} after GRPO, {scale * row.echo:.{digits}f}{unit} after ECHO"
    return f"{before}{after}; ECHO − GRPO {gap}"
