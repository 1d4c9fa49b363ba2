"""The numbers and verdicts that the paper's text is filled in from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from echo_terminal.analysis import claims, render, verdicts
from echo_terminal.analysis import results as r
from echo_terminal.analysis.names import label
from echo_terminal.analysis.results import NotRun, Results


def provenance(results_dir: Path) -> list[dict[str, Any]]:
    """The stages' records (``provenance/*.json``), each with its stage's name; empty if none was kept."""
    records = []
    for path in sorted((results_dir / "provenance").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        records.append({"stage": path.stem.split("-")[0], **record})
    return records


def cost(records: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Items and wall time by stage."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.get("wall_seconds") is not None:
            seconds[record["stage"]].append(record["wall_seconds"])
    return [
        {"stage": stage, "items": str(len(times)), "minutes": render.number(sum(times) / 60)}
        for stage, times in sorted(seconds.items())
    ]


def machine(records: list[dict[str, Any]]) -> list[str]:
    """The machines, revisions and versions that the records name, each once."""
    found = []
    for record in records:
        hardware = record["hardware"]
        gpu = f", {', '.join(hardware['gpu'])}" if hardware["gpu"] else ", no GPU"
        found.append(f"{hardware['cpu']}, {hardware['cores']} cores, {hardware['memory_gib']} GiB{gpu}")
    return sorted(set(found))


def _claim(row: dict[str, Any]) -> dict[str, str]:
    return {
        "id": row["id"].split("/")[0],
        "claim": row["claim"],
        "start": label(row["start"]) if row["start"] else "",
        "source": row["source"],
        "verdict": row["verdict"],
        "profile": row["profile"],
        "family": row["family"],
        "reason": row["reason"],
        "published": claims.published_text(row) or render.DASH,
        "effect": claims.shown_effect(row),
        "expected": row["expected"],
        "seeds": str(row.get("seeds", 0)),
        "tasks": str(row.get("tasks", 0)),
        "p": render.p_value(row.get("p_holm")),
        "notebook": row["notebook"],
    }


def _suites(results: Results) -> list[dict[str, str]]:
    attempts = results.get("attempts")
    found = []
    for suite in results.suites:
        rows = attempts[attempts["suite"] == suite]
        tries = rows.groupby(["start", "objective", "seed", "step", "task_id"]).size()
        found.append(
            {
                "suite": suite,
                "tasks": str(rows["task_id"].nunique()),
                "templates": str(rows["template"].nunique()),
                "machines": str(rows["machine"].nunique()),
                "tries": str(int(tries.max())),
            }
        )
    return found


def _runs(results: Results) -> list[dict[str, str]]:
    """Seeds, last common step and training tokens of the two arms, by start."""
    steps = results.get("train_steps")
    found = []
    for start in results.starts:
        try:
            arms = r.arms(results, start, results.suites[0])
        except NotRun:
            continue
        mine = steps[(steps["start"] == start) & steps["objective"].isin(("grpo", "echo"))]
        seeds = set.intersection(*(set(a["seed"]) for a in arms.values()))
        found.append(
            {
                "id": start,
                "label": label(start),
                "seeds": str(len(seeds)),
                "step": str(int(arms["echo"]["step"].iloc[0])),
                "tokens": render.number(mine["tokens"].sum() / 1e6, 2),
            }
        )
    return found


def collect(
    results: Results,
    rows: list[dict[str, Any]],
    records: list[dict[str, Any]],
    settings: Mapping[str, object],
) -> dict[str, Any]:
    """Everything that the template may ask for, as text."""
    attempts = results.get("attempts")
    trained = attempts[attempts["step"] > 0]
    run = [row for row in rows if row["verdict"] != "not run"]
    return {
        "profile": results.profile,
        "runs": _runs(results),
        "suites": _suites(results),
        "attempts": f"{len(attempts):,}",
        "missing": str(int(trained["reward"].isna().sum())),
        "seeds": str(attempts["seed"].nunique()),
        "judged": str(len(run)),
        "counts": {
            v.replace(" ", "_"): str(sum(row["verdict"] == v for row in rows)) for v in claims.VERDICTS
        },
        "claims": [_claim(row) for row in rows],
        **{
            name: [{"reason": reason, "count": str(n)} for reason, n in verdicts.by_reason(rows, word)]
            for name, word in (("undecided", "inconclusive"), ("left_out", "not run"))
        },
        "settings": [{"name": k, "value": str(v)} for k, v in settings.items()],
        "cost": cost(records),
        "machines": machine(records),
        "revisions": sorted({str(record["revision"])[:12] for record in records}),
        "versions": {k: v for record in records for k, v in record["versions"].items()},
    }
