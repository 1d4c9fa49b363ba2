"""What ``plan`` assumes, measured on the machine at hand: the shares of the bf16 peak (updates) and of the memory
bandwidth (decoding) that are reached, and the least time of a decoder step.

``python -m echo_terminal.scale_out.measure_gpu`` takes some four minutes on one H200. Weights are random: neither
number depends on what was learnt. An update is forward, backward and AdamW on rows of one length under bf16
autocast, as in training; decoding is ``policy.engine`` in bf16.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from echo_terminal.policy.engine import Engine
from echo_terminal.policy.model import ModelParams, Qwen3, new_model
from echo_terminal.policy.weights import target_logprobs
from echo_terminal.scale_out import plan
from echo_terminal.training.sft import optimizer_of


def timed(step: Callable[[], object], device: str, seconds: float) -> float:
    """Mean seconds of a call, after one call to warm up, over about ``seconds`` (two calls at least)."""

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    step()
    wait()
    begun, count = time.perf_counter(), 0
    while count < 2 or time.perf_counter() - begun < seconds:
        step()
        wait()
        count += 1
    return (time.perf_counter() - begun) / count


def update(model: Qwen3, rows: int, length: int, device: str, seconds: float) -> dict[str, float]:
    """FLOP/s of updates on ``rows`` x ``length`` tokens; causal attention counts half of all pairs."""
    ids = torch.randint(model.vocab_size, (rows, length), generator=torch.Generator().manual_seed(0)).to(
        device
    )
    optimizer = optimizer_of(model, 1e-6, 0.0)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            hidden = model.hidden(ids)[:, :-1].flatten(0, 1)
            loss = -target_logprobs(model, hidden, ids[:, 1:].flatten()).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    each = timed(step, device, seconds)
    work = 3 * rows * length * plan.forward_flops(model.params, model.vocab_size, length / 2)
    return {"update_seconds": each, "update_flops_per_second": work / each}


def decode(model: Qwen3, rows: int, prompt: int, new: int, device: str, seconds: float) -> dict[str, float]:
    """Bytes/s that a decoder step must read (all weights, the rows' keys and values), and the step's seconds."""
    engine = Engine(model, [], [], prompt + new)
    ids = [[(7 * r + 3 * i) % model.vocab_size for i in range(prompt)] for r in range(rows)]

    def sample(count: int) -> Callable[[], object]:
        return lambda: engine.start(range(rows)).generate(range(rows), ids, 1.0, [count] * rows)

    # the prompt's own time is taken out by a run that samples one token
    one = timed(sample(1), device, seconds / 4)
    step = (timed(sample(new), device, seconds) - one) / (new - 1)
    size = model.embed.weight.element_size()
    read = plan.weights(model.params, model.vocab_size) * size
    read += rows * plan.cache_bytes(model.params, prompt + new / 2, size)
    return {"step_seconds": step, "decode_bytes_per_second": read / step}


def measure(
    name: str, shape: ModelParams, vocabulary: int, machine: plan.Machine, device: str, *,
    update_rows: int = 16, length: int = 1024, rows: int = 256, prompt: int = 256, new: int = 128,
    seconds: float = 20.0,
) -> dict[str, Any]:  # fmt: skip
    """Both measurements of one model as a row."""
    shape = shape.model_copy(update={"max_positions": max(length, prompt + new) + 1})
    model = new_model(shape, vocabulary, seed=0).to(device)
    row: dict[str, Any] = {"model": name, "weights": plan.weights(shape, vocabulary), "device": device}
    row |= update(model, update_rows, length, device, seconds)
    model = model.to(torch.bfloat16).requires_grad_(False)
    row |= decode(model, rows, prompt, new, device, seconds)
    row["update_share_of_peak"] = row["update_flops_per_second"] / machine.peak_flops
    row["decode_share_of_bandwidth"] = row["decode_bytes_per_second"] / machine.bandwidth
    return row


def line(row: dict[str, Any]) -> str:
    """A row as it is printed."""
    return (
        f"{row['model']:<13} update {row['update_seconds'] * 1e3:8.1f} ms, {row['update_share_of_peak']:6.1%} of peak; "
        f"decoder step {row['step_seconds'] * 1e3:7.2f} ms, {row['decode_share_of_bandwidth']:6.1%} of bandwidth"
    )


def main() -> None:
    """Measure the models named, print a line each, write them all as JSON."""
    parser = argparse.ArgumentParser(
        description="Shares of peak and bandwidth that updates and decoding reach."
    )
    parser.add_argument("--models", nargs="+", default=["SmolLM2-135M", "Qwen3-0.6B", "Qwen3-1.7B"])
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--out", type=Path, help="write the rows here")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("no CUDA device: run this on the machine that the plan is for")
    try:
        shapes = {name: plan.shape_of(name) for name in arguments.models}
    except ValueError as error:
        parser.error(str(error))
    print(torch.cuda.get_device_name())
    rows = []
    for name, (shape, vocabulary) in shapes.items():
        rows.append(measure(name, shape, vocabulary, plan.Machine(), "cuda", seconds=arguments.seconds))
        print(line(rows[-1]), flush=True)
        torch.cuda.empty_cache()
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
