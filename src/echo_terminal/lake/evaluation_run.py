"""The evaluation of one policy snapshot: attempts by suite, as result rows and in the lake."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.evaluation.suites import Attempt, EvaluateParams, attempts, pass_rate_of
from echo_terminal.lake.rows import RunPoint, rollout_rows
from echo_terminal.lake.tables import Writer
from echo_terminal.policy.weights import best_device, load_policy
from echo_terminal.progress import LOGGER
from echo_terminal.tasks.store import read_tasks
from echo_terminal.tasks.suites import SuiteParams
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams

RESULT = (
    "suite", "task_id", "template", "domain", "machine", "start", "objective", "seed", "step", "attempt", "reward",
    "done", "turns", "action_tokens", "timeouts", "malformed", "finish",
)  # fmt: skip


def by_suite(path: Path, suites: Sequence[str]) -> dict[str, list[Task]]:
    """Tasks of the named suites, in file order."""
    found: dict[str, list[Task]] = {name: [] for name in suites}
    for task in read_tasks(path):
        if task.suite in found:
            found[task.suite].append(task)
    return {name: tasks for name, tasks in found.items() if tasks}


def run_evaluation(
    folder: Path,
    *,
    policy_folder: Path,
    point: RunPoint,
    tasks_path: Path,
    tries: Mapping[str, int],
    suites: Mapping[str, SuiteParams],
    harness: HarnessParams,
    params: EvaluateParams,
    seed: int,
    terminal_options: Mapping[str, Any],
    engine: str = "virtual",
) -> Path:
    """Attempts of the policy in ``policy_folder`` at each suite of ``tries`` (suite -> tries a task).

    Writes ``folder/attempts.parquet`` (columns ``RESULT``) and the same attempts with their turns to
    ``folder/lake``, in place of what an earlier evaluation left there; one thread.
    """
    torch.set_num_threads(1)
    shutil.rmtree(folder / "lake", ignore_errors=True)  # the same keys, perhaps of another policy
    policy = load_policy(policy_folder, best_device())
    tasks = by_suite(tasks_path, list(tries))
    terminals = [open_terminal(engine, **terminal_options) for _ in range(params.batch)]
    rows: list[dict[str, Any]] = []
    with Writer(folder / "lake") as writer:
        for suite, of_suite in tasks.items():
            limits = harness.model_copy(update={"max_turns": suites[suite].turns})
            tried = attempts(policy, of_suite, limits, params, terminals, tries=tries[suite], seed=seed)
            for table, new in rows_of(point, tried, policy.tokenizer.decode).items():
                writer.add(table, new)
                if table == "attempts":
                    rows += [{name: row[name] for name in RESULT} for row in new]
            LOGGER.info(f"evaluate {point.run_id} step {point.step} {suite}: pass {pass_rate_of(tried):.3f}")
    part = folder / "attempts.parquet.part"
    pd.DataFrame(rows, columns=list(RESULT)).to_parquet(part, index=False)
    return part.rename(folder / "attempts.parquet")


def side_tables(attempts: pd.DataFrame, objectives: Mapping[str, ObjectiveParams]) -> dict[str, pd.DataFrame]:
    """``controls`` (column variant) and ``sweeps`` (columns factor, level) of a profile, those that it has.

    A control is an objective whose environment term replaces what is learnt. The sweep of lambda takes
    plain ECHO at each constant weight, GRPO as lambda 0, and is named ``echo`` throughout.
    """
    plain = EnvTermParams()
    controls, sweep = [], []
    for name, objective in objectives.items():
        rows, env = attempts[attempts["objective"] == name], objective.env_term
        if objective.kind == "grpo" and name == "grpo":
            sweep.append(rows.assign(objective="echo", factor="lambda", level=0.0))
        elif objective.kind == "echo" and env.control != "none":
            controls.append(rows.assign(variant=name))
        elif (
            objective.kind == "echo"
            and env.weight.kind == "constant"
            and env == plain.model_copy(update={"weight": env.weight})
        ):
            sweep.append(rows.assign(objective="echo", factor="lambda", level=env.weight.value))
    tables = {}
    if controls:
        tables["controls"] = pd.concat(controls, ignore_index=True)
    if len(sweep) > 2:
        tables["sweeps"] = pd.concat(sweep, ignore_index=True)
    return tables


def rows_of(point: RunPoint, tried: Sequence[Attempt], decode: Any) -> dict[str, list[dict[str, Any]]]:
    """Lake rows of attempts."""
    return rollout_rows(
        point,
        [a.task for a in tried],
        [a.number for a in tried],
        [a.transcript for a in tried],
        [a.reward for a in tried],
        decode,
    )
