"""Hand-written backward passes against PyTorch's own derivatives of the plain formulas, in float64."""

import pytest
import torch
from torch.nn import functional as F

from echo_terminal.policy.kernels import heads_of, rms_norm, rotate
from echo_terminal.policy.model import ModelParams, new_model


def values(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def agree(
    ours: tuple[torch.Tensor, ...], plain: tuple[torch.Tensor, ...], inputs: list[torch.Tensor]
) -> None:
    """Values and the gradients of one random combination of them."""
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(ours, plain, strict=True))
    weights = [values(*t.shape, seed=9 + i).detach() for i, t in enumerate(plain)]
    mine = torch.autograd.grad(ours, inputs, weights)
    theirs = torch.autograd.grad(plain, inputs, weights)
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(mine, theirs, strict=True))


def test_rms_norm() -> None:
    x, gain = values(2, 5, 8), values(8, seed=1)
    agree((rms_norm(x, gain, 0.1),), (F.rms_norm(x, (8,), gain, 0.1),), [x, gain])
    with torch.no_grad():
        assert torch.allclose(rms_norm(x, gain, 0.1), F.rms_norm(x, (8,), gain, 0.1), atol=1e-12)


def test_rotation_by_a_right_angle() -> None:
    """cos 0, sin 1: (a, b) becomes (-b, a)."""
    sin = torch.tensor([-1.0, -1.0, 1.0, 1.0])
    turned = rotate(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.zeros(4), sin)
    assert turned.tolist() == [-3.0, -4.0, 1.0, 2.0]


@pytest.mark.parametrize("normed", [True, False])
def test_heads(normed: bool) -> None:
    """Three queries over two keys; the plain formula of rotary embedding, pair by pair."""
    qkv, gain = values(2, 5, 7, 8), values(5, 8, seed=1)
    angle = values(5, 4, seed=2).detach()
    c, s = angle.cos()[None, :, None], angle.sin()[None, :, None]
    cos, sin = torch.cat([c, c], -1), torch.cat([-s, s], -1)
    qk = qkv[:, :, :5]
    if normed:
        qk = F.rms_norm(qk, (8,), None, 0.1) * gain
    a, b = qk[..., :4], qk[..., 4:]
    qk = torch.cat([a * c - b * s, a * s + b * c], -1)
    plain = (qk[:, :, :3], qk[:, :, 3:], qkv[:, :, 5:])
    ours = heads_of(qkv, 3, 2, gain if normed else None, 0.1, cos, sin)
    agree(ours, plain, [qkv, gain] if normed else [qkv])
    with torch.no_grad():
        sampled = heads_of(qkv, 3, 2, gain if normed else None, 0.1, cos, sin)
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(sampled, plain, strict=True))


def test_a_model_in_16_bits_follows_the_one_in_32() -> None:
    """bf16 keeps 8 bits and takes PyTorch's functions."""
    params = ModelParams(hidden_size=32, num_heads=2, num_kv_heads=1, head_dim=16, copying_heads=False)
    model, ids = new_model(params, 64, seed=0), torch.arange(40)[None]
    with torch.no_grad():
        whole = model.hidden(ids)
        half = model.to(torch.bfloat16).hidden(ids)
    assert 0 < (whole - half).abs().max() < 0.1
