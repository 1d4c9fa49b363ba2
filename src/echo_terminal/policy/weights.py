"""Reading and writing a policy as a transformers folder (``config.json``, ``model.safetensors``,
``tokenizer.json``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from echo_terminal.policy.model import ModelParams, Qwen3
from echo_terminal.policy.scoring import target_logprobs
from echo_terminal.policy.tokenizer import END, PAD, PolicyTokenizer, load_tokenizer


@dataclass
class Policy:
    """Weights and the tokenizer they belong to."""

    model: Qwen3
    tokenizer: PolicyTokenizer

    @torch.inference_mode()
    def token_logprobs(self, ids: Sequence[Sequence[int]], token_budget: int = 8192) -> list[list[float]]:
        """log p(x_t | x_<t) for t >= 1 of each row (temperature 1, full vocabulary); row lengths are
        len(ids) - 1.

        Rows are scored longest-last in padded groups of at most ``token_budget`` tokens; a row's values do
        not depend on its group.
        """
        device = self.model.embed.weight.device
        result: list[list[float]] = [[] for _ in ids]
        order = sorted((i for i in range(len(ids)) if len(ids[i]) > 1), key=lambda i: len(ids[i]))
        while order:
            size = 1
            while size < len(order) and len(ids[order[size]]) * (size + 1) <= token_budget:
                size += 1
            group, order = order[:size], order[size:]
            width = len(ids[group[-1]])
            batch = torch.full((len(group), width), self.tokenizer.pad_id, device=device)
            for row, i in enumerate(group):
                batch[row, : len(ids[i])] = torch.tensor(ids[i], device=device)
            hidden = self.model.hidden(batch)[:, :-1]
            real = torch.tensor(
                [[t < len(ids[i]) - 1 for t in range(width - 1)] for i in group], device=device
            )
            scores = target_logprobs(self.model, hidden[real], batch[:, 1:][real]).tolist()
            start = 0
            for i in group:
                result[i] = scores[start : start + len(ids[i]) - 1]
                start += len(ids[i]) - 1
        return result


def to_huggingface(model: Qwen3) -> dict[str, Tensor]:
    """State under the names of ``Qwen3ForCausalLM`` (``LlamaForCausalLM``), projections unfused."""
    p = model.params
    sizes = [p.num_heads * p.head_dim, p.num_kv_heads * p.head_dim, p.num_kv_heads * p.head_dim]
    state = {"model.embed_tokens.weight": model.embed.weight, "model.norm.weight": model.norm.weight}
    if model.head is not None:
        state["lm_head.weight"] = model.head.weight
    for i, block in enumerate(model.blocks):
        at = f"model.layers.{i}."
        for name, part in zip("qkv", block.qkv.weight.split(sizes), strict=True):
            state[f"{at}self_attn.{name}_proj.weight"] = part
        gate, up = block.gate_up.weight.chunk(2)
        state |= {
            f"{at}self_attn.o_proj.weight": block.out.weight,
            f"{at}mlp.gate_proj.weight": gate,
            f"{at}mlp.up_proj.weight": up,
            f"{at}mlp.down_proj.weight": block.down.weight,
            f"{at}input_layernorm.weight": block.input_norm.weight,
            f"{at}post_attention_layernorm.weight": block.post_norm.weight,
        }
        if model.qk_norm:
            state |= {f"{at}self_attn.{n}_norm.weight": getattr(block, f"{n}_norm").weight for n in "qk"}
    return {name: value.detach().contiguous() for name, value in state.items()}


def load_huggingface(model: Qwen3, state: dict[str, Tensor]) -> None:
    """Fill ``model`` from a ``Qwen3ForCausalLM`` state.

    Raises:
        ValueError: a tensor is missing, left over, or of another shape.
    """
    wanted = to_huggingface(model)
    if model.head is None:
        state = {k: v for k, v in state.items() if k != "lm_head.weight"}
    if set(wanted) != set(state):
        missing, extra = sorted(set(wanted) - set(state)), sorted(set(state) - set(wanted))
        raise ValueError(f"weights do not fit: missing {missing[:3]}, not known {extra[:3]}")
    for name, value in wanted.items():
        if value.shape != state[name].shape:
            raise ValueError(
                f"weights do not fit: {name} is {tuple(state[name].shape)}, not {tuple(value.shape)}"
            )
    with torch.no_grad():
        model.embed.weight.copy_(state["model.embed_tokens.weight"])
        model.norm.weight.copy_(state["model.norm.weight"])
        if model.head is not None:
            model.head.weight.copy_(state["lm_head.weight"])
        for i, block in enumerate(model.blocks):
            at = f"model.layers.{i}."
            block.qkv.weight.copy_(torch.cat([state[f"{at}self_attn.{n}_proj.weight"] for n in "qkv"]))
            block.gate_up.weight.copy_(torch.cat([state[f"{at}mlp.{n}_proj.weight"] for n in ("gate", "up")]))
            block.out.weight.copy_(state[f"{at}self_attn.o_proj.weight"])
            if model.qk_norm:
                block.q_norm.weight.copy_(state[f"{at}self_attn.q_norm.weight"])
                block.k_norm.weight.copy_(state[f"{at}self_attn.k_norm.weight"])
            block.down.weight.copy_(state[f"{at}mlp.down_proj.weight"])
            block.input_norm.weight.copy_(state[f"{at}input_layernorm.weight"])
            block.post_norm.weight.copy_(state[f"{at}post_attention_layernorm.weight"])


def save_policy(policy: Policy, folder: Path) -> None:
    """Write a folder that ``load_policy``, transformers and vLLM read. Not atomic: write to a new folder
    and rename it."""
    folder.mkdir(parents=True, exist_ok=True)
    model, p = policy.model, policy.model.params
    ids = policy.tokenizer
    config = {
        "architectures": ["Qwen3ForCausalLM" if model.qk_norm else "LlamaForCausalLM"],
        "model_type": "qwen3" if model.qk_norm else "llama",
        "vocab_size": model.vocab_size,
        "hidden_size": p.hidden_size,
        "num_hidden_layers": p.num_layers,
        "num_attention_heads": p.num_heads,
        "num_key_value_heads": p.num_kv_heads,
        "head_dim": p.head_dim,
        "intermediate_size": p.intermediate_size,
        "max_position_embeddings": p.max_positions,
        "rope_theta": p.rope_theta,
        "rms_norm_eps": p.rms_norm_eps,
        "tie_word_embeddings": p.tie_embeddings,
        "hidden_act": "silu",
        "attention_bias": False,
        "torch_dtype": "float32",
        "eos_token_id": ids.stop_ids[0],
        "pad_token_id": ids.pad_id,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {"eos_token_id": [*ids.stop_ids], "pad_token_id": ids.pad_id, "do_sample": True}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    save_file(to_huggingface(model), folder / "model.safetensors", metadata={"format": "pt"})
    ids.save(folder)


def best_device() -> str:
    """``cuda`` where there is one, else ``cpu``."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def load_policy(folder: Path | str, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Policy:
    """Read a policy folder.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: another architecture, or a tokenizer whose ids the model does not have.
    """
    folder = Path(folder)
    for name in ("config.json", "tokenizer.json"):
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder} is no policy: it has no {name}")
    config = json.loads((folder / "config.json").read_text())
    if config.get("model_type") not in ("qwen3", "llama"):
        raise ValueError(
            f"{folder} holds a {config.get('model_type')!r} model; only qwen3 and llama are supported"
        )
    scaling = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
    if scaling.get("rope_type", "default") != "default" or config.get("attention_bias"):
        raise ValueError(f"{folder}: scaled rotary positions and attention biases are not supported")
    rope = config.get("rope_theta") or (config.get("rope_parameters") or {}).get("rope_theta", 10000.0)
    params = ModelParams(
        hidden_size=config["hidden_size"],
        num_layers=config["num_hidden_layers"],
        num_heads=config["num_attention_heads"],
        num_kv_heads=config["num_key_value_heads"],
        head_dim=config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
        intermediate_size=config["intermediate_size"],
        max_positions=config["max_position_embeddings"],
        rope_theta=float(rope),
        rms_norm_eps=config["rms_norm_eps"],
        tie_embeddings=config["tie_word_embeddings"],
        copying_heads=False,
    )
    tokenizer = load_tokenizer(folder)
    if tokenizer.vocab_size > config["vocab_size"]:
        raise ValueError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} ids, the model {config['vocab_size']}"
        )
    model = Qwen3(params, config["vocab_size"], qk_norm=config["model_type"] == "qwen3")
    state: dict[str, Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        state |= load_file(file)
    load_huggingface(model, state)
    return Policy(model.to(device=device, dtype=dtype), tokenizer)


__all__ = [
    "END",
    "PAD",
    "Policy",
    "best_device",
    "load_huggingface",
    "load_policy",
    "save_policy",
    "to_huggingface",
]
