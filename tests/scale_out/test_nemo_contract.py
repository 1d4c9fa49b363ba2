"""Our loss and NeMo-RL's with our term: the same number and the same gradient, however the batch is split.

Needs a checkout of NeMo-RL v0.7.0 named by NEMO_RL_HOME, and the packages that its loss and sharding code imports.
"""

import ast
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

HOME = os.environ.get("NEMO_RL_HOME")
if HOME is None:
    pytest.skip("NEMO_RL_HOME names no checkout of NeMo-RL", allow_module_level=True)
sys.path.insert(0, HOME)

from nemo_rl.algorithms.loss import ClippedPGLossConfig, ClippedPGLossFn, prepare_loss_input  # noqa: E402
from nemo_rl.algorithms.loss.wrapper import SequencePackingLossWrapper  # noqa: E402
from nemo_rl.distributed.batched_data_dict import BatchedDataDict  # noqa: E402
from nemo_rl.utils.config import load_config, register_omegaconf_resolvers  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

import echo_terminal.scale_out  # noqa: E402
from echo_terminal.agent.prompt import HarnessParams  # noqa: E402
from echo_terminal.scale_out.guards import check_config  # noqa: E402
from echo_terminal.scale_out.nemo_rl import WEIGHT, EchoLossFn, batch_of, echo_weights  # noqa: E402
from echo_terminal.training.loss import loss_of, select, token_weights  # noqa: E402
from echo_terminal.training.objective import EnvTermParams, ObjectiveParams, PolicyTermParams  # noqa: E402

OPEN, CLOSE = 1, 2
VOCABULARY = [
    b"<pad>",
    b"\n<|im_start|>user\n<tool_response>\nexit code: ",
    b"\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    b"0",
    b"\n",
    *(bytes([97 + i]) for i in range(20)),
]
ROWS, LAM = 8, 0.3


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    """Some of NeMo-RL's code says .cuda() where it means: to the device of the rest."""
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self, *a, **k: self)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    rows, masks = [], []
    for _ in range(ROWS):
        ids, mask = list(rng.integers(5, 25, rng.integers(2, 5))), []
        mask = [0] * len(ids)
        for _ in range(rng.integers(1, 4)):
            action = list(rng.integers(5, 25, rng.integers(1, 5)))
            said = [OPEN, 3, 4, *rng.integers(5, 25, rng.integers(0, 6)), CLOSE]
            ids, mask = ids + action + said, mask + [1] * len(action) + [0] * len(said)
        rows.append(ids)
        masks.append(mask)
    width = max(map(len, rows))
    pad = lambda xs: torch.tensor([list(x) + [0] * (width - len(x)) for x in xs])  # noqa: E731
    generator = torch.Generator().manual_seed(1)
    logprobs = -3 * torch.rand(ROWS, width, generator=generator)
    return BatchedDataDict(
        {
            "input_ids": pad(rows),
            "input_lengths": torch.tensor([len(r) for r in rows]),
            "token_mask": pad(masks),
            "sample_mask": torch.tensor([1.0, 1, 1, 0, 1, 1, 1, 1]),
            "generation_logprobs": logprobs,
            "prev_logprobs": logprobs,
            "reference_policy_logprobs": logprobs,
            "advantages": torch.randn(ROWS, 1, generator=generator).expand(ROWS, width).contiguous(),
            "row": torch.arange(ROWS),
        }
    )


@pytest.fixture
def logits(data):
    shape = (*data["input_ids"].shape, len(VOCABULARY))
    return torch.randn(shape, generator=torch.Generator().manual_seed(2)).requires_grad_(True)


def config(**settings) -> ClippedPGLossConfig:
    return ClippedPGLossConfig(reference_policy_kl_penalty=0.0, ratio_clip_max=0.28, **settings)


def totals(batches):
    sequences = sum(b["sample_mask"].sum() for b in batches)
    tokens = sum((b["token_mask"][:, 1:] * b["sample_mask"][:, None]).sum() for b in batches)
    return sequences, tokens


def theirs(fn, data, logits, split):
    logits.grad = None
    total, ce = 0.0, 0.0
    for rows in split:
        part = data.select_indices(rows)
        given, part = prepare_loss_input(logits[rows], part, fn)
        loss, metrics = fn(
            data=part, global_valid_seqs=totals([data])[0], global_valid_toks=totals([data])[1], **given
        )
        loss.backward()
        total, ce = total + loss.item(), ce + metrics.get("echo_ce", 0.0)
    return total, logits.grad.clone(), ce


def ours(data, logits, params, lam):
    """The same batch through ``training.loss``."""
    logits.grad = None
    batch = batch_of(data, slice(0, ROWS), VOCABULARY, params.env_term)
    batch = type(batch)(
        **{**vars(batch), "logprobs": data["prev_logprobs"], "advantages": data["advantages"][:, 0]}
    )
    s = select(batch, token_weights(batch, params), env=lam != 0)
    new = logits[s.row, s.col].log_softmax(-1).gather(1, s.target[:, None])[:, 0]
    loss = loss_of(new, s, params, lam)
    loss.total.backward()
    return loss.total.item(), logits.grad.clone()


