"""The results block of the README, between two markers, rendered from what ``paper.build`` wrote."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd

from echo_terminal.analysis import claims, render

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def block(out_dir: Path, profile: str) -> str:
    """Markdown of the verdict counts, the verdict table and table 1.

    Args:
        out_dir: the folder that ``paper.build`` wrote.
        profile: the profile's name, for the heading line.
    """
    rows = json.loads((out_dir / "claims.json").read_text(encoding="utf-8"))
    run = [row for row in rows if row["verdict"] != "not run"]
    parts = [
        f"Profile `{profile}`: {claims.summary(rows)} (one judgement for each claim and starting policy)."
    ]
    if run:
        table = claims.table(run)
        shown = table.shown.drop(columns=["Expected", "Tasks"])
        links = [f"[{name}](executed/{profile}/{name}.ipynb)" for name in (row["notebook"] for row in run)]
        shown = shown.assign(Verdict=[f"**{v}**" for v in shown["Verdict"]], Notebook=links)
        parts.append(render.markdown(table._replace(shown=shown)))
    skipped = pd.Series(
        {row["id"]: row["reason"] for row in rows if row["verdict"] == "not run"}, dtype=object
    )
    if len(skipped):
        lines = [
            f"- {reason}: {', '.join(f'`{i}`' for i in ids.index)}"
            for reason, ids in skipped.groupby(skipped)
        ]
        title = f"Not run in this profile ({len(skipped)})"
        parts.append("\n".join([f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]))
    first = out_dir / "tables" / "table1.md"
    if first.exists():
        parts.append(first.read_text(encoding="utf-8"))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def update(readme: Path, text: str) -> None:
    """Replace what stands between the markers.

    Raises:
        ValueError: the markers are missing, doubled or in the wrong order.
    """
    whole = readme.read_text(encoding="utf-8")
    if whole.count(BEGIN) != 1 or whole.count(END) != 1 or whole.index(BEGIN) > whole.index(END):
        raise ValueError(f"{readme} needs one line {BEGIN} and, after it, one line {END}")
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text(f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m echo_terminal.analysis.readme PROFILE")
    update(Path("README.md"), block(Path(f"results/{sys.argv[1]}/09_paper"), sys.argv[1]))
