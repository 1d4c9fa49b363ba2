"""The weight lambda of the environment term by step.

The paper keeps it constant, which anneals by itself as L_Env falls. ``env_ce_scaled`` keeps lambda x CE
near ``value`` nats: a weight that is harmless at 2 nats a token destroys a policy at 7. ``gradient_ratio``
keeps lambda x |grad L_Env| / |grad L_policy| near ``value``: the number that compares across model and
batch sizes.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from echo_terminal.config import StrictModel

NonNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class LambdaParams(StrictModel):
    """``constant``: value. ``linear``, ``cosine``: from value to final over ``steps``. ``env_ce_scaled``:
    value / CE. ``gradient_ratio``: value x |policy gradient| / |env gradient|. The last two never exceed
    ``maximum``.
    """

    kind: Literal["constant", "linear", "cosine", "env_ce_scaled", "gradient_ratio"] = "constant"
    value: NonNegative = 0.05
    final: NonNegative | None = None
    steps: Annotated[int, Field(ge=1)] | None = None
    maximum: NonNegative | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind in ("linear", "cosine"):
            if self.final is None or self.steps is None:
                raise ValueError(f"weight kind {self.kind} needs final and steps")
        elif self.final is not None or self.steps is not None:
            raise ValueError(f"weight kind {self.kind} ignores final and steps: remove them")
        if self.kind in ("env_ce_scaled", "gradient_ratio"):
            if self.maximum is None:
                raise ValueError(
                    f"weight kind {self.kind} needs maximum, the bound when its denominator nears 0"
                )
        elif self.maximum is not None:
            raise ValueError(f"weight kind {self.kind} ignores maximum: remove it")
        return self


def lambda_at(
    params: LambdaParams,
    step: int,
    *,
    env_ce: float | None = None,
    policy_norm: float | None = None,
    env_norm: float | None = None,
) -> float:
    """Lambda of ``step`` (from 0). ``env_ce`` in nats a token and the norms are the latest measured values.

    Before anything is measured the two adaptive kinds answer 0, so that the first update cannot be an
    accident; take the measurement on the first batch instead. They belong to the state that a checkpoint
    keeps.
    """
    if params.kind == "constant":
        return params.value
    if params.kind == "env_ce_scaled":
        return _bounded(params, 1.0, env_ce)
    if params.kind == "gradient_ratio":
        return _bounded(params, policy_norm, env_norm)
    assert params.final is not None and params.steps is not None
    share = min(1.0, step / params.steps)
    if params.kind == "cosine":
        share = 0.5 * (1.0 - math.cos(math.pi * share))
    return params.value + (params.final - params.value) * share


def _bounded(params: LambdaParams, numerator: float | None, denominator: float | None) -> float:
    assert params.maximum is not None
    if numerator is None or denominator is None:
        return 0.0
    if denominator == 0.0:
        return params.maximum
    return min(params.maximum, params.value * numerator / denominator)


def warm_up(step: int, steps: int) -> float:
    """Factor of the learning rate in ``step`` (from 0): linear to 1 over ``steps`` updates; 1 if ``steps``
    is 0."""
    return 1.0 if steps == 0 else min(1.0, (step + 1) / steps)
