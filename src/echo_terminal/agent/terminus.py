"""A second harness, in the manner of Terminus 2: keystrokes in, a screen out.

An action is prose with one or more blocks

    <keystrokes>
    TEXT
    </keystrokes>

in it, and ``<task_complete>`` once the work is done. TEXT is typed as it stands, nothing escaped, and return is
pressed after it; the blocks of a turn are typed one after another. Completion must be said in two turns, since the
first time it is only asked for again. The reply is what is new on the screen: the prompt and what was typed at it,
the output, the next prompt; of that the last ``rows`` rows of ``columns`` characters. No exit code is shown, and
nothing is ever shown twice.

Departures from Terminus 2: commands run to their end or to the time limit, so there are no waiting times and no
control keys; its JSON form is not read. With ``form: tool_call`` a policy that knows only this package's own action
form meets the same screen.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from echo_terminal.agent import scripted
from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import (
    TURN_END,
    Codec,
    HarnessParams,
    Piece,
    reply_pieces,
    stopped_notice,
)
from echo_terminal.agent.tool_call import Call, first_tag, imitates, parse_action
from echo_terminal.agent.transcript import Role
from echo_terminal.tasks.task import Playable
from echo_terminal.terminal.terminal import HOME, HOSTNAME, USER, Observation, Terminal

COMPLETE = "<task_complete>"
_OPEN, _CLOSE = "<keystrokes>", "</keystrokes>"
_TAG = re.compile("</?think>|</?keystrokes>|<task_complete>")

#: A system message that explains the form.
SYSTEM = f"""You sit at a Linux terminal. Each turn, say briefly what you see and plan, then type:

{_OPEN}
ls -la
{_CLOSE}

The text is typed as it stands and return is pressed after it. You are shown what is new on the screen.
No program may wait for input. When the task is complete, say {COMPLETE} and nothing else."""


class TerminusParams(HarnessParams):
    """Larger budgets than the main harness, and the size of the screen."""

    max_turns: int = Field(64, ge=1)
    max_turn_tokens: int = Field(4096, ge=1)
    max_context: int = Field(32768, ge=1)
    command_timeout_s: float = Field(30.0, gt=0)
    episode_timeout_s: float = Field(1200.0, gt=0)
    system: str = SYSTEM
    form: Literal["keystrokes", "tool_call"] = "keystrokes"
    rows: int = Field(40, ge=2)
    columns: int = Field(160, ge=20)
    confirm: bool = True


class TerminusEpisode(Episode):
    """``Episode`` with this harness's actions and replies; ``output_chars`` plays no part, the screen bounds output."""

    params: TerminusParams

    def __init__(
        self, task: Playable, terminal: Terminal, codec: Codec, params: TerminusParams, seed: int
    ) -> None:
        self._prompt = shell_prompt(HOME)
        self._asked = False
        super().__init__(task, terminal, codec, params, seed)

    def parse(self, text: str, *, truncated: bool) -> Call:
        read = parse_action if self.params.form == "tool_call" else parse_keystrokes
        call = read(text, truncated=truncated)
        if call.kind == "done" and self.params.confirm and not self._asked:
            call = Call("malformed", None, "confirm", call.imagined)
        self._asked = call.reason == "confirm"
        return call

    def reply(self, observation: Observation | None, call: Call) -> list[Piece]:
        if observation is None:
            return reply_pieces([], call, self.params)
        screen = [
            Piece(Role.GLUE, "echo", f"{self._prompt}{call.command}\n", False),
            Piece(Role.OUTPUT, "stdout", observation.stdout, False),
            Piece(Role.OUTPUT, "stderr", observation.stderr, False),
            *stopped_notice(observation, self.params),
        ]
        self._prompt = shell_prompt(observation.cwd)
        if not "".join(p.text for p in screen).endswith("\n"):
            screen.append(Piece(Role.GLUE, "", "\n", False))
        screen.append(Piece(Role.GLUE, "prompt", self._prompt, False))
        return reply_pieces(last_rows(screen, self.params.rows, self.params.columns), call, self.params)

    def action_ids(self, command: str) -> list[int]:
        if self.params.form == "tool_call":
            return super().action_ids(command)
        end = self.codec.frame(TURN_END)
        if command == scripted.DONE:
            return [*self.codec.encode(COMPLETE), *end]
        text = f"{_OPEN}\n{command}\n{_CLOSE}"
        if parse_keystrokes(text, truncated=False).command != command:
            raise ValueError("the command holds tags that make the keystrokes ambiguous")
        return [*self.codec.encode(text), *end]


def parse_keystrokes(text: str, *, truncated: bool) -> Call:
    """Read one turn; ``command`` is everything typed, blocks joined by newlines.

    With keystrokes in the same turn ``<task_complete>`` only asks (reason ``confirm``). Nothing raises.
    """

    def malformed(reason: str) -> Call:
        return Call("malformed", None, reason, imitates(text))

    if truncated:
        return malformed("truncated")
    tag, reason = first_tag(text, _TAG, [(_OPEN, _CLOSE)])
    if tag is None:
        return malformed(reason)
    said, typed, complete = "", [], False
    rest = text[tag.start() :]
    while rest:
        prose, opened, rest = rest.partition(_OPEN)
        if _CLOSE in prose or "<think>" in prose or "</think>" in prose:
            return malformed("ambiguous")
        said += prose
        complete = complete or COMPLETE in prose
        if opened:
            value, closed, rest = rest.partition(_CLOSE)
            if not closed:
                return malformed("unclosed_keystrokes")
            if _OPEN in value:
                return malformed("ambiguous")
            typed.append(value.removeprefix("\n").removesuffix("\n"))
    imagined = imitates(text[: tag.start()] + said)
    if not typed:
        return Call("done", imagined=imagined) if complete else malformed("no_call")
    return Call("bash", "\n".join(typed), "confirm" if complete else "", imagined)


def shell_prompt(cwd: str) -> str:
    """``user@sim:~/x$ `` for the directory ``/home/user/x``."""
    short = "~" + cwd[len(HOME) :] if cwd == HOME or cwd.startswith(HOME + "/") else cwd
    return f"{USER}@{HOSTNAME}:{short}$ "


def last_rows(screen: list[Piece], rows: int, columns: int) -> list[Piece]:
    """The end of ``screen`` that fits ``rows``; a line takes one row for every ``columns`` characters begun.

    Lines are not broken; of a line that is too long for what is left, its end is kept. Empty pieces are dropped.
    """
    text = "".join(p.text for p in screen)
    start = len(text)
    for line in reversed(text.split("\n")):
        need = max(1, -(-len(line) // columns))
        if need > rows:
            start -= max(0, len(line) - (need - rows) * columns)
            break
        start, rows = start - len(line) - 1, rows - need
    start = max(start, 0) if start < 0 or text[start : start + 1] != "\n" else start + 1
    kept, at = [], 0
    for p in screen:
        piece = p.text[max(0, start - at) :]
        at += len(p.text)
        if piece:
            kept.append(Piece(p.role, p.kind, piece, p.frame))
    return kept
