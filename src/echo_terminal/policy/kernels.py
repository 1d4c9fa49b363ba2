"""Norms and rotations of a layer, each one autograd node with its backward pass written out.

On a CPU, autograd's own chain for a norm and a rotation is a dozen small kernels each way, a fifth of an update at
width 96. CUDA has fused kernels, and 16-bit values must be summed in 32 bits: both take
PyTorch's functions (``written_out`` tells). Gradients flow once: nothing here can be differentiated twice.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def written_out(x: Tensor) -> bool:
    """Whether ``x`` takes the functions of this module rather than PyTorch's."""
    return not x.is_cuda and x.dtype in (torch.float32, torch.float64)


def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """``x`` [..., C] over its root mean square along the last axis, times ``gain`` [C]."""
    if not written_out(x):
        return F.rms_norm(x, gain.shape, gain, eps)
    if not torch.is_grad_enabled():
        return (x * _inverse_rms(x, eps)).mul_(gain)
    return _RMSNorm.apply(x, gain, eps)


def heads_of(
    qkv: Tensor, queries: int, keys: int, gain: Tensor | None, eps: float, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values [B, T, heads, D] out of ``qkv`` [B, T, queries + 2 keys, D].

    Queries and keys are normed per head where there is a ``gain`` [queries + keys, D], then rotated;
    ``cos``/``sin`` as ``rotate`` takes them.
    """
    turned = queries + keys
    if written_out(qkv) and torch.is_grad_enabled():
        return _Heads.apply(qkv, queries, keys, gain, eps, cos, sin)
    qk, v = qkv.split([turned, keys], 2)
    if gain is not None:
        if written_out(qk):
            qk = (qk * _inverse_rms(qk, eps)).mul_(gain)
        else:
            qk = F.rms_norm(qk, qk.shape[-1:], None, eps) * gain
    q, k = rotate(qk, cos, sin).split([queries, keys], 2)
    return q, k, v


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding in the half-split form, x · cos + (halves of x exchanged) · sin, all [..., D].

    The first half of ``sin`` carries the minus sign.
    """
    return torch.addcmul(x * cos, _exchanged(x), sin)


def _inverse_rms(x: Tensor, eps: float) -> Tensor:
    """1 / root mean square [..., 1]."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return norm.square_().mul_(1 / x.shape[-1]).add_(eps).rsqrt_()


def _norm_backward(grad: Tensor, normed: Tensor, inverse: Tensor) -> Tensor:
    """Gradient of x from that of ``normed`` = x · inverse, which it overwrites."""
    along = torch.linalg.vecdot(grad, normed).unsqueeze_(-1)
    return grad.addcmul_(normed, along, value=-1 / normed.shape[-1]).mul_(inverse)


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, eps: float) -> Tensor:
        inverse = _inverse_rms(x, eps)
        normed = x * inverse
        ctx.save_for_backward(normed, inverse, gain)
        return normed * gain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        normed, inverse, gain = ctx.saved_tensors
        of_gain = (grad * normed).flatten(0, -2).sum(0)
        return _norm_backward(grad * gain, normed, inverse), of_gain, None


class _Heads(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        qkv: Tensor,
        queries: int,
        keys: int,
        gain: Tensor | None,
        eps: float,
        cos: Tensor,
        sin: Tensor,
    ) -> tuple[Tensor, ...]:
        turned = queries + keys
        qk = qkv[:, :, :turned]
        if gain is None:
            ctx.save_for_backward(cos, sin)
        else:
            inverse = _inverse_rms(qk, eps)
            normed = qk * inverse
            ctx.save_for_backward(cos, sin, normed, inverse, gain)
            qk = normed * gain
        out = (qk * cos).addcmul_(_exchanged(qk), sin)
        return out[:, :, :queries], out[:, :, queries:], qkv[:, :, turned:].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_q: Tensor, of_k: Tensor, of_v: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin, *rest = ctx.saved_tensors
        of_qk = torch.cat([of_q, of_k], 2)
        of_qk = (of_qk * cos).addcmul_(
            _exchanged(of_qk), sin, value=-1
        )  # turned back: exchanged, sin is -sin
        of_gain = None
        if rest:
            normed, inverse, gain = rest
            of_gain = (of_qk * normed).flatten(0, 1).sum(0)
            _norm_backward(of_qk.mul_(gain), normed, inverse)
        return torch.cat([of_qk, of_v], 2), None, None, of_gain, None, None, None


def _exchanged(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat([x[..., half:], x[..., :half]], -1)
