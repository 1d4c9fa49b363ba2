"""The README's computed parts, each between two markers: the sentence below its figure, and the block of results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from echo_terminal.analysis import claims, render, verdicts
from echo_terminal.analysis.names import label

HEADLINE = (  # (claim, what its effect is a change of)
    ("site-gain", "on tasks that need the machine's own tools"),
    ("generic-tie", "on tasks with generic tools"),
    ("unseen-machine-tie", "on machines never seen"),
)


def markers(name: str) -> tuple[str, str]:
    """The two lines between which the part ``name`` stands."""
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def _rows(results: Path, profile: str, others: Sequence[str]) -> verdicts.Rows:
    lent = {name: verdicts.read(results / name) for name in others}
    return verdicts.completed(profile, verdicts.read(results / profile), lent)


def headline(results: Path, profile: str, others: Sequence[str] = ()) -> str:
    """What the README's figure shows, in a sentence for each start, with intervals and verdicts."""
    found: dict[str, list[str]] = {}
    for name, where in HEADLINE:
        for row in _rows(results, profile, others):
            if row["id"].split("/")[0] == name and row["verdict"] != "not run":
                text = f"{where} by {claims.shown_effect(row)} ({row['verdict']})"
                found.setdefault(label(row["start"]), []).append(text)
    if not found:
        return "No pass rate of both arms in this run."
    starts = [f"From the start *{start}*: {', '.join(texts)}." for start, texts in found.items()]
    return (
        "Change of the pass rate from GRPO to ECHO, with 95 % intervals and verdicts. "
        + " ".join(starts)
        + " The table below has every claim, also those that fail."
    )


def block(results: Path, profile: str, others: Sequence[str] = ()) -> str:
    """Markdown of the verdict counts, the verdicts of what was run, what was not, and table 1.

    Args:
        results: the folder of all profiles' results.
        profile: whose verdicts come first; claims that it does not run are taken from ``others``, in order.
    """
    rows = _rows(results, profile, others)
    named = f"`{profile}`" + (
        f", completed by {' and '.join(f'`{name}`' for name in others)}" if others else ""
    )
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


def update(readme: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of the part ``name``.

    Raises:
        ValueError: the markers are missing, doubled or in the wrong order.
    """
    begin, end = markers(name)
    whole = readme.read_text(encoding="utf-8")
    if whole.count(begin) != 1 or whole.count(end) != 1 or whole.index(begin) > whole.index(end):
        raise ValueError(f"{readme} needs one line {begin} and, after it, one line {end}")
    before, rest = whole.split(begin)
    after = rest.split(end)[1]
    readme.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m echo_terminal.analysis.readme PROFILE [OTHER ...]")
    for part, make in (("headline", headline), ("results", block)):
        update(Path("README.md"), part, make(Path("results"), sys.argv[1], sys.argv[2:]))
