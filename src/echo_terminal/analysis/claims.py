"""Claims, written down before the runs, judged by one rule that knows no favourite.

    above t     reproduced if the whole 95 % interval lies above t, reversed if it lies below
    below t     the mirror image
    within t    reproduced if the interval lies inside (−t, t), reversed if it lies outside

Anything else is inconclusive. A claim above or below with a test against t also needs p < 0.05 after Holm's
correction over its family (the claims of one table or figure). Fewer seeds than ``min_seeds`` are never conclusive.
What a profile does not run is "not run", with the reason.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from echo_terminal.analysis import statistics
from echo_terminal.analysis.estimates import METRICS, Estimate
from echo_terminal.analysis.names import label
from echo_terminal.analysis.render import DASH, Table, number, p_value, with_interval
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.statistics import Interval
from echo_terminal.analysis.tables import table_of
from echo_terminal.config import StrictModel

ALPHA = 0.05
UNSIGNED = ("ratio",)  # units that a reader needs no word for
VERDICTS = ("reproduced", "reversed", "inconclusive", "not run")


class Claim(StrictModel):
    """One line of ``paper/claims.yaml``. With ``starts`` the claim is judged for each starting policy by itself."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    family: str
    source: str
    claim: str
    metric: str
    args: dict[str, Any] = {}
    starts: list[str] = []
    expect: Literal["above", "below", "within"]
    threshold: float = 0.0
    unit: str
    digits: int = 1
    min_seeds: int = Field(default=3, ge=0)
    notebook: str
    published: str = ""


