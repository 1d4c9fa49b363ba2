"""The figure of ``make bench``: what an update and a decoded token cost against context, batch and model size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.ticker import NullLocator

from echo_terminal.analysis import style

_NAME = re.compile(r"(update|decode)_ms_(context|batch|parameters)_(\d+)")
_AXES = {"context": "tokens of a row", "batch": "rows", "parameters": "parameters"}


def _short(size: int) -> str:
    """``512``, ``1M``."""
    return f"{size / 1e6:.2g}M" if size >= 100_000 else str(size)


def scaling_figure(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Draw rows named ``update_ms_context_128`` on logarithmic axes, with the line of slope 1 through the first
    point of each."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in rows:
        if found := _NAME.fullmatch(row["name"]):
            points.setdefault((found[1], found[2]), []).append((int(found[3]), float(row["value"])))
    figure, axes = style.grid(1, len(_AXES))
    for axis, (name, label) in zip(axes.flat, _AXES.items(), strict=True):
        for what, colour in (("update", style.COLOURS["echo"]), ("decode", style.COLOURS["grpo"])):
            sizes, costs = zip(*sorted(points[what, name]), strict=True)
            axis.loglog(sizes, costs, "o-", color=colour, label=f"{what}, CPU ms")
            axis.loglog(sizes, [costs[0] * s / sizes[0] for s in sizes], ":", color=colour, label="linear")
        axis.set_xlabel(label)
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xticks(sizes, [_short(size) for size in sizes])
    style.legend(figure, axes.flat)
    figure.savefig(path, metadata={"Date": None})
