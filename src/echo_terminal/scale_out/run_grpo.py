"""Train with NeMo-RL v0.7.0: ``python -m echo_terminal.scale_out.run_grpo --config CONFIG [key=value ...]``.

GRPO and ECHO differ in ``echo.weight.value`` alone. The sections ``echo``, ``harness`` and ``terminal`` are
ours, the rest refines NeMo-RL's ``examples/configs/grpo_math_1B.yaml``, read from the checkout that
NEMO_RL_HOME names. Not run in this repository's tests, since it needs GPUs; its parts are
(tests/scale_out).
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any, cast

import ray
from nemo_rl.algorithms.grpo import MasterConfig, grpo_train, setup
from nemo_rl.algorithms.utils import get_tokenizer, set_seed
from nemo_rl.distributed.virtual_cluster import init_ray
from nemo_rl.models.generation import configure_generation_config
from nemo_rl.utils.config import load_config, parse_hydra_overrides, register_omegaconf_resolvers
from nemo_rl.utils.logger import get_next_experiment_dir
from omegaconf import OmegaConf
from tokenizers import Tokenizer

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.scale_out.episodes import suite_of
from echo_terminal.scale_out.guards import check_config
from echo_terminal.scale_out.nemo_environment import TASK_NAME, TerminalEnvironment, datum
from echo_terminal.scale_out.nemo_policy import EchoPolicy
from echo_terminal.scale_out.nemo_rl import EchoLossFn
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.objective import EnvTermParams


def main() -> None:
    """Read the configuration, refuse what would not be ECHO, set up NeMo-RL and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="YAML file, see scale_out/configs")
    arguments, overrides = parser.parse_known_args()
    register_omegaconf_resolvers()
    base = Path(os.environ["NEMO_RL_HOME"]) / "examples/configs/grpo_math_1B.yaml"
    loaded = OmegaConf.merge(load_config(base), load_config(arguments.config))
    if overrides:
        loaded = parse_hydra_overrides(loaded, overrides)
    config = cast(dict[str, Any], OmegaConf.to_container(loaded, resolve=True))
    echo = EnvTermParams.model_validate(config.pop("echo"))
    harness = HarnessParams.model_validate(config.pop("harness"))
    terminal = config.pop("terminal")
    check_config(config, echo, harness)
    train(MasterConfig(**config), echo, harness, terminal)


def train(config: Any, echo: EnvTermParams, harness: HarnessParams, terminal: dict[str, Any]) -> None:
    """The sequence of NeMo-RL's own examples, with our policy, loss and environment."""
    config.logger["log_dir"] = get_next_experiment_dir(config.logger["log_dir"])
    init_ray()
    set_seed(config.grpo["seed"])
    tokenizer = get_tokenizer(config.policy["tokenizer"])
    tokenizer_json = tokenizer.backend_tokenizer.to_str()
    codec = PolicyTokenizer(Tokenizer.from_str(tokenizer_json))
    generation = configure_generation_config(config.policy["generation"], tokenizer)
    generation["stop_token_ids"] = list(codec.stop_ids)
    config.policy["generation"] = generation
    control = [str(t) for t in tokenizer.added_tokens_decoder.values()]
    tasks = suite_of(Path(terminal["tasks"]), terminal["train_suite"])
    held_out = suite_of(Path(terminal["tasks"]), terminal["val_suite"])[: config.grpo["max_val_samples"]]
    make = partial(open_terminal, terminal["engine"], **terminal.get("options", {}))
    actor = ray.remote(TerminalEnvironment).options(num_gpus=0, num_cpus=terminal["cpus"])

    def environment(of: list[Task]) -> dict[str, Any]:
        return {TASK_NAME: actor.remote(of, make, tokenizer_json, harness, control)}

    (policy, engine, _gym, _cluster, loader, val_loader, _loss, logger, checkpointer, state, config, *_) = (
        setup(
            config,
            tokenizer,
            [datum(t, i, codec, harness, control) for i, t in enumerate(tasks)],
            [datum(t, i, codec, harness, control) for i, t in enumerate(held_out)],
            policy_factory=partial(EchoPolicy, echo=echo),
        )
    )
    grpo_train(
        policy,
        engine,
        loader,
        val_loader,
        tokenizer,
        EchoLossFn(config.loss_fn, echo.weight.value),
        environment(tasks),
        environment(held_out),
        logger,
        checkpointer,
        state,
        config,
    )


if __name__ == "__main__":
    main()
