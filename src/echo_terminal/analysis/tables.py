"""Tables 1–5 in the paper's form. Ours stand above the published values, which are of another scale.

Rates are percent, differences are points. Brackets are 95 % bootstrap intervals over seeds and tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from echo_terminal.analysis import measures, published, statistics
from echo_terminal.analysis import results as r
from echo_terminal.analysis.render import DASH, Table, number, with_interval
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.statistics import Interval
from echo_terminal.evaluation.pass_at_k import mean_pass_at_k, pass_rate

LABELS = {
    "base_small": "Base, small",
    "base_medium": "Base, medium",
    "sft": "SFT start",
    "actobs": "ActObs start",
    "base": "Start",
    "grpo": "GRPO",
    "echo": "ECHO",
    "env_only": "Env-only",
}
MODEL_OF = {"base_small": "Qwen3-8B", "sft": "OT-SFT", "base_medium": "Qwen3-14B"}
PUBLISHED_SUITE = {"val": "val100", "itd": "itd", "lite": "tblite", "hard": "tb2_pass1"}
OURS, THEIRS = "here", "paper (another scale)"
BEHAVIOUR = {  # our statistic: (title, its name in the published table, scale)
    "timeouts": ("With a time-out, %", "timeout_rate_pct", 100.0),
    "unfinished": ("Not finished, %", None, 100.0),
    "turns": ("Turns", "turns", 1.0),
    "action_tokens": ("Completion tokens", "completion_tokens_k", 1.0),
    "malformed": ("Malformed calls", None, 1.0),
}


def label(name: str) -> str:
    """The reader's name of a start or objective."""
    return LABELS.get(name, name)


def table_of(name: str, caption: str, notebook: str, data: list[dict], shown: list[dict]) -> Table:
    """Build a table; absent cells of the shown form become dashes.

    Raises:
        NotRun: there is no row.
    """
    if not data:
        raise NotRun(f"{name} has no run to show in this profile")
    return Table(name, caption, notebook, pd.DataFrame(data), pd.DataFrame(shown).fillna(DASH))


def pass_cells(rows: pd.DataFrame, suite: str) -> Iterator[tuple[str, Interval]]:
    """(column, value) of a suite: pass@1 with its interval; for ``hard`` also pass@3 and pass@5 if defined."""
    matrix = statistics.pass_matrix(rows)
    yield suite, statistics.bootstrap_mean(matrix, r.templates(rows, matrix.columns))
    if suite != "hard":
        return
    for k in (3, 5):
        rates = []
        for _, run in rows.groupby("seed"):
            counts = run["reward"].astype("float64").fillna(0).groupby(run["task_id"]).agg(["size", "sum"])
            value = mean_pass_at_k([(int(n), int(c)) for n, c in counts.itertuples(index=False)], k).value
            rates += [] if value is None else [value]
        if rates:
            yield f"hard@{k}", Interval(float(np.mean(rates)), float("nan"), float("nan"))


def _arms_with_start(results: Results, start: str) -> dict[str, list[tuple[str, pd.DataFrame]]]:
    """(suite, attempts) by arm, for the suites on which this start has both objectives."""
    by_arm: dict[str, list[tuple[str, pd.DataFrame]]] = {"base": [], "grpo": [], "echo": []}
    for suite in results.suites:
        try:
            frames = {"base": r.start_rows(results, start, suite), **r.arms(results, start, suite)}
        except NotRun:
            continue
        for arm, rows in frames.items():
            by_arm[arm].append((suite, rows))
    return by_arm


