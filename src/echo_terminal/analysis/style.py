"""One look for every figure, and files whose bytes depend on the data alone.

Colours are Okabe and Ito's, safe for colour-blind readers; arms also differ in line and marker. Sizes are inches at the
printed width, so 8 pt text stays 8 pt on the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # before pyplot: no display is needed, on any machine

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, MaxNLocator, NullFormatter

from echo_terminal.analysis.names import OBJECTIVES, colour_of, marker_of

WIDE, NARROW = 6.5, 3.4
COLOURS = {name: colour_of(name) for name in OBJECTIVES} | {"published": "#CC79A7", "accent": "#E69F00"}
LINES = {"grpo": "--", "echo": "-", "env_only": "-."}
MARKERS = {name: marker_of(name) for name in OBJECTIVES}
PUBLISHED_NOTE = "paper (another scale)"


def use() -> None:
    """Set the style. Figures call it first, so that import order does not matter."""
    sns.set_theme(
        context="paper",
        style="ticks",
        palette="colorblind",
        font="DejaVu Sans",
        rc={
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "legend.frameon": False,
            "axes.grid": True,
            "grid.color": "#E6E6E6",
            "grid.linewidth": 0.5,
            "axes.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "lines.linewidth": 1.4,
            "lines.markersize": 3.5,
            "xtick.major.width": 0.6,
            "ytick.major.width": 0.6,
            "svg.hashsalt": "echo-terminal",
            "svg.fonttype": "path",
        },
    )


def grid(rows: int, columns: int, height: float = 1.75, width: float = WIDE) -> tuple[Figure, np.ndarray]:
    """A figure with a [rows, columns] array of axes; ``height`` is that of one row."""
    use()
    return plt.subplots(
        rows, columns, figsize=(width, height * rows + 0.35), squeeze=False, layout="constrained"
    )


def legend(figure: Figure, axes: Iterable[Axes], columns: int = 6) -> None:
    """One legend above all panels, each name once."""
    entries: dict[str, object] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    if entries:
        columns = min(columns, len(entries))
        figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=columns)


def curve(axis: Axes, runs: pd.DataFrame, objective: str, name: str, scale: float = 1.0) -> None:
    """Runs [seed × step] of one arm: the mean as a line, the range over seeds as a band."""
    runs = runs.dropna(axis=1)
    shade = COLOURS[objective]
    steps = runs.columns.to_numpy(dtype=float)
    point = MARKERS[objective] if len(steps) <= 12 else ""
    axis.plot(steps, scale * runs.mean(axis=0), LINES[objective], marker=point, color=shade, label=name)
    if len(runs) > 1:
        axis.fill_between(
            steps, scale * runs.min(axis=0), scale * runs.max(axis=0), color=shade, alpha=0.18, linewidth=0
        )


def from_zero(axis: Axes, least: float = 5.0) -> None:
    """A y axis from just below 0 to above the highest value, at least ``least`` high: no mark lies on the frame."""
    high = max(least, axis.dataLim.ymax)
    axis.set_ylim(-0.03 * high, 1.07 * high)


def step_axis(axis: Axes) -> None:
    """Whole numbers on the x axis: steps have no fractions."""
    axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


def log_scale(axis: Axes) -> None:
    """A logarithmic y axis with plain numbers at 1, 2 and 5, at least a factor of four high."""
    low, high = axis.dataLim.minposy, axis.dataLim.ymax
    axis.set_yscale("log")
    axis.set_ylim(min(low / 1.2, high / 4), max(high * 1.2, low * 4))
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 200 else (1,)))
    axis.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def save(figure: Figure, name: str, folder: Path) -> list[Path]:
    """Write ``name`` as PNG (200 dpi) and SVG without dates or tool names, and close the figure."""
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.savefig(png, dpi=200, metadata={"Software": None})
    figure.set_layout_engine("none")  # both files share the first one's layout
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return [png, svg]
