"""NeMo-RL's policy with each token's weight in its training batch. Import it only where NeMo-RL is installed."""

from __future__ import annotations

from typing import Any

from nemo_rl.distributed.batched_data_dict import BatchedDataDict
from nemo_rl.models.policy.lm_policy import Policy

from echo_terminal.scale_out.layout import vocabulary_bytes
from echo_terminal.scale_out.nemo_rl import WEIGHT, echo_weights
from echo_terminal.training.objective import EnvTermParams


class EchoPolicy(Policy):
    """NeMo-RL's policy, given to ``setup(policy_factory=...)``: adds ``echo_weight`` [B, S] to each
    training batch."""

    def __init__(self, *args: Any, tokenizer: Any, echo: EnvTermParams, **kwargs: Any) -> None:
        super().__init__(*args, tokenizer=tokenizer, **kwargs)
        self.echo, self.vocabulary = echo, vocabulary_bytes(tokenizer)

    def train(
        self,
        data: BatchedDataDict[Any],
        loss_fn: Any,
        eval_mode: bool = False,
        gbs: int | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """As the parent's, with the weights of every global batch in ``data``."""
        size = gbs or self.cfg["train_global_batch_size"]
        data[WEIGHT] = echo_weights(data, self.vocabulary, self.echo, size)
        return super().train(data, loss_fn, eval_mode=eval_mode, gbs=gbs, **kwargs)
