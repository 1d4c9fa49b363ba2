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
from echo_terminal.analysis.names import label
from echo_terminal.analysis.render import DASH, Table, number, with_interval
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.statistics import Interval
from echo_terminal.evaluation.pass_at_k import mean_pass_at_k, pass_rate

BASE_ROW = "Start"  # of the starting policy in a table whose rows are arms
MODEL_OF = {"base_small": "Qwen3-8B", "sft": "OT-SFT", "base_medium": "Qwen3-14B"}
PUBLISHED_SUITE = {"val": "val100", "itd": "itd", "lite": "tblite", "hard": "tb2_pass1"}
SUITE_OF = {"val100": "val", "PyTerm": "pyterm", "ITD": "itd", "TBLite": "lite"}  # of published table 4
FILTER_OF = {"none": "none", "clean_tool_calls": "clean"}
GAIN = "ECHO − GRPO"
OURS, THEIRS = "here", "paper (another scale)"
BEHAVIOUR = {  # our statistic: (title, its name in the published table, scale, digits)
    "timeouts": ("With a time-out, %", "timeout_rate_pct", 100.0, 1),
    "unfinished": ("Not finished, %", None, 100.0, 1),
    "turns": ("Turns", "turns", 1.0, 2),
    "action_tokens": ("Completion tokens", "completion_tokens_k", 1.0, 1),
    "malformed": ("Malformed calls", None, 1.0, 2),
}


def arm_label(arm: str) -> str:
    """The name of an arm; ``base`` is the starting policy itself."""
    return BASE_ROW if arm == "base" else label(arm)


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


def _gain_row(results: Results, start: str) -> tuple[dict, dict] | None:
    """ECHO − GRPO of a start on every suite that has both: (numbers, texts); None if there is none."""
    numbers: dict = {"from": OURS, "start": start, "arm": GAIN}
    texts: dict = {"From": OURS, "Start": label(start), "Arm": GAIN}
    for suite in results.suites:
        try:
            arms = r.arms(results, start, suite)
        except NotRun:
            continue
        gain = measures.gain_points(arms)
        seeds = len(set(arms["grpo"]["seed"]) & set(arms["echo"]["seed"]))
        numbers |= {"seeds": seeds, suite: gain.value, f"{suite}_low": gain.low, f"{suite}_high": gain.high}
        texts |= {"Seeds": str(seeds), suite: with_interval(gain, sign=True)}
    return (numbers, texts) if "seeds" in numbers else None


def pass_rates(results: Results, paper: Path) -> Table:
    """Table 1: pass rates of every start and objective on every suite."""
    data, shown = [], []
    for start in results.starts:
        for arm, suites in _arms_with_start(results, start).items():
            if not suites:
                continue
            seeds = max(rows["seed"].nunique() for _, rows in suites)
            numbers = {"from": OURS, "start": start, "arm": arm, "seeds": seeds}
            texts = {"From": OURS, "Start": label(start), "Arm": arm_label(arm), "Seeds": str(seeds)}
            for column, value in (cell for suite, rows in suites for cell in pass_cells(rows, suite)):
                texts[column] = with_interval(value, scale=100)
                numbers[column] = 100 * value.value
                numbers |= {f"{column}_low": 100 * value.low, f"{column}_high": 100 * value.high}
            data.append(numbers)
            shown.append(texts)
        gains = _gain_row(results, start)
        if gains:
            data.append(gains[0])
            shown.append(gains[1])
    if not data:
        raise NotRun("no start has both GRPO and ECHO in this profile")
    names = {**PUBLISHED_SUITE, "hard@3": "tb2_pass3", "hard@5": "tb2_pass5"}
    for model, lines in published.load("table1", paper).groupby("model", sort=False):
        rates = lines.set_index("setup").rename(columns={v: k for k, v in names.items()})[list(names)]
        rates.loc[GAIN] = rates.loc["ECHO"] - rates.loc["GRPO"]
        for arm, values in rates.iterrows():
            data.append({"from": THEIRS, "start": model, "arm": arm, "seeds": 1, **values})
            texts = {"From": THEIRS, "Start": model, "Arm": "Start" if arm == "Base" else arm, "Seeds": "1"}
            shown.append(texts | {c: number(v, sign=arm == GAIN) for c, v in values.items()})
    caption = (
        "Pass rates in percent (pass@1 unless stated) and their difference in points, with 95 % intervals over seeds "
        "and tasks. The paper's suites beside ours: val100, ITD, TBLite (lite) and TB2 (hard)."
    )
    return table_of("table1", caption, "05_evaluate", data, shown)


