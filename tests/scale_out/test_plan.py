"""Predicted costs against hand values, real tensors, a FLOP counter, and the committed runs of the default profile."""

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from echo_terminal.cli import main
from echo_terminal.pipeline.params import load_params
from echo_terminal.policy.engine import Engine
from echo_terminal.policy.model import ModelParams, Qwen3, parameter_count
from echo_terminal.scale_out import plan as costs

ROOT = Path(__file__).parents[2]
TINY = ModelParams(
    hidden_size=64, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=16, intermediate_size=96, max_positions=64
)  # fmt: skip


def plans(profile: str, model: str | None = None, **machine: float) -> list[costs.Plan]:
    folder = ROOT if profile == "cpu" else ROOT / "profiles" / profile
    params = load_params(folder / "params.yaml")
    return costs.plan(params, costs.Machine(**machine), costs.Shares(), model)


@pytest.mark.parametrize("tied", [True, False])
def test_weights_are_those_of_the_model(tied):
    shape = TINY.model_copy(update={"tie_embeddings": tied})
    assert costs.weights(shape, 320) == parameter_count(Qwen3(shape, 320))


def test_published_sizes():
    # from the models' own weight files
    assert costs.weights(*costs.shape_of("Qwen3-0.6B")) == 596_049_920
    assert costs.weights(*costs.shape_of("Qwen3-8B")) == 8_190_735_360
    # SmolLM2 has no norms of queries and keys: 30 layers x 2 x 64 fewer
    assert costs.weights(*costs.shape_of("SmolLM2-135M")) - 30 * 2 * 64 == 134_515_008
    with pytest.raises(ValueError, match="no model 'Qwen9': choose one of SmolLM2-135M, "):
        costs.shape_of("Qwen9")


def test_operations_are_those_that_torch_counts():
    model, ids = Qwen3(TINY, 320), torch.arange(40)[None]
    mask = torch.ones(1, 40, 40, dtype=torch.bool).tril()
    with (
        FlopCounterMode(display=False) as counter,
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
    ):
        loss = model.logits(model.hidden(ids, mask=mask)).sum()
        forward = counter.get_total_flops()
        loss.backward()
    # torch's attention over a mask computes all 40 x 40 pairs
    expected = 40 * costs.forward_flops(TINY, 320, 40)
    assert forward == expected
    # backward: two products for each one, but none for the ids' own gradient
    assert counter.get_total_flops() == pytest.approx(3 * expected, rel=0.01)


def test_cache_is_that_of_the_engine():
    session = Engine(Qwen3(TINY, 320), [1], [], max_length=50).start([0, 1, 2])
    assert sum(t.nbytes for t in session.decoder.cache) == costs.cache_bytes(TINY, 3 * 51, 4)


def test_tokens_of_the_default_profile_are_those_measured():
    batch = load_params(ROOT / "params.yaml").train
    size = batch.prompts_per_step * batch.group_size
    sizes = pd.read_csv(ROOT / "results/cpu/03_starting_policies/sizes.csv").set_index("start")
    steps = pd.concat(pd.read_parquet(f) for f in (ROOT / "results/cpu/04_train").glob("*/steps.parquet"))
    for plan in plans("cpu"):
        measured = steps[steps["start"] == plan.start].groupby(["objective", "seed"])["tokens"].mean() / size
        if plan.start == "base_small":
            assert len(measured) >= 6 and plan.weights == sizes.loc["base_small", "parameters"]
        assert (measured * plan.rollouts < plan.most_tokens).all()
        assert (plan.rollout_tokens / measured).between(1 / 1.5, 1.5).all(), measured


def test_the_published_run_is_planned_within_a_factor_of_three():
    """Published: 24 to 48 hours on 8 GPUs for 500 steps, terminals included, which a plan leaves out."""
    (plan,) = plans("cluster", "Qwen3-8B")
    assert 8 * 24 / 3 < plan.gpu_hours / plan.runs < 8 * 48


def test_hand_values():
    plan, *_ = plans("cpu", bandwidth=1e12, peak_flops=1e12, mfu=0.5, bandwidth_share=0.5, step_seconds=0.0)
    mean = 0.024 * 768 + 0.87 * 5 * (0.23 * 48 + 0.016 * 1000)  # 18.4 + 4.35 x 27.04 = 136.06
    assert plan.rollout_tokens == pytest.approx(mean) == pytest.approx(136.06, abs=0.01)
    assert plan.tokens == pytest.approx(100 * 64 * mean)
    matrix = 3 * 96 * (4 * 96 + 3 * 256) + 768 * 96  # 405,504
    forward = 6400 * mean * (2 * matrix + 4 * 3 * 96 * mean / 2)
    assert plan.flops == pytest.approx(4 * forward)
    assert plan.update_seconds == pytest.approx(3 * forward / 0.5e12)
    read = plan.weights * 2 + 64 * (2 * 3 * 96 * 2) * mean / 2
    assert plan.decode_seconds == pytest.approx(100 * 4.35 * 0.23 * 48 * read / 0.5e12)
    assert plan.state_bytes == plan.weights * 18
    assert plan.gpu_hours == pytest.approx(plan.runs * (plan.update_seconds + plan.decode_seconds) / 3600)


def test_a_rollout_never_exceeds_its_context():
    params = load_params(ROOT / "profiles/cluster/params.yaml")
    total, sampled = costs.rollout_tokens(params, costs.Shares(prompt=0.5, action=1.0))
    assert total == pytest.approx(params.harness.max_context) and 0 < sampled < total


@pytest.mark.parametrize(
    "profile", ["cpu", *sorted(p.parent.name for p in ROOT.glob("profiles/*/params.yaml"))]
)
def test_every_profile_has_a_plan(profile, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["echo-terminal", "plan", profile])
    main_exit(0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "start" and any("assumed: 35% of" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["h2000"], "error: no profile 'h2000': choose one of "),
        (["h200", "--model", "x"], "error: no model 'x': choose one of SmolLM2-135M, Qwen3-0.6B, "),
        (["h200", "--mfu", "2"], "error: mfu: Input should be less than or equal to 1 (got 2.0)"),
    ],
)
def test_refusals_are_one_line(arguments, message, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["echo-terminal", "plan", *arguments])
    main_exit(1)
    said = capsys.readouterr().err
    assert said.startswith(message) and said.count("\n") == 1


def test_what_does_not_fit_is_said(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["echo-terminal", "plan", "cluster", "--model", "Qwen3-14B"])
    main_exit(0)
    assert "published does not fit: " in capsys.readouterr().out


def main_exit(code: int) -> None:
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code or 0) == code
