"""What a profile costs before it is run: tokens, floating-point operations, memory and GPU-hours of its training runs.

Tokens follow from the profile's limits and the shares of them that the default profile's runs used (``Shares``);
operations from the shape of the model: a forward pass takes 2 per matrix weight and token and 4 x heads x head_dim x
mean context for attention, an update three forward passes, a rollout one. Rollouts are bound by memory traffic: each
step of the decoder reads all weights once and the keys and values of every row. Left out: the terminals' own time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from echo_terminal.config import StrictModel

if TYPE_CHECKING:
    from echo_terminal.pipeline.sections import Params
    from echo_terminal.policy.model import ModelParams

GIB = 2**30
FP32, BF16 = 4, 2  # bytes
OPTIMIZER_BYTES = 4 * FP32  # of each weight: itself, its gradient, AdamW's two moments

#: published models: (hidden, layers, heads, key/value heads, head_dim, intermediate, vocabulary, tied head)
SHAPES = {
    "SmolLM2-135M": (576, 30, 9, 3, 64, 1536, 49_152, True),
    "Qwen3-0.6B": (1024, 28, 16, 8, 128, 3072, 151_936, True),
    "Qwen3-1.7B": (2048, 28, 16, 8, 128, 6144, 151_936, True),
    "Qwen3-4B": (2560, 36, 32, 8, 128, 9728, 151_936, True),
    "Qwen3-8B": (4096, 36, 32, 8, 128, 12_288, 151_936, False),
    "Qwen3-14B": (5120, 40, 40, 8, 128, 17_408, 151_936, False),
}


class Machine(StrictModel):
    """An accelerator (default: one H200) and how much of it is reached: assumptions, to be replaced by measurements
    (``scale_out.measure_gpu``)."""

    name: str = "H200"
    memory_gib: float = Field(139.0, gt=0)
    peak_flops: float = Field(989e12, gt=0)  # bf16, dense
    bandwidth: float = Field(4.8e12, gt=0)  # bytes/s
    mfu: float = Field(0.35, gt=0, le=1)  # of peak_flops, in updates
    bandwidth_share: float = Field(0.4, gt=0, le=1)  # of bandwidth, in decoding
    step_seconds: float = Field(0.003, ge=0)  # least time of one decoder step, whatever the model


class Shares(StrictModel):
    """How much of a profile's limits rollouts use; the defaults are the means of the default profile's six runs.

    ``prompt`` and ``turns`` are shares of the context and of the suite's turns, ``action`` of a turn's tokens;
    ``reply`` is tokens for each character that a reply may show.
    """

    prompt: float = Field(0.024, ge=0)
    turns: float = Field(0.87, gt=0, le=1)
    action: float = Field(0.23, gt=0, le=1)
    reply: float = Field(0.016, ge=0)


@dataclass(frozen=True)
class Plan:
    """Costs of one start's training runs. Bytes, seconds and operations are of one run unless said otherwise."""

    start: str
    model: str
    weights: int
    runs: int
    rollouts: int
    rollout_tokens: float  # mean of one rollout
    tokens: float
    most_tokens: int  # if every rollout fills its context
    flops: float
    update_seconds: float
    decode_seconds: float
    state_bytes: int
    cache_bytes: int  # keys and values of one step's rollouts, each at its longest
    activation_bytes: int  # of one micro-batch

    @property
    def bytes(self) -> int:
        """Most memory at once: rollouts and updates alternate."""
        return self.state_bytes + max(self.cache_bytes, self.activation_bytes)

    @property
    def gpu_hours(self) -> float:
        """Of all runs of this start."""
        return self.runs * (self.update_seconds + self.decode_seconds) / 3600


def shape_of(name: str) -> tuple[ModelParams, int]:
    """Shape and vocabulary of a published model.

    Raises:
        ValueError: it is not known here.
    """
    from echo_terminal.policy.model import ModelParams

    if name not in SHAPES:
        raise ValueError(f"no model {name!r}: choose one of {', '.join(SHAPES)}")
    hidden, layers, heads, kv, dim, inner, vocabulary, tied = SHAPES[name]
    shape = ModelParams(
        hidden_size=hidden, num_layers=layers, num_heads=heads, num_kv_heads=kv, head_dim=dim,
        intermediate_size=inner, tie_embeddings=tied, copying_heads=False,
    )  # fmt: skip
    return shape, vocabulary


