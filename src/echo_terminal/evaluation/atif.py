"""Trajectories of Harbor's interchange format (ATIF 1.0 to 1.8) as transcripts, written in this package's
chat form.

Format: https://harborframework.com/docs/trajectory-format. The text is tokenised with the codec of the
policy to be scored; results of tool calls become OUTPUT, one segment each. Left out, and said so by
``Reading``: pictures and sound, and trajectories of sub-agents. Steps copied from an earlier trajectory are
context, never OUTPUT. An agent's prose stays in the action; its tool calls follow in our form, whatever form
they had, so the CE is that of the replies, not of the agent's own words. The exit code is part of the output
only where the other harness showed it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from echo_terminal.agent.prompt import (
    NO_THINK,
    RESPONSE_CLOSE,
    RESPONSE_OPEN,
    SYSTEM_CLOSE,
    SYSTEM_OPEN,
    THINK_CLOSE,
    THINK_OPEN,
    TURN_END,
    USER_CLOSE,
    USER_OPEN,
    Codec,
)
from echo_terminal.agent.tool_call import CALL_CLOSE, CALL_OPEN, DONE
from echo_terminal.agent.transcript import Role, Transcript, Turn
from echo_terminal.terminal.normalise import normal_form

VERSIONS = tuple(f"ATIF-v1.{i}" for i in range(9))
_DONE_CALLS = ("mark_task_complete", "task_complete", "done", "finish")
_COMMAND_ARGUMENTS = ("command", "keystrokes", "cmd", "script")  # bash tools; Terminus 2


@dataclass(frozen=True)
class Reading:
    """A transcript, its name, and how many parts that are not text were left out of it."""

    trajectory_id: str
    transcript: Transcript
    omitted: int


def is_atif(document: Any) -> bool:
    """Whether a JSON value says that it is such a trajectory."""
    return isinstance(document, dict) and str(document.get("schema_version", "")).startswith("ATIF-")


def _text(content: Any) -> tuple[str, int]:
    """The text of a message or result, and the number of parts that are not text."""
    if content is None or isinstance(content, str):
        return content or "", 0
    texts = [part["text"] for part in content if part["type"] == "text"]
    return "\n".join(texts), len(content) - len(texts)


def command_of(call: Mapping[str, Any]) -> str:
    """The command of a tool call; the arguments as JSON where the tool is none that runs commands."""
    arguments = call["arguments"]
    for name in _COMMAND_ARGUMENTS:
        if isinstance(arguments.get(name), str):
            return str(arguments[name]).removesuffix("\n")
    return f"{call['function_name']} {json.dumps(arguments, sort_keys=True)}"


class _Builder:
    """Appends the pieces of the chat form in order."""

    def __init__(self, codec: Codec) -> None:
        self.codec, self.transcript, self.omitted = codec, Transcript(scripted=True), 0

    def frame(self, text: str) -> None:
        self.transcript.append(self.codec.frame(text), Role.GLUE)

    def text(self, content: Any, role: Role, kind: str) -> None:
        text, omitted = _text(content)
        self.omitted += omitted
        self.transcript.append(self.codec.encode(normal_form(text)), role, kind=kind)

    def _after_action(self) -> bool:
        return bool(self.transcript.segments) and self.transcript.segments[-1].role == Role.ACTION

    def message(self, step: Mapping[str, Any]) -> None:
        """A system or user step; a user step opens the agent's next turn."""
        system = step["source"] == "system"
        if self._after_action():
            self.frame("\n")
        self.frame(SYSTEM_OPEN if system else USER_OPEN)
        self.text(step["message"], Role.PROMPT, str(step["source"]))
        self.frame(SYSTEM_CLOSE if system else USER_CLOSE)
        if not system:
            self.frame(NO_THINK)

    def action(self, step: Mapping[str, Any]) -> None:
        """What the agent said and called, as one turn."""
        if self._after_action():  # no reply in between
            self.frame("\n<|im_start|>assistant\n")
            self.frame(NO_THINK)
        calls = step.get("tool_calls") or []
        commands = [command_of(c) for c in calls if c["function_name"] not in _DONE_CALLS]
        call = "ok" if commands else "done" if calls else "no_call"
        self.transcript.turns.append(Turn(call, "\n".join(commands) if commands else None))
        encode, frame, ids = self.codec.encode, self.codec.frame, list[int]()
        if step.get("reasoning_content"):
            ids += [*frame(THINK_OPEN), *encode(normal_form(step["reasoning_content"])), *frame(THINK_CLOSE)]
        said, omitted = _text(step["message"])
        self.omitted += omitted
        ids += encode(normal_form(said + "\n" if said and calls else said))
        for command in commands:
            ids += [*frame(CALL_OPEN), *encode(normal_form(command)), *frame(CALL_CLOSE)]
        if any(c["function_name"] in _DONE_CALLS for c in calls):
            ids += frame(DONE)
        ids += frame(TURN_END)
        self.transcript.append(ids, Role.ACTION, logprobs=[0.0] * len(ids))

    def observation(self, results: Sequence[Mapping[str, Any]], copied: bool) -> None:
        """The replies to one action, in one message."""
        self.frame(RESPONSE_OPEN)
        before = self.transcript.count(Role.OUTPUT)
        for result in results:
            self.text(result.get("content"), Role.PROMPT if copied else Role.OUTPUT, "stdout")
        if self.transcript.turns:
            self.transcript.turns[-1].output_tokens = self.transcript.count(Role.OUTPUT) - before
        self.frame(RESPONSE_CLOSE)
        self.frame(NO_THINK)


def read_atif(document: Mapping[str, Any], codec: Codec, name: str) -> Reading:
    """One trajectory; ``name`` stands in where it has no id of its own.

    Raises:
        ValueError: an unknown version, or a field that every version requires is missing.
    """
    version = document.get("schema_version")
    if version not in VERSIONS:
        raise ValueError(f"{name}: trajectory format {version!r} is not one of ATIF-v1.0 to v1.8")
    builder = _Builder(codec)
    try:
        for step in document["steps"]:
            copied = bool(step.get("is_copied_context"))
            if step["source"] != "agent":
                builder.message(step)
            else:
                builder.action(step)
            observation = step.get("observation")
            if observation is not None:
                builder.observation(observation["results"], copied or step["source"] != "agent")
    except (KeyError, TypeError) as error:
        raise ValueError(f"{name}: not a valid {version} trajectory (at {error})") from error
    identity = document.get("trajectory_id") or document.get("session_id") or name
    return Reading(str(identity), builder.transcript, builder.omitted)
