"""The result files of one profile, and how an arm is picked from them.

A file that a profile did not produce is absent, and what needs it is "not run in this profile"; a file that is
empty or lacks a column is an error. Arms are compared at the last step that both were evaluated at: no step is
chosen by its score.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pandas as pd

from echo_terminal.analysis import statistics
from echo_terminal.evaluation.token_class import TokenClass

RUN = ("start", "objective", "seed", "step")
ATTEMPTS = (
    "suite", "task_id", "template", "domain", "machine", *RUN, "attempt", "reward", "done", "turns",
    "action_tokens", "timeouts", "malformed", "finish",
)  # fmt: skip
COLUMNS: dict[str, tuple[str, ...]] = {
    "attempts": ATTEMPTS,
    "train_steps": (
        *RUN, "reward_mean", "loss_policy", "loss_env", "env_ce_output", "env_ce_warning", "grad_norm_policy",
        "grad_norm_env", "grad_cosine", "entropy", "clip_fraction", "zero_variance_share", "malformed_rate",
        "unfinished_rate", "tokens", "val_pass",
    ),
    "heldout_ce": ("suite", *RUN, "token_class", "n_tokens", "n_bytes", "ce_token_mean", "ce_sequence_mean"),
    "verifier_free": ("target_suite", "filter", "step", "pass_rate", "n"),
    "env_only_attempts": (*ATTEMPTS, "target_suite", "filter"),
    "forecast": (
        "start", "objective", "seed", "auroc", "brier", "low", "high", "count", "mean_probability", "success_rate",
    ),
    "controls": (*ATTEMPTS, "variant"),
    "sweeps": (*ATTEMPTS, "factor", "level"),
    "behaviour": ("statistic", "start", "objective", "seed", "suite", "value", "low", "high"),
}  # fmt: skip
WORLDS = {
    "silent": "silent_usage",
    "random": "random_machine",
}  # profile in a world of its own: control that it is
APART = ("smoke", *WORLDS)  # toys, and worlds of their own: they neither lend to other profiles nor borrow
REQUIRED = ("attempts", "train_steps", "heldout_ce")
MADE_BY = {  # what a profile lacks where it has no such file
    "verifier_free": "training without a verifier",
    "env_only_attempts": "training without a verifier",
    "forecast": "forecasts of exit codes",
    "controls": "controls",
    "sweeps": "sweep of λ",
}
SUITES = ("val", "itd", "itd_machine", "lite", "hard", "pyterm")
STARTS = ("base_small", "base_medium", "sft", "actobs")
OUTPUT_CLASSES = tuple(c.value for c in TokenClass)


class NotRun(Exception):
    """What was asked for is not part of this profile. The message is the rule, in words for the reader."""


@dataclass(frozen=True, eq=False)  # equal only to itself: a key for caches
class Results:
    """The frames of one profile; ``frames`` holds those that exist, by file stem; ``bench`` the benchmarks."""

    profile: str
    frames: dict[str, pd.DataFrame]
    bench: dict[str, float] = field(default_factory=dict)

    def get(self, name: str) -> pd.DataFrame:
        """A frame by file stem.

        Raises:
            NotRun: the profile did not produce it.
        """
        if name not in self.frames:
            raise NotRun(f"this profile has no {MADE_BY.get(name, name)}")
        return self.frames[name]

    @property
    def starts(self) -> list[str]:
        """Starting policies with attempts, in the paper's order."""
        return ordered(self.get("attempts")["start"].unique(), STARTS)

    @property
    def suites(self) -> list[str]:
        """Evaluated suites, in the paper's order."""
        return ordered(self.get("attempts")["suite"].unique(), SUITES)


def ordered(values: Iterable[str], first: tuple[str, ...]) -> list[str]:
    """Known names in their fixed order, then the others by name."""
    known = set(values)
    return [v for v in first if v in known] + sorted(known - set(first))


def load(folder: Path) -> Results:
    """Read ``results/<profile>`` (files in it or in its stages' folders) and ``results/bench.json``.

    Raises:
        FileNotFoundError: a required file is absent.
        ValueError: a file is empty, lacks columns, or stands in two places.
    """
    frames = {}
    for name, columns in COLUMNS.items():
        paths = [*folder.glob(f"{name}.parquet"), *folder.glob(f"*/{name}.parquet")]
        if not paths:
            if name not in REQUIRED:
                continue
            path = folder / f"{name}.parquet"
            raise FileNotFoundError(f"{path} is missing: run the pipeline of this profile first (make repro)")
        if len(paths) > 1:
            raise ValueError(f"{name}.parquet stands in two places: {', '.join(map(str, paths))}")
        path = paths[0]
        frame = pd.read_parquet(path)
        if frame.empty:
            raise ValueError(f"{path} is empty: delete it and run its stage again")
        lacking = [c for c in columns if c not in frame]
        if lacking:
            raise ValueError(f"{path} lacks {', '.join(lacking)}: run its stage again")
        frames[name] = frame
    worlds = [] if folder.name in APART else _worlds(folder.parent)
    if worlds:
        frames["worlds"] = pd.concat(worlds, ignore_index=True)
        if "controls" in frames:  # ECHO in another world is a control of ECHO here
            echo = last_rows(frames["worlds"].query("objective == 'echo'"), "variant")
            frames["controls"] = pd.concat([frames["controls"], echo], ignore_index=True)
    bench = folder.parent / "bench.json"
    rows = json.loads(bench.read_text(encoding="utf-8")) if bench.exists() else []
    return Results(folder.name, frames, {row["name"]: float(row["value"]) for row in rows})


