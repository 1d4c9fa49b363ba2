"""Texts that starts and controls are trained on."""

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.transcript import Role
from echo_terminal.policy.tokenizer import TokenizerParams, train_tokenizer
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.starts import (
    FOREIGN_SEEDS,
    PretrainParams,
    foreign_outputs,
    novice_episodes,
    novice_tasks,
)


def test_foreign_outputs_are_terminal_text_of_other_machines() -> None:
    harness, terminal = HarnessParams(), open_terminal("virtual")
    tokenizer = train_tokenizer(["usage: vapo split FILE\n"] * 20, TokenizerParams(vocab_size=700))
    ids = foreign_outputs(["site_two"], terminal, tokenizer, harness)
    assert len(ids) > 5_000 and "usage: " in tokenizer.decode(ids)
    (first,) = novice_episodes(
        novice_tasks(["site_two"], FOREIGN_SEEDS, 1), terminal, tokenizer, harness, PretrainParams()
    )
    own = [i for i, role in zip(first.ids, first.roles, strict=True) if role == Role.OUTPUT]
    assert own and ids[: len(own)] == own
