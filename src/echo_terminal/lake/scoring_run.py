"""Scores of the snapshots of one run on the held-out corpus: CE in the lake; forecasts, free-running prediction and
re-ranked attempts as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.transcript import Transcript
from echo_terminal.evaluation.corpus import HeldoutParams, expert_corpus, held_out
from echo_terminal.evaluation.forecast import forecasts, quality
from echo_terminal.evaluation.forecast import rows as forecast_rows
from echo_terminal.evaluation.free_running import predict
from echo_terminal.evaluation.heldout_ce import digest, score
from echo_terminal.evaluation.reranking import greedy
from echo_terminal.evaluation.suites import EvaluateParams, attempts, pass_rate_of
from echo_terminal.lake.evaluation_run import by_suite
from echo_terminal.lake.rows import RunPoint, ce_rows
from echo_terminal.lake.tables import append
from echo_terminal.policy.weights import Policy, load_policy
from echo_terminal.progress import LOGGER
from echo_terminal.tasks.suites import TaskParams
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import open_terminal

Row = dict[str, Any]


def run_scoring(
    lake: Path,
    *,
    policies: Sequence[tuple[RunPoint, Path, bool]],
    tasks_path: Path,
    harness: HarnessParams,
    world: TaskParams,
    params: HeldoutParams,
    evaluate: EvaluateParams,
    seed: int,
    terminal_options: Mapping[str, Any],
) -> list[dict[str, list[Row]]]:
    """Append the CE rows of policies of one tokenizer to ``lake`` (table ce); several processes may do so at once.

    A policy is its point, its folder, and whether it is scored in full, which adds, on the first suite: ``forecast``
    (one row for each calibration bin), ``free_running`` (one for each reply) and ``reranking`` (one for each task and
    number of samples).
    """
    torch.set_num_threads(1)
    tokenizer = load_policy(policies[0][1]).tokenizer
    tasks = by_suite(tasks_path, params.suites)
    terminal = open_terminal("virtual", **terminal_options)
    corpus = expert_corpus(tasks, terminal, tokenizer, harness, world.suites, params)
    trajectories = held_out(corpus, tokenizer, world.suites, world.tools)
    name, first = digest(trajectories), params.suites[0]
    transcripts = [t for task, t in corpus if task.suite == first]
    limits = harness.model_copy(update={"max_turns": world.suites[first].turns})
    results: list[dict[str, list[Row]]] = []
    for point, folder, full in policies:
        policy = load_policy(folder)
        rows = score(trajectories, policy)
        append(lake, "ce", ce_rows(point, name, rows))
        LOGGER.info(f"score {point.run_id} step {point.step}: {len(rows)} rows")
        results.append({})
        if full:
            results[-1] = {
                "forecast": forecast_rows(quality(forecasts(transcripts, tokenizer.encode("0"), policy))),
                "free_running": free_running(policy, transcripts),
                "reranking": rerank(policy, tasks[first], limits, params, evaluate, seed, terminal_options),
            }
    return results


def free_running(policy: Policy, transcripts: Sequence[Transcript]) -> list[Row]:
    """One row for each reply that the policy writes by itself."""
    write = greedy(policy.model, policy.model.params.max_positions)
    return [asdict(p) for p in predict(transcripts, write, policy, policy.tokenizer.decode)]


def rerank(
    policy: Policy,
    tasks: Sequence[Task],
    harness: HarnessParams,
    params: HeldoutParams,
    evaluate: EvaluateParams,
    seed: int,
    terminal_options: Mapping[str, Any],
) -> list[Row]:
    """One attempt at each of the first ``params.rerank_tasks`` tasks with one sample a turn and with more."""
    terminals = [open_terminal("virtual", **terminal_options) for _ in range(evaluate.batch)]
    chosen = tasks[: params.rerank_tasks]
    rows = []
    for samples in (1, params.rerank_samples):
        tried = attempts(policy, chosen, harness, evaluate, terminals, tries=1, seed=seed, samples=samples)
        LOGGER.info(f"{samples} samples a turn: pass {pass_rate_of(tried):.3f}")
        for attempt in tried:
            turns = attempt.transcript.turns
            ran = [t for t in turns if t.command is not None]
            rows.append(
                {
                    "task_id": attempt.task.task_id,
                    "template": attempt.task.template,
                    "samples": samples,
                    "reward": attempt.reward,
                    "turns": len(turns),
                    "commands": len(ran),
                    "errors": sum(t.exit_code != 0 for t in ran),
                }
            )
    return rows
