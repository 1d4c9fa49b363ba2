"""What a policy knows about the terminal: tables from the lake's CE rows, and whether knowing goes with solving.

Frames are pandas; ``rows`` are those of the lake's table ``ce`` (sums of nats by trajectory and class of output).
Warnings of the harness are no terminal output and stand apart. A run is the unit of every interval (Student's t).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from echo_terminal.analysis.statistics import Interval, bootstrap_difference, pass_matrix, t_mean
from echo_terminal.evaluation.heldout_ce import WARNING_CLASS

POLICY = ("start", "objective", "seed", "step")
BEFORE = "start"  # the objective of a policy that was not trained


def with_start(frame: pd.DataFrame, runs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows of each run, its starting policy's among them under the run's own objective and seed."""
    parts = []
    for run in runs:
        of_start = frame["start"] == run["start"]
        own = frame[of_start & (frame["objective"] == run["objective"]) & (frame["seed"] == run["seed"])]
        zero = frame[of_start & (frame["objective"] == BEFORE)]
        parts += [zero.assign(objective=run["objective"], seed=run["seed"]), own]
    return pd.concat(parts, ignore_index=True)


def _means(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Both averages of the CE, bits per byte and the floor by group; nats, a token or a sequence."""
    sums = ["tokens", "bytes", "nll", "floor"]
    each = rows.sort_values([*by, "trajectory_id", "token_class"]).groupby([*by, "trajectory_id"])[sums].sum()
    each["of_sequence"] = each["nll"] / each["tokens"]
    groups = each.groupby(list(by))
    total = groups[sums].sum()
    return pd.DataFrame(
        {
            "n_tokens": total["tokens"],
            "n_sequences": groups.size(),
            "n_bytes": total["bytes"],
            "ce_token_mean": total["nll"] / total["tokens"],
            "ce_sequence_mean": groups["of_sequence"].mean(),
            "bits_per_byte": total["nll"] / np.log(2) / total["bytes"],
            "floor_token_mean": total["floor"] / total["tokens"],
        }
    ).reset_index()


def by_class(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each policy, suite and class of output, warnings among them."""
    return _means(rows, ("suite", *POLICY, "token_class"))


def of_output(rows: pd.DataFrame, by: Sequence[str] = ("suite",)) -> pd.DataFrame:
    """One row for each policy and group: all terminal output together."""
    return _means(rows[rows["token_class"] != WARNING_CLASS], (*by, *POLICY))


def gaps(frame: pd.DataFrame, columns: Sequence[str], by: Sequence[str] = ("start",)) -> pd.DataFrame:
    """ECHO − GRPO of each column, paired by seed, with Student's interval.

    Args:
        frame: one row a run (and, with objective ``start``, the starting policy), ``by`` aside.

    Returns: Rows of ``by``, measure, before (NaN: not measured), grpo, echo, gap, low, high, p, seeds.
    """
    rows = []
    for key, group in frame.groupby(list(by), sort=False):
        for column in columns:
            wide = group.pivot_table(index="seed", columns="objective", values=column)
            if not {"grpo", "echo"} <= set(wide):
                continue
            pairs = wide[["grpo", "echo"]].dropna()
            if pairs.empty:
                continue
            interval, p = t_mean((pairs["echo"] - pairs["grpo"]).to_numpy())
            before = group.loc[group["objective"] == BEFORE, column]
            rows.append(
                dict(zip(by, key, strict=True))
                | {"measure": column, "before": before.mean() if len(before) else np.nan}
                | {"grpo": pairs["grpo"].mean(), "echo": pairs["echo"].mean()}
                | {"gap": interval.value, "low": interval.low, "high": interval.high, "p": p}
                | {"seeds": len(pairs)}
            )
    names = [*by, "measure", "before", "grpo", "echo", "gap", "low", "high", "p", "seeds"]
    return pd.DataFrame(rows, columns=names)


def reranking_gains(rows: pd.DataFrame) -> pd.DataFrame:
    """pass@1 with and without re-ranking by start and objective: the difference over common tasks and seeds.

    The interval resamples seeds and tasks. ``commands`` are those run in an attempt: the budget that is equal.
    """
    k = int(rows["samples"].max())
    found = []
    for (start, objective), arm in rows.groupby(["start", "objective"], sort=False):
        plain, ranked = (arm[arm["samples"] == n] for n in (1, k))
        gain = bootstrap_difference(pass_matrix(ranked), pass_matrix(plain))
        commands = arm.groupby("samples")["commands"].mean()
        errors = arm.groupby("samples")["errors"].sum() / arm.groupby("samples")["commands"].sum()
        found.append(
            {"start": start, "objective": objective, "samples": k, "seeds": arm["seed"].nunique()}
            | {"tasks": arm["task_id"].nunique(), "plain": pass_matrix(plain).to_numpy().mean()}
            | {"ranked": pass_matrix(ranked).to_numpy().mean()}
            | {"gain": gain.value, "low": gain.low, "high": gain.high}
            | {"commands_plain": commands[1], "commands_ranked": commands[k]}
            | {"errors_plain": errors[1], "errors_ranked": errors[k]}
        )
    return pd.DataFrame(found)


def knowing_and_solving(rows: pd.DataFrame, attempts: pd.DataFrame, suite: str) -> pd.DataFrame:
    """CE of output and pass rate of every task of a suite, by policy: those that have both."""
    of_task = of_output(rows[rows["suite"] == suite], ("task_id",))
    solved = attempts[attempts["suite"] == suite].assign(reward=lambda d: d["reward"].fillna(0.0))
    rates = solved.groupby(["task_id", *POLICY])["reward"].mean().rename("passed").reset_index()
    columns = ["task_id", *POLICY, "n_tokens", "ce_token_mean", "floor_token_mean"]
    return of_task[columns].merge(rates, on=["task_id", *POLICY])


def of_policies(points: pd.DataFrame) -> pd.DataFrame:
    """``knowing_and_solving`` with the tasks of a policy together: CE by token, pass rate by task."""
    nats = points.assign(nats=points["ce_token_mean"] * points["n_tokens"])
    groups = nats.groupby(list(POLICY))
    ce = groups["nats"].sum() / groups["n_tokens"].sum()
    return pd.DataFrame({"ce": ce, "passed": groups["passed"].mean()}).reset_index()


def spearman(x: pd.Series, y: pd.Series) -> float:
    """Spearman's ρ; NaN where one of them is constant."""
    if x.nunique() < 2 or y.nunique() < 2:
        return float("nan")
    return float(stats.spearmanr(x, y).statistic)


def correlations(points: pd.DataFrame) -> pd.DataFrame:
    """Spearman's ρ of CE and pass rate, by start, on three levels.

    ``tasks``: within a run at its last step, over tasks. ``checkpoints``: within a run, over its steps. Both are means
    over runs with Student's interval. ``seeds``: over runs at the last step, what the arm's mean leaves; its interval
    is Fisher's on runs − arms degrees of freedom. A ρ without variation on one side is left out (``left_out``).

    Args:
        points: ``knowing_and_solving``, each run with its start (``with_start``).
    """
    found = []
    for start, group in points.groupby("start", sort=False):
        last = group[group["step"] == group["step"].max()]
        policies = of_policies(group)
        within = {
            "tasks": [
                spearman(r["ce_token_mean"], r["passed"]) for _, r in last.groupby(["objective", "seed"])
            ],
            "checkpoints": [
                spearman(r["ce"], r["passed"]) for _, r in policies.groupby(["objective", "seed"])
            ],
        }
        for level, values in within.items():
            known = [v for v in values if not np.isnan(v)]
            interval = t_mean(known)[0] if known else Interval(*3 * (float("nan"),))
            interval = Interval(*(float(np.clip(x, -1, 1)) for x in interval))
            found.append(_level(start, level, interval, len(known), len(values) - len(known)))
        ends = policies[policies["step"] == policies["step"].max()]
        rest = ends[["ce", "passed"]] - ends.groupby("objective")[["ce", "passed"]].transform("mean")
        rho = spearman(rest["ce"].round(12), rest["passed"].round(12))
        freedom = len(ends) - ends["objective"].nunique()
        found.append(_level(start, "seeds", _fisher(rho, freedom), len(ends), int(np.isnan(rho))))
    return pd.DataFrame(found)


def _level(start: Any, level: str, rho: Interval, runs: int, left_out: int) -> dict[str, Any]:
    return {"start": start, "over": level, **rho._asdict(), "runs": runs, "left_out": left_out}


def _fisher(rho: float, freedom: int) -> Interval:
    """95 % interval of a correlation with ``freedom`` + 1 free points; none below 3."""
    if np.isnan(rho) or freedom < 3 or abs(rho) == 1:
        return Interval(rho, float("nan"), float("nan"))
    half = stats.norm.ppf(0.975) / np.sqrt(freedom - 2)
    low, high = np.tanh(np.arctanh(rho) + np.array([-half, half]))
    return Interval(rho, float(low), float(high))
