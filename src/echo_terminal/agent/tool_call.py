"""One turn of the policy, read as unescaped, newline-framed text.

The form is Qwen's XML tool call. Nothing in it is escaped, so nothing is decoded and a value keeps all its
blanks: one newline on each side of a value is framing, the rest is the value. The declared rules:

- The first call is the turn's action; calls after it are ignored and the policy is told so.
- A value ends at the last ``</parameter>`` before the first ``</function>``.
- Text up to the first ``</think>`` is reasoning, with or without an opening tag; no call in it is ever run.
- Whatever is cut off, or could be read in two ways, is malformed: nothing runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CALL_OPEN = "<tool_call>\n<function=bash>\n<parameter=command>\n"
CALL_CLOSE = "\n</parameter>\n</function>\n</tool_call>"
DONE = "<tool_call>\n<function=done>\n</function>\n</tool_call>"

LATER_CALLS = "later_calls"  # the one reason with which a call does run

_TAG = re.compile(r"</?think>|</?tool_call>|<function=|</function>|<parameter=|</parameter>")
_HEAD = re.compile(r"<tool_call>\s*<function=([^<>\n]*)>\s*")
_END = re.compile(r"\s*</tool_call>")
_PARAMETER = "<parameter=command>"
_PAIRS = (
    ("<tool_call>", "</tool_call>"),
    ("<function=", "</function>"),
    ("<parameter=", "</parameter>"),
    ("<think>", "</think>"),
)


@dataclass(frozen=True)
class Call:
    """What a turn asks for.

    ``reason`` is empty, or ``later_calls`` for a call that runs while others were ignored, or says why a
    malformed turn ran nothing (a key of ``prompt.WARNINGS``). ``imagined``: the turn imitates an observation
    outside the command.
    """

    kind: Literal["bash", "done", "malformed"]
    command: str | None = None
    reason: str = ""
    imagined: bool = False


def render_call(command: str) -> str:
    """The call that runs ``command``.

    Raises:
        ValueError: the command holds tags of the form in such a way that it would not be read back as it is.
    """
    text = CALL_OPEN + command + CALL_CLOSE
    if "</" in command or "<parameter=" in command or "<function=" in command:
        if parse_action(text, truncated=False).command != command:
            raise ValueError("the command holds tool-call tags that make the call ambiguous")
    return text


def parse_action(text: str, *, truncated: bool) -> Call:
    """Read one turn, without its end-of-turn token; ``truncated`` says that the turn was cut before that
    token.

    Any text is accepted; nothing raises.
    """
    if truncated:
        return _malformed("truncated", text)
    tag, reason = first_tag(text, _TAG, _PAIRS[:3])
    if tag is None:
        return _malformed(reason, text)
    if tag.group() != "<tool_call>":
        return _malformed("stray_tag", text)
    return _parse_call(text, tag.start())


def first_tag(
    text: str, tags: re.Pattern[str], pairs: Sequence[tuple[str, str]]
) -> tuple[re.Match[str] | None, str]:
    """The first match of ``tags`` outside reasoning, or None and the reason why there is none.

    ``tags`` must match the think tags too. A think block that was opened elsewhere (by the prompt) and closes
    where one of ``pairs`` is open is ambiguous: the closing tag may be reasoning's end or part of a value.
    """
    start, close = 0, text.find("</think>")
    if close >= 0 and not 0 <= text.find("<think>") < close:
        reasoning = text[:close]
        if any(reasoning.count(a) != reasoning.count(b) for a, b in pairs):
            return None, "ambiguous"
        start = close + len("</think>")
    while (tag := tags.search(text, start)) is not None and tag.group() == "<think>":
        end = text.find("</think>", tag.end())
        if end < 0:
            return None, "unclosed_think"
        start = end + len("</think>")
    return tag, "" if tag else "no_call"


def _parse_call(text: str, start: int) -> Call:
    """The call whose ``<tool_call>`` begins at ``start``."""
    head = _HEAD.match(text, start)
    if head is None:
        return _malformed("broken_function", text)
    function = text.find("</function>", head.end())
    if function < 0:
        return _malformed("unclosed_call", text)
    end = _END.match(text, function + len("</function>"))
    if end is None:
        return _malformed("unclosed_call", text)
    rest = text[end.end() :]
    if any(rest.count(b) > rest.count(a) for a, b in _PAIRS):
        return _malformed("ambiguous", text)
    body = text[head.end() : function]
    reason = LATER_CALLS if "<tool_call>" in rest or "<function=" in rest else ""
    if head.group(1) == "done":
        if body.strip():
            return _malformed("unknown_parameter", text)
        return Call("done", None, reason, imitates(text[:start] + rest))
    if head.group(1) != "bash":
        return _malformed("unknown_function", text)
    if not body.startswith(_PARAMETER):
        return _malformed("broken_parameter", text)
    value = len(_PARAMETER)
    close = body.rfind("</parameter>")
    if close < value or body[close + len("</parameter>") :].strip():
        return _malformed("unclosed_parameter", text)
    command = body[value:close]
    if "<parameter=" in command or "<function=" in command:
        return _malformed("ambiguous", text)
    command = command.removeprefix("\n").removesuffix("\n")
    return Call("bash", command, reason, imitates(text[:start] + rest))


def imitates(text: str) -> bool:
    """Whether ``text`` looks like a reply of the harness."""
    return "<tool_response>" in text or "<|im_start|>" in text


def _malformed(reason: str, text: str) -> Call:
    return Call("malformed", None, reason, imitates(text))
