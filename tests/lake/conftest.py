"""Rows that fit the lake's tables."""

from collections.abc import Callable
from typing import Any

import pytest


def make_turn(**changes: Any) -> dict[str, Any]:
    row = {
        "run_id": "r0", "start": "base", "objective": "grpo", "seed": 0, "phase": "eval", "step": 0, "suite": "val",
        "task_id": "val/a/1", "attempt": 0, "turn": 0, "call": "ok", "command": "ls", "exit_code": 0, "status": "ok",
    }  # fmt: skip
    return row | changes


@pytest.fixture
def turn() -> Callable[..., dict[str, Any]]:
    return make_turn