def matrix_weights(m: ModelParams, vocabulary: int) -> int:
    """Weights that every token is multiplied with, the head among them."""
    attention = (m.num_heads + 2 * m.num_kv_heads) * m.head_dim + m.num_heads * m.head_dim
    return m.num_layers * m.hidden_size * (attention + 3 * m.intermediate_size) + vocabulary * m.hidden_size


def weights(m: ModelParams, vocabulary: int) -> int:
    """All trained values."""
    norms = m.num_layers * (2 * m.hidden_size + 2 * m.head_dim) + m.hidden_size
    embedding = 0 if m.tie_embeddings else vocabulary * m.hidden_size
    return matrix_weights(m, vocabulary) + embedding + norms


def forward_flops(m: ModelParams, vocabulary: int, context: float) -> float:
    """Operations of one token's forward pass behind ``context`` others."""
    return 2 * matrix_weights(m, vocabulary) + 4 * m.num_layers * m.num_heads * m.head_dim * context


def cache_bytes(m: ModelParams, tokens: float, size: int) -> float:
    """Keys and values of ``tokens`` tokens, ``size`` bytes a number."""
    return 2 * m.num_layers * m.num_kv_heads * m.head_dim * size * tokens


def activation_bytes(m: ModelParams, vocabulary: int, tokens: int, size: int) -> int:
    """What an update keeps of ``tokens`` tokens for its backward pass, nothing recomputed; the logits (fp32, with
    their gradient) of all of them."""
    heads = (2 * m.num_heads + 2 * m.num_kv_heads) * m.head_dim  # rotated queries and keys are kept besides
    layer = 4 * m.hidden_size + heads + (2 * m.num_heads + 2 * m.num_kv_heads) * m.head_dim
    return tokens * (m.num_layers * (layer + 4 * m.intermediate_size) * size + 2 * vocabulary * FP32)


def rollout_tokens(p: Params, shares: Shares) -> tuple[float, float]:
    """Mean tokens of a training rollout, and of those the sampled ones."""
    turns = shares.turns * min(p.tasks.suites["train"].turns, p.harness.max_turns)
    action = turns * shares.action * p.harness.max_turn_tokens
    reply = turns * shares.reply * p.harness.output_chars
    total = shares.prompt * p.harness.max_context + action + reply
    fits = min(1.0, p.harness.max_context / total)
    return total * fits, action * fits


def plan(p: Params, machine: Machine, shares: Shares, model: str | None = None) -> list[Plan]:
    """One entry a start of the matrix; with ``model`` one, for a start that is this published model."""
    starts = p.matrix.starts if model is None else ("published",)
    return [_plan(p, start, machine, shares, model) for start in starts]


def _plan(p: Params, start: str, machine: Machine, shares: Shares, model: str | None) -> Plan:
    if model is None:
        name = "medium" if start.endswith("medium") else "small"
        m, vocabulary = getattr(p.models, name), p.tokenizer.vocab_size
    else:
        name, (m, vocabulary) = model, shape_of(model)
    t, context = p.train, p.harness.max_context
    batch = t.prompts_per_step * t.group_size
    mean, sampled = rollout_tokens(p, shares)
    rollouts = t.steps * batch
    forward = rollouts * mean * forward_flops(m, vocabulary, mean / 2)
    count = weights(m, vocabulary)
    read = count * BF16 + batch * cache_bytes(m, mean / 2, BF16)
    step = max(read / (machine.bandwidth * machine.bandwidth_share), machine.step_seconds)
    return Plan(
        start=start,
        model=name,
        weights=count,
        runs=len(p.matrix.objectives) * len(p.matrix.seeds),
        rollouts=rollouts,
        rollout_tokens=mean,
        tokens=rollouts * mean,
        most_tokens=rollouts * context,
        flops=4 * forward,
        update_seconds=3 * forward / (machine.peak_flops * machine.mfu),
        decode_seconds=t.steps * sampled * step,
        state_bytes=count * (OPTIMIZER_BYTES + BF16),
        cache_bytes=int(batch * cache_bytes(m, context, BF16)),
        activation_bytes=activation_bytes(m, vocabulary, t.token_budget, BF16),
    )


