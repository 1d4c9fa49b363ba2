"""What a claim is judged by: each function measures one effect with its interval, test, seeds and tasks.

Pass rates: bootstrap over seeds and tasks, Wilcoxon over tasks. Quantities with one value a run (cross-entropy,
training curves, forecasts): Student's t over seeds, paired by seed. Effects keep their natural sign (ECHO − GRPO).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from echo_terminal.analysis import measures, statistics, worlds
from echo_terminal.analysis import results as r
from echo_terminal.analysis.results import NotRun, Results
from echo_terminal.analysis.statistics import Interval

NAN = float("nan")
ENDS = 5  # steps averaged at each end of a training curve


class Estimate(NamedTuple):
    """An effect with its 95 % bounds, p against no effect (NaN: none), what it rests on, and its test."""

    effect: float
    low: float
    high: float
    p: float
    seeds: int
    tasks: int
    test: str

    def p_against(self, threshold: float) -> float:
        """p against a threshold: exact for Student's t (from its interval); other tests know 0 alone, else NaN."""
        if threshold == 0 or self.seeds < 2:
            return self.p
        if self.test != "t":
            return NAN
        error = (self.high - self.low) / 2 / float(stats.t.ppf(0.975, self.seeds - 1))
        if error == 0:
            return float(self.effect == threshold)
        return float(2 * stats.t.sf(abs(self.effect - threshold) / error, self.seeds - 1))


def _estimate(
    interval: Interval, p: float, seeds: int, tasks: int, scale: float = 1.0, test: str = "bootstrap"
) -> Estimate:
    value, low, high = (scale * v for v in interval)
    return Estimate(value, low, high, p, seeds, tasks, test)


def _paired_points(a: pd.DataFrame, b: pd.DataFrame, strata: list[str] | None = None) -> Estimate:
    """a − b in points from two pass matrices."""
    a, b = statistics.paired(a, b)
    interval = statistics.bootstrap_difference(a, b, strata)
    return _estimate(interval, statistics.wilcoxon_tasks(a, b), len(a), a.shape[1], 100.0, "wilcoxon")


def _over_seeds(a: pd.Series, b: pd.Series | float = 0.0) -> Estimate:
    """Mean over seeds of a − b with Student's interval."""
    difference = (a - b).dropna()
    if difference.empty:
        raise NotRun("the arms share no seed")
    interval, p = statistics.t_mean(difference.to_numpy())
    return _estimate(interval, p, len(difference), 0, test="t")


def _part(arms: dict[str, pd.DataFrame], tools: str) -> dict[str, pd.DataFrame]:
    """Only tasks on site tools, only generic ones, or all."""
    if tools == "all":
        return arms
    parts = {o: a[r.is_site(a) == (tools == "site")] for o, a in arms.items()}
    if any(a.empty for a in parts.values()):
        raise NotRun(f"this suite has no tasks on {tools} tools in this profile")
    return parts


def pass_gain(
    results: Results, start: str, suite: str = "", tools: str = "all", against: str = "grpo"
) -> Estimate:
    """ECHO − GRPO, pass@1 in points.

    Args:
        suite: empty for the first suite with such tasks.
        tools: all, site or generic.
        against: another baseline of the profile, ``grpo_tuned`` say.
    """
    suite = suite or r.suite_with(results, start, tools)
    arms = _part(r.arms(results, start, suite, (against, "echo")), tools)
    baseline, echo = (statistics.pass_matrix(arms[o]) for o in (against, "echo"))
    return _paired_points(echo, baseline, r.templates(arms["echo"], echo.columns))


def solved_gain(results: Results, start: str, suite: str) -> Estimate:
    """ECHO − GRPO in points of tasks solved at least once in all tries (pass@n at n tries)."""
    arms = r.arms(results, start, suite)
    grpo, echo = (
        (measures.behaviour_matrix(a.assign(reward=a["reward"].fillna(0.0)), "reward") > 0).astype(float)
        for a in (arms["grpo"], arms["echo"])
    )
    return _paired_points(echo, grpo, r.templates(arms["echo"], echo.columns))


