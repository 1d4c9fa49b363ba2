"""The sections of a params file; each is the settings class of the module that reads it."""

from __future__ import annotations

from pydantic import Field

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.config import StrictModel
from echo_terminal.policy.model import ModelParams
from echo_terminal.policy.tokenizer import TokenizerParams
from echo_terminal.tasks.suites import TaskParams
from echo_terminal.terminal.virtual import VirtualParams
from echo_terminal.training.starts import DemonstrationParams, PretrainParams


class ModelsParams(StrictModel):
    """The two sizes of policy, as the paper has 8B and 14B."""

    small: ModelParams
    medium: ModelParams


class Params(StrictModel):
    """One profile."""

    profile: str = Field(pattern=r"^[a-z0-9-]+$")
    seed: int = Field(ge=0)
    terminal: VirtualParams
    harness: HarnessParams
    tasks: TaskParams
    tokenizer: TokenizerParams
    models: ModelsParams
    pretrain: PretrainParams
    sft: DemonstrationParams
