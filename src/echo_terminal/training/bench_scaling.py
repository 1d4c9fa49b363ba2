"""What an update and a decoded token cost against context, batch and model size.

Rows of random ids (half of them actions, half outputs) are all that cost depends on. Theory: everything is linear in
the number of rows; linear in the context but for attention, whose share grows with it (exponent between 1 and 2 for
an update of a fixed number of rows); linear in the parameters once matrix products outweigh the fixed cost of a call.
The exponents are slopes of log cost over log size, least squares.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import torch

from echo_terminal.agent.transcript import Role
from echo_terminal.policy.engine import Engine
from echo_terminal.policy.groups import micro_batches
from echo_terminal.policy.model import ModelParams, Qwen3, new_model, parameter_count
from echo_terminal.policy.scoring import target_logprobs
from echo_terminal.training.batch import Batch, collate
from echo_terminal.training.batch import Row as TokenRow
from echo_terminal.training.benchmarks import ECHO, Row, row
from echo_terminal.training.loss import loss_of, select, token_weights
from echo_terminal.training.sft import optimizer_of

VOCABULARY, ROWS, CONTEXT, BUDGET = 768, 32, 128, 1024
CONTEXTS, BATCHES, WIDTHS = (64, 128, 256, 512), (8, 16, 32, 64), (64, 96, 160, 256)
REPEATS = 3


def a_model(width: int = 96) -> Qwen3:
    """Three layers with heads of 32 channels, as the cpu profile's, of any width."""
    heads = width // 32
    sizes = ModelParams(
        hidden_size=width, num_heads=heads, num_kv_heads=heads, intermediate_size=width * 8 // 3, max_positions=1024,
        copying_heads=False,
    )  # fmt: skip
    return new_model(sizes, VOCABULARY, seed=0)


def a_batch(rows: int, context: int) -> Batch:
    """``rows`` rollouts of ``context`` random ids, by turns sixteen actions and sixteen outputs."""
    rng = np.random.default_rng(0)
    roles = np.where(np.arange(context) // 16 % 2 == 0, int(Role.ACTION), int(Role.OUTPUT)).astype(np.int8)
    roles[0] = int(Role.PROMPT)
    logprobs = np.full(context, -6.0, dtype=np.float32)
    made = [
        TokenRow(rng.integers(0, VOCABULARY, context), roles, logprobs, roles == Role.OUTPUT)
        for _ in range(rows)
    ]
    return collate(made, rng.normal(size=rows), pad_id=0)


def update_seconds(model: Qwen3, batch: Batch) -> float:
    """CPU seconds of an ECHO update, the least of some."""
    optimizer, weights, took = optimizer_of(model, 1e-9, 0.0), token_weights(batch, ECHO), []
    for _ in range(REPEATS):
        begun = time.process_time()
        for rows in micro_batches(batch.lengths.tolist(), BUDGET):
            chosen = select(batch, weights, rows)
            hidden = model.hidden(chosen.ids)[chosen.row, chosen.col]
            loss_of(target_logprobs(model, hidden, chosen.target), chosen, ECHO, 0.05).total.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        took.append(time.process_time() - begun)
    return min(took)


def decode_seconds(model: Qwen3, rows: int, context: int, steps: int = 16) -> float:
    """CPU seconds of one decoded id a row for ``rows`` rows at ``context``, the least of some."""
    engine = Engine(model, (), (), context + steps + 1)
    rng, took = np.random.default_rng(0), []
    for _ in range(REPEATS):
        session = engine.start(range(rows))
        fed = [rng.integers(0, VOCABULARY, context).tolist() for _ in range(rows)]
        session.generate(range(rows), fed, 1.0, [1] * rows)
        begun = time.process_time()
        session.generate(range(rows), [[1]] * rows, 1.0, [steps] * rows)
        took.append((time.process_time() - begun) / steps)
    return min(took)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of log cost over log size."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def scaling() -> list[Row]:
    """Costs by context, batch and parameters, and their exponents."""
    torch.set_num_threads(1)
    model = a_model()
    widths = {parameter_count(a_model(w)): a_model(w) for w in WIDTHS}
    update = {
        "context": {c: update_seconds(model, a_batch(ROWS, c)) for c in CONTEXTS},
        "batch": {b: update_seconds(model, a_batch(b, CONTEXT)) for b in BATCHES},
        "parameters": {n: update_seconds(m, a_batch(ROWS, CONTEXT)) for n, m in widths.items()},
    }
    decode = {
        "context": {c: decode_seconds(model, ROWS, c) for c in CONTEXTS},
        "batch": {b: decode_seconds(model, b, CONTEXT) for b in BATCHES},
        "parameters": {n: decode_seconds(m, ROWS, CONTEXT) for n, m in widths.items()},
    }
    rows = []
    for what, tables in (("update", update), ("decode", decode)):
        for axis, costs in tables.items():
            rows += [row(f"{what}_ms_{axis}_{size}", 1e3 * cost, "CPU ms") for size, cost in costs.items()]
            slope = exponent(list(costs), list(costs.values()))
            linear = (what, axis) == ("update", "batch")
            target, holds = ("0.9 to 1.1", 0.9 <= slope <= 1.1) if linear else ("", None)
            rows.append(row(f"{what}_exponent_{axis}", slope, "log/log", target, holds))
    return rows