def family_contrast(results: Results, start: str) -> Estimate:
    """Gain on site tools − gain on generic tools, in points, each on the first suite that has such tasks."""
    gains = []
    for tools in ("site", "generic"):
        arms = _part(r.arms(results, start, r.suite_with(results, start, tools)), tools)
        echo, grpo = statistics.paired(*(statistics.pass_matrix(arms[o]) for o in ("echo", "grpo")))
        gains.append(echo - grpo)
    seeds = gains[0].index.intersection(gains[1].index)
    arrays = [g.loc[seeds].to_numpy() for g in gains]
    rng = np.random.default_rng(0)
    runs = statistics.resample(len(seeds), None, statistics.DRAWS, rng)
    means = [
        ((runs @ a) * statistics.resample(a.shape[1], None, statistics.DRAWS, rng)).sum(axis=1)
        for a in arrays
    ]
    p = float(stats.mannwhitneyu(arrays[0].mean(axis=0), arrays[1].mean(axis=0)).pvalue)
    interval = statistics.percentile(arrays[0].mean() - arrays[1].mean(), means[0] - means[1])
    tasks = arrays[0].shape[1] + arrays[1].shape[1]
    return _estimate(interval, p, len(seeds), tasks, 100.0, "mann-whitney")


def ce_gap(results: Results, start: str, suite: str) -> Estimate:
    """Held-out output CE after ECHO − after GRPO, nats a token."""
    arms = measures.ce_arms(results, start, suite)
    return _over_seeds(arms["echo"], arms["grpo"])


def ce_change(results: Results, start: str, suite: str, objective: str) -> Estimate:
    """Held-out output CE after training, relative to the starting policy, in percent."""
    arms = measures.ce_arms(results, start, suite)
    return _over_seeds(100 * (arms[objective] / float(arms["start"].mean()) - 1))


def speed_up(results: Results, start: str, score: str) -> Estimate:
    """GRPO's first best step over ECHO's first step above it; seeds resampled, never reached counts as 0."""
    curves = measures.speed_curves(results, start)
    if score not in curves:
        raise NotRun(f"the score {score} is not evaluated over training in this profile")
    arms = curves[score]
    seeds = arms["grpo"].index.intersection(arms["echo"].index)
    if seeds.empty:
        raise NotRun("the arms share no seed")
    ratio = measures.speed_up(arms)[2]
    rng = np.random.default_rng(0)
    tables = {o: c.loc[seeds].dropna(axis=1) for o, c in arms.items()}
    draws = []
    for chosen in rng.integers(0, len(seeds), (500, len(seeds))):
        means = {o: pd.Series(c.to_numpy()[chosen].mean(axis=0), index=c.columns) for o, c in tables.items()}
        draws.append(measures.speed_up_of(means["grpo"], means["echo"])[2])
    interval = statistics.percentile(0.0 if np.isnan(ratio) else ratio, np.nan_to_num(np.array(draws)))
    return _estimate(interval, NAN, len(seeds), 0)


def share_closed(results: Results, start: str, suite: str) -> Estimate:
    """Share of the SFT gap closed, percent; no interval where the gap may be zero."""
    closed = measures.share_closed(results, start, suite)
    return _estimate(closed.share, NAN, closed.seeds, closed.tasks)


def behaviour_change(results: Results, start: str, suite: str, statistic: str) -> Estimate:
    """ECHO's relative change of a statistic of attempts, percent of GRPO's."""
    arms = r.arms(results, start, suite)
    grpo, echo = (measures.behaviour_matrix(arms[o], statistic) for o in ("grpo", "echo"))
    change = measures.relative_change(grpo, echo, r.templates(arms["grpo"], grpo.columns))
    seeds, tasks = statistics.paired(echo, grpo)[0].shape
    return _estimate(change, statistics.wilcoxon_tasks(echo, grpo), seeds, tasks, test="wilcoxon")


