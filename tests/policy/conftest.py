"""A small tokenizer and model, made once a session from simulator text."""

import pytest
import torch

from echo_terminal.policy.model import ModelParams, Qwen3, new_model
from echo_terminal.policy.tokenizer import PolicyTokenizer, TokenizerParams, train_tokenizer
from echo_terminal.terminal.terminal import open_terminal
from echo_terminal.training.starts import novice_tasks, terminal_text


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer() -> PolicyTokenizer:
    tasks = novice_tasks(["site_two", "fetch_value", "set_key"], first_seed=10**6, count=60)
    return train_tokenizer(terminal_text(tasks, open_terminal("virtual"), seed=0), TokenizerParams())


@pytest.fixture
def model(tokenizer: PolicyTokenizer) -> Qwen3:
    return new_model(
        ModelParams(hidden_size=48, num_heads=2, num_kv_heads=2, head_dim=24), tokenizer.vocab_size, seed=1
    )