def load(path: Path) -> list[Claim]:
    """Read the claims.

    Raises:
        ValueError: an id comes twice, or a metric does not exist.
    """
    claims = [Claim.model_validate(entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]
    ids = [c.id for c in claims]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise ValueError(f"{path}: claims named twice: {', '.join(twice)}")
    unknown = sorted({c.metric for c in claims} - set(METRICS))
    if unknown:
        raise ValueError(f"{path}: no metric {', '.join(unknown)}; there are {', '.join(METRICS)}")
    return claims


def verdict(estimate: Estimate, p_holm: float, claim: Claim) -> tuple[str, str]:
    """The verdict and the reason for it, in words."""
    low, high, t = estimate.low, estimate.high, claim.threshold
    if estimate.seeds < claim.min_seeds:
        return "inconclusive", f"seeds: {estimate.seeds} of the {claim.min_seeds} that a verdict needs"
    if math.isnan(low) or math.isnan(high):
        return "inconclusive", "the interval has no finite bound"
    holds = {"above": low > t, "below": high < t, "within": -t < low and high < t}[claim.expect]
    fails = {"above": high < t, "below": low > t, "within": high < -t or low > t}[claim.expect]
    if not holds and not fails:
        return "inconclusive", "the interval holds values on both sides of the threshold"
    if claim.expect != "within" and not math.isnan(p_holm) and p_holm >= ALPHA:
        return "inconclusive", "not significant after Holm's correction"
    return ("reproduced", "the interval agrees") if holds else ("reversed", "the interval contradicts")


def _measure(claim: Claim, start: str | None, results: Results) -> Estimate | str:
    """The estimate, or the rule by which it is not run."""
    if start is not None and start not in results.starts:
        return f"the start {start} is not part of this profile"
    suite = claim.args.get("suite")
    if suite is not None and suite not in results.suites:
        return f"the suite {suite} is not part of this profile"
    try:
        return METRICS[claim.metric](results, **({"start": start} if start else {}), **claim.args)
    except NotRun as rule:
        return str(rule)


def _row(claim: Claim, start: str | None) -> dict[str, Any]:
    sign = "±" if claim.expect == "within" else ""
    threshold = f"{claim.expect} {sign}{claim.threshold:g}".replace("-", "\u2212")
    threshold = f"{threshold} {claim.unit}" if claim.unit not in UNSIGNED else threshold
    return {
        "id": f"{claim.id}/{start}" if start else claim.id,
        "family": claim.family,
        "source": claim.source,
        "claim": claim.claim,
        "start": start,
        "metric": claim.metric,
        "args": claim.args,
        "expected": threshold,
        "unit": claim.unit,
        "digits": claim.digits,
        "published": claim.published,
        "notebook": claim.notebook,
    }


def evaluate(claims: list[Claim], results: Results) -> list[dict[str, Any]]:
    """Judge every claim; one row a claim and start, none left out."""
    rows: list[dict[str, Any]] = []
    measured: list[tuple[Claim, Estimate | str]] = []
    tested: dict[str, dict[int, float]] = defaultdict(dict)  # family → row → p
    for claim in claims:
        for start in claim.starts or (None,):
            estimate = _measure(claim, start, results)
            if isinstance(estimate, Estimate) and claim.expect != "within":
                estimate = estimate._replace(p=estimate.p_against(claim.threshold))
                if not math.isnan(estimate.p):
                    tested[claim.family][len(rows)] = estimate.p
            rows.append(_row(claim, start))
            measured.append((claim, estimate))
    corrected: dict[int, float] = {}
    for p_of in tested.values():
        corrected |= dict(zip(p_of, statistics.holm(list(p_of.values())), strict=True))
    for i, (row, (claim, estimate)) in enumerate(zip(rows, measured, strict=True)):
        if isinstance(estimate, str):
            row |= {"verdict": "not run", "reason": estimate}
            continue
        p_holm = corrected.get(i, float("nan"))
        judged, reason = verdict(estimate, p_holm, claim)
        numbers = {k: v for k, v in estimate._asdict().items() if k != "test"}
        row |= {k: None if math.isnan(v) else v for k, v in numbers.items()} | {"test": estimate.test}
        row |= {"p_holm": None if math.isnan(p_holm) else p_holm, "verdict": judged, "reason": reason}
    return rows


def write(rows: list[dict[str, Any]], path: Path) -> None:
    """Write ``claims.json``: a list of objects, stable in order and form."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def published_text(row: dict[str, Any]) -> str:
    """What the paper prints for this claim, with true minus signs; empty if it prints nothing."""
    return re.sub(r"-(?=\d)", "\u2212", row["published"])


def shown_effect(row: dict[str, Any]) -> str:
    """Effect, interval and unit for a reader; a dash where nothing was run."""
    if row["verdict"] == "not run":
        return DASH
    bounds = [float("nan") if row[k] is None else row[k] for k in ("effect", "low", "high")]
    if row["unit"] in UNSIGNED:
        return with_interval(Interval(*bounds), row["digits"])
    return f"{with_interval(Interval(*bounds), row['digits'], sign=True)} {row['unit']}"


def table(rows: list[dict[str, Any]]) -> Table:
    """The verdict table: one row a judgement, with the rule where nothing was run."""
    shown = [
        {
            "Claim": row["claim"],
            "From": row["source"],
            "Start": label(row["start"]) if row["start"] else DASH,
            "Effect [95 %]": shown_effect(row),
            "Expected": row["expected"],
            "p (Holm)": p_value(row.get("p_holm")),
            "Seeds": str(row.get("seeds") or DASH),
            "Tasks": str(row.get("tasks") or DASH),
            "Verdict": row["verdict"] if row["verdict"] != "not run" else f"not run: {row['reason']}",
        }
        for row in rows
    ]
    keys = ("id", "verdict", "effect", "low", "high", "p", "p_holm", "seeds", "tasks", "reason")
    data = [{k: row.get(k) for k in keys} for row in rows]
    caption = "Verdicts by the rule fixed before the runs; every start is judged by itself."
    return table_of("claims", caption, "09_paper", data, shown)


def summary(rows: list[dict[str, Any]]) -> str:
    """One line: how many claims came out how."""
    counts = [(sum(row["verdict"] == v for row in rows), v) for v in VERDICTS]
    return ", ".join(f"{number(n, 0)} {v}" for n, v in counts)
