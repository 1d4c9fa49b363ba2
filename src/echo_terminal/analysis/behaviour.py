"""How agents act (table 3 and beyond): pure functions on the lake's ``attempts`` and ``turns`` DataFrames.

Every statistic is a ratio of two sums (time-outs over commands, say). Spark sums both by task; the value of
a group is the ratio of the totals and its interval comes from resampling tasks, since turns and attempts of
one task are not independent. Shares of attempts also get Wilson's interval, as in the paper. Suites are
never pooled, and attempts lost to the engine are in no statistic.

Only functions that Sail and Spark compute alike are used: no approximate percentiles, no random sampling,
total order in every window, regular expressions without look-around or character classes that depend on
Unicode tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from echo_terminal.analysis.statistics import DRAWS, LEVEL, resample, wilson

BY = ("suite", "start", "objective", "seed")
ATTEMPT = ("run_id", "phase", "step", "task_id", "attempt")
PHASES = ("look", "edit", "run", "verify", "stop", "malformed")
OUTCOMES = ("repaired", "repeated", "failed_again", "malformed", "gave_up")
LOOP = 3  # a command run this often, word for word, in one attempt is a loop

_LOOK = (
    "ls cat head tail less more nl tac find tree du df stat file pwd grep egrep rg awk cut sort uniq wc jq diff cmp "
    "comm join paste od xxd which type man help env printenv ps id date test [ echo printf sed sha256sum md5sum"
).split()
_EDIT = (
    "mkdir rmdir cp mv rm touch tee chmod chown ln install patch truncate dd tar unzip gzip gunzip".split()
)
_TEST_RUN = r"(pytest|unittest|ctest|(make|npm|cargo|go) test)|(^|[ /])(run[-_]?)?tests?\.(sh|py)"

#: statistic -> (numerator, denominator), columns of ``attempt_sums``, ``turn_sums`` or ``repeat_sums``
STATISTICS: dict[str, tuple[str, str]] = {
    "pass": ("passed", "attempts"),
    "no_verdict": ("no_verdict", "attempts"),
    "turns": ("attempt_turns", "attempts"),
    "action_tokens": ("action_tokens", "attempts"),
    "output_tokens": ("output_tokens", "attempts"),
    "unfinished": ("unfinished", "attempts"),  # a limit of turns, context or time ended it
    "timed_out": ("timed_out", "attempts"),  # some command was stopped at its time limit
    "malformed_any": ("malformed_any", "attempts"),
    "looping": ("looping", "acting"),  # of the attempts that ran a command
    **{f"phase_{p}": (f"phase_{p}", "turns") for p in PHASES},
    "errors": ("errors", "commands"),
    "timeouts": ("timeouts", "commands"),
    "repeats": ("repeats", "ran"),  # the same command was run before in the attempt
    **{f"after_error_{o}": (f"after_error_{o}", "errors") for o in OUTCOMES},
    "new_output": ("new_chars", "shown_chars"),
    "changed_state": ("changed", "state_known"),
}
SHARES_OF_ATTEMPTS = ("pass", "no_verdict", "unfinished", "timed_out", "malformed_any", "looping")


def _need_suite(by: Sequence[str]) -> None:
    if "suite" not in by:
        raise ValueError("suites are never pooled: group by suite too")


def program(command: Column) -> Column:
    """The first program of a command, without folder, after ``cd``, assignments and ``sudo``;
    empty if unclear.
    """
    first = F.regexp_extract(
        command,
        r"^[ \t\n]*(?:cd [^&;|\n]+(?:&&|;|\n)[ \t\n]*)*(?:[A-Za-z_][A-Za-z0-9_]*=[^ \t\n]*[ \t]+)*(?:sudo[ \t]+)?"
        r"([^ \t\n;|&<>()]+)",
        1,
    )
    return F.regexp_replace(first, r"^.*/", "")


def _writes(command: Column) -> Column:
    """Whether the command redirects output into a file (quoted text, 2>&1 and /dev/null aside)."""
    bare = F.regexp_replace(F.regexp_replace(command, r"'[^']*'", "q"), r'"[^"]*"', "q")
    return F.regexp_replace(bare, r"[0-9]?>+[ ]*(&[0-9]|/dev/null)", "").contains(">")


def _kind(call: Column, command: Column) -> Column:
    """look, edit, run, test, stop or malformed, from one turn alone."""
    name = program(command)
    return (
        F.when((call == "done") | (command.isNull() & (call == "confirm")), "stop")
        .when(command.isNull(), "malformed")
        .when(command.rlike(_TEST_RUN), "test")
        .when(_writes(command) | name.isin(_EDIT) | command.rlike(r"(^|[ ;|&])sed [^|;]*-i"), "edit")
        .when(name.isin(_LOOK) | command.rlike(r"(^| )--help( |$)"), "look")
        .otherwise("run")
    )


def annotate(turns: DataFrame, attempts: DataFrame | None = None) -> DataFrame:
    """``turns`` with program, phase, error, and what followed an error.

    A call that the harness asks to confirm is a stop, not malformed. ``verify`` is a test run, or a look after the
    attempt has edited or run something. ``outcome`` of a failed command (exit code not 0): the next turn ran the same
    command (repeated), ran another that succeeded (repaired) or failed (failed_again), did not parse (malformed), or
    there was none but a done signal (gave_up). Give ``attempts`` to leave out the turns of lost ones.
    """
    if attempts is not None:
        kept = attempts.where(F.coalesce(F.col("finish"), F.lit("")) != "lost").select(*ATTEMPT)
        turns = turns.join(kept, list(ATTEMPT), "left_semi")
    attempt = Window.partitionBy(*ATTEMPT)
    command, kind, following = F.col("command"), F.col("kind"), F.col("following")
    error = command.isNotNull() & (F.col("exit_code") != 0)
    staged = (
        turns.withColumn("program", program(command))
        .withColumn("kind", _kind(F.col("call"), command))
        .withColumn(
            "following", F.lead(F.struct("kind", "command", "exit_code")).over(attempt.orderBy("turn"))
        )
        .withColumn("first_act", F.min(F.when(kind.isin("edit", "run"), F.col("turn"))).over(attempt))
    )
    acted = F.coalesce(F.col("first_act") < F.col("turn"), F.lit(False))
    outcome = (
        F.when(following.isNull() | (following["kind"] == "stop"), "gave_up")
        .when(following["kind"] == "malformed", "malformed")
        .when(following["command"] == command, "repeated")
        .when(following["exit_code"] == 0, "repaired")
        .otherwise("failed_again")
    )
    phase = F.when((F.col("kind") == "test") | ((F.col("kind") == "look") & acted), "verify").otherwise(
        F.col("kind")
    )
    return (
        staged.withColumn("error", F.coalesce(error, F.lit(False)))
        .withColumn("outcome", F.when(error, outcome))
        .withColumn("phase_of_turn", phase)
        .drop("following", "first_act")
    )


def _count(condition: Column, name: str) -> Column:
    return F.sum(F.coalesce(condition.cast("long"), F.lit(0))).alias(name)


def attempt_sums(attempts: DataFrame, by: Sequence[str] = BY) -> DataFrame:
    """One row for each group and task: sums over its attempts. A missing verdict counts as not passed."""
    _need_suite(by)
    kept = attempts.where(F.coalesce(F.col("finish"), F.lit("")) != "lost")
    return kept.groupBy(*by, "task_id").agg(
        F.count(F.lit(1)).alias("attempts"),
        F.sum(F.coalesce("reward", F.lit(0.0))).alias("passed"),
        _count(F.col("reward").isNull(), "no_verdict"),
        F.sum(F.col("turns").cast("long")).alias("attempt_turns"),
        F.sum(F.col("action_tokens").cast("long")).alias("action_tokens"),
        F.sum(F.col("output_tokens").cast("long")).alias("output_tokens"),
        _count(F.col("finish").isin("turns", "context", "time"), "unfinished"),
        _count(F.col("timeouts") > 0, "timed_out"),
        _count(F.col("malformed") > 0, "malformed_any"),
    )


def turn_sums(annotated: DataFrame, by: Sequence[str] = BY) -> DataFrame:
    """One row for each group and task: sums over the turns of its attempts."""
    _need_suite(by)
    phase, outcome = F.col("phase_of_turn"), F.col("outcome")
    return annotated.groupBy(*by, "task_id").agg(
        F.count(F.lit(1)).alias("turns"),
        F.count("command").alias("commands"),
        _count(F.col("error"), "errors"),
        _count(F.col("status") == "timeout", "timeouts"),
        _count(F.col("changed_state"), "changed"),
        F.count("changed_state").alias("state_known"),
        F.sum(F.coalesce("new_chars", F.lit(0))).alias("new_chars"),
        F.sum(F.coalesce("shown_chars", F.lit(0))).alias("shown_chars"),
        *[_count(phase == p, f"phase_{p}") for p in PHASES],
        *[_count(outcome == o, f"after_error_{o}") for o in OUTCOMES],
    )


def repeat_sums(annotated: DataFrame, by: Sequence[str] = BY) -> DataFrame:
    """One row for each group and task: commands run again word for word, and attempts that loop."""
    _need_suite(by)
    keys = list(dict.fromkeys([*by, *ATTEMPT]))
    times = (
        annotated.where(F.col("command").isNotNull())
        .groupBy(*keys, "command")
        .agg(F.count(F.lit(1)).alias("n"))
    )
    by_attempt = times.groupBy(*keys).agg(
        F.sum("n").alias("ran"), F.sum(F.col("n") - 1).alias("repeats"), F.max("n").alias("most")
    )
    return by_attempt.groupBy(*by, "task_id").agg(
        F.count(F.lit(1)).alias("acting"),
        F.sum("ran").alias("ran"),
        F.sum("repeats").alias("repeats"),
        _count(F.col("most") >= LOOP, "looping"),
    )


def command_mix(annotated: DataFrame, by: Sequence[str] = BY) -> DataFrame:
    """Commands by program: count and errors. Sort by count descending, then program, for a total order."""
    _need_suite(by)
    ran = annotated.where(F.col("command").isNotNull())
    return ran.groupBy(*by, "program").agg(
        F.count(F.lit(1)).alias("commands"), _count(F.col("error"), "errors")
    )


def phase_flow(annotated: DataFrame, by: Sequence[str] = BY) -> DataFrame:
    """Number of turns by index of the turn, its phase, and the phase before it (``start`` before the first)."""
    _need_suite(by)
    earlier = F.lag("phase_of_turn").over(Window.partitionBy(*ATTEMPT).orderBy("turn"))
    pairs = annotated.withColumn("from_phase", F.coalesce(earlier, F.lit("start")))
    return pairs.groupBy(*by, "turn", "from_phase", "phase_of_turn").agg(F.count(F.lit(1)).alias("n"))


def first_success(attempts: DataFrame, by: Sequence[str] = BY) -> DataFrame:
    """For each task the first step with a passed attempt (null: none up to ``last_step``, censored)."""
    _need_suite(by)
    kept = attempts.where(F.coalesce(F.col("finish"), F.lit("")) != "lost")
    solved = F.when(F.col("reward") >= 1, F.col("step"))
    return kept.groupBy(*by, "task_id").agg(
        F.min(solved).alias("first_success"), F.max("step").alias("last_step")
    )


def first_success_summary(first: DataFrame, by: Sequence[str] = BY) -> DataFrame:
    """Tasks, tasks ever solved, and the median first step among the solved (exact)."""
    _need_suite(by)
    return first.groupBy(*by).agg(
        F.count(F.lit(1)).alias("tasks"),
        F.count("first_success").alias("solved"),
        F.percentile("first_success", 0.5).alias("median_first_success"),
    )


def summarise(
    sums: Sequence[pd.DataFrame],
    by: Sequence[str] = BY,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> pd.DataFrame:
    """The statistics of every group: value, percentile interval over tasks, Wilson's for shares of attempts.

    Args:
        sums: collected ``attempt_sums``, ``turn_sums`` and ``repeat_sums``, or some of them.

    Returns: Rows of ``statistic``, ``by``, value, low, high, wilson_low, wilson_high, denominator, tasks. A
    statistic whose denominator is 0 has no row. All statistics of a group share one resampling of tasks.
    """
    rows: list[dict[str, Any]] = []
    for frame in sums:
        present = {s: pair for s, pair in STATISTICS.items() if pair[0] in frame and pair[1] in frame}
        ordered = frame.sort_values([*by, "task_id"])
        for key, group in ordered.groupby(list(by), dropna=False, sort=True):
            weights = resample(len(group), None, draws, np.random.default_rng(seed))
            rows += _group_rows(dict(zip(by, key, strict=True)), group, present, weights, level)
    order = {name: i for i, name in enumerate(STATISTICS)}
    rows.sort(key=lambda row: order[row["statistic"]])
    return pd.DataFrame(rows)


def _group_rows(
    key: Mapping[str, Any],
    group: pd.DataFrame,
    present: Mapping[str, tuple[str, str]],
    weights: Any,
    level: float,
) -> list[dict[str, Any]]:
    rows = []
    tails = [(1 - level) / 2, (1 + level) / 2]
    for statistic, (top, bottom) in present.items():
        above, below = (group[c].to_numpy(dtype=float) for c in (top, bottom))
        if below.sum() == 0:
            continue
        drawn = weights @ below
        ratios = (weights @ above)[drawn > 0] / drawn[drawn > 0]
        low, high = np.quantile(ratios, tails)
        row = {"statistic": statistic, **key, "value": above.sum() / below.sum(), "low": low, "high": high}
        row |= {"wilson_low": np.nan, "wilson_high": np.nan}
        whole = float(above.sum()).is_integer()
        if statistic in SHARES_OF_ATTEMPTS and whole:
            interval = wilson(int(above.sum()), int(below.sum()), level)
            row |= {"wilson_low": interval.low, "wilson_high": interval.high}
        rows.append(row | {"denominator": int(below.sum()), "tasks": len(group)})
    return rows


def report(attempts: DataFrame, turns: DataFrame, by: Sequence[str] = BY) -> dict[str, pd.DataFrame]:
    """Every table of the behaviour notebook, collected and in a fixed order."""
    annotated = annotate(turns, attempts)
    first = first_success(attempts, by)
    frames = {
        "attempt_sums": attempt_sums(attempts, by),
        "turn_sums": turn_sums(annotated, by),
        "repeat_sums": repeat_sums(annotated, by),
        "command_mix": command_mix(annotated, by),
        "phase_flow": phase_flow(annotated, by),
        "first_success": first,
        "first_success_summary": first_success_summary(first, by),
    }
    tables = {name: collect(frame) for name, frame in frames.items()}
    tables["statistics"] = summarise([tables[name] for name in frames if name.endswith("_sums")], by)
    return tables


def collect(frame: DataFrame) -> pd.DataFrame:
    """A small DataFrame in pandas, sorted by all its columns: engines return rows in any order."""
    table = frame.toPandas()
    return table.sort_values(list(table.columns)).reset_index(drop=True)
