"""Adaptation without a verifier: only L_Env, on the tasks of a target suite, from a trained policy (table
4, figure 5).

The published run: 100 steps from the best ECHO checkpoint, with or without keeping only rollouts free of
parse errors.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from echo_terminal.config import StrictModel
from echo_terminal.training.filters import Filter
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams
from echo_terminal.training.schedules import LambdaParams

Names = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]


class VerifierFreeParams(StrictModel):
    """``targets`` are suites whose tasks are rolled out and, apart from that, evaluated; ``filters`` as in
    L_Env."""

    start: str = "base_small"
    targets: Names = ("val", "itd_machine")
    filters: Annotated[tuple[Filter, ...], Field(strict=False, min_length=1)] = ("none", "clean")
    steps: int = Field(40, ge=1)
    snapshot_every: int = Field(10, ge=1)
    weight: float = Field(0.3, gt=0)
    lr: float = Field(1e-4, gt=0)
    tries: int = Field(3, ge=1)


def env_only(params: VerifierFreeParams, keep: Filter) -> ObjectiveParams:
    """The objective: no policy term, no reward, rollouts kept by ``keep``."""
    env = EnvTermParams(weight=LambdaParams(value=params.weight), filter=keep)
    return ObjectiveParams(kind="env_only", env=env)
