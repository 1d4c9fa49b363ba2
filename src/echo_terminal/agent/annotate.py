"""A transcript as HTML, every token in the colour of its role: what each loss reads, at a glance."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from echo_terminal.agent.transcript import Role, Transcript

#: the same colours as figure 1
COLOURS = {
    Role.PROMPT: "#F0F0F0",
    Role.ACTION: "#F6C9A8",
    Role.OUTPUT: "#A9CFE8",
    Role.WARNING: "#F3DFA2",
    Role.GLUE: "#FFFFFF",
}
MEANING = {
    Role.PROMPT: "prompt",
    Role.ACTION: "action: L_GRPO",
    Role.OUTPUT: "output: L_Env",
    Role.WARNING: "warning: counted in Z only",
    Role.GLUE: "template: in no loss",
}
_BOX = "background:{};color:#111;padding:0 1px;border-bottom:1px solid #999"


def coloured(transcript: Transcript, decode: Callable[[Sequence[int]], str]) -> str:
    """A legend and the text, segment by segment, line breaks kept."""
    legend = " ".join(f'<span style="{_BOX.format(COLOURS[role])}">{MEANING[role]}</span>' for role in Role)
    parts = []
    for segment in transcript.segments:
        text = html.escape(decode(transcript.ids[segment.start : segment.end]))
        parts.append(f'<span style="{_BOX.format(COLOURS[segment.role])}">{text}</span>')
    body = "".join(parts)
    return f'<p>{legend}</p><pre style="line-height:1.5;white-space:pre-wrap">{body}</pre>'
