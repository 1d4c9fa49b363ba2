"""The typed choice of an objective. Whatever a kind would ignore is refused at load.

| kind     | policy term                | environment term        |
|----------|----------------------------|-------------------------|
| sft      | NLL of ACTION tokens       | none                    |
| actobs   | NLL of ACTION tokens       | weight x L_Env          |
| grpo     | eq. 2                      | none                    |
| echo     | eq. 2                      | weight x L_Env (eq. 1)  |
| env_only | none; no reward is read    | weight x L_Env          |
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from echo_terminal.config import StrictModel
from echo_terminal.training.advantages import Std
from echo_terminal.training.filters import Filter
from echo_terminal.training.schedules import LambdaParams
from echo_terminal.training.targets import Target

Kind = Literal["sft", "actobs", "grpo", "echo", "env_only"]
Aggregation = Literal["token_mean", "sequence_mean"]
Normaliser = Literal["all_observation", "selected"]
Control = Literal["none", "informative_left_out", "shuffled_outputs", "unrelated_text"]

NonNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class PolicyTermParams(StrictModel):
    """Equation 2. ``token_mean`` divides by the action tokens of the global batch, ``sequence_mean`` first
    by those of a rollout, then by the rollouts. The defaults are the paper's; it has no KL term and no
    entropy bonus.

    ``dynamic_sampling`` takes groups with equal rewards out of this term and its denominator, never out of
    L_Env.
    """

    aggregation: Aggregation = "token_mean"
    clip_low: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.2
    clip_high: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 0.28
    kl: NonNegative = 0.0
    entropy_bonus: NonNegative = 0.0
    advantage_std: Std = "sample"
    dynamic_sampling: bool = False


class EnvTermParams(StrictModel):
    """Equation 3 and its weight. Z is ``all_observation`` (OUTPUT and WARNING of the sequence: the paper) or
    ``selected`` (trained tokens only); reduced by ``sequence_mean`` (the paper) or ``token_mean``.

    ``filter`` keeps rollouts by quality; rejected rows leave numerator and denominator. ``control``
    replaces what is learnt by something that should not help.
    """

    weight: LambdaParams = LambdaParams()
    target: Target = "output"
    normaliser: Normaliser = "all_observation"
    reduction: Aggregation = "sequence_mean"
    filter: Filter = "none"
    control: Control = "none"


class ObjectiveParams(StrictModel):
    """What a run trains. ``policy`` belongs to grpo and echo, ``env`` to actobs, echo and env_only; both
    have defaults."""

    kind: Kind
    policy: PolicyTermParams | None = None
    env: EnvTermParams | None = None

    @property
    def has_policy(self) -> bool:
        """Whether action tokens are trained."""
        return self.kind != "env_only"

    @property
    def has_env(self) -> bool:
        """Whether the kind has an environment term (its weight may still be 0)."""
        return self.kind in ("actobs", "echo", "env_only")

    @property
    def needs_rewards(self) -> bool:
        """Whether a reward may be read at all."""
        return self.kind in ("grpo", "echo") or (self.env is not None and self.env.filter == "solved")

    @property
    def policy_term(self) -> PolicyTermParams:
        """Policy settings, the defaults where none were given."""
        return self.policy or PolicyTermParams()

    @property
    def env_term(self) -> EnvTermParams:
        """Environment settings, the defaults where none were given."""
        return self.env or EnvTermParams()

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.policy is not None and self.kind not in ("grpo", "echo"):
            raise ValueError(f"kind {self.kind} has no equation-2 term: remove objective.policy")
        if self.env is not None and not self.has_env:
            raise ValueError(
                f"kind {self.kind} has no environment term: remove objective.env, or use echo or actobs"
            )
        if self.kind == "env_only":
            if self.env_term.filter == "solved":
                raise ValueError(
                    "env_only reads no reward: filter solved is impossible, use none, clean or valid"
                )
            if self.env_term.weight.kind == "gradient_ratio":
                raise ValueError(
                    "env_only has no policy gradient: weight gradient_ratio is impossible, use constant"
                )
            if self.env_term.weight.kind == "constant" and self.env_term.weight.value == 0:
                raise ValueError("env_only with weight 0 trains nothing: give objective.env.weight.value > 0")
        if self.env_term.control == "informative_left_out" and self.env_term.target == "warnings":
            raise ValueError(
                "control informative_left_out speaks of terminal output: target warnings holds none"
            )
        return self
