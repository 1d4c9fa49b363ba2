"""Exponents by hand; the benchmark's pieces run on the smallest sizes."""

import pytest

from echo_terminal.agent.transcript import Role
from echo_terminal.training import bench_scaling as b


def test_exponent_by_hand() -> None:
    assert b.exponent([1, 2, 4], [3.0, 6.0, 12.0]) == pytest.approx(1.0)  # doubles with size
    assert b.exponent([1, 2, 4], [1.0, 4.0, 16.0]) == pytest.approx(2.0)


def test_costs_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(b, "REPEATS", 1)
    batch = b.a_batch(2, 40)
    # 40 ids: prompt, 15 actions, 16 outputs, 8 actions
    assert [int((batch.roles[0] == r).sum()) for r in (Role.PROMPT, Role.ACTION, Role.OUTPUT)] == [1, 23, 16]
    model = b.a_model(64)
    assert b.update_seconds(model, batch) > 0
    assert b.decode_seconds(model, 2, 8, steps=2) > 0
