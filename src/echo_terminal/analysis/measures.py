"""Quantities that tables, figures and claims share: one definition each, from the result frames.

Rates are in [0, 1] unless a name or docstring says percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from echo_terminal.analysis import published, statistics
from echo_terminal.analysis import results as r
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.statistics import Interval

VALIDATION = "during training"  # the score that training itself records at its evaluations


def total_curve(results: Results, start: str, objective: str) -> pd.DataFrame:
    """Mean over val, itd and lite of the pass rate, [seed × step]: the paper's total, as a mean."""
    return sum(r.pass_curve(results, start, objective, s) for s in ("val", "itd", "lite")) / 3.0


def speed_curves(results: Results, start: str) -> dict[str, dict[str, pd.DataFrame]]:
    """Curves [seed × step] of both arms by score: total and lite where evaluated over training; validation."""
    curves: dict[str, dict[str, pd.DataFrame]] = {}
    for metric in ("total", "lite"):
        try:
            arms = {
                o: total_curve(results, start, o)
                if metric == "total"
                else r.pass_curve(results, start, o, metric)
                for o in ("grpo", "echo")
            }
        except NotRun:
            continue
        if all(c.shape[1] >= 4 and not c.isna().to_numpy().any() for c in arms.values()):
            curves[metric] = arms
    steps = results.get("train_steps").dropna(subset=["val_pass"])
    try:
        curves[VALIDATION] = {
            o: r.select(steps, start=start, objective=o).pivot(
                index="seed", columns="step", values="val_pass"
            )
            for o in ("grpo", "echo")
        }
    except NotRun:
        return curves
    return curves


def speed_up(curves: dict[str, pd.DataFrame]) -> tuple[int, int | None, float]:
    """GRPO's first best step, ECHO's first step above that score, and their ratio, on the mean over seeds."""
    grpo, echo = (curves[o].dropna(axis=1).mean(axis=0) for o in ("grpo", "echo"))
    return speed_up_of(grpo, echo)


def speed_up_of(grpo: pd.Series, echo: pd.Series) -> tuple[int, int | None, float]:
    """``speed_up`` of two curves indexed by step."""
    best = published.best_step(grpo.index.tolist(), grpo.tolist())
    above = published.step_above(echo.index.tolist(), echo.tolist(), float(grpo.max()))
    return best, above, published.speed_up(best, above)


