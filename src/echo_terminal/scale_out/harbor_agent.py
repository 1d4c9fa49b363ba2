"""Our own harness as an agent of Harbor: ``harbor run -a echo_terminal.scale_out.harbor_agent:EchoAgent``.

Runs inside Harbor's own Python (3.12 or newer), which needs this package on PYTHONPATH and pydantic and tokenizers,
both of which Harbor brings. Import this module only there. Each trial's log folder gets ``transcript.json``, which
``echo-terminal import-job`` reads back id by id.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.record import to_record
from echo_terminal.agent.transcript import Role
from echo_terminal.policy.tokenizer import load_tokenizer
from echo_terminal.scale_out.harbor_session import Completions, RemoteTerminal, play, seed_of


class EchoAgent(BaseAgent):
    """Agent options: ``api_base``, ``tokenizer`` (folder of the served policy), ``temperature``, ``seed``, and
    ``harness``, a mapping of ``HarnessParams``."""

    def __init__(
        self,
        *args: Any,
        api_base: str,
        tokenizer: str,
        temperature: float = 0.6,
        seed: int = 0,
        harness: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.api_base, self.temperature, self.seed = api_base, float(temperature), int(seed)
        self.codec = load_tokenizer(Path(tokenizer))
        self.params = HarnessParams.model_validate(harness or {})

    @staticmethod
    def name() -> str:
        """Shown in Harbor's results."""
        return "echo-terminal"

    def version(self) -> str:
        """Of the harness's form."""
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install: commands run in the task's own bash."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Play the episode in a thread of its own; the environment stays on Harbor's event loop."""
        loop = asyncio.get_running_loop()

        def execute(script: str, timeout: float) -> str:
            call = environment.exec(script, timeout_sec=int(timeout))
            return asyncio.run_coroutine_threadsafe(call, loop).result().stdout or ""

        seed = seed_of(self.seed, self.session_id)  # attempts of one task differ in their session alone
        model = str(self.model_name).partition("/")[2] or str(self.model_name)
        complete = Completions(self.api_base, model, self.codec, self.temperature, seed)
        terminal = RemoteTerminal(execute)
        task, transcript = await asyncio.to_thread(
            play, instruction, terminal, self.codec, self.params, complete
        )
        record = to_record(transcript, task)
        (self.logs_dir / "transcript.json").write_text(json.dumps(record) + "\n")
        context.n_output_tokens = transcript.count(Role.ACTION)
        context.n_input_tokens = len(transcript.ids) - context.n_output_tokens
        context.metadata = {"seed": seed, "turns": len(transcript.turns), "finish": str(transcript.finish)}