def env_only_change(results: Results, suite: str, kept: str) -> Estimate:
    """Pass rate after env-only training for a suite − before, points; one run, its tasks resampled."""
    before, after, strata, _ = measures.env_only_matrices(results, suite, kept, suite)
    return _paired_points(after, before, strata)


def filter_gain(results: Results, suite: str, kept: str) -> Estimate:
    """After env-only training with a rollout filter − without one, points, on the same tasks."""
    _, with_filter, strata, _ = measures.env_only_matrices(results, suite, kept, suite)
    _, without, _, _ = measures.env_only_matrices(results, suite, "none", suite)
    return _paired_points(with_filter, without, strata)


def _ends(results: Results, start: str, objective: str, column: str) -> tuple[pd.Series, pd.Series]:
    """Means over the first and the last logged steps of a training curve, by seed."""
    steps = r.select(results.get("train_steps"), start=start, objective=objective).dropna(subset=[column])
    if steps.empty:
        raise NotRun(f"{column} is not logged in this profile")
    by_seed = steps.sort_values("step").groupby("seed")[column]
    return by_seed.apply(lambda x: x.head(ENDS).mean()), by_seed.apply(lambda x: x.tail(ENDS).mean())


def training_change(results: Results, start: str, objective: str, column: str) -> Estimate:
    """Change of a training curve from its first to its last steps, percent."""
    first, last = _ends(results, start, objective, column)
    return _over_seeds(100 * (last / first - 1))


def training_gap(results: Results, start: str, column: str) -> Estimate:
    """ECHO − GRPO at the end of training, in the column's unit."""
    return _over_seeds(_ends(results, start, "echo", column)[1], _ends(results, start, "grpo", column)[1])


def training_mean(results: Results, start: str, objective: str, column: str) -> Estimate:
    """Mean of a logged quantity over a whole run."""
    steps = r.select(results.get("train_steps"), start=start, objective=objective).dropna(subset=[column])
    if steps.empty:
        raise NotRun(f"{column} is not logged in this profile")
    return _over_seeds(steps.groupby("seed")[column].mean())


def level_gap(
    results: Results, start: str, suite: str, factor: str, statistic: str, high: float, low: float
) -> Estimate:
    """A statistic of attempts of ECHO at one level of a swept factor − at another, in points."""
    rows = measures.sweep_rows(results, factor=factor, start=start, suite=suite, objective="echo")
    a, b = (r.select(rows, level=level) for level in (high, low))
    if statistic == "reward":
        return _paired_points(statistics.pass_matrix(a), statistics.pass_matrix(b))
    return _paired_points(measures.behaviour_matrix(a, statistic), measures.behaviour_matrix(b, statistic))


def control_gap(results: Results, start: str, suite: str, variant: str, against: str) -> Estimate:
    """A control variant − GRPO or ECHO, in points; unpaired where the control has tasks of its own."""
    arms = measures.control_arms(results).get((start, suite), {})
    if variant not in arms:
        raise NotRun(f"the control {variant} is not run on {start}, {suite} in this profile")
    a, b = arms[variant], arms[against]
    if list(a.columns) == list(b.columns):
        return _paired_points(a, b)
    draws = [statistics.bootstrap_means([m.to_numpy()], seed=i)[0] for i, m in enumerate((a, b))]
    interval = statistics.percentile(a.to_numpy().mean() - b.to_numpy().mean(), draws[0] - draws[1])
    p = float(stats.mannwhitneyu(a.mean(axis=0), b.mean(axis=0)).pvalue)
    return _estimate(interval, p, min(len(a), len(b)), min(a.shape[1], b.shape[1]), 100.0, "mann-whitney")


def world_gain(results: Results, start: str, world: str, suite: str, tools: str) -> Estimate:
    """ECHO − GRPO in another world (``results.WORLDS``), pass@1 in points."""
    of = worlds.arms(results, start, worlds.Condition("", world, suite, tools))
    return _paired_points(of.echo, of.grpo, of.strata)


