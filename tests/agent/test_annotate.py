"""The picture of a transcript shows every token once, escaped, in its role's colour."""

from echo_terminal.agent.annotate import COLOURS, coloured
from echo_terminal.agent.transcript import Role, Transcript


def test_every_segment_is_shown_in_its_colour() -> None:
    transcript = Transcript()
    transcript.append([1], Role.PROMPT)
    transcript.append([2], Role.ACTION, logprobs=[-0.5])
    transcript.append([3], Role.OUTPUT)
    page = coloured(transcript, lambda ids: {1: "task", 2: "ls <dir>", 3: "a & b"}[ids[0]])
    assert page.index("task") < page.index("ls &lt;dir&gt;") < page.index("a &amp; b")
    assert (
        f'background:{COLOURS[Role.OUTPUT]};color:#111;padding:0 1px;border-bottom:1px solid #999">a &amp; b'
        in page
    )
