"""One update of TRL's ``GRPOTrainer`` against ours: the same weights, the same 64 rollouts, the same advantages.

TRL stays out of the environment: it is installed into a folder of its own (``INSTALL``), and this module runs as
a process with that folder on its path. TRL gets the finished rollouts as the tensors its loss reads (prompts padded
on the left, completions on the right, observations masked by ``tool_mask``), so that only the update is timed: its
forward and backward passes over accumulated micro-batches, gradient clipping and the optimiser step. The size of
its micro-batches is the fastest of ``MICRO_BATCHES``. Its loss ``dapo`` is equation 2 with its token mean.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from echo_terminal.agent.transcript import Role
from echo_terminal.policy.weights import Policy, save_policy
from echo_terminal.training.benchmarks import (
    GRPO,
    PARAMS,
    Row,
    a_policy,
    a_trainer,
    plain_update,
    row,
    seconds,
)
from echo_terminal.training.grpo import Rollouts

FOLDER = Path("build/trl")
INSTALL = (
    f"python -m pip install --target {FOLDER} --no-deps trl==1.16.0 accelerate==1.15.0 datasets==5.2.0 "
    "dill==0.4.1 multiprocess==0.70.19 xxhash==4.1.0"
)
MICRO_BATCHES = (8, 16, 64)
PAIRS = 3


class TrlAbsent(Exception):
    """TRL is not installed where this benchmark looks for it; the message says how to install it."""


def update_against_trl() -> list[Row]:
    """Run ``measure`` in a process that sees TRL; its rows.

    Raises:
        TrlAbsent: there is no TRL in ``FOLDER``.
    """
    if not (FOLDER / "trl").is_dir():
        raise TrlAbsent(f"TRL is not in {FOLDER}: {INSTALL}")
    path = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "echo_terminal.training.bench_trl"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def tensors_of(rollouts: Rollouts, advantages: list[float], pad: int) -> dict[str, torch.Tensor]:
    """What TRL's loss reads of a batch: prompts [B, P] padded on the left, completions [B, T] on the right."""
    prompts, completions, tools, olds = [], [], [], []
    for t in rollouts.transcripts:
        cut = next((i for i, r in enumerate(t.roles) if r == Role.ACTION), len(t.ids) - 1)
        prompts.append(t.ids[:cut])
        completions.append(t.ids[cut:])
        tools.append([int(r == Role.ACTION) for r in t.roles[cut:]])
        olds.append([p if r == Role.ACTION else 0.0 for p, r in zip(t.logprobs, t.roles, strict=True)][cut:])
    wide, long = max(map(len, prompts)), max(map(len, completions))
    return {
        "prompt_ids": torch.tensor([[pad] * (wide - len(x)) + x for x in prompts]),
        "prompt_mask": torch.tensor([[0] * (wide - len(x)) + [1] * len(x) for x in prompts]),
        "completion_ids": torch.tensor([x + [pad] * (long - len(x)) for x in completions]),
        "completion_mask": torch.tensor([[1] * len(x) + [0] * (long - len(x)) for x in completions]),
        "tool_mask": torch.tensor([x + [0] * (long - len(x)) for x in tools]),
        "old_per_token_logps": torch.tensor([x + [0.0] * (long - len(x)) for x in olds]),
        "advantages": torch.tensor(advantages),
    }


def trl_update(policy: Policy, batch: dict[str, torch.Tensor], size: int, steps: int) -> list[float]:
    """CPU seconds of each of ``steps`` updates of ``GRPOTrainer`` in micro-batches of ``size`` rows."""
    import transformers
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    rows = len(batch["advantages"])

    class Fed(GRPOTrainer):  # type: ignore[misc]
        served = 0

        def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
            at = self.served * size % rows
            self.served += 1
            total = (batch["tool_mask"] * batch["completion_mask"]).sum()
            return {k: v[at : at + size] for k, v in batch.items()} | {"num_items_in_batch": total}

    class Clock(transformers.TrainerCallback):  # type: ignore[misc]
        begun, took = 0.0, list[float]()

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.begun = time.process_time()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.took.append(time.process_time() - self.begun)

    clock = Clock()
    clock.took = []
    with tempfile.TemporaryDirectory() as folder:
        save_policy(policy, Path(folder) / "policy")
        model = transformers.Qwen3ForCausalLM.from_pretrained(Path(folder) / "policy", dtype=torch.float32)
        tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(Path(folder) / "policy")
        config = GRPOConfig(
            output_dir=folder, per_device_train_batch_size=size, gradient_accumulation_steps=rows // size,
            num_generations=8, max_steps=steps, learning_rate=1e-9, max_grad_norm=PARAMS.gradient_clip,
            loss_type="dapo", beta=0.0, epsilon=0.2, epsilon_high=0.28, temperature=PARAMS.temperature,
            use_cpu=True, bf16=False, gradient_checkpointing=False, report_to=[], save_strategy="no",
            logging_strategy="no", disable_tqdm=True, dataloader_pin_memory=False,
            adam_beta1=0.9, adam_beta2=0.95, weight_decay=PARAMS.weight_decay, max_completion_length=512,
        )  # fmt: skip
        trainer = Fed(
            model=model,
            reward_funcs=lambda completions, **_: [0.0] * len(completions),
            args=config,
            train_dataset=Dataset.from_dict({"prompt": ["x"] * rows}),
            processing_class=tokenizer,
            callbacks=[clock],
        )
        trainer.train()
    return clock.took


def measure(policy: Policy, sizes: Sequence[int] = MICRO_BATCHES, pairs: int = PAIRS) -> list[Row]:
    """Alternate between the two on one batch of rollouts of ``policy``."""
    torch.set_num_threads(1)
    ours = a_trainer(policy, GRPO)
    rollouts = ours.collect(0)
    rollouts.rewards = [float(i % 2) for i in range(len(rollouts.tasks))]
    tokens = sum(len(t.ids) for t in rollouts.transcripts)
    parts, advantages = ours.parts_of(rollouts, 1)
    assert advantages is not None
    batch = tensors_of(rollouts, advantages.values.tolist(), policy.tokenizer.pad_id)
    first = {size: min(trl_update(policy, batch, size, 3)) for size in sizes}
    size = min(first, key=first.__getitem__)
    plain_update(ours, rollouts)
    mine, theirs = [], []
    for _ in range(pairs):
        mine.append(statistics.median(seconds(lambda: ours.update(parts, 1)) for _ in range(3)))
        theirs.append(statistics.median(trl_update(policy, batch, size, 4)[1:]))
    ratio = statistics.median(b / a for a, b in zip(mine, theirs, strict=True))
    return [
        row("update_tokens_per_second", tokens / statistics.median(mine), "tokens/CPU s"),
        row("trl_update_tokens_per_second", tokens / statistics.median(theirs), "tokens/CPU s"),
        row("trl_fastest_micro_batch", size, "rows"),
        row("update_over_trl", ratio, "ratio", ">= 2", ratio >= 2),
    ]


if __name__ == "__main__":
    print(json.dumps(measure(a_policy())))
