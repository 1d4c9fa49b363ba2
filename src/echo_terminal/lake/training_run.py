"""One run of the training matrix: from a starting policy to its snapshots, its rollouts written to the lake.

Everything is an argument, so that the run is a function of its settings and can be its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.lake.rows import RunPoint, rollout_rows
from echo_terminal.lake.tables import Writer
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.policy.weights import best_device, load_policy
from echo_terminal.progress import Progress
from echo_terminal.tasks.store import read_tasks
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal, open_terminal
from echo_terminal.training.grpo import Rollouts, Trainer, TrainParams
from echo_terminal.training.monitors import Metrics
from echo_terminal.training.objective import ObjectiveParams
from echo_terminal.training.run import KeepParams, train
from echo_terminal.training.starts import foreign_outputs

#: monitor -> column of the results; what is not here stays in the run's own metrics.jsonl
COLUMNS = {
    "rollout/reward": "reward_mean",
    "loss/policy": "loss_policy",
    "loss/env": "loss_env",
    "lambda": "lambda",
    "env_ce/output": "env_ce_output",
    "env_ce/warning": "env_ce_warning",
    "env_ce/exit": "env_ce_exit",
    "env_ce/stdout": "env_ce_stdout",
    "env_ce/stderr": "env_ce_stderr",
    "gradient/policy_norm": "grad_norm_policy",
    "gradient/env_norm": "grad_norm_env",
    "gradient/cosine": "grad_cosine",
    "gradient/ratio": "grad_ratio",
    "gradient/norm": "grad_norm",
    "policy/entropy": "entropy",
    "policy/clip_fraction": "clip_fraction",
    "mismatch/max": "logprob_gap_max",
    "rollout/zero_variance": "zero_variance_share",
    "rollout/turns": "turns_mean",
    "turn/malformed": "malformed_rate",
    "turn/over_long": "over_long_rate",
    "turn/imagined": "imagined_rate",
    "turn/failing": "failing_rate",
    "rollout/never_finished": "unfinished_rate",
    "tokens/total": "tokens",
    "tokens/action": "action_tokens",
    "tokens/output": "output_tokens",
}


def read_suite(path: Path, suite: str) -> list[Task]:
    """The tasks of one suite.

    Raises:
        ValueError: there is none.
    """
    tasks = [t for t in read_tasks(path) if t.suite == suite]
    if not tasks:
        raise ValueError(f"{path} holds no task of suite {suite!r}: add it to tasks.suites and run 02_tasks")
    return tasks


def facts_as_ids(tokenizer: PolicyTokenizer, task: Task) -> set[int]:
    """Token ids of the words that state the facts of a task's machine."""
    return {i for word in task.tokens_of_facts for i in tokenizer.encode(word)}


def run_training(
    folder: Path,
    run_key: str,
    *,
    name: str,
    start: str,
    objective_name: str,
    objective: ObjectiveParams,
    seed: int,
    start_folder: Path,
    tasks_path: Path,
    train_params: TrainParams,
    harness: HarnessParams,
    keep: KeepParams,
    terminal_options: Mapping[str, Any],
    engine: str = "virtual",
    suite: str = "train",
) -> list[Metrics]:
    """Train to the end, resuming what is in ``folder``; one thread, so that runs can go side by side.

    Rollouts go to ``folder/lake`` (tables attempts and turns) before the checkpoint that counts them, under
    keys that a repeated step finds again.
    """
    torch.set_num_threads(1)
    policy = load_policy(start_folder, best_device())
    tasks = read_suite(tasks_path, suite)
    open_one: Callable[[], Terminal] = partial(open_terminal, engine, **terminal_options)
    unrelated: Sequence[int] = ()
    if objective.has_env and objective.env_term.control == "unrelated_text":
        templates = sorted({t.template for t in tasks})
        unrelated = foreign_outputs(templates, open_one(), policy.tokenizer, harness)
    trainer = Trainer(
        policy,
        objective,
        train_params,
        harness,
        tasks,
        open_one,
        seed,
        informative=partial(facts_as_ids, policy.tokenizer),
        unrelated=unrelated,
    )
    progress = Progress(f"train {name}", train_params.steps)
    writer = Writer(folder / "lake")

    def on_step(step: int, row: Metrics, rollouts: Rollouts) -> None:
        point = RunPoint(name, start, objective_name, seed, "train", step + 1)
        numbers = list(range(len(rollouts.tasks)))
        for table, rows in rollout_rows(
            point, rollouts.tasks, numbers, rollouts.transcripts, rollouts.rewards, policy.tokenizer.decode
        ).items():
            writer.add(table, rows)
        if (step + 1) % keep.checkpoint_every == 0 or step + 1 == train_params.steps:
            writer.flush()
        shown = {"pass": row["rollout/reward"], "env-CE": row.get("env_ce/output", float("nan"))}
        progress.update(1, **{k: v for k, v in shown.items() if v == v})

    return train(trainer, folder, run_key, keep, on_step=on_step)


def step_columns(
    metrics: Sequence[Mapping[str, Any]], start: str, objective: str, seed: int
) -> list[dict[str, Any]]:
    """The metrics of a run as rows of the results: known columns alone, None where a step did not measure one."""
    return [
        {
            "start": start,
            "objective": objective,
            "seed": seed,
            "step": int(row["step"]),
            **{column: _number(row.get(key)) for key, column in COLUMNS.items()},
        }
        for row in metrics
    ]


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
