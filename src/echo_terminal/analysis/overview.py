"""Figure 1: one rollout coloured by role, and the two losses that gather different tokens of one forward pass.

The drawing explains the method with an invented exchange; it holds no measurement.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from echo_terminal.analysis import style

FILL = {
    "prompt": "#F0F0F0",
    "action": "#F6C9A8",
    "output": "#A9CFE8",
    "warning": "#F3DFA2",
    "glue": "#FFFFFF",
}
TITLE = {
    "prompt": "prompt",
    "action": "action: sampled by the policy",
    "output": "output: the terminal's own text",
    "warning": "warning: the harness's text",
    "glue": "template",
}
ROLLOUT = [  # (role, text) by line
    [("prompt", "system"), ("prompt", "task: pack orders, then ship it")],
    [("action", "pack orders.csv"), ("glue", "exit code:"), ("output", "2"), ("output", "usage: pack seal FILE")],
    [("action", "pack seal orders.csv"), ("glue", "exit code:"), ("output", "0"), ("output", "sealed 12 rows")],
    [("action", "ship ("), ("warning", "warning: the call did not parse")],
    [("action", "ship send orders.csv"), ("glue", "exit code:"), ("output", "0"), ("output", "sent")],
    [("action", "done")],
]  # fmt: skip


LEGEND = ((0.0, -0.5), (1.9, -0.5), (0.0, -1.2), (5.6, -1.2), (7.6, -0.5))
PANELS = (  # (y, title, formula, colour), top to bottom
    (4.25, "one forward pass", r"$\log p_\theta(x_t \mid x_{<t})$ at every position $t$", "#F7F7F7"),
    (
        2.1,
        "policy term: action tokens $A$",
        r"$L_{GRPO} = -\frac{1}{\Sigma|A_i|}\,\Sigma\Sigma\,\min(\rho_t \hat{A}_i,\ \mathrm{clip}(\rho_t)\,\hat{A}_i)$",
        FILL["action"],
    ),
    (
        -0.05,
        "environment term: output tokens $O'$",
        r"$L_{Env} = -\frac{1}{Z}\,\Sigma_{t\in O'}\,\log p_\theta(x_t \mid x_{<t})$",
        FILL["output"],
    ),
)


def _box(axis: Axes, x: float, y: float, role: str, text: str, width: float) -> None:
    axis.add_patch(
        FancyBboxPatch(
            (x, y), width, 0.62, boxstyle="round,pad=0.02,rounding_size=0.1", facecolor=FILL[role],
            edgecolor="#9A9A9A" if role == "glue" else "#555555", linewidth=0.6,
            linestyle=":" if role == "glue" else "-",
        )
    )  # fmt: skip
    axis.text(x + width / 2, y + 0.3, text, ha="center", va="center", fontsize=6.5, family="DejaVu Sans Mono")


def _rollout(axis: Axes) -> None:
    for row, line in enumerate(ROLLOUT):
        x, y = 0.0, 5.0 - 0.95 * row
        for role, text in line:
            width = 0.16 * len(text) + 0.35
            _box(axis, x, y, role, text, width)
            x += width + 0.16
    for i, role in enumerate(FILL):
        x, y = LEGEND[i]
        axis.add_patch(
            plt.Rectangle((x, y), 0.36, 0.36, facecolor=FILL[role], edgecolor="#555555", linewidth=0.5)
        )
        axis.text(x + 0.5, y + 0.17, TITLE[role], va="center", fontsize=6.5)


def _losses(axis: Axes) -> None:
    for y, title, formula, colour in PANELS:
        axis.add_patch(
            FancyBboxPatch(
                (11.4, y), 7.3, 1.45, boxstyle="round,pad=0.02,rounding_size=0.12",
                facecolor=colour, edgecolor="#555555", linewidth=0.7,
            )
        )  # fmt: skip
        axis.text(15.05, y + 1.1, title, ha="center", va="center", fontsize=7, weight="bold")
        axis.text(15.05, y + 0.48, formula, ha="center", va="center", fontsize=7.5)
    axis.add_patch(
        FancyArrowPatch(
            (15.05, 4.2), (15.05, 3.6), arrowstyle="-|>", mutation_scale=7, color="#333333", linewidth=0.8
        )
    )
    axis.text(15.05, 1.72, r"$+\ \lambda\ \times$", ha="center", va="center", fontsize=8)
    axis.text(
        15.05, -0.85,
        "Warnings and template text enter neither term.\nRollouts of equal reward keep the environment term.",
        ha="center", va="center", fontsize=6.2, style="italic",
    )  # fmt: skip


def overview() -> Figure:
    """The overview figure."""
    style.use()
    figure, axis = plt.subplots(figsize=(style.WIDE, 2.6), layout="constrained")
    _rollout(axis)
    _losses(axis)
    axis.set(xlim=(-0.1, 18.9), ylim=(-1.4, 5.9))
    axis.axis("off")
    return figure