@pytest.mark.parametrize("reduction", ["sequence_mean", "token_mean"])
@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean"])
@pytest.mark.parametrize("target", ["output", "full_observation"])
def test_loss_and_gradient_equal_ours_under_any_split(data, logits, reduction, aggregation, target):
    echo = EnvTermParams(reduction=reduction, target=target)
    params = ObjectiveParams(kind="echo", policy=PolicyTermParams(aggregation=aggregation), env=echo)
    data[WEIGHT] = echo_weights(data, VOCABULARY, echo, ROWS)
    value, gradient = ours(data, logits, params, LAM)
    fn = EchoLossFn(config(token_level_loss=aggregation == "token_mean"), LAM)
    for split in ([list(range(ROWS))], [[0, 1], [2, 3], [4, 5], [6, 7]], [[7], [3, 1], [0, 2, 4], [5, 6]]):
        other, other_gradient, ce = theirs(fn, data, logits, split)
        assert other == pytest.approx(value, abs=1e-6)
        torch.testing.assert_close(other_gradient, gradient, rtol=0, atol=1e-6)
    assert ce > 0.1


def test_lambda_zero_is_the_parent_bit_for_bit(data, logits):
    data[WEIGHT] = echo_weights(data, VOCABULARY, EnvTermParams(), ROWS)
    split = [[0, 1, 2], [3, 4, 5, 6, 7]]
    value, gradient, _ = theirs(ClippedPGLossFn(config()), data, logits, split)
    other, other_gradient, ce = theirs(EchoLossFn(config(), 0.0), data, logits, split)
    assert value == other and torch.equal(gradient, other_gradient)
    assert ce > 0.1  # still logged


def test_missing_weights_are_an_error(data, logits):
    with pytest.raises(KeyError, match="train with EchoPolicy"):
        theirs(EchoLossFn(config(), LAM), data, logits, [[0, 1]])