def _worlds(root: Path) -> list[pd.DataFrame]:
    """Attempts of both arms in each profile of ``WORLDS`` that was run, with the column ``variant``."""
    found = []
    for profile, variant in WORLDS.items():
        for path in (root / profile).glob("*/attempts.parquet"):
            rows = pd.read_parquet(path)
            found.append(rows[rows["objective"].isin(("grpo", "echo"))].assign(variant=variant))
    return found


def world_rows(results: Results, variant: str) -> pd.DataFrame:
    """Attempts of both arms in a world of ``WORLDS``.

    Raises:
        NotRun: its profile was not run, or this profile is not compared with others.
    """
    if results.profile in APART:
        raise NotRun("this profile is not compared with other worlds")
    frame = results.frames.get("worlds")
    rows = frame[frame["variant"] == variant] if frame is not None else pd.DataFrame()
    if rows.empty:
        profile = next(name for name, world in WORLDS.items() if world == variant)
        raise NotRun(f"the profile {profile} was not run")
    return rows


def select(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Rows where every named column has the given value.

    Raises:
        NotRun: there is none.
    """
    kept = frame
    for column, value in values.items():
        kept = kept[kept[column] == value]
    if kept.empty:
        raise NotRun("no run of " + ", ".join(f"{c} {v}" for c, v in values.items()) + " in this profile")
    return kept


@lru_cache(maxsize=256)
def attempts_of(results: Results, start: str, suite: str) -> pd.DataFrame:
    """All attempts from one start on one suite, every objective and step."""
    return select(results.get("attempts"), start=start, suite=suite)


def start_rows(results: Results, start: str, suite: str) -> pd.DataFrame:
    """Attempts of a starting policy (step 0); one arm's rows, since every arm starts from the same policy."""
    rows = select(attempts_of(results, start, suite), step=0)
    return rows[rows["objective"] == sorted(rows["objective"].unique())[0]]


def common_step(frame: pd.DataFrame, objectives: Iterable[str]) -> int:
    """The last step that every one of ``objectives`` was evaluated at, on every seed it has.

    Raises:
        NotRun: an objective has no rows, or there is no common step after 0.
    """
    common: set[int] | None = None
    for objective in objectives:
        for _, evaluated in select(frame, objective=objective).groupby("seed")["step"]:
            steps = set(evaluated.unique().astype(int))
            common = steps if common is None else common & steps
    trained = {s for s in common or set() if s > 0}
    if not trained:
        raise NotRun(f"no step after 0 is common to {', '.join(objectives)} in this profile")
    return max(trained)


@lru_cache(maxsize=256)
def arms(
    results: Results, start: str, suite: str, objectives: tuple[str, ...] = ("grpo", "echo")
) -> dict[str, pd.DataFrame]:
    """Attempts of each objective at the common last step, keyed by objective."""
    rows = attempts_of(results, start, suite)
    step = common_step(rows, objectives)
    return {o: select(rows, objective=o, step=step) for o in objectives}


def is_site(rows: pd.DataFrame) -> pd.Series:
    """True for tasks on a machine's own tools: their templates are named ``site…`` (``tasks.families.site``)."""
    return rows["template"].str.startswith("site")


def suite_with(results: Results, start: str, tools: str) -> str:
    """The first suite, in the paper's order, on which this start was evaluated on tasks with site or generic tools.

    Raises:
        NotRun: there is none.
    """
    for suite in results.suites:
        rows = results.get("attempts").query("start == @start and suite == @suite")
        if (is_site(rows) == (tools == "site")).any():
            return suite
    raise NotRun(f"no suite of this profile has tasks on {tools} tools")


def last_rows(frame: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The rows of each run's last step; runs are told apart by start, objective, seed and ``by``."""
    keys = ["start", "objective", "seed", *by]
    return frame[frame["step"] == frame.groupby(keys)["step"].transform("max")]


def templates(rows: pd.DataFrame, tasks: Iterable[str]) -> list[str]:
    """The template of each task: the strata of the bootstrap."""
    of = rows.drop_duplicates("task_id").set_index("task_id")["template"]
    return [str(of[t]) for t in tasks]


def pass_curve(results: Results, start: str, objective: str, suite: str) -> pd.DataFrame:
    """Pass rate [seed × step] over training; step 0 is the starting policy's rate on every seed."""
    rows = select(attempts_of(results, start, suite), objective=objective)
    curve = (
        rows.assign(reward=rows["reward"].astype("float64").fillna(0.0))
        .groupby(["seed", "step"])["reward"]
        .mean()
        .unstack("step")
    )
    if 0 not in curve:
        curve.insert(0, 0, statistics.pass_matrix(start_rows(results, start, suite)).to_numpy().mean())
    return curve.sort_index(axis=1)


def output_ce(rows: pd.DataFrame) -> pd.DataFrame:
    """Held-out CE of all terminal-output tokens, nats a token, [seed × step]: class means by token count."""
    rows = rows[rows["token_class"].isin(OUTPUT_CLASSES)]
    if rows.empty:
        raise NotRun("no held-out CE of terminal-output tokens in this profile")
    nats = (rows["ce_token_mean"] * rows["n_tokens"]).groupby([rows["seed"], rows["step"]]).sum()
    return (nats / rows.groupby(["seed", "step"])["n_tokens"].sum()).unstack("step").sort_index(axis=1)
