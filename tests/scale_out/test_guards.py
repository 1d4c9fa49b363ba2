"""Every setting that would drop or skew the term is refused; the shipped configurations pass."""

from copy import deepcopy
from importlib.resources import files

import pytest
import yaml

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.scale_out.guards import check_config
from echo_terminal.training.objective import EnvTermParams

CONFIGS = files("echo_terminal.scale_out") / "configs"
#: what NeMo-RL's grpo_math_1B.yaml says of the settings that are checked
BASE = {
    "grpo": {"use_dynamic_sampling": False, "overlong_filtering": False, "seq_logprob_error_threshold": None},
    "policy": {"generation": {"temperature": 1.0, "top_p": 1.0, "top_k": None}},
    "loss_fn": {"reference_policy_kl_penalty": 0.01},
    "data_plane": {"enabled": False},
    "env": {},
}


def merged(base: dict, top: dict) -> dict:
    return base | {
        k: merged(base[k], v) if isinstance(v, dict) and isinstance(base.get(k), dict) else v
        for k, v in top.items()
    }


def config_of(name: str) -> tuple[dict, EnvTermParams, HarnessParams]:
    own = yaml.safe_load((CONFIGS / name).read_text())
    if "defaults" in own:
        own = merged(yaml.safe_load((CONFIGS / own.pop("defaults")).read_text()), own)
    config = merged(deepcopy(BASE), own)
    echo, harness = (
        EnvTermParams.model_validate(config.pop("echo")),
        HarnessParams.model_validate(config.pop("harness")),
    )
    return config, echo, harness


@pytest.mark.parametrize(
    ("name", "lam"), [("qwen3_8b.yaml", 0.05), ("qwen3_14b.yaml", 0.05), ("openthinker_sft.yaml", 0.02)]
)
def test_shipped_configurations_are_the_published_settings(name, lam):
    config, echo, harness = config_of(name)
    check_config(config, echo, harness)
    assert echo.weight.value == lam and harness.max_turns == 16
    assert config["grpo"]["num_prompts_per_step"] == config["grpo"]["num_generations_per_prompt"] == 16
    assert config["policy"]["train_global_batch_size"] == 256
    assert config["policy"]["optimizer"]["kwargs"] == {"lr": 1e-6, "betas": [0.9, 0.95], "weight_decay": 0.01}
    assert config["policy"]["max_grad_norm"] == 0.2 and config["loss_fn"]["ratio_clip_max"] == 0.28


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("policy.generation.top_p", 0.99),
        ("policy.generation.top_k", 50),
        ("policy.generation.temperature", 0.8),
        ("policy.generation.max_new_tokens", 4096),
        ("policy.max_total_sequence_length", 16383),
        ("grpo.use_dynamic_sampling", True),
        ("grpo.overlong_filtering", True),
        ("grpo.seq_logprob_error_threshold", 2.0),
        ("grpo.async_grpo", {"enabled": True}),
        ("grpo.max_rollout_turns", 15),
        ("data_plane.enabled", True),
        ("env.should_use_nemo_gym", True),
        ("loss_fn.reference_policy_kl_penalty", 0.01),
    ],
)
def test_each_setting_is_refused_by_name(path, value):
    config, echo, harness = config_of("qwen3_8b.yaml")
    *sections, key = path.split(".")
    node = config
    for section in sections:
        node = node[section]
    node[key] = value
    with pytest.raises(ValueError, match=f"would not be ECHO: {path}"):
        check_config(config, echo, harness)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight": {"kind": "linear", "final": 0.1, "steps": 9}}, "echo.weight.kind must be constant"),
        ({"filter": "clean"}, "echo.filter and echo.control must be none"),
        ({"target": "errors"}, "echo.target must be output"),
    ],
)
def test_terms_that_need_more_than_ids_are_refused(settings, message):
    config, _, harness = config_of("qwen3_8b.yaml")
    with pytest.raises(ValueError, match=message):
        check_config(config, EnvTermParams.model_validate(settings), harness)