def speed(results: Results, paper: Path) -> Table:
    """Table 2: GRPO's first step at its best score, and ECHO's first step above it."""
    data, shown = [], []

    def add(source: str, start: str, score: str, grpo: int, echo: int | None, ratio: float) -> None:
        row = {"from": source, "start": start, "score": score, "grpo_step": grpo, "echo_step": echo}
        data.append(row | {"speedup": ratio})
        shown.append(
            {
                "From": source,
                "Start": start if source == THEIRS else label(start),
                "Score": score,
                "GRPO best at step": str(grpo),
                "ECHO above at step": "never" if echo is None else str(echo),
                "Speed-up": number(ratio, 2),
            }
        )

    for start in results.starts:
        for score, curves in measures.speed_curves(results, start).items():
            add(OURS, start, score, *measures.speed_up(curves))
    if not data:
        raise NotRun("this profile has no curves of both GRPO and ECHO")
    for line in published.load("table2", paper).to_dict("records"):
        grpo, echo = int(line["grpo_step"]), int(line["echo_step"])
        score = {"tblite": "lite"}.get(line["metric"], line["metric"])
        add(THEIRS, line["model"], score, grpo, echo, published.speed_up(grpo, echo))
    caption = (
        "First step of GRPO's best score and first step at which ECHO exceeds it, on the mean over seeds; the paper's "
        "score called lite here is TBLite's."
    )
    return table_of("table2", caption, "05_evaluate", data, shown)


def behaviour(results: Results, paper: Path) -> Table:
    """Table 3: time-outs, turns and tokens of GRPO and ECHO, on the hard suite if it was evaluated."""
    data, shown = [], []
    theirs = published.load("table3", paper).set_index(["model", "statistic"])
    suite = "hard" if "hard" in results.suites else "val"
    for start in results.starts:
        try:
            frames = r.arms(results, start, suite)
        except NotRun:
            continue
        for statistic, (title, name, scale, digits) in BEHAVIOUR.items():
            grpo, echo = (measures.behaviour_matrix(frames[o], statistic) for o in ("grpo", "echo"))
            change = measures.relative_change(grpo, echo, r.templates(frames["grpo"], grpo.columns))
            key = (MODEL_OF.get(start), name)
            line = theirs.loc[key] if key in theirs.index else None
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
                    "published_delta_pct": float("nan") if line is None else line["delta_pct"],
                }
            )
            unit = "k" if name == "completion_tokens_k" else ""
            shown.append(
                {
                    "Start": label(start),
                    "Mean over attempts": title,
                    "GRPO": number(means[0], digits),
                    "ECHO": number(means[1], digits),
                    "Change, %": DASH if np.isnan(change.low) else with_interval(change, 0, sign=True),
                    f"{THEIRS}: GRPO, ECHO": DASH
                    if line is None
                    else f"{key[0]}: {line['grpo']:g}{unit}, {line['echo']:g}{unit}",
                    "Change there, %": DASH if line is None else number(line["delta_pct"], 0, sign=True),
                }
            )
    caption = (
        f"How the trained agents act on {suite}, and ECHO's change relative to GRPO with 95 % intervals."
    )
    return table_of("table3", caption, "08_behaviour", data, shown)


