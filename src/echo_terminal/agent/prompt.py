"""What the policy reads, built from pieces that know who made them.

The text is Qwen3's chat form with the tool response in a user turn. Two departures from its stock template,
both because a transcript is append-only: think blocks of earlier turns stay, and so does the empty block that
switches thinking off. Observation messages put the exit code first, so that it can be forecast right after
the action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from echo_terminal.agent.tool_call import CALL_CLOSE, CALL_OPEN, DONE, LATER_CALLS, Call
from echo_terminal.agent.transcript import Role
from echo_terminal.config import StrictModel
from echo_terminal.tasks.task import Playable
from echo_terminal.terminal.normalise import MIN_LIMIT, truncate
from echo_terminal.terminal.terminal import Observation, Status

TURN_END = "<|im_end|>"
SYSTEM_OPEN = "<|im_start|>system\n"
SYSTEM_CLOSE = "<|im_end|>\n"
USER_OPEN = "<|im_start|>user\n"
USER_CLOSE = "<|im_end|>\n<|im_start|>assistant\n"
NO_THINK = "<think>\n\n</think>\n\n"
THINK_OPEN = "<think>\n"
THINK_CLOSE = "\n</think>\n\n"
RESPONSE_OPEN = "\n<|im_start|>user\n<tool_response>\n"  # the newline ends the assistant's turn
RESPONSE_CLOSE = "\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
EXIT_OPEN = "exit code: "
EXIT_CLOSE = "\n"  # the one frame that is ordinary text: no vocabulary should make a newline a control token

#: what an action is made of
ACTION_FRAMES = (TURN_END, CALL_OPEN, CALL_CLOSE, DONE, THINK_OPEN, THINK_CLOSE)
#: every frame that a vocabulary may hold as one control token
FRAMES = (
    *ACTION_FRAMES,
    SYSTEM_OPEN,
    SYSTEM_CLOSE,
    USER_OPEN,
    USER_CLOSE,
    NO_THINK,
    RESPONSE_OPEN,
    RESPONSE_CLOSE,
    EXIT_OPEN,
)

#: A system message for policies that can read one; the settings leave it out by default.
SYSTEM = f"""You work in a Linux terminal. Each turn, run exactly one bash command in this form:

{CALL_OPEN}ls -la{CALL_CLOSE}

The text between the parameter tags is run as it stands; nothing is escaped. The reply shows the exit code,
then the output. The shell keeps its working directory and variables. Input is empty, so no command may wait
for an answer. When the task is complete, end it with:

{DONE}"""

#: what the harness says; keys are ``Call.reason`` or ``imagined``
WARNINGS = {
    "truncated": "the turn was cut at its token limit. Nothing was run.",
    "ambiguous": "the tool call can be read in two ways. Nothing was run.",
    "unclosed_think": "the think block was not closed. Nothing was run.",
    "no_call": "no tool call found. Nothing was run.",
    "stray_tag": "a tool-call tag stands outside <tool_call>. Nothing was run.",
    "broken_function": "<function=NAME> must follow <tool_call>. Nothing was run.",
    "unclosed_call": "</function> or </tool_call> is missing. Nothing was run.",
    "unknown_function": "the function must be bash or done. Nothing was run.",
    "broken_parameter": "<parameter=command> must follow <function=bash>. Nothing was run.",
    "unclosed_parameter": "</parameter> is missing. Nothing was run.",
    "unknown_parameter": "done takes no parameter. Nothing was run.",
    LATER_CALLS: "one call per turn. Only the first was run.",
    "unclosed_keystrokes": "</keystrokes> is missing. Nothing was run.",
    "confirm": "if the task is really complete, say so once more.",
    "imagined": "replies come from the terminal only. Do not write them yourself.",
}


class HarnessParams(StrictModel):
    """Limits and form of an episode; the published run uses 16 turns, 2,048 tokens a turn, a context of 16k and
    10 minutes.

    ``episode_timeout_s`` counts the time in commands, not the policy's; the episode ends after the command that
    exceeds it. ``output_chars`` bounds stdout and stderr together, notices included. ``require_done``: an episode
    that never gives the done signal scores 0. The paper grades the final state whatever ended the episode; set it
    to False for that rule.
    """

    max_turns: int = Field(16, ge=1)
    max_turn_tokens: int = Field(2048, ge=1)
    max_context: int = Field(16384, ge=1)
    command_timeout_s: float = Field(10.0, gt=0)
    episode_timeout_s: float = Field(600.0, gt=0)
    output_chars: int = Field(4000, ge=2 * MIN_LIMIT)
    thinking: bool = False
    system: str = ""
    require_done: bool = True
    warnings: bool = True  # False: a turn that ran nothing still says so; other warnings are left out
    track_state: bool = False


class Codec(Protocol):
    """Text to ids and back. The returned lists may be shared: they must not be changed."""

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Ids that end a turn; the first is ``<|im_end|>``."""

    def encode(self, text: str) -> list[int]:
        """Ids of ordinary text, never a control token whatever the text says."""

    def frame(self, text: str) -> list[int]:
        """Ids of template text, control tokens included."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, control tokens written out."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one role; ``frame`` tells template text from ordinary text."""

    role: Role
    kind: str
    text: str
    frame: bool


