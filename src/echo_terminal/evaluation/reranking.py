"""Rollouts that imagine before they act: sample k actions, run the command with the best forecast of success.

Interaction is what is budgeted: an episode runs as many commands as without re-ranking, only more is
sampled. Candidate 0 draws from the rollout's own stream, so k = 1 gives the plain rollout.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import EXIT_OPEN, RESPONSE_OPEN
from echo_terminal.evaluation.forecast import choose, success_probabilities
from echo_terminal.evaluation.free_running import Generate
from echo_terminal.evaluation.heldout_ce import Scorer
from echo_terminal.policy.engine import Engine, Sample
from echo_terminal.policy.model import Qwen3

GREEDY = 1e-4  # a temperature at which the likeliest token is drawn


def candidate_seed(seed: int, candidate: int) -> int:
    """The random stream of one candidate; that of candidate 0 is the rollout's own."""
    if candidate == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{candidate}".encode()).digest()[:8], "big")


def rollout_reranked(
    engine: Engine,
    scorer: Scorer,
    episodes: Sequence[Episode],
    seeds: Sequence[int],
    temperature: float,
    k: int,
    on_turn: Callable[[int], None] | None = None,
) -> None:
    """Run ``episodes`` to their end, choosing each action among ``k`` samples (``forecast.choose``).

    Raises:
        ValueError: k < 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}: at least one sample is needed")
    session = engine.start([candidate_seed(seed, c) for seed in seeds for c in range(k)])
    live = [i for i, e in enumerate(episodes) if not e.done]
    while live:
        rows = [(i, c) for i in live for c in range(k)]
        places = [k * i + c for i, c in rows]
        new_ids = [
            episodes[i].transcript.ids[session.lengths[place] :]
            for (i, _), place in zip(rows, places, strict=True)
        ]
        budgets = [episodes[i].budget for i, _ in rows]
        samples = session.generate(places, new_ids, temperature, budgets)
        for (i, _), place in zip(rows, places, strict=True):  # the next turn may follow another candidate
            session.lengths[place] = len(episodes[i].transcript.ids)
        kinds = [_kind(episodes[i], sample) for (i, _), sample in zip(rows, samples, strict=True)]
        forecast = _forecasts(episodes, rows, samples, kinds, scorer) if k > 1 else [None] * len(rows)
        for place, i in enumerate(live):
            mine = slice(k * place, k * (place + 1))
            chosen = samples[mine][choose(kinds[mine], forecast[mine])]
            episodes[i].act(chosen.ids, chosen.logprobs, chosen.stopped)
        live = [i for i in live if not episodes[i].done]
        if on_turn:
            on_turn(len(live))


def _kind(episode: Episode, sample: Sample) -> str:
    ids = sample.ids[:-1] if sample.stopped else sample.ids
    return episode.parse(episode.codec.decode(ids), truncated=not sample.stopped).kind


def _forecasts(
    episodes: Sequence[Episode],
    rows: Sequence[tuple[int, int]],
    samples: Sequence[Sample],
    kinds: Sequence[str],
    scorer: Scorer,
) -> list[float | None]:
    """p(success) of every sampled command, None for what is no command; equal commands are judged once."""
    commands = [r for r, kind in enumerate(kinds) if kind == "bash"]
    codec = episodes[0].codec
    glue = (*codec.frame(RESPONSE_OPEN), *codec.frame(EXIT_OPEN))
    prefixes = {r: (*episodes[rows[r][0]].transcript.ids, *samples[r].ids, *glue) for r in commands}
    distinct = sorted(set(prefixes.values()), key=lambda prefix: (len(prefix), prefix))
    judged = dict(zip(distinct, success_probabilities(distinct, codec.encode("0"), scorer), strict=True))
    return [judged[prefixes[r]] if r in prefixes else None for r in range(len(rows))]


def greedy(model: Qwen3, max_length: int) -> Generate:
    """``generate`` of ``free_running``: the likeliest continuation, any token allowed, exactly as
    many as asked.
    """
    engine = Engine(model, stop_ids=(), forbidden_ids=(), max_length=max_length)

    def generate(prefixes: list[list[int]], limits: list[int]) -> list[list[int]]:
        session = engine.start([0] * len(prefixes))
        samples = session.generate(range(len(prefixes)), prefixes, GREEDY, limits)
        return [sample.ids for sample in samples]

    return generate
