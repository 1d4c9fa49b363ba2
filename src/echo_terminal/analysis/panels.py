"""Panels of a notebook's picture and one legend above them; sizes are inches on the screen."""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

LINE = "#444444"  # of what is drawn for orientation: zero, the diagonal


def panels(
    rows: int, columns: int, width: float, height: float, **share: object
) -> tuple[Figure, np.ndarray]:
    """A figure of [rows, columns] panels, each ``width`` by ``height``."""
    return plt.subplots(  # type: ignore[call-overload,no-any-return]
        rows,
        columns,
        figsize=(width * columns, height * rows + 0.5),
        squeeze=False,
        layout="constrained",
        **share,
    )


def legend_above(figure: Figure, axes: Iterable[Axes], columns: int = 6) -> None:
    """One legend above the panels, each name once, in as many columns as the figure is wide."""
    entries: dict[str, object] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    if len(entries) > 5:  # many arms: a narrow figure would have more legend than picture
        figure.set_figwidth(max(9.0, figure.get_figwidth()))
    longest = max((len(name) for name in entries), default=0)
    room = int(figure.get_figwidth() / (0.7 + 0.09 * longest))
    columns = max(1, min(columns, len(entries), room))
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=columns, frameon=False)
