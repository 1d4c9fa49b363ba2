"""Scores of one policy snapshot on the held-out corpus: CE by class, forecasts, free-running prediction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.evaluation.corpus import HeldoutParams, expert_corpus, held_out
from echo_terminal.evaluation.forecast import forecasts, quality
from echo_terminal.evaluation.forecast import rows as forecast_rows
from echo_terminal.evaluation.free_running import predict
from echo_terminal.evaluation.heldout_ce import digest, score, summarise
from echo_terminal.evaluation.reranking import greedy
from echo_terminal.lake.evaluation_run import by_suite
from echo_terminal.policy.weights import load_policy
from echo_terminal.progress import LOGGER
from echo_terminal.tasks.suites import SuiteParams
from echo_terminal.terminal.terminal import open_terminal


def run_scoring(
    *,
    name: str,
    policy_folder: Path,
    tasks_path: Path,
    harness: HarnessParams,
    suites: Mapping[str, SuiteParams],
    params: HeldoutParams,
    terminal_options: Mapping[str, Any],
    full: bool,
) -> dict[str, Any]:
    """CE by suite and class of one policy; ``full`` adds forecasts and free-running prediction on the first
    suite.

    Returns plain lists and numbers: ``digest`` (of the corpus), ``ce``, and with ``full`` also ``forecast``,
    ``free_running``.
    """
    torch.set_num_threads(1)
    policy = load_policy(policy_folder)
    tokenizer = policy.tokenizer
    terminal = open_terminal("virtual", **terminal_options)
    tasks = by_suite(tasks_path, params.suites)
    corpus = expert_corpus(tasks, terminal, tokenizer, harness, suites, params)
    trajectories = held_out(corpus, tokenizer)
    rows = score(trajectories, policy)
    result: dict[str, Any] = {
        "digest": digest(trajectories),
        "ce": [
            {
                "suite": suite,
                "token_class": token_class,
                "n_tokens": ce.tokens,
                "n_sequences": ce.sequences,
                "n_bytes": sum(r.bytes for r in rows if (r.suite, r.token_class) == (suite, token_class)),
                "ce_token_mean": ce.per_token,
                "ce_sequence_mean": ce.per_sequence,
                "floor_token_mean": ce.floor_per_token,
            }
            for (suite, token_class), ce in summarise(rows, ("suite", "token_class")).items()
        ],
    }
    if full:
        first = [t for task, t in corpus if task.suite == params.suites[0]]
        judged = quality(forecasts(first, tokenizer.encode("0"), policy))
        result["forecast"] = forecast_rows(judged)
        found = predict(
            first, greedy(policy.model, policy.model.params.max_positions), policy, tokenizer.decode
        )
        result["free_running"] = {
            "replies": len(found),
            "exact": sum(p.exact for p in found) / len(found),
            "similarity": sum(p.similarity for p in found) / len(found),
        }
    LOGGER.info(f"score {name}: {len(rows)} rows")
    return result
