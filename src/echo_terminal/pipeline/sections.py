"""The sections of a params file; each is the settings class of the module that reads it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.config import StrictModel
from echo_terminal.evaluation.corpus import HeldoutParams
from echo_terminal.evaluation.suites import EvaluateParams
from echo_terminal.lake.spark import SparkParams
from echo_terminal.lake.verifier_free import VerifierFreeParams
from echo_terminal.policy.model import ModelParams
from echo_terminal.policy.tokenizer import TokenizerParams
from echo_terminal.tasks.suites import TaskParams
from echo_terminal.terminal.virtual import VirtualParams
from echo_terminal.training.grpo import TrainParams
from echo_terminal.training.objective import ObjectiveParams
from echo_terminal.training.run import KeepParams
from echo_terminal.training.starts import DemonstrationParams, PretrainParams

Start = Literal["base_small", "base_medium", "sft", "actobs"]


class ModelsParams(StrictModel):
    """The two sizes of policy, as the paper has 8B and 14B."""

    small: ModelParams
    medium: ModelParams


class MatrixParams(StrictModel):
    """The runs of stage 04_train: starts x objectives x seeds."""

    starts: Annotated[tuple[Start, ...], Field(strict=False, min_length=1)]
    objectives: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    seeds: Annotated[tuple[int, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for name, values in self:
            if len(set(values)) != len(values):
                raise ValueError(f"{name} names one twice")
        return self


class Params(StrictModel):
    """One profile. ``train`` is the same in all runs of the matrix; ``objectives`` is where they differ."""

    profile: str = Field(pattern=r"^[a-z0-9-]+$")
    seed: int = Field(ge=0)
    terminal: VirtualParams
    harness: HarnessParams
    tasks: TaskParams
    tokenizer: TokenizerParams
    models: ModelsParams
    pretrain: PretrainParams
    sft: DemonstrationParams
    matrix: MatrixParams
    objectives: dict[str, ObjectiveParams]
    train: TrainParams
    keep: KeepParams
    evaluate: EvaluateParams
    heldout: HeldoutParams
    verifier_free: VerifierFreeParams
    lake: SparkParams

    @model_validator(mode="after")
    def _objectives_used(self) -> Self:
        if set(self.matrix.objectives) != set(self.objectives):
            raise ValueError(
                f"matrix.objectives names {', '.join(self.matrix.objectives)} and objectives describes "
                f"{', '.join(self.objectives)}: they must be the same"
            )
        return self
