"""A tiny Llama in a GGUF file: numbers of every format by hand, logits as transformers computes them."""

import struct
import zipfile

import numpy as np
import pytest
import torch
from tokenizers import pre_tokenizers

from echo_terminal.policy import gguf
from echo_terminal.policy.engine import Engine
from echo_terminal.policy.model import ModelParams, Qwen3
from echo_terminal.policy.weights import load_policy, to_huggingface

WIDTH, HEADS, KV_HEADS, INNER, LAYERS = 64, 4, 2, 96, 2
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "ls"]


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, value: object) -> bytes:
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", 4, value)
    items = list(value)
    of = 8 if isinstance(items[0], str) else 5
    body = b"".join(text(v) if of == 8 else struct.pack("<i", v) for v in items)
    return text(key) + struct.pack("<IIQ", 9, of, len(items)) + body


def file_of(metadata: dict[str, object], tensors: dict[str, tuple[int, list[int], bytes]]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(entry(k, v) for k, v in metadata.items())
    data = b""
    for name, (kind, shape, raw) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        head += struct.pack("<IQ", kind, len(data))
        data += raw + b"\0" * (-len(raw) % 32)
    return head + b"\0" * (-len(head) % 32) + data


METADATA = {
    "general.architecture": "llama",
    "llama.block_count": LAYERS,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": INNER,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV_HEADS,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 100000.0,
    "llama.context_length": 128,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3, 3, *[1] * (len(TOKENS) - 3)],
    "tokenizer.ggml.merges": ["l s"],
}


def stored(model: Qwen3) -> dict[str, tuple[int, list[int], bytes]]:
    """The model's tensors as llama.cpp stores them: rotary pairs side by side, here in float32."""
    names = {v: k for k, v in gguf._LAYER.items()} | {v: k for k, v in gguf._TOP.items()}
    result = {}
    for name, tensor in to_huggingface(model).items():
        parts = name.removesuffix(".weight").split(".")
        if parts[1] == "layers":
            short = names[".".join(parts[3:])]
            count = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(short)
            if count:
                tensor = tensor.reshape(count, 2, -1, WIDTH).transpose(1, 2).reshape(-1, WIDTH)
            short = f"blk.{parts[2]}.{short}"
        else:
            short = names[".".join(parts)]
        result[f"{short}.weight"] = (0, list(tensor.shape), tensor.contiguous().numpy().tobytes())
    return result


@pytest.fixture
def model() -> Qwen3:
    params = ModelParams(
        hidden_size=WIDTH, num_layers=LAYERS, num_heads=HEADS, num_kv_heads=KV_HEADS, head_dim=16,
        intermediate_size=INNER, max_positions=128, rope_theta=100000.0, rms_norm_eps=1e-5, copying_heads=False,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Qwen3(params, len(TOKENS), qk_norm=False)


def test_every_format_by_hand() -> None:
    half = lambda *v: np.array(v, np.float16).tobytes()  # noqa: E731
    bytes_ = bytes(range(16))  # low halves 0 .. 15, high halves all 0
    tensors = {
        "a": (0, [2], np.array([1.5, -2.0], np.float32).tobytes()),
        "b": (1, [2], half(0.25, 3.0)),
        "c": (2, [32], half(0.5) + bytes_),  # 0.5 x (q - 8)
        "d": (3, [32], half(0.5, -1.0) + bytes_),  # 0.5 x q - 1
        "e": (8, [32], half(2.0) + np.arange(-16, 16, dtype=np.int8).tobytes()),  # 2 x q
    }
    _, read = gguf.read_gguf(file_of({"general.architecture": "llama"}, tensors))
    assert read["a"].tolist() == [1.5, -2.0] and read["b"].tolist() == [0.25, 3.0]
    assert read["c"].tolist() == [0.5 * (q - 8) for q in range(16)] + [-4.0] * 16
    assert read["d"].tolist() == [0.5 * q - 1 for q in range(16)] + [-1.0] * 16
    assert read["e"].tolist() == [2.0 * q for q in range(-16, 16)]


def test_a_llama_in_a_wheel_becomes_a_policy(model: Qwen3, tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "tiny.whl", "w") as wheel:
        wheel.writestr("pkg/tiny.gguf", file_of(METADATA, stored(model)))
    policy = gguf.import_gguf(tmp_path / "tiny.whl", tmp_path / "policy")
    ids = torch.randint(0, len(TOKENS), (2, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        ours = policy.model.logits(policy.model.hidden(ids))
        assert torch.equal(ours, model.logits(model.hidden(ids)))
    again = load_policy(tmp_path / "policy")
    assert again.tokenizer.encode("ls 1") == policy.tokenizer.encode("ls 1")
    assert [again.tokenizer.token(i) for i in again.tokenizer.encode("ls1")] == ["ls", "1"]
    assert len(again.tokenizer.encode("<|im_end|>")) > 1 and again.tokenizer.stop_ids == (2,)
    samples = Engine(again.model, (2,), (0, 1), 64).start([1]).generate([0], [[5, 6]], 1.0, [8])
    assert 1 <= len(samples[0].ids) <= 8
    transformers = pytest.importorskip("transformers")
    reference = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "policy", dtype=torch.float32)
    with torch.no_grad():
        theirs = reference(ids).logits
    assert (ours - theirs).abs().max() < 1e-5 * theirs.abs().max()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGML" + b"\0" * 60, "no GGUF file"),
        (file_of({}, {"x": (14, [256], b"\0" * 210)}), "tensor x has GGUF type 14; only F32, F16, Q4_0"),
        (file_of(METADATA | {"general.architecture": "gemma"}, {}), "'gemma'"),
    ],
)
def test_other_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gguf.policy_of(data)