def _glue(text: str) -> Piece:
    return Piece(Role.GLUE, "", text, True)


_SYSTEM_OPEN, _SYSTEM_CLOSE, _USER_OPEN = _glue(SYSTEM_OPEN), _glue(SYSTEM_CLOSE), _glue(USER_OPEN)
_USER_CLOSE, _NO_THINK = _glue(USER_CLOSE), _glue(NO_THINK)
_RESPONSE_OPEN, _RESPONSE_CLOSE = _glue(RESPONSE_OPEN), _glue(RESPONSE_CLOSE)
_EXIT_OPEN, _EXIT_CLOSE = _glue(EXIT_OPEN), _glue(EXIT_CLOSE)


def prompt_pieces(task: Playable, params: HarnessParams) -> list[Piece]:
    """System message if there is one, the instruction, and the header of the first action."""
    pieces = []
    if params.system:
        pieces += [_SYSTEM_OPEN, Piece(Role.PROMPT, "system", params.system, False), _SYSTEM_CLOSE]
    pieces += [_USER_OPEN, Piece(Role.PROMPT, "task", task.instruction, False), _USER_CLOSE]
    return pieces if params.thinking else [*pieces, _NO_THINK]


def observation_pieces(observation: Observation | None, call: Call, params: HarnessParams) -> list[Piece]:
    """The reply to one action, from the end of that action to the header of the next.

    ``observation`` is None where nothing was run: then there is a warning and no exit code.
    """
    body: list[Piece] = []
    if observation is not None:
        body += [_EXIT_OPEN, Piece(Role.OUTPUT, "exit", str(observation.exit_code), False), _EXIT_CLOSE]
        for_stdout, for_stderr = _share(len(observation.stdout), len(observation.stderr), params.output_chars)
        body += _output("stdout", observation.stdout, for_stdout)
        body += _output("stderr", observation.stderr, for_stderr)
        body += stopped_notice(observation, params)
    return reply_pieces(body, call, params)


def reply_pieces(body: Sequence[Piece], call: Call, params: HarnessParams) -> list[Piece]:
    """``body`` as the message of a tool: its tags, the warnings that ``call`` calls for, the next header."""
    warning = warning_text(call, params)
    said = [Piece(Role.WARNING, "warning", warning + "\n" if body else warning, False)] if warning else []
    pieces = [_RESPONSE_OPEN, *said, *body, _RESPONSE_CLOSE]
    return pieces if params.thinking else [*pieces, _NO_THINK]


def warning_text(call: Call, params: HarnessParams) -> str:
    """The warning block, one line a warning, without a final newline; empty if there is nothing to say."""
    said = [call.reason] if call.reason and (params.warnings or call.kind == "malformed") else []
    if params.warnings and call.imagined:
        said.append("imagined")
    return "\n".join(f"[warning: {WARNINGS[s]}]" for s in said)


def stopped_notice(observation: Observation, params: HarnessParams) -> list[Piece]:
    """The notice of a command that was stopped; it follows the output, so that it gives no exit code away."""
    if observation.status is Status.TIMEOUT:
        text = f"[stopped at the limit of {params.command_timeout_s:g} s]"
    elif observation.status is Status.KILLED:
        text = "[killed]"
    else:
        return []
    printed = observation.stderr or observation.stdout
    joined = not printed or printed.endswith("\n")
    return [Piece(Role.WARNING, "notice", text if joined else "\n" + text, False)]


def _share(stdout: int, stderr: int, limit: int) -> tuple[int, int]:
    """Characters for each stream: all if both fit, else stderr gets half, more if stdout leaves room."""
    if stdout + stderr <= limit:
        return stdout, stderr
    for_stderr = min(stderr, max(limit // 2, limit - stdout))
    return limit - for_stderr, for_stderr


def _output(kind: str, text: str, limit: int) -> list[Piece]:
    if len(text) <= limit:
        return [Piece(Role.OUTPUT, kind, text, False)] if text else []
    return [
        Piece(Role.WARNING, "notice", p.text, False) if p.notice else Piece(Role.OUTPUT, kind, p.text, False)
        for p in truncate(text, limit)
    ]
