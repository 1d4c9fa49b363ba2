"""The verdicts of a profile for readers: completed by other profiles, the decided first, what was not run by reason.

``claims.json`` keeps every row of its profile. A claim that a profile does not run may have been run by another:
its verdict is then shown beside, with the profile's name. Verdicts of different profiles are never averaged.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from echo_terminal.analysis import claims
from echo_terminal.analysis.names import label
from echo_terminal.analysis.render import DASH, Table, p_value
from echo_terminal.analysis.results import APART
from echo_terminal.analysis.tables import table_of

Rows = list[dict[str, Any]]


def other_profiles(results_dir: Path) -> list[Path]:
    """Result folders beside ``results_dir`` that hold verdicts, by name."""
    if results_dir.name in APART:
        return []
    folders = {path.parent for path in results_dir.parent.glob("*/claims.json")}
    return sorted(folder for folder in folders if folder.name not in APART and folder != results_dir)


def read(folder: Path) -> Rows:
    """The rows of ``claims.json`` in the results folder of a profile."""
    rows: Rows = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    return rows


def completed(profile: str, rows: Rows, others: dict[str, Rows]) -> Rows:
    """``rows``, each with its ``profile``; one that was not run gives way to the first other profile's that was."""
    ran: dict[str, dict[str, Any]] = {}
    for name, lent in others.items():
        for row in lent:
            if row["verdict"] != "not run":
                ran.setdefault(row["id"], row | {"profile": name})
    own = [row | {"profile": profile} for row in rows]
    return [ran.get(row["id"], row) if row["verdict"] == "not run" else row for row in own]


def decided_first(rows: Rows) -> Rows:
    """The rows that were run: reproduced, reversed, then inconclusive, each in the order of the claims."""
    run = [row for row in rows if row["verdict"] != "not run"]
    return sorted(run, key=lambda row: claims.VERDICTS.index(row["verdict"]))


def by_reason(rows: Rows, verdict: str) -> list[tuple[str, int]]:
    """(reason, number of judgements) of the rows with this verdict, the most frequent first."""
    counts = Counter(row["reason"] for row in rows if row["verdict"] == verdict)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def table(rows: Rows) -> Table:
    """The verdicts of what was run, the decided first; columns in which all rows agree are left out.

    Raises:
        NotRun: nothing was run.
    """
    run = decided_first(rows)
    shown = [
        {
            "Verdict": row["verdict"],
            "Claim": f"{row['claim']} ({row['source']})",
            "Start": label(row["start"]) if row["start"] else DASH,
            "Here [95 %]": claims.shown_effect(row),
            "Paper": claims.published_text(row) or DASH,
            "p (Holm)": p_value(row.get("p_holm")),
            "Seeds": str(row["seeds"] or DASH),
            "Profile": row["profile"],
            "Notebook": row["notebook"],
        }
        for row in run
    ]
    made = table_of("verdict", "Verdicts by the rule fixed before the runs.", "09_paper", run, shown)
    same = [c for c in ("Start", "Profile") if len(set(made.shown[c]) - {DASH}) < 2]
    return made._replace(shown=made.shown.drop(columns=same))