def verifier_free(results: Results, paper: Path) -> Table:
    """Table 4: environment-only adaptation from the best ECHO checkpoint, last step against step 0."""
    data, shown = [], []
    rows = results.get("env_only_attempts")
    runs = sorted(
        rows.groupby(["target_suite", "filter", "suite"]).groups,
        key=lambda k: (r.SUITES.index(k[0]), k[1] != "none", k[2] != k[0]),
    )
    for target, kept, suite in runs:
        before, after, strata, step = measures.env_only_matrices(results, target, kept, suite)
        change = Interval(*(100 * v for v in statistics.bootstrap_difference(after, before, strata)))
        rates = [100 * m.to_numpy().mean() for m in (before, after)]
        row = {"from": OURS, "target": target, "filter": kept, "suite": suite, "step": step}
        row |= {"tasks": before.shape[1], "before": rates[0], "after": rates[1]}
        data.append(row | {"delta_pp": change.value, "low": change.low, "high": change.high})
        shown.append(
            {
                "From": OURS,
                "Trained on": target,
                "Rollouts kept": "all" if kept == "none" else kept,
                "Evaluated on": suite,
                "Step": str(step),
                "Tasks": str(before.shape[1]),
                "Before, %": number(rates[0]),
                "After, %": number(rates[1]),
                "Change, points": with_interval(change, sign=True),
            }
        )
    for line in published.load("table4", paper).to_dict("records"):
        target, kept = line["target"], FILTER_OF[line["rollout_filter"]]
        for suite in dict.fromkeys((target, "val100")):
            delta = line["delta_target_pp" if suite == target else "delta_val100_pp"]
            row = {"from": THEIRS, "target": target, "filter": kept, "suite": suite, "step": line["step"]}
            data.append(row | {"delta_pp": delta})
            texts = {"From": THEIRS, "Trained on": target, "Rollouts kept": "all" if kept == "none" else kept}
            texts |= {"Evaluated on": suite, "Step": str(line["step"])}
            shown.append(texts | {"Change, points": number(delta, sign=True)})
    caption = (
        "Training on the environment loss alone, without a verifier, from the best ECHO checkpoint: one run each, 95 % "
        "intervals over tasks."
    )
    return table_of("table4", caption, "07_verifier_free", data, shown)


def sft_gap(results: Results, paper: Path) -> Table:
    """Table 5: the part of the gap between base+GRPO and SFT+GRPO that ECHO closes without demonstrations."""
    data, shown = [], []

    def add(source: str, base: str, suite: str, closed: measures.ShareClosed) -> None:
        data.append({"from": source, "base": base, "suite": suite, **closed.flat()})
        shown.append(
            {
                "From": source,
                "Base": label(base),
                "Suite": suite,
                "Base+GRPO": number(closed.grpo),
                "Base+ECHO": number(closed.echo),
                "SFT+GRPO": number(closed.sft),
                "Gap": with_interval(closed.gap, sign=True),
                "Lift": number(closed.lift, sign=True),
                "Share closed, %": with_interval(closed.share, 0 if source == OURS else 1),
            }
        )

    for base in [s for s in results.starts if s.startswith("base")]:
        for suite in results.suites:
            try:
                add(OURS, base, suite, measures.share_closed(results, base, suite))
            except NotRun:
                continue
    theirs = published.load("table5", paper).set_index("configuration")
    for suite in theirs.columns:
        grpo, echo, sft = (float(theirs.loc[arm, suite]) for arm in ("base+GRPO", "base+ECHO", "SFT+GRPO"))
        if suite == "tb2_pass5":  # a count of 89 tasks, which two decimals round too far for a ratio
            grpo, echo, sft = (published.whole_tasks(rate, 89) for rate in (grpo, echo, sft))
        nan = float("nan")
        gap = Interval(published.sft_gap(grpo, sft), nan, nan)
        share = Interval(published.share_closed(grpo, echo, sft), nan, nan)
        add(THEIRS, "Qwen3-8B", suite, measures.ShareClosed(grpo, echo, sft, gap, share, 1, 0))
    caption = (
        "Share of the gap to the SFT start that ECHO closes; no interval where the gap may be zero. The paper's rows "
        "follow from its printed rates by the same arithmetic."
    )
    if not any(row["from"] == OURS for row in data):
        caption += " This profile has no SFT start."
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
                        "Arm": arm_label(arm),
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
