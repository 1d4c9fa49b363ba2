"""One table, four forms: CSV (numbers), Markdown, LaTeX booktabs and Typst (the shown text).

A table keeps its numbers in ``data`` and the reader's text in ``shown``; both have the same rows.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from echo_terminal.analysis.statistics import Interval

DASH = "–"


class Table(NamedTuple):
    """``name`` is the file stem, ``notebook`` the stage that made the numbers."""

    name: str
    caption: str
    notebook: str
    data: pd.DataFrame
    shown: pd.DataFrame

    @property
    def title(self) -> str:
        """The name for readers: ``table1`` is Table 1."""
        return re.sub(r"^Table(\d)", r"Table \1", self.name.capitalize())


def number(value: float | None, digits: int = 1, sign: bool = False) -> str:
    """A rounded number with a true minus sign; a dash where there is none."""
    if value is None or np.isnan(value):
        return DASH
    rounded = round(float(value), digits) + 0.0  # +0.0 turns -0.0 into 0.0
    return f"{rounded:{'+' if sign and rounded else ''}.{digits}f}".replace("-", "\u2212")


def with_interval(interval: Interval, digits: int = 1, scale: float = 1.0, sign: bool = False) -> str:
    """``value [low, high]`` after scaling (100 turns rates into percent)."""
    value, low, high = (x * scale for x in interval)
    if np.isnan(low) or np.isnan(high):
        return number(value, digits, sign)
    return f"{number(value, digits, sign)} [{number(low, digits)}, {number(high, digits)}]"


def p_value(p: float | None) -> str:
    """A p-value as text: three decimals, or ``<0.001``."""
    if p is None or np.isnan(p):
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def markdown(table: Table) -> str:
    """A GitHub table; bars inside cells are escaped."""
    rows = [
        list(table.shown.columns),
        ["---"] * table.shown.shape[1],
        *table.shown.astype(str).values.tolist(),
    ]
    return "\n".join("| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |" for row in rows) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "\u2212": "$-$", "–": "--", "λ": r"$\lambda$", "→": r"$\rightarrow$",
    "≥": r"$\geq$", "≤": r"$\leq$", "±": r"$\pm$", "×": r"$\times$", "Δ": r"$\Delta$", "ρ": r"$\rho$",
}  # fmt: skip


def latex_text(text: object) -> str:
    """Text with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(c, c) for c in str(text))


def latex(table: Table) -> str:
    """A booktabs tabular with caption and label, to be \\input."""
    columns = "l" * table.shown.shape[1]
    head = " & ".join(latex_text(c) for c in table.shown.columns)
    body = "\n".join(" & ".join(map(latex_text, row)) + r" \\" for row in table.shown.values.tolist())
    return (
        "\\begin{table}[t]\n\\centering\n\\small\n"
        f"\\caption{{{latex_text(table.caption)}}}\n\\label{{tab:{table.name}}}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )


def typst_text(text: object) -> str:
    """Text as a Typst string literal in a content position: nothing in it is markup."""
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'#"{escaped}"'


def typst(table: Table) -> str:
    """A Typst figure holding the table, titled by its name."""
    columns = table.shown.shape[1]
    head = ", ".join(f"[*{typst_text(c)}*]" for c in table.shown.columns)
    body = ",\n".join(
        "  " + ", ".join(f"[{typst_text(c)}]" for c in row) for row in table.shown.values.tolist()
    )
    caption = f"*{typst_text(table.title)}.* {typst_text(table.caption)} "
    caption += f"#text(fill: luma(40%))[(notebook {typst_text(table.notebook)})]"
    return (
        f"#figure(kind: table, numbering: none, supplement: none, placement: auto, caption: [{caption}],\n"
        f" table(columns: {columns}, align: left, stroke: none, inset: (x: 3pt, y: 1.7pt),\n"
        f"  table.hline(), table.header({head}), table.hline(stroke: 0.5pt),\n{body},\n  table.hline()))\n"
    )


def write(table: Table, folder: Path) -> list[Path]:
    """Write the four forms and return their paths. An empty table is an error.

    Raises:
        ValueError: the table has no rows.
    """
    if table.shown.empty or len(table.data) != len(table.shown):
        raise ValueError(f"table {table.name} is empty or its two forms differ in length")
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "csv": table.data.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
        "md": f"{table.caption} (notebook {table.notebook})\n\n{markdown(table)}",
        "tex": latex(table),
        "typ": typst(table),
    }
    paths = []
    for suffix, text in texts.items():
        path = folder / f"{table.name}.{suffix}"
        path.write_text(re.sub(r"[ \t]+\n", "\n", text), encoding="utf-8", newline="\n")
        paths.append(path)
    return paths
