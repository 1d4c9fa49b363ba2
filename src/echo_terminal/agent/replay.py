"""Transcripts of scripted actions: pre-training data, demonstrations, the fixed held-out corpus."""

from __future__ import annotations

from collections.abc import Iterable

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import DONE, TURN_END, Codec, HarnessParams
from echo_terminal.agent.tool_call import CALL_CLOSE, CALL_OPEN, render_call
from echo_terminal.agent.transcript import Transcript
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal


def replay(
    task: Task,
    commands: Iterable[str],
    terminal: Terminal,
    codec: Codec,
    params: HarnessParams,
    *,
    seed: int = 0,
    done: bool = True,
) -> Transcript:
    """Run ``commands`` as the turns of one episode, then give the done signal unless ``done`` is false.

    Stops early where the episode does: at the turn limit, or where the context has no room for the next
    action. The terminal is left in its final state. ACTION log-probs are 0.0 and ``scripted`` is set: these
    actions were never sampled.

    Raises:
        ValueError: a command that the tool-call form cannot carry, or that is longer than a turn may be.
    """
    return drive(Episode(task, terminal, codec, params, seed), commands, done=done)


def drive(episode: Episode, commands: Iterable[str], *, done: bool = True) -> Transcript:
    """``replay`` on an episode that exists already; ``episode.grade()`` can follow."""
    codec, params = episode.codec, episode.params
    episode.transcript.scripted = True
    end = codec.frame(TURN_END)

    def act(ids: list[int]) -> bool:
        if len(ids) > params.max_turn_tokens:
            raise ValueError(f"an action of {len(ids)} tokens, but a turn may have {params.max_turn_tokens}")
        if episode.done or len(ids) > episode.budget:
            return False
        episode.act(ids, [0.0] * len(ids), stopped=True)
        return True

    for command in commands:
        render_call(command)
        if not act([*codec.frame(CALL_OPEN), *codec.encode(command), *codec.frame(CALL_CLOSE), *end]):
            return episode.transcript
    if done:
        act([*codec.frame(DONE), *end])
    return episode.transcript