def report(plans: list[Plan], machine: Machine) -> list[str]:
    """The table that the command prints, and what it rests on."""
    head = (
        f"{'start':<12} {'model':<13} {'weights':>8} {'runs':>4} {'tokens/rollout':>14} {'tokens/run':>10} "
    )
    head += f"{'(at most)':>9} {'FLOP/run':>9} {'GiB':>7} {'update h':>9} {'decode h':>9} {'GPU-hours':>9}"
    lines = [head]
    for e in plans:
        lines.append(
            f"{e.start:<12} {e.model:<13} {short(e.weights):>8} {e.runs:>4} {e.rollout_tokens:>14.0f} "
            f"{short(e.tokens):>10} {short(e.most_tokens):>9} {e.flops:>9.1e} {e.bytes / GIB:>7.1f} "
            f"{e.update_seconds / 3600:>9.2f} {e.decode_seconds / 3600:>9.2f} {e.gpu_hours:>9.1f}"
        )
    lines.append(
        f"on {machine.name}, assumed: {machine.mfu:.0%} of {machine.peak_flops:.3g} FLOP/s in updates, "
        f"{machine.bandwidth_share:.0%} of {machine.bandwidth:.3g} B/s in decoding; training runs alone, terminals free"
    )
    for e in plans:
        need = e.bytes / GIB
        if need > machine.memory_gib:
            lines.append(
                f"{e.start} does not fit: {need:.0f} GiB of {machine.memory_gib:g} (weights and optimiser "
                f"{e.state_bytes / GIB:.0f}, cache {e.cache_bytes / GIB:.0f}, a micro-batch "
                f"{e.activation_bytes / GIB:.0f}): lower train.token_budget or train.group_size, or shard it"
            )
    return lines


def short(number: float) -> str:
    """Three figures with k, M, G or T."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def plan_command(
    profile: Annotated[str, typer.Argument(help="smoke, cpu, cpu-full, h200 or cluster")],
    model: Annotated[str | None, typer.Option(help=f"plan for it: {', '.join(SHAPES)}")] = None,
    gpu: Annotated[str, typer.Option(help="name to print")] = "H200",
    memory_gib: Annotated[float, typer.Option()] = 139.0,
    peak_flops: Annotated[float, typer.Option(help="bf16, dense, FLOP/s")] = 989e12,
    bandwidth: Annotated[float, typer.Option(help="bytes/s")] = 4.8e12,
    mfu: Annotated[float, typer.Option(help="share of the peak that updates reach")] = 0.35,
    bandwidth_share: Annotated[
        float, typer.Option(help="share of the bandwidth that decoding reaches")
    ] = 0.4,
) -> None:
    """Tokens, FLOPs, memory and GPU-hours of a profile's training runs."""
    from pydantic import ValidationError

    from echo_terminal.pipeline.errors import UserError
    from echo_terminal.pipeline.layout import find_root, profile_folder
    from echo_terminal.pipeline.params import describe, load_params

    root = find_root()
    params = load_params(root / profile_folder(root, profile) / "params.yaml")
    try:
        machine = Machine(
            name=gpu, memory_gib=memory_gib, peak_flops=peak_flops, bandwidth=bandwidth, mfu=mfu,
            bandwidth_share=bandwidth_share,
        )  # fmt: skip
        plans = plan(params, machine, Shares(), model)
    except ValidationError as error:
        raise UserError("; ".join(describe(error, Machine))) from None
    except ValueError as error:
        raise UserError(str(error)) from None
    typer.echo("\n".join(report(plans, machine)))