def pass_rates(results: Results, paper: Path) -> Table:
    """Table 1: pass rates of every start and objective on every suite."""
    data, shown = [], []
    for start in results.starts:
        for arm, suites in _arms_with_start(results, start).items():
            if not suites:
                continue
            seeds = max(rows["seed"].nunique() for _, rows in suites)
            numbers = {"from": OURS, "start": start, "arm": arm, "seeds": seeds}
            texts = {"From": OURS, "Start": label(start), "Arm": label(arm), "Seeds": str(seeds)}
            for column, value in (cell for suite, rows in suites for cell in pass_cells(rows, suite)):
                texts[column] = with_interval(value, scale=100)
                numbers[column] = 100 * value.value
                numbers |= {f"{column}_low": 100 * value.low, f"{column}_high": 100 * value.high}
            data.append(numbers)
            shown.append(texts)
    if not data:
        raise NotRun("no start has both GRPO and ECHO in this profile")
    names = {**PUBLISHED_SUITE, "hard@3": "tb2_pass3", "hard@5": "tb2_pass5"}
    for line in published.load("table1", paper).to_dict("records"):
        values = {ours: line[theirs] for ours, theirs in names.items()}
        data.append({"from": THEIRS, "start": line["model"], "arm": line["setup"], "seeds": 1, **values})
        texts = {"From": THEIRS, "Start": line["model"], "Arm": line["setup"], "Seeds": "1"}
        shown.append(texts | {c: number(v) for c, v in values.items()})
    caption = "Pass rates in percent (pass@1 unless stated) with 95 % intervals over seeds and tasks."
    return table_of("table1", caption, "05_evaluate", data, shown)


def speed(results: Results, paper: Path) -> Table:
    """Table 2: GRPO's first step at its best score, and ECHO's first step above it."""
    data, shown = [], []
    theirs = published.load("table2", paper).set_index(["model", "metric"])["speedup"]
    for start in results.starts:
        for score, curves in measures.speed_curves(results, start).items():
            best, above, ratio = measures.speed_up(curves)
            there = theirs.get((MODEL_OF.get(start), score), float("nan"))
            data.append(
                {
                    "start": start,
                    "score": score,
                    "grpo_step": best,
                    "echo_step": above,
                    "speedup": ratio,
                    "published_speedup": there,
                }
            )
            shown.append(
                {
                    "Start": label(start),
                    "Score": score,
                    "GRPO best at step": str(best),
                    "ECHO above at step": DASH if above is None else str(above),
                    "Speed-up": number(ratio, 2),
                    THEIRS: number(there, 2),
                }
            )
    caption = "First step of GRPO's best score and first step at which ECHO exceeds it, mean over seeds."
    return table_of("table2", caption, "05_evaluate", data, shown)


def behaviour(results: Results, paper: Path) -> Table:
    """Table 3: time-outs, turns and tokens of GRPO and ECHO, on the hard suite if it was evaluated."""
    data, shown = [], []
    theirs = published.load("table3", paper).set_index(["model", "statistic"])["delta_pct"]
    suite = "hard" if "hard" in results.suites else "val"
    for start in results.starts:
        try:
            frames = r.arms(results, start, suite)
        except NotRun:
            continue
        for statistic, (title, name, scale) in BEHAVIOUR.items():
            grpo, echo = (measures.behaviour_matrix(frames[o], statistic) for o in ("grpo", "echo"))
            change = measures.relative_change(grpo, echo, r.templates(frames["grpo"], grpo.columns))
            there = theirs.get((MODEL_OF.get(start), name), float("nan"))
            means = [scale * m.to_numpy().mean() for m in (grpo, echo)]
            data.append(
                {
                    "start": start,
                    "suite": suite,
                    "statistic": statistic,
                    "grpo": means[0],
                    "echo": means[1],
                    "delta_pct": change.value,
                    "low": change.low,
                    "high": change.high,
                    "published_delta_pct": there,
                }
            )
            shown.append(
                {
                    "Start": label(start),
                    "Mean of attempts": title,
                    "GRPO": number(means[0], 2),
                    "ECHO": number(means[1], 2),
                    "Change, %": with_interval(change, 0, sign=True),
                    THEIRS: number(there, 0, sign=True),
                }
            )
    caption = f"How the trained agents act on {suite}, and ECHO's change relative to GRPO."
    return table_of("table3", caption, "08_behaviour", data, shown)