def behaviour_matrix(rows: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Runs × tasks means of a statistic of attempts; time-outs and unfinished attempts as shares."""
    if statistic == "timeouts":
        values = (rows["timeouts"] > 0).astype(float)
    elif statistic == "unfinished":
        values = (~rows["done"].astype(bool)).astype(float)
    else:
        values = rows[statistic].astype(float)
    return values.groupby([rows["seed"], rows["task_id"]]).mean().unstack("task_id").sort_index()


def relative_change(grpo: pd.DataFrame, echo: pd.DataFrame, strata: list[str]) -> Interval:
    """Change from GRPO's mean to ECHO's in percent, with the paired bootstrap interval; NaN if GRPO's is 0."""
    echo, grpo = statistics.paired(echo, grpo)
    value = published.delta_percent(grpo.to_numpy().mean(), echo.to_numpy().mean())
    if np.isnan(value):
        return Interval(value, value, value)
    a, b = statistics.bootstrap_means([grpo.to_numpy(), echo.to_numpy()], strata)
    if (a == 0).any():
        return Interval(value, float("nan"), float("nan"))
    return statistics.percentile(value, 100 * (b - a) / a)


def wilson_of(row: dict) -> Interval:
    """Wilson's interval of one env-only evaluation (``pass_rate`` of ``n`` attempts)."""
    return statistics.wilson(round(row["pass_rate"] * row["n"]), int(row["n"]))


def env_only_matrices(
    results: Results, target: str, kept: str, suite: str
) -> tuple[pd.DataFrame, pd.DataFrame, list[str], int]:
    """Pass matrices on ``suite`` before and after env-only training for ``target``; task templates; last step."""
    rows = results.get("env_only_attempts")
    rows = rows[(rows["target_suite"] == target) & (rows["filter"] == kept) & (rows["suite"] == suite)]
    if rows.empty:
        raise NotRun(f"training without a verifier on {target} ({kept} rollouts) is not part of this profile")
    last = int(rows["step"].max())
    before, after = (statistics.pass_matrix(r.select(rows, step=step)) for step in (0, last))
    return before, after, r.templates(rows, before.columns), last


def ce_arms(results: Results, start: str, suite: str) -> dict[str, pd.Series]:
    """Held-out output CE by seed (nats a token): ``start`` (step 0), ``grpo`` and ``echo`` at their last step.

    Raises:
        NotRun: an arm or the starting policy was not scored.
    """
    rows = r.select(results.get("heldout_ce"), start=start, suite=suite)
    step = r.common_step(rows, ("grpo", "echo"))
    before = r.output_ce(r.select(rows, step=0))[0]
    arms = {o: r.output_ce(r.select(rows, objective=o, step=step))[step] for o in ("grpo", "echo")}
    return {"start": before, **arms}


@dataclass(frozen=True)
class ShareClosed:
    """Rates in percent, ``gap`` in points and ``share`` in percent; ``share`` has no interval without a gap."""

    grpo: float
    echo: float
    sft: float
    gap: Interval
    share: Interval
    seeds: int
    tasks: int

    @property
    def lift(self) -> float:
        """(base + ECHO) − (base + GRPO) in points."""
        return published.echo_lift(self.grpo, self.echo)

    def flat(self) -> dict[str, float]:
        """The row that tables and claims store."""
        return {
            "grpo": self.grpo,
            "echo": self.echo,
            "sft": self.sft,
            "gap": self.gap.value,
            "gap_low": self.gap.low,
            "gap_high": self.gap.high,
            "lift": self.lift,
            "share_pct": self.share.value,
            "low": self.share.low,
            "high": self.share.high,
            "seeds": self.seeds,
            "tasks": self.tasks,
        }


def share_closed(results: Results, base: str, suite: str) -> ShareClosed:
    """The share of the SFT gap that ECHO closes from a base start, bootstrapped over seeds and tasks.

    Raises:
        NotRun: one of base+GRPO, base+ECHO, SFT+GRPO is missing.
    """
    if "sft" not in results.starts:
        raise NotRun("the start sft is not part of this profile")
    frames = {**r.arms(results, base, suite), "sft": r.arms(results, "sft", suite, ("grpo",))["grpo"]}
    matrices = {arm: statistics.pass_matrix(rows) for arm, rows in frames.items()}
    grpo, echo = statistics.paired(matrices["grpo"], matrices["echo"])
    grpo, sft = statistics.paired(grpo, matrices["sft"])
    arrays = [100 * m.to_numpy() for m in (grpo, echo.loc[grpo.index], sft)]
    draws = statistics.bootstrap_means(arrays, r.templates(frames["grpo"], grpo.columns))
    rates = [float(a.mean()) for a in arrays]
    gaps = draws[2] - draws[0]
    gap = statistics.percentile(published.sft_gap(rates[0], rates[2]), gaps)
    share = published.share_closed(*rates)
    if gaps.min() <= 0 <= gaps.max():  # a ratio to a gap that may be nothing has no finite interval
        interval = Interval(share, float("nan"), float("nan"))
    else:
        interval = statistics.percentile(share, 100 * (draws[1] - draws[0]) / gaps)
    return ShareClosed(rates[0], rates[1], rates[2], gap, interval, *grpo.shape)


def gain_points(arms: dict[str, pd.DataFrame]) -> Interval:
    """ECHO − GRPO in points over the given attempts, bootstrapped over seeds and tasks."""
    grpo, echo = (statistics.pass_matrix(arms[o]) for o in ("grpo", "echo"))
    interval = statistics.bootstrap_difference(echo, grpo, r.templates(arms["echo"], echo.columns))
    return Interval(*(100 * v for v in interval))


def template_gains(results: Results) -> pd.DataFrame:
    """ECHO − GRPO in points by start, suite (val, itd, itd_machine) and template, with intervals.

    Raises:
        NotRun: no start has both arms.
    """
    rows = []
    for start in results.starts:
        for suite in ("val", "itd", "itd_machine"):
            try:
                arms = r.arms(results, start, suite)
            except NotRun:
                continue
            for template in sorted(arms["echo"]["template"].unique()):
                chosen = {o: a[a["template"] == template] for o, a in arms.items()}
                gain = gain_points(chosen)
                row = {"start": start, "suite": suite, "template": template, "gain": gain.value}
                site = bool(r.is_site(chosen["echo"]).all())
                rows.append({**row, "low": gain.low, "high": gain.high, "site": site})
    if not rows:
        raise NotRun("no start has both GRPO and ECHO in this profile")
    return pd.DataFrame(rows)


def sweep_rows(results: Results, **values: object) -> pd.DataFrame:
    """Attempts of a sweep at each run's last step, where every column has the given value.

    Raises:
        NotRun: there is none.
    """
    return r.select(r.last_rows(results.get("sweeps"), "factor", "level"), **values)


def objective_gains(results: Results) -> pd.DataFrame:
    """Objective − GRPO in points by start, suite and objective, with intervals.

    Raises:
        NotRun: no objective but GRPO and ECHO was evaluated.
    """
    rows = []
    for start in results.starts:
        for suite in results.suites:
            of = r.attempts_of(results, start, suite)
            names = [o for o in of["objective"].unique() if o not in ("start", "grpo")]
            for name in names if set(names) - {"echo"} else ():
                arms = r.arms(results, start, suite, ("grpo", name))
                gain = gain_points({"grpo": arms["grpo"], "echo": arms[name]})
                row = {
                    "start": start,
                    "suite": suite,
                    "objective": name,
                    "seeds": arms[name]["seed"].nunique(),
                }
                rows.append({**row, "gain": gain.value, "low": gain.low, "high": gain.high})
    if not rows:
        raise NotRun("this profile has no objective but GRPO and ECHO")
    return pd.DataFrame(rows)


def ce_and_pass(results: Results) -> pd.DataFrame:
    """Held-out output CE and pass rate of every run at every step where both were measured."""
    ce_rows = results.get("heldout_ce")
    rows = []
    for (start, objective, suite), group in results.get("attempts").groupby(["start", "objective", "suite"]):
        scored = ce_rows[
            (ce_rows["start"] == start) & (ce_rows["objective"] == objective) & (ce_rows["suite"] == suite)
        ]
        if scored.empty:
            continue
        ce = r.output_ce(scored)
        reward = group["reward"].astype("float64").fillna(0.0)
        for (seed, step), rate in reward.groupby([group["seed"], group["step"]]).mean().items():
            if seed in ce.index and step in ce.columns and not np.isnan(ce.loc[seed, step]):
                run = {"start": start, "objective": objective, "suite": suite, "seed": seed, "step": step}
                rows.append({**run, "ce": float(ce.loc[seed, step]), "pass": float(rate)})
    if not rows:
        raise NotRun("no run has both held-out CE and attempts at one step in this profile")
    return pd.DataFrame(rows)


def norm_ratio(steps: pd.DataFrame) -> pd.Series:
    """Norm of the unweighted environment gradient over that of the policy gradient; NaN where the latter is 0."""
    return steps["grad_norm_env"] / steps["grad_norm_policy"].where(steps["grad_norm_policy"] > 0)


def control_arms(results: Results) -> dict[tuple[str, str], dict[str, pd.DataFrame]]:
    """Pass matrices by (start, suite): GRPO, ECHO, and each control variant at its last step."""
    panels: dict[tuple[str, str], dict[str, pd.DataFrame]] = {}
    for (start, suite, variant), rows in results.get("controls").groupby(["start", "suite", "variant"]):
        if (start, suite) not in panels:
            arms = r.arms(results, start, suite)
            panels[start, suite] = {o: statistics.pass_matrix(a) for o, a in arms.items()}
        last = rows[rows["step"] == rows["step"].max()]
        panels[start, suite][variant] = statistics.pass_matrix(last)
    return panels
