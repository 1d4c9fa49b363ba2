"""A fuzz of the action parser: no input may raise, and what runs must stand in the input as one framed value."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass

from echo_terminal.agent.tool_call import CALL_CLOSE, CALL_OPEN, DONE, parse_action

#: what inputs are made of: the form's tags whole and broken, control text, text of every width
FRAGMENTS = (
    *(CALL_OPEN, CALL_CLOSE, DONE, "<think>", "</think>", "<tool_call>", "</tool_call>", "<function=bash>"),
    *("<function=done>", "<function=", "</function>", "<parameter=command>", "<parameter=", "</parameter>"),
    *("<parameter=command", "<function=bash", "</parameter", "</", "<", ">", "\n", "\r\n", " ", "\t", "\x00"),
    *("<|im_start|>", "<|im_end|>", "<tool_response>", "</tool_response>", "exit code: 0"),
    *(
        "ls",
        "rm -r d",
        "echo '</parameter>'",
        "&lt;",
        "é",
        "\u00a0",
        "\u2028",
        "\U0001f600",
        "```",
        '{"a": 1}',
    ),
)


@dataclass(frozen=True)
class FuzzResult:
    """How many inputs, what they were read as, the reasons seen, and the time it took."""

    inputs: int
    kinds: Counter[str]
    reasons: set[str]
    seconds: float


def fuzz_parser(count: int, seed: int) -> FuzzResult:
    """Parse ``count`` random turns: joined fragments, and valid turns with a cut, a doubling or a fragment put in.

    Raises:
        AssertionError: a rule was broken; the message holds the input.
    """
    rng, kinds, reasons = random.Random(seed), Counter[str](), set[str]()
    begun = time.perf_counter()
    for _ in range(count):
        text = _random_turn(rng)
        call = parse_action(text, truncated=False)
        kinds[call.kind] += 1
        if call.reason:
            reasons.add(call.reason)
        ran = call.command is not None
        assert ran == (call.kind == "bash"), text
        assert (call.kind == "malformed") <= bool(call.reason), text
        assert not ran or _is_framed_value(text, call.command or ""), text
    return FuzzResult(count, kinds, reasons, time.perf_counter() - begun)


def _is_framed_value(text: str, value: str) -> bool:
    """Whether ``value`` stands between a parameter's tags, with at most one framing newline a side."""
    starts, ends = ("<parameter=command>\n", "<parameter=command>"), ("\n</parameter>", "</parameter>")
    return any(a + value + b in text for a in starts for b in ends)


def _random_turn(rng: random.Random) -> str:
    if rng.random() < 0.4:
        return "".join(rng.choices(FRAGMENTS, k=rng.randrange(12)))
    command = "".join(rng.choices(FRAGMENTS, k=rng.randrange(4)))
    text = DONE if rng.random() < 0.2 else CALL_OPEN + command + CALL_CLOSE
    if rng.random() < 0.3:
        text = "<think>\n" + rng.choice(FRAGMENTS) + "\n</think>\n\n" + text
    if rng.random() < 0.5:
        return text
    at = rng.randrange(len(text))
    change = rng.randrange(3)
    if change == 0:
        return text[:at]
    if change == 1:
        return text[:at] + text[max(0, at - rng.randrange(40)) :]
    return text[:at] + rng.choice(FRAGMENTS) + text[at:]