@pytest.mark.parametrize("form", ["plain", "dynamic", "packed"])
def test_shards_and_two_global_batches(data, logits, form):
    echo = EnvTermParams()
    data[WEIGHT] = echo_weights(data, VOCABULARY, echo, ROWS // 2)
    expected = torch.zeros_like(logits)
    for start in (0, ROWS // 2):
        half = data.slice(start, start + ROWS // 2)
        fn = EchoLossFn(config(), LAM)
        piece = logits[start : start + ROWS // 2].detach().requires_grad_(True)
        expected[start : start + ROWS // 2] = theirs(fn, half, piece, [list(range(ROWS // 2))])[1]
    keys = {"input_key": "input_ids", "input_lengths_key": "input_lengths", "max_tokens_per_microbatch": 64}
    extra = {
        "plain": {},
        "dynamic": {"dynamic_batching_args": {**keys, "sequence_length_round": 4}},
        "packed": {
            "sequence_packing_args": {
                **keys,
                "algorithm": "modified_first_fit_decreasing",
                "sequence_length_pad_multiple": 1,
            }
        },
    }[form]
    shards = data.shard_by_batch_size(2, batch_size=ROWS // 2, **extra)
    shards = shards[0] if isinstance(shards, tuple) else shards
    fn, seen = EchoLossFn(config(), LAM), []
    for index in range(2):
        batches = [s.get_batch(index, None if form == "packed" else 2) for s in shards]
        sequences, tokens = totals(batches)
        assert float(sum(b[WEIGHT].sum() for b in batches)) == pytest.approx(
            expected_weight(data, index), abs=1e-6
        )
        for batch in batches:
            for part in micro(batch, form):
                rows = part["row"].tolist()
                seen += rows
                run(fn, part, logits, rows, form, sequences, tokens).backward()
    assert sorted(seen) == list(range(ROWS))
    torch.testing.assert_close(logits.grad, expected, rtol=0, atol=1e-6)


def expected_weight(data, index):
    half = ROWS // 2
    return float(data[WEIGHT][index * half : (index + 1) * half].sum())


def micro(batch, form):
    if form == "dynamic":
        return batch.make_microbatch_iterator_with_dynamic_shapes()
    if form == "packed":
        return batch.make_microbatch_iterator_for_packable_sequences()
    return batch.make_microbatch_iterator(1)


def run(fn, part, logits, rows, form, sequences, tokens):
    if form == "packed":
        lengths = part["input_lengths"].tolist()
        packed = torch.cat([logits[i, :n] for i, n in zip(rows, lengths, strict=True)])[None]
        ends = torch.tensor([0, *lengths]).cumsum(0)
        return SequencePackingLossWrapper(fn, prepare_loss_input, cu_seqlens_q=ends)(
            packed, part, sequences, tokens
        )[0]
    given, part = prepare_loss_input(logits[rows][:, : part["input_ids"].shape[1]], part, fn)
    return fn(data=part, global_valid_seqs=sequences, global_valid_toks=tokens, **given)[0]


def test_the_hooks_that_we_hang_on_exist():
    """Read from the source: importing the policy would need NeMo-RL's whole environment."""
    setup = function("nemo_rl/algorithms/grpo.py", "setup")
    assert "policy_factory" in [a.arg for a in setup.args.args]
    train = function("nemo_rl/algorithms/grpo.py", "grpo_train")
    assert [a.arg for a in train.args.args][:6] == [
        "policy",
        "policy_generation",
        "wrapped_dataloader",
        "val_dataloader",
        "tokenizer",
        "loss_fn",
    ]
    policy = function("nemo_rl/models/policy/lm_policy.py", "train", "Policy")
    assert [a.arg for a in policy.args.args][:5] == ["self", "data", "loss_fn", "eval_mode", "gbs"]
    step = function("nemo_rl/environments/interfaces.py", "step", "EnvironmentInterface")
    assert [a.arg for a in step.args.args] == ["self", "message_log_batch", "metadata"]


def test_the_run_script_takes_and_gives_in_their_order():
    """``setup`` returns 13 things by position, ``grpo_train`` takes 12: names that must stand in the same places."""
    script = Path(echo_terminal.scale_out.__file__).with_name("run_grpo.py")
    ours = function(script, "train")
    unpacked = next(
        n.targets[0]
        for n in ours.body
        if isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and ast.unparse(n.value.func) == "setup"
    )
    returned = next(
        n.value
        for n in reversed(function("nemo_rl/algorithms/grpo.py", "setup").body)
        if isinstance(n, ast.Return)
    )
    names = {"engine": "policy_generation", "loader": "dataloader", "val_loader": "val_dataloader"}
    names |= {"state": "grpo_save_state", "config": "master_config", "_loss": "loss_fn"}
    names |= {"_gym": "nemo_gym_actor", "_cluster": "(train_cluster, inference_cluster)"}
    returned_names = [ast.unparse(n) for n in returned.elts]
    assert [names.get(n, n) for n in map(ast.unparse, unpacked.elts[:-1])] == returned_names[:11]
    assert isinstance(unpacked.elts[-1], ast.Starred)
    call = next(n.value for n in ours.body if isinstance(n, ast.Expr) and "grpo_train" in ast.unparse(n))
    given = [ast.unparse(a).partition("(")[0] for a in call.args]
    names |= {"loader": "wrapped_dataloader", "EchoLossFn": "loss_fn"}
    taken = [a.arg for a in function("nemo_rl/algorithms/grpo.py", "grpo_train").args.args]
    assert given[6:8] == ["environment"] * 2 and taken[6:8] == ["task_to_env", "val_task_to_env"]
    assert [names.get(n, n) for n in given[:6] + given[8:]] == taken[:6] + taken[8:]


@pytest.mark.parametrize("name", ["qwen3_8b", "qwen3_14b", "openthinker_sft"])
def test_shipped_configurations_refine_theirs(name):
    """Merged as ``run_grpo`` does; a setting that theirs does not know would be ignored without a word."""
    base = load_config(Path(str(HOME)) / "examples/configs/grpo_math_1B.yaml")
    own = load_config(Path(echo_terminal.scale_out.__file__).parent / "configs" / f"{name}.yaml")
    known = OmegaConf.to_container(base, resolve=False)
    mine = {k: v for k, v in OmegaConf.to_container(own, resolve=False).items() if k in known}
    assert unknown(mine, known) == ["grpo.skip_reference_policy_logprobs_calculation"]
    settings = (Path(str(HOME)) / "nemo_rl/algorithms/grpo.py").read_text()
    assert "skip_reference_policy_logprobs_calculation: NotRequired[bool]" in settings
    register_omegaconf_resolvers()
    merged = OmegaConf.to_container(OmegaConf.merge(base, own), resolve=True)
    echo, harness = (
        EnvTermParams.model_validate(merged.pop("echo")),
        HarnessParams.model_validate(merged.pop("harness")),
    )
    check_config(merged, echo, harness)
    assert set(merged) - set(known) == {"terminal"}
    assert merged["policy"]["generation"]["vllm_cfg"]["max_model_len"] == 16384  # follows the policy's length


def unknown(mine: dict, known: dict, path: str = "") -> list[str]:
    """Paths of settings in ``mine`` that ``known`` has not."""
    found = []
    for key, value in mine.items():
        if key not in known:
            found.append(path + key)
        elif isinstance(value, dict) and isinstance(known[key], dict):
            found += unknown(value, known[key], f"{path}{key}.")
    return found


def function(path: str | Path, name: str, owner: str | None = None) -> ast.FunctionDef:
    tree = ast.parse((Path(str(HOME)) / path).read_text())
    body = tree.body
    if owner is not None:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == owner).body
    return next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == name)