def verifier_free(results: Results, paper: Path) -> Table:
    """Table 4: environment-only adaptation from the best ECHO checkpoint, last step against step 0."""
    data, shown = [], []
    theirs = published.load("table4", paper)
    suite_of = {"val100": "val", "pyterm": "pyterm", "itd": "itd", "tblite": "lite"}
    filter_of = {"none": "none", "clean_tool_calls": "clean"}
    keys = zip(
        theirs["target"].str.lower().map(suite_of), theirs["rollout_filter"].map(filter_of), strict=True
    )
    published_change = dict(zip(keys, theirs["delta_target_pp"], strict=True))
    for (target, kept, suite), _ in results.get("env_only_attempts").groupby(
        ["target_suite", "filter", "suite"]
    ):
        before, after, strata, step = measures.env_only_matrices(results, target, kept, suite)
        change = statistics.bootstrap_difference(after, before, strata)
        there = published_change.get((target, kept), float("nan")) if suite == target else float("nan")
        rates = [100 * m.to_numpy().mean() for m in (before, after)]
        data.append(
            {
                "target": target,
                "filter": kept,
                "suite": suite,
                "step": step,
                "tasks": before.shape[1],
                "before": rates[0],
                "after": rates[1],
                "delta_pp": 100 * change.value,
                "low": 100 * change.low,
                "high": 100 * change.high,
                "published_delta_pp": there,
            }
        )
        shown.append(
            {
                "Trained on": target,
                "Rollouts kept": "all" if kept == "none" else kept,
                "Evaluated on": suite,
                "Step": str(step),
                "Tasks": str(before.shape[1]),
                "Before, %": number(rates[0]),
                "After, %": number(rates[1]),
                "Change, points": with_interval(change, 1, 100, sign=True),
                THEIRS: number(there, 1, sign=True),
            }
        )
    caption = "Training on the environment loss alone, without a verifier, from the best ECHO checkpoint."
    return table_of("table4", caption, "07_verifier_free", data, shown)


def sft_gap(results: Results, paper: Path) -> Table:
    """Table 5: the part of the gap between base+GRPO and SFT+GRPO that ECHO closes without demonstrations."""
    data, shown = [], []
    theirs = published.load("table5", paper).set_index("configuration").loc["share_closed_pct"]
    for base in [s for s in results.starts if s.startswith("base")]:
        for suite in results.suites:
            try:
                closed = measures.share_closed(results, base, suite)
            except NotRun:
                continue
            there = float(theirs[PUBLISHED_SUITE[suite]]) if suite in PUBLISHED_SUITE else float("nan")
            data.append({"base": base, "suite": suite, **closed.flat(), "published_share_pct": there})
            shown.append(
                {
                    "Base": label(base),
                    "Suite": suite,
                    "Base+GRPO": number(closed.grpo),
                    "Base+ECHO": number(closed.echo),
                    "SFT+GRPO": number(closed.sft),
                    "Gap": with_interval(closed.gap, sign=True),
                    "Lift": number(closed.lift, sign=True),
                    "Share closed, %": with_interval(closed.share, 0),
                    THEIRS: number(there),
                }
            )
    caption = "Share of the gap to the SFT start that ECHO closes; no interval where the gap may be zero."
    return table_of("table5", caption, "05_evaluate", data, shown)


def verdict_counts(results: Results, paper: Path) -> Table:
    """Attempts of the compared arms by verdict, with both bounds of the rate: one rule for every arm."""
    data, shown = [], []
    for start in results.starts:
        for arm, suites in _arms_with_start(results, start).items():
            for suite, rows in suites:
                rate = pass_rate([None if pd.isna(v) else bool(v) for v in rows["reward"]])
                low, high = (float("nan") if v is None else 100 * v for v in (rate.headline, rate.upper))
                counts = {"passed": rate.passed, "failed": rate.failed, "missing": rate.missing}
                data.append(
                    {"suite": suite, "start": start, "arm": arm, **counts, "headline": low, "upper": high}
                )
                shown.append(
                    {
                        "Start": label(start),
                        "Arm": label(arm),
                        "Suite": suite,
                        "Passed": str(rate.passed),
                        "Failed": str(rate.failed),
                        "No verdict": str(rate.missing),
                        "As failed, %": number(low),
                        "Left out, %": number(high),
                    }
                )
    caption = "Attempts by verdict; an attempt without one counts as failed in every other table."
    return table_of("verdicts", caption, "05_evaluate", data, shown)


TABLES: dict[str, Callable[[Results, Path], Table]] = {
    "table1": pass_rates,
    "table2": speed,
    "table3": behaviour,
    "table4": verifier_free,
    "table5": sft_gap,
    "verdicts": verdict_counts,
}
