"""The results block of the README, between two markers, rendered from what ``paper.build`` wrote."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from echo_terminal.analysis import claims, render, verdicts

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def block(results: Path, profile: str, others: Sequence[str] = ()) -> str:
    """Markdown of the verdict counts, the verdicts of what was run, what was not, and table 1.

    Args:
        results: the folder of all profiles' results.
        profile: whose verdicts come first; claims that it does not run are taken from ``others``, in order.
    """
    lent = {name: verdicts.read(results / name) for name in others}
    rows = verdicts.completed(profile, verdicts.read(results / profile), lent)
    named = ", completed by ".join(f"`{name}`" for name in (profile, *others))
    parts = [f"Profile {named}: {claims.summary(rows)} (one judgement for each claim and starting policy)."]
    table = verdicts.table(rows)
    run = verdicts.decided_first(rows)
    shown = table.shown.assign(
        Verdict=[f"**{word}**" for word in table.shown["Verdict"]],
        Notebook=[f"[{r['notebook'][:2]}](executed/{r['profile']}/{_file(r)})" for r in run],
    )
    parts.append(render.markdown(table._replace(shown=shown)))
    skipped = verdicts.by_reason(rows, "not run")
    if skipped:
        lines = [f"- {count}: {reason}" for reason, count in skipped]
        title = f"Not run, by reason ({sum(count for _, count in skipped)} judgements)"
        parts.append("\n".join([f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]))
    first = results / profile / "09_paper" / "tables" / "table1.md"
    if first.exists():
        parts.append(first.read_text(encoding="utf-8"))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _file(row: dict) -> str:
    """The executed notebook that a verdict's numbers come from; training has one notebook a run."""
    if row["notebook"] != "04_train":
        return f"{row['notebook']}.ipynb"
    return f"04_train-{row['start'] or 'base_small'}-{row['args'].get('objective', 'echo')}-0.ipynb"


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
    if len(sys.argv) < 2:
        sys.exit("usage: python -m echo_terminal.analysis.readme PROFILE [OTHER ...]")
    update(Path("README.md"), block(Path("results"), sys.argv[1], sys.argv[2:]))
