"""A byte-level codec and transcripts built by hand: 256 byte ids and one control token."""

from collections.abc import Callable, Sequence

import pytest

from echo_terminal.agent.transcript import Role, Transcript, Turn

Part = tuple[str, Role, str]


def encode(text: str) -> list[int]:
    return list(text.encode())


def decode(ids: Sequence[int]) -> str:
    return bytes(i for i in ids if i < 256).decode(errors="replace")


def build(prompt: str, turns: Sequence[tuple[str, int, Sequence[Part]]]) -> Transcript:
    """One token a byte: a prompt, then (command, exit code, observation parts) for each turn."""
    transcript = Transcript()
    transcript.append(encode(prompt), Role.PROMPT)
    for command, code, parts in turns:
        transcript.turns.append(Turn("ok", command, code, "ok"))
        transcript.append(encode(command), Role.ACTION, logprobs=[-0.5] * len(encode(command)))
        for text, role, kind in parts:
            transcript.append(encode(text), role, kind=kind)
    return transcript


@pytest.fixture
def transcript() -> Callable[..., Transcript]:
    return build


@pytest.fixture
def codec() -> tuple[Callable[[str], list[int]], Callable[[Sequence[int]], str]]:
    return encode, decode
