"""Many episodes at once, one turn after another: sample an action for every live episode, run it, go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from echo_terminal.agent.episode import Episode
from echo_terminal.policy.engine import Engine


@dataclass
class RolloutTimes:
    """Seconds spent in the model and in the terminals, tokens sampled and fed."""

    model: float = 0.0
    terminal: float = 0.0
    sampled: int = 0
    fed: int = 0


def rollout(
    engine: Engine,
    episodes: Sequence[Episode],
    seeds: Sequence[int],
    temperature: float,
    on_turn: Callable[[int], None] | None = None,
) -> RolloutTimes:
    """Run ``episodes`` to their end. Episode i samples with ``seeds[i]`` and with nothing else.

    ``on_turn`` is called after each turn with the number of episodes still running.
    """
    session = engine.start(seeds)
    times = RolloutTimes()
    live = [i for i, e in enumerate(episodes) if not e.done]
    while live:
        begun = time.perf_counter()
        fresh = [episodes[i].transcript.ids[session.lengths[i] :] for i in live]
        samples = session.generate(live, fresh, temperature, [episodes[i].budget for i in live])
        between = time.perf_counter()
        for i, sample in zip(live, samples, strict=True):
            episodes[i].act(sample.ids, sample.logprobs, sample.stopped)
        times.model += between - begun
        times.terminal += time.perf_counter() - between
        times.sampled += sum(len(s.ids) for s in samples)
        times.fed += sum(map(len, fresh))
        live = [i for i in live if not episodes[i].done]
        if on_turn:
            on_turn(len(live))
    return times
