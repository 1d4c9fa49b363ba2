"""Our decoder is Qwen3: transformers loads what we save and computes the same logits."""

import json

import pytest
import torch

from echo_terminal.policy.model import ModelParams, Qwen3, new_model
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.policy.weights import Policy, load_policy, save_policy

GROUPED = ModelParams(hidden_size=48, num_heads=4, num_kv_heads=2, head_dim=24, tie_embeddings=False)


@pytest.mark.parametrize("params", [ModelParams(), GROUPED])
def test_logits_equal_transformers(params: ModelParams, tokenizer: PolicyTokenizer, tmp_path) -> None:
    transformers = pytest.importorskip("transformers")
    policy = Policy(new_model(params, tokenizer.vocab_size, seed=3), tokenizer)
    save_policy(policy, tmp_path)
    reference = transformers.Qwen3ForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    ids = torch.randint(0, tokenizer.vocab_size, (2, 70), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        ours, theirs = policy.model.logits(policy.model.hidden(ids)), reference(ids).logits
    assert (ours - theirs).abs().max() < 1e-5 * theirs.abs().max()


def test_saved_policy_is_the_same(model: Qwen3, tokenizer: PolicyTokenizer, tmp_path) -> None:
    save_policy(Policy(model, tokenizer), tmp_path)
    again = load_policy(tmp_path)
    rows = [tokenizer.encode("ls data\n"), tokenizer.encode("usage: duvo mark FILE\n")]
    assert again.token_logprobs(rows) == Policy(model, tokenizer).token_logprobs(rows)


def test_right_padding_and_grouping_change_nothing(model: Qwen3, tokenizer: PolicyTokenizer) -> None:
    rows = [list(range(40, 40 + n)) for n in (3, 17, 9, 60)]
    alone = [Policy(model, tokenizer).token_logprobs([r])[0] for r in rows]
    together = Policy(model, tokenizer).token_logprobs(rows, token_budget=256)
    for a, b in zip(alone, together, strict=True):
        assert len(a) == len(b)
        assert max(abs(x - y) for x, y in zip(a, b, strict=True)) < 1e-5


def test_same_seed_same_weights(tokenizer: PolicyTokenizer) -> None:
    a, b = (new_model(ModelParams(), tokenizer.vocab_size, seed=5) for _ in range(2))
    assert all(
        torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )


def test_wired_head_looks_one_token_back(tokenizer: PolicyTokenizer) -> None:
    """At the start, head 0 of layer 0 puts most of its attention on the token before, whatever the text says."""
    model = new_model(ModelParams(), tokenizer.vocab_size, seed=2)
    ids = torch.randint(30, tokenizer.vocab_size, (4, 60), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        q, k, _ = model.blocks[0].project(model.embed(ids), *model.rope(None, 60))
    scores = torch.einsum("btd,bsd->bts", q[:, :, 0], k[:, :, 0]) * 32**-0.5
    future = torch.ones(60, 60, dtype=torch.bool).triu(1)
    attention = scores.masked_fill(future, float("-inf")).softmax(-1)
    before = attention.diagonal(offset=-1, dim1=1, dim2=2)
    assert before.min() > 0.5


def test_another_architecture_is_refused(model: Qwen3, tokenizer: PolicyTokenizer, tmp_path) -> None:
    save_policy(Policy(model, tokenizer), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))
    with pytest.raises(ValueError, match="only qwen3 and llama"):
        load_policy(tmp_path)


def test_a_tokenizer_that_does_not_fit_is_refused(tokenizer: PolicyTokenizer, tmp_path) -> None:
    small = Policy(new_model(ModelParams(), tokenizer.vocab_size - 1, seed=0), tokenizer)
    save_policy(small, tmp_path)
    with pytest.raises(ValueError, match="the tokenizer has"):
        load_policy(tmp_path)
