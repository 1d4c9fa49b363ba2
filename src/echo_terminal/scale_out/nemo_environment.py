"""The terminal as NeMo-RL's environment: one actor, episodes by key in each rollout's metadata.

Import this module only where NeMo-RL is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from nemo_rl.distributed.batched_data_dict import BatchedDataDict
from nemo_rl.environments.interfaces import EnvironmentInterface, EnvironmentReturn
from tokenizers import Tokenizer

from echo_terminal.agent.prompt import Codec, HarnessParams, prompt_pieces
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.scale_out.episodes import Episodes
from echo_terminal.scale_out.layout import neutralise
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal

TASK_NAME = "terminal"


class TerminalEnvironment(EnvironmentInterface[dict[str, Any]]):
    """Wrap with ``ray.remote`` to use. Metadata of a rollout: ``task_id`` and ``key``, None before its
    first action."""

    def __init__(
        self,
        tasks: Sequence[Task],
        make_terminal: Callable[[], Terminal],
        tokenizer_json: str,
        params: HarnessParams,
        control: Sequence[str],
    ) -> None:
        codec = PolicyTokenizer(Tokenizer.from_str(tokenizer_json))
        self.episodes = Episodes(tasks, make_terminal, codec, params, control)

    def step(
        self, message_log_batch: list[list[dict[str, Any]]], metadata: list[dict[str, Any]]
    ) -> EnvironmentReturn[dict[str, Any]]:
        """Run the last action of each message log, by its token ids and not by its decoded text."""
        self.episodes.reap()
        replies = []
        for log, meta in zip(message_log_batch, metadata, strict=True):
            action = log[-1]
            if action["role"] != "assistant":
                raise ValueError(f"the last message is by {action['role']}, not by the assistant")
            replies.append(self.episodes.step(meta["task_id"], meta["key"], action["token_ids"].tolist()))
        count = len(replies)
        return EnvironmentReturn(
            observations=[{"role": "environment", "content": r.text} for r in replies],
            metadata=[meta | {"key": r.key} for meta, r in zip(metadata, replies, strict=True)],
            next_stop_strings=[None] * count,
            rewards=torch.tensor([r.reward for r in replies]),
            terminateds=torch.tensor([r.done for r in replies]),
            answers=[None] * count,
        )

    def shutdown(self) -> None:
        """Free every terminal."""
        for key in list(self.episodes.open):
            self.episodes.close(key)

    def global_post_process_and_metrics(
        self, batch: BatchedDataDict[Any]
    ) -> tuple[BatchedDataDict[Any], dict[str, float]]:
        """The batch as it is, and its mean reward."""
        return batch, {"mean_reward": float(batch["total_reward"].float().mean())}


def datum(
    task: Task, index: int, codec: Codec, params: HarnessParams, control: Sequence[str]
) -> dict[str, Any]:
    """One prompt in NeMo-RL's form, with the ids that the harness itself would use."""
    pieces = prompt_pieces(task, params)
    text = "".join(p.text if p.frame else neutralise(p.text, control) for p in pieces)
    ids = torch.tensor(codec.frame(text))
    return {
        "message_log": [{"role": "user", "content": text, "token_ids": ids}],
        "length": len(ids),
        "extra_env_info": {"task_id": task.task_id, "key": None},
        "loss_multiplier": 1.0,
        "idx": index,
        "task_name": TASK_NAME,
        "stop_strings": None,
    }
