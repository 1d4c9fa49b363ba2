"""The measurement of a GPU's shares, on a CPU: sizes, units, and the refusal without a GPU."""

import sys

import pytest
import torch

from echo_terminal.policy.model import ModelParams
from echo_terminal.scale_out import measure_gpu, plan

TINY = ModelParams(
    hidden_size=32, num_layers=1, num_heads=2, num_kv_heads=1, head_dim=16, intermediate_size=32, copying_heads=False
)  # fmt: skip


def test_shares_follow_from_what_was_timed(monkeypatch):
    """On our own clock an update takes 2 s, decoding 1 token 3 s, 5 tokens 11 s: a step (11 - 3) / 4 s."""
    took = iter([2.0, 3.0, 11.0])

    def clock(step, device, seconds):
        step()
        return next(took)

    monkeypatch.setattr(measure_gpu, "timed", clock)
    machine = plan.Machine(peak_flops=1e6, bandwidth=1e6)
    row = measure_gpu.measure(
        "tiny", TINY, 50, machine, "cpu", update_rows=2, length=8, rows=3, prompt=4, new=5
    )
    matrix = 32 * (4 * 16 + 32 + 3 * 32) + 50 * 32  # q, k, v: 64; out: 32; feed-forward: 96; head: 1,600
    assert row["weights"] == matrix + (2 * 32 + 2 * 16) + 32
    work = 3 * 16 * (2 * matrix + 4 * 2 * 16 * 4)
    assert row["update_flops_per_second"] == pytest.approx(work / 2)
    assert row["update_share_of_peak"] == pytest.approx(work / 2 / 1e6)
    read = row["weights"] * 2 + 3 * (2 * 16 * 2) * (4 + 2.5)
    assert row["step_seconds"] == 2.0 and row["decode_bytes_per_second"] == pytest.approx(read / 2)
    assert measure_gpu.line(row).startswith("tiny")


def test_the_clock_counts_calls():
    calls = []
    each = measure_gpu.timed(lambda: calls.append(1), "cpu", 0.0)
    assert len(calls) == 3 and each >= 0  # one to warm up, two measured


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_without_a_gpu_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["measure_gpu"])
    with pytest.raises(SystemExit):
        measure_gpu.main()
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith("error: no CUDA device: run this on the machine that the plan is for")
    )


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")
def test_on_a_gpu_shares_are_shares():
    row = measure_gpu.measure("tiny", TINY, 50, plan.Machine(), "cuda", seconds=0.5)
    assert 0 < row["update_share_of_peak"] < 1 and 0 < row["decode_share_of_bandwidth"] < 1
