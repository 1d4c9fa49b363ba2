"""Settings of a NeMo-RL run under which the environment term would be dropped or skewed: refused before it
starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.training.objective import EnvTermParams

MARGIN = 256  # tokens by which whole-text tokenisation may exceed the harness's own count


def check_config(config: Mapping[str, Any], echo: EnvTermParams, harness: HarnessParams) -> None:
    """Check a resolved NeMo-RL configuration against what the term and the harness need.

    Raises:
        ValueError: names every setting that must change, and to what.
    """
    grpo, policy = config["grpo"], config["policy"]
    generation = policy["generation"]
    wrong = []

    def require(good: bool, text: str) -> None:
        if not good:
            wrong.append(text)

    require(
        generation["top_p"] == 1.0,
        "policy.generation.top_p must be 1.0 (filtering zeroes observation log-probs)",
    )
    require(generation["top_k"] is None, "policy.generation.top_k must be null (same)")
    require(
        generation["temperature"] == 1.0,
        "policy.generation.temperature must be 1.0 (it divides the logits of observations too)",
    )
    require(
        not grpo.get("use_dynamic_sampling"),
        "grpo.use_dynamic_sampling must be false (it drops whole groups)",
    )
    require(not grpo.get("overlong_filtering"), "grpo.overlong_filtering must be false (it drops rows)")
    require(
        grpo.get("seq_logprob_error_threshold") is None,
        "grpo.seq_logprob_error_threshold must be null (it drops rows)",
    )
    require(
        not (grpo.get("async_grpo") or {}).get("enabled"),
        "grpo.async_grpo.enabled must be false (not covered)",
    )
    require(
        not (config.get("data_plane") or {}).get("enabled"),
        "data_plane.enabled must be false (workers would not see the weights)",
    )
    require(not (config.get("env") or {}).get("should_use_nemo_gym"), "env.should_use_nemo_gym must be false")
    require(
        config["loss_fn"]["reference_policy_kl_penalty"] == 0, "loss_fn.reference_policy_kl_penalty must be 0"
    )
    require(
        grpo["max_rollout_turns"] >= harness.max_turns,
        f"grpo.max_rollout_turns must be at least harness.max_turns = {harness.max_turns} (else nothing is graded)",
    )
    require(
        generation["max_new_tokens"] <= harness.max_turn_tokens,
        f"policy.generation.max_new_tokens must not exceed harness.max_turn_tokens = {harness.max_turn_tokens}",
    )
    require(
        policy["max_total_sequence_length"] >= harness.max_context + MARGIN,
        f"policy.max_total_sequence_length must be at least {harness.max_context + MARGIN} "
        "(harness.max_context and a margin; else observations are cut unseen)",
    )
    require(echo.weight.kind == "constant", "echo.weight.kind must be constant")
    require(echo.filter == "none" and echo.control == "none", "echo.filter and echo.control must be none")
    require(
        echo.target in ("output", "full_observation", "warnings"),
        "echo.target must be output, full_observation or warnings (only ids reach the learner)",
    )
    if wrong:
        raise ValueError("this run would not be ECHO: " + "; ".join(wrong))
