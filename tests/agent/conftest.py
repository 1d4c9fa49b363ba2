"""Helpers of the harness tests: a codec that can be checked by eye, and a terminal that says what it is told to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest

from echo_terminal.agent.prompt import FRAMES
from echo_terminal.policy.tokenizer import PolicyTokenizer, TokenizerParams, train_tokenizer
from echo_terminal.tasks.task import Check, Task
from echo_terminal.terminal.terminal import HOME, Entry, File, Observation

CONTROLS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|im_start|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)


class CharCodec:
    """One id a character (its code point + 100); ids below 100 are control tokens."""

    stop_ids = (0, 1)
    control_ids = tuple(range(len(CONTROLS)))
    _split = re.compile("(" + "|".join(re.escape(c) for c in CONTROLS) + ")")

    def encode(self, text: str) -> list[int]:
        return [ord(c) + 100 for c in text]

    def frame(self, text: str) -> list[int]:
        parts = [p for p in self._split.split(text) if p]
        return [i for p in parts for i in ([CONTROLS.index(p)] if p in CONTROLS else self.encode(p))]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(CONTROLS[i] if i < 100 else chr(i - 100) for i in ids)


class SayingTerminal:
    """Answers each command with the next prepared observation (empty success after the last); remembers commands."""

    name = "saying"

    def __init__(self, answers: Iterable[Observation] = ()) -> None:
        self.answers = list(answers)
        self.commands: list[str] = []
        self.files: dict[str, File] = {}

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        self.files, self.commands = dict(files), []

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        self.commands.append(command)
        return self.answers.pop(0) if self.answers else Observation("", "", 0, HOME)

    def read(self, path: str) -> bytes | None:
        return self.files[path].content if path in self.files else None

    def list(self, root: str = HOME) -> dict[str, Entry]:
        return {p: Entry("file", f.mode, len(f.content)) for p, f in sorted(self.files.items())}

    def fingerprint(self) -> str:
        return str(sum("touch" in c for c in self.commands))

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def char_codec() -> CharCodec:
    return CharCodec()


@pytest.fixture(scope="session")
def bpe_codec() -> PolicyTokenizer:
    texts = ["ls -la\ntotal 4\n", "cat notes.txt\n", "exit code: 0\n", "No such file or directory\n", *FRAMES]
    return train_tokenizer(texts * 20, TokenizerParams(vocab_size=420))


@pytest.fixture(scope="session", params=["char", "bpe"])
def codec(
    request: pytest.FixtureRequest, char_codec: CharCodec, bpe_codec: PolicyTokenizer
) -> CharCodec | PolicyTokenizer:
    return char_codec if request.param == "char" else bpe_codec


@pytest.fixture(scope="session")
def saying() -> Callable[..., SayingTerminal]:
    """``saying(stdout, Observation(...), ...)``: a terminal with these answers; text is a successful stdout."""

    def build(*answers: str | Observation) -> SayingTerminal:
        return SayingTerminal(Observation(a, "", 0, HOME) if isinstance(a, str) else a for a in answers)

    return build


@pytest.fixture(scope="session")
def task() -> Task:
    return Task(
        template="greet",
        seed=7,
        domain="data",
        instruction="Write hi to a.txt.",
        files={f"{HOME}/a.txt": File(b"hi\n")},
        checks=(Check("text", f"{HOME}/a.txt", "hi"),),
        oracle=(),
        suite="val",
    )
