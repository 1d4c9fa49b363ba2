"""Transcripts of scripted actions: pre-training data, demonstrations, the fixed held-out corpus."""

from __future__ import annotations

from collections.abc import Iterable

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import Codec, HarnessParams
from echo_terminal.agent.transcript import Transcript
from echo_terminal.tasks.task import Playable
from echo_terminal.terminal.terminal import Terminal


def replay(
    task: Playable,
    commands: Iterable[str],
    terminal: Terminal,
    codec: Codec,
    params: HarnessParams,
    seed: int = 0,
) -> Transcript:
    """Run ``commands`` as the turns of one episode; ``scripted.DONE`` among them gives the done signal.

    Stops where the commands or the episode end, or where the context has no room for the next action. The
    terminal is left in its final state. ACTION log-probs are 0.0 and ``scripted`` is set: these actions were
    never sampled.

    Raises:
        ValueError: a command that the tool-call form cannot carry, or that is longer than a turn may be.
    """
    return drive(Episode(task, terminal, codec, params, seed), commands)


def drive(episode: Episode, commands: Iterable[str]) -> Transcript:
    """``replay`` on an episode that has just begun; ``episode.grade()`` can follow once it is done."""
    episode.transcript.scripted = True
    for command in commands:
        ids = episode.action_ids(command)
        if len(ids) > episode.params.max_turn_tokens:
            limit = episode.params.max_turn_tokens
            raise ValueError(f"an action of {len(ids)} tokens, but a turn may have {limit}")
        if episode.done or len(ids) > episode.budget:
            break
        episode.act(ids, [0.0] * len(ids), stopped=True)
    return episode.transcript
