"""Re-ranked rollouts on a real engine, terminal and tokenizer with a tiny model of random weights."""

import pytest
import torch

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.tool_call import CALL_CLOSE, CALL_OPEN, DONE
from echo_terminal.evaluation.forecast import choose
from echo_terminal.evaluation.reranking import _forecasts, _kind, candidate_seed, greedy, rollout_reranked
from echo_terminal.policy.engine import Engine, Sample
from echo_terminal.policy.model import ModelParams, Qwen3, new_model
from echo_terminal.policy.rollout import rollout
from echo_terminal.policy.tokenizer import PolicyTokenizer, TokenizerParams, train_tokenizer
from echo_terminal.policy.weights import Policy
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import open_terminal

TASK = Task("t", 0, "data", "Say hello.", {}, (), ())


@pytest.fixture(scope="module")
def tokenizer() -> PolicyTokenizer:
    torch.set_num_threads(1)
    return train_tokenizer(["exit code: 0 hello true false"], TokenizerParams(vocab_size=300))


@pytest.fixture(scope="module")
def model(tokenizer: PolicyTokenizer) -> Qwen3:
    params = ModelParams(hidden_size=48, num_heads=2, num_kv_heads=2, head_dim=24, max_positions=256)
    return new_model(params, tokenizer.vocab_size, seed=3)


def episodes(tokenizer: PolicyTokenizer, count: int, turns: int = 2) -> list[Episode]:
    params = HarnessParams(max_turns=turns, max_turn_tokens=12, max_context=256)
    return [Episode(TASK, open_terminal("virtual"), tokenizer, params, seed=i) for i in range(count)]


def test_one_candidate_is_the_plain_rollout(model: Qwen3, tokenizer: PolicyTokenizer) -> None:
    engine = Engine(model, tokenizer.stop_ids, tokenizer.forbidden_ids, 256)
    plain, ranked = episodes(tokenizer, 3), episodes(tokenizer, 3)
    rollout(engine, plain, [5, 6, 7], 1.0)
    live: list[int] = []
    rollout_reranked(engine, Policy(model, tokenizer), ranked, [5, 6, 7], 1.0, k=1, on_turn=live.append)
    assert [e.transcript.ids for e in ranked] == [e.transcript.ids for e in plain]
    assert live[-1] == 0
    assert [candidate_seed(5, 0), candidate_seed(5, 1) == candidate_seed(5, 2)] == [5, False]
    with pytest.raises(ValueError, match="at least one"):
        rollout_reranked(engine, Policy(model, tokenizer), ranked, [5, 6, 7], 1.0, k=0)


class Scripted:
    """An engine whose k candidates for the next turn are given as text; the last turn is ``done``."""

    def __init__(self, tokenizer: PolicyTokenizer, turns: list[list[str]]) -> None:
        self.tokenizer, self.turns = tokenizer, turns
        self.lengths = [0] * len(turns[0])

    def start(self, seeds: list[int]) -> "Scripted":
        return self

    def generate(self, rows: list[int], new: list[list[int]], temperature: float, limits: list[int]) -> list:
        frame = self.tokenizer.frame
        ids = [
            frame(DONE) if c == "done" else [*frame(CALL_OPEN), *self.tokenizer.encode(c), *frame(CALL_CLOSE)]
            for c in self.turns.pop(0)
        ]
        ids = [[*i, self.tokenizer.stop_ids[0]] for i in ids]
        return [Sample(i, [-1.0] * len(i), True) for i in ids]


class BelievesInTrue:
    """p("0") is high where the last command is ``true``."""

    def __init__(self, tokenizer: PolicyTokenizer) -> None:
        self.tokenizer = tokenizer

    def token_logprobs(self, ids: list[list[int]]) -> list[list[float]]:
        last = [self.tokenizer.decode(row).rsplit("command>\n", 1)[-1] for row in ids]
        assert all(text.endswith("<tool_response>\nexit code: 0") for text in last)
        return [
            [-1.0] * (len(r) - 2) + [-0.1 if t.startswith("true") else -2.0]
            for r, t in zip(ids, last, strict=True)
        ]


def test_the_command_it_believes_in_is_run(tokenizer: PolicyTokenizer) -> None:
    params = HarnessParams(max_turns=4, max_turn_tokens=64, max_context=1024)
    episode = Episode(TASK, open_terminal("virtual"), tokenizer, params, seed=0)
    turns = [["false", "true", "false"], ["false", "done", "true"], ["done", "true", "true"]]
    rollout_reranked(Scripted(tokenizer, turns), BelievesInTrue(tokenizer), [episode], [1], 1.0, k=3)  # type: ignore[arg-type]
    assert [(t.call, t.command, t.exit_code) for t in episode.transcript.turns] == [
        ("ok", "true", 0),
        ("ok", "true", 0),
        ("done", None, None),
    ]


def fresh_each_turn(engine: Engine, policy: Policy, episode: Episode, seed: int, k: int) -> None:
    """The same by the book: every turn a new session that reads the whole transcript."""
    while not episode.done:
        session = engine.start([candidate_seed(seed, c) for c in range(k)])
        ids = episode.transcript.ids
        samples = session.generate(range(k), [ids] * k, 1.0, [episode.budget] * k)
        kinds = [_kind(episode, s) for s in samples]
        rows = [(0, c) for c in range(k)]
        chosen = samples[choose(kinds, _forecasts([episode], rows, samples, kinds, policy))]
        episode.act(chosen.ids, chosen.logprobs, chosen.stopped)


def test_the_cache_is_wound_back_to_what_all_candidates_share(
    model: Qwen3, tokenizer: PolicyTokenizer
) -> None:
    engine, policy = Engine(model, tokenizer.stop_ids, (), 256), Policy(model, tokenizer)
    kept, fresh = episodes(tokenizer, 2, turns=4), episodes(tokenizer, 2, turns=4)
    rollout_reranked(engine, policy, kept, [5, 6], 1.0, k=3)
    for episode, seed in zip(fresh, [5, 6], strict=True):
        fresh_each_turn(engine, policy, episode, seed, 3)
    assert [e.transcript.ids for e in kept] == [e.transcript.ids for e in fresh]
    assert len(kept[0].transcript.turns) > 1


def test_greedy_takes_the_likeliest_token(model: Qwen3, tokenizer: PolicyTokenizer) -> None:
    prefix = tokenizer.encode("hello exit code")
    (written,) = greedy(model, 256)([prefix], [3])
    policy = Policy(model, tokenizer)
    for i, chosen in enumerate(written):
        so_far = [*prefix, *written[:i]]
        scored = policy.token_logprobs([[*so_far, t] for t in range(tokenizer.vocab_size)])
        assert max(range(tokenizer.vocab_size), key=lambda t: scored[t][-1]) == chosen
