"""Settings that say something impossible are refused with one line; schedules and filters by hand."""

import math

import pytest
from pydantic import ValidationError

from echo_terminal.training.filters import keep_rows
from echo_terminal.training.objective import ObjectiveParams
from echo_terminal.training.schedules import LambdaParams, lambda_at, warm_up


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "ppo"}, "Input should be 'sft', 'actobs', 'grpo', 'echo' or 'env_only'"),
        ({"kind": "grpo", "env": {}}, "grpo has no environment term: remove objective.env"),
        ({"kind": "sft", "policy": {}}, "sft has no equation-2 term: remove objective.policy"),
        ({"kind": "env_only", "policy": {}}, "env_only has no equation-2 term"),
        ({"kind": "env_only", "env": {"filter": "solved"}}, "env_only reads no reward"),
        (
            {"kind": "env_only", "env": {"weight": {"kind": "gradient_ratio", "maximum": 1.0}}},
            "env_only has no policy gradient",
        ),
        ({"kind": "env_only", "env": {"weight": {"value": 0.0}}}, "weight 0 trains nothing"),
        (
            {"kind": "echo", "env": {"target": "warnings", "control": "informative_left_out"}},
            "target warnings holds none",
        ),
        ({"kind": "echo", "env": {"weight": {"value": "1e-5"}}}, "valid number"),
        ({"kind": "echo", "env": {"weight": {"value": -0.1}}}, "greater than or equal to 0"),
        ({"kind": "echo", "lamda": 0.05}, "Extra inputs are not permitted"),
        ({"kind": "echo", "env": {"weight": {"kind": "step"}}}, "Input should be 'constant'"),
        ({"kind": "echo", "env": {"weight": {"kind": "linear"}}}, "linear needs final and steps"),
        ({"kind": "echo", "env": {"weight": {"final": 0.1}}}, "constant ignores final and steps"),
        ({"kind": "echo", "env": {"weight": {"kind": "env_ce_scaled"}}}, "needs maximum"),
        ({"kind": "echo", "env": {"weight": {"maximum": 0.1}}}, "constant ignores maximum"),
        ({"kind": "grpo", "policy": {"clip_low": 1.0}}, "less than 1"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ValidationError, match=message):
        ObjectiveParams.model_validate(settings)


def test_what_each_kind_trains():
    kinds = ("sft", "actobs", "grpo", "echo", "env_only")
    params = [ObjectiveParams(kind=k) for k in kinds]
    assert [p.has_policy for p in params] == [True, True, True, True, False]
    assert [p.has_env for p in params] == [False, True, False, True, True]
    assert [p.needs_rewards for p in params] == [False, False, True, True, False]
    solved = ObjectiveParams.model_validate({"kind": "actobs", "env": {"filter": "solved"}})
    assert solved.needs_rewards


def test_published_settings_are_the_defaults():
    p = ObjectiveParams(kind="echo")
    assert (p.policy_term.clip_low, p.policy_term.clip_high, p.policy_term.kl) == (0.2, 0.28, 0.0)
    assert p.policy_term.aggregation == "token_mean"
    env = p.env_term
    assert (env.target, env.normaliser, env.reduction) == ("output", "all_observation", "sequence_mean")
    assert (env.weight.kind, env.weight.value) == ("constant", 0.05)


def test_lambda_by_step():
    assert lambda_at(LambdaParams(value=0.05), 7) == 0.05
    linear = LambdaParams(kind="linear", value=0.1, final=0.5, steps=4)
    assert [lambda_at(linear, s) for s in (0, 1, 2, 4, 9)] == pytest.approx([0.1, 0.2, 0.3, 0.5, 0.5])
    cosine = LambdaParams(kind="cosine", value=1.0, final=0.0, steps=4)
    # (1 + cos(pi s / 4)) / 2
    expected = [1.0, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2, 0.0, 0.0]
    assert [lambda_at(cosine, s) for s in (0, 1, 2, 3, 4, 5)] == pytest.approx(expected)


def test_adaptive_lambda():
    scaled = LambdaParams(kind="env_ce_scaled", value=0.1, maximum=0.4)
    assert lambda_at(scaled, 3, env_ce=2.0) == pytest.approx(0.05)  # 0.05 x 2 nats = 0.1
    assert lambda_at(scaled, 3, env_ce=0.1) == 0.4  # 1.0, bounded
    assert lambda_at(scaled, 3, env_ce=0.0) == 0.4
    assert lambda_at(scaled, 0) == 0.0
    ratio = LambdaParams(kind="gradient_ratio", value=0.5, maximum=10.0)
    assert lambda_at(ratio, 3, policy_norm=0.2, env_norm=4.0) == pytest.approx(0.025)  # 0.025 x 4 / 0.2 = 0.5
    assert lambda_at(ratio, 3, policy_norm=0.0, env_norm=4.0) == 0.0
    assert lambda_at(ratio, 0) == 0.0


def test_warm_up():
    assert [warm_up(s, 4) for s in (0, 1, 3, 9)] == [0.25, 0.5, 1.0, 1.0]
    assert warm_up(0, 0) == 1.0


def test_filters(written):
    clean, malformed, warned, talk = (written("PAOAO", 10 * k) for k in range(4))
    malformed.turns[1].call = "unclosed_call"
    warned.turns[0].warned = True
    for turn in talk.turns:
        turn.call = "no_call"
    rows = [clean, malformed, warned, talk]
    assert keep_rows("none", rows).tolist() == [True] * 4
    assert keep_rows("clean", rows).tolist() == [True, False, False, False]
    assert keep_rows("valid", rows).tolist() == [True, True, True, False]
    assert keep_rows("solved", rows, [0.0, 1.0, None, 0.5]).tolist() == [False, True, False, True]
    with pytest.raises(ValueError, match="one reward a rollout"):
        keep_rows("solved", rows)
    with pytest.raises(ValueError, match="unknown filter 'good'"):
        keep_rows("good", rows)