def world_contrast(results: Results, start: str, world: str, suite: str, tools: str) -> Estimate:
    """The gain in another world − the gain here, in points; unpaired, since worlds share no run."""
    there = worlds.arms(results, start, worlds.Condition("", world, suite, tools))
    here = worlds.arms(results, start, worlds.Condition("", "", suite, tools))
    interval, p = worlds.contrast(there, here)
    seeds, tasks = min(len(there.echo), len(here.echo)), there.echo.shape[1] + here.echo.shape[1]
    return _estimate(interval, p, seeds, tasks, test="mann-whitney")


def _spearman(x: np.ndarray) -> float:
    """Spearman's ρ of the two columns of ``x``."""
    return float(np.corrcoef(stats.rankdata(x[:, 0]), stats.rankdata(x[:, 1]))[0, 1])


def ce_predicts(results: Results, start: str, suite: str) -> Estimate:
    """Spearman's ρ of held-out CE and pass rate over checkpoints of both arms; whole runs are resampled."""
    points = measures.ce_and_pass(results)
    points = r.select(points[points["step"] > 0], start=start, suite=suite)
    runs = [g[["ce", "pass"]].to_numpy() for _, g in points.groupby(["objective", "seed"])]
    if len(runs) < 4:
        raise NotRun("fewer than four runs have both held-out CE and attempts in this profile")
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(500):
        x = np.concatenate([runs[i] for i in rng.integers(0, len(runs), len(runs))])
        if np.ptp(x[:, 0]) and np.ptp(x[:, 1]):
            draws.append(_spearman(x))
    if not draws:
        raise NotRun("held-out CE or pass rate is the same at every checkpoint")
    interval = statistics.percentile(_spearman(np.concatenate(runs)), np.array(draws))
    return _estimate(interval, NAN, points["seed"].nunique(), 0)


def forecast_gap(results: Results, start: str, column: str) -> Estimate:
    """ECHO − GRPO of a forecast score (``brier``, ``auroc``)."""
    rows = results.get("forecast").dropna(subset=[column])
    a, b = (
        r.select(rows, start=start, objective=o).groupby("seed")[column].first() for o in ("echo", "grpo")
    )
    return _over_seeds(a, b)


def spread_ratio(results: Results, start: str, suite: str) -> Estimate:
    """Standard deviation over seeds of the pass rate, ECHO over GRPO, with the F interval."""
    arms = r.arms(results, start, suite)
    rates = [statistics.pass_matrix(arms[o]).mean(axis=1).to_numpy() for o in ("echo", "grpo")]
    counts = [len(x) for x in rates]
    if min(counts) < 2 or any(np.ptp(x) < 1e-9 for x in rates):  # equal shares differ by rounding
        raise NotRun("a spread needs two seeds an arm that differ")
    ratio = float(rates[0].var(ddof=1) / rates[1].var(ddof=1))
    of_f = stats.f(counts[0] - 1, counts[1] - 1)
    interval = Interval(
        float(np.sqrt(ratio)),
        float(np.sqrt(ratio / of_f.ppf(0.975))),
        float(np.sqrt(ratio / of_f.ppf(0.025))),
    )
    return _estimate(interval, float(2 * min(of_f.cdf(ratio), of_f.sf(ratio))), min(counts), 0, test="F")


def benchmark(results: Results, name: str) -> Estimate:
    """A paired benchmark of ``results/bench.json``; its bounds are the 10th and 90th percentile of the pairs."""
    if not {name, f"{name}_p10", f"{name}_p90"} <= set(results.bench):
        raise NotRun("the benchmark is not among the results: run make bench")
    value, low, high = (results.bench[name + suffix] for suffix in ("", "_p10", "_p90"))
    return Estimate(value, low, high, NAN, 0, 0, "paired runs")


METRICS: dict[str, Callable[..., Estimate]] = {
    f.__name__: f
    for f in (
        pass_gain, solved_gain, family_contrast, ce_gap, ce_change, speed_up, share_closed, behaviour_change,
        env_only_change, filter_gain, training_change, training_gap, training_mean, level_gap, control_gap,
        world_gain, world_contrast,
        ce_predicts, forecast_gap, spread_ratio, benchmark,
    )
}  # fmt: skip
