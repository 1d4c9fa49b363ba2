"""Scoring in blocks: the same numbers and gradients, and never all logits at once."""

from collections.abc import Callable

import pytest
import torch

from echo_terminal.policy import scoring
from echo_terminal.policy.model import ModelParams, Qwen3, new_model

FORBIDDEN = torch.tensor([0, 3])


@pytest.fixture
def model() -> Qwen3:
    sizes = ModelParams(hidden_size=16, num_heads=1, num_kv_heads=1, head_dim=8, copying_heads=False)
    return new_model(sizes, 512, seed=0)


def run(model: Qwen3, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    model.zero_grad(set_to_none=True)
    h = hidden.clone().requires_grad_()
    actions, entropies = scoring.action_scores(
        model, h[:30], targets[:30], FORBIDDEN, 0.7, entropy_gradient=True
    )
    scores = torch.cat([actions, entropies, scoring.target_logprobs(model, h[30:], targets[30:])])
    (scores * torch.linspace(0.5, 1.5, len(scores))).sum().backward()
    return scores.detach(), [h.grad, model.embed.weight.grad.clone()]


def saved_bytes(function: Callable[[], object]) -> int:
    held = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        function()
    return sum(held.values())


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_change_nothing(model: Qwen3, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(70, 16, generator=generator)
    targets = torch.randint(4, 512, (70,), generator=generator)
    whole, gradients = run(model, hidden, targets)
    monkeypatch.setattr(scoring, "LOGITS", block * 512)
    parts, others = run(model, hidden, targets)
    torch.testing.assert_close(parts, whole, rtol=1e-5, atol=1e-6)
    for a, b in zip(gradients, others, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(
            scoring.target_logprobs(model, hidden, targets), run_plain(model, hidden, targets)
        )


def run_plain(model: Qwen3, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return model.logits(hidden).log_softmax(-1).gather(1, targets[:, None])[:, 0]


def test_the_graph_holds_no_whole_logits(model: Qwen3, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 positions x 512 ids x 4 bytes are 819,200; in blocks of 8 the graph holds hidden states and weights."""
    hidden = torch.randn(400, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
    targets = torch.arange(400)
    assert saved_bytes(lambda: scoring.target_logprobs(model, hidden, targets)) > 819_200
    monkeypatch.setattr(scoring, "LOGITS", 8 * 512)
    weights = model.embed.weight.untyped_storage().nbytes()
    assert (
        saved_bytes(lambda: scoring.target_logprobs(model, hidden, targets))
        < weights + 3 * 400 * 16 * 4 + 8192
    )


def test_forbidden_ids_and_temperature_are_part_of_the_distribution(model: Qwen3) -> None:
    hidden = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = model.logits(hidden)
        scores, entropies = scoring.action_scores(model, hidden, torch.full((5,), 9), FORBIDDEN, 2.0)
    kept = [i for i in range(512) if i not in (0, 3)]
    p = (logits[:, kept] / 2.0).softmax(-1)
    torch.testing.assert_close(scores, p[:, kept.index(9)].log())
    torch.testing.assert_close(entropies, -(p * p.log()).sum(-1))
