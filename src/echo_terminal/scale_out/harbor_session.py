"""Our harness's episode where another program owns the machine: any executor of shell scripts as the terminal, an
OpenAI-compatible server as the policy.

``agent.episode.Episode`` is used unchanged, ids in and ids out, so what comes back is a transcript as in training.
Departure from the engines of ``terminal/``: every command has a shell of its own, which takes over the directory and
the exported variables of the one before; plain variables and functions do not live on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import Codec, HarnessParams
from echo_terminal.agent.transcript import Transcript
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.normalise import normal_form
from echo_terminal.terminal.terminal import HOME, KILLED_EXIT, TIMEOUT_EXIT, Entry, File, Observation, Status

#: Runs a script with bash and returns what it printed.
Execute = Callable[[str, float], str]
#: From all ids so far and the most that may follow: ids, their log-probs, and whether the turn was ended.
Complete = Callable[[Sequence[int], int], tuple[list[int], list[float], bool]]

OUTPUT_BYTES = 1 << 20  # of each stream; the rest is never read
FORBID = -100.0  # the lowest logit bias of the API
_WHERE = re.compile(r"^bash: line \d+: ", re.M)  # a prompt does not say it, and neither did training
_INNER = """s={state}; [ -e $s/env ] && . $s/env && builtin cd -- "$PWD"
trap 'builtin export -p >|{state}/env; builtin printf %s "$PWD" >|{state}/cwd' EXIT
eval {command}"""
_STEP = """mkdir -p {state}
timeout -k 1 {limit:g} bash -c {inner} >|{state}/out 2>|{state}/err </dev/null
echo $?; cat {state}/cwd; echo
head -c {bytes} {state}/out | base64 -w0; echo; head -c {bytes} {state}/err | base64 -w0; echo"""


class RemoteTerminal:
    """A terminal on a machine that is set up and graded by others: ``reset`` changes nothing."""

    name = "remote"

    def __init__(self, execute: Execute, state: str = "/tmp/.episode") -> None:  # noqa: S108 - on that machine
        self.execute, self.state = execute, state

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        """The machine is as its owner made it."""
        if files:
            raise ValueError("files cannot be laid out on a machine that others set up")

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        """One command in a shell of its own.

        Raises:
            RuntimeError: the executor did not run it to its end.
        """
        begun = time.monotonic()
        inner = _INNER.format(state=self.state, command=shlex.quote(command.replace("\0", "")))
        script = _STEP.format(state=self.state, limit=timeout, inner=shlex.quote(inner), bytes=OUTPUT_BYTES)
        lines = self.execute(script, timeout + 30).splitlines()
        if len(lines) != 4 or not lines[0].isdigit():
            raise RuntimeError(f"the machine did not run a command: it answered {' '.join(lines)[:200]!r}")
        code, cwd = int(lines[0]), lines[1]
        stdout, stderr = (normal_form(base64.b64decode(line)) for line in lines[2:])
        status = {TIMEOUT_EXIT: Status.TIMEOUT, KILLED_EXIT: Status.KILLED}.get(code, Status.OK)
        return Observation(stdout, _WHERE.sub("bash: ", stderr), code, cwd, status, time.monotonic() - begun)

    def read(self, path: str) -> bytes | None:
        """Not offered: grading is the owner's."""
        raise NotImplementedError("the owner of the machine grades it")

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """Not offered: grading is the owner's."""
        raise NotImplementedError("the owner of the machine grades it")

    def fingerprint(self) -> str:
        """Not offered: grading is the owner's."""
        raise NotImplementedError("the owner of the machine grades it")

    def close(self) -> None:
        """The machine is its owner's."""


class Completions:
    """The policy behind ``/completions`` of vLLM's server: token ids both ways, one seed a turn.

    Raises (when called):
        ConnectionError: no answer, or a refusal; the message names the server.
        ValueError: the server does not return token ids, so it is not vLLM or too old.
    """

    def __init__(self, api_base: str, model: str, codec: Codec, temperature: float, seed: int) -> None:
        self.url, self.model, self.codec = f"{api_base.rstrip('/')}/completions", model, codec
        self.temperature, self.seed, self.turn = temperature, seed, 0

    def __call__(self, ids: Sequence[int], budget: int) -> tuple[list[int], list[float], bool]:
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": list(ids),
            "max_tokens": budget,
            "temperature": self.temperature,
            "seed": seed_of(self.seed, self.turn),
            "stop_token_ids": list(self.codec.stop_ids),
            "logprobs": 0,
            "return_token_ids": True,
            "skip_special_tokens": False,
        }
        if forbidden := getattr(self.codec, "forbidden_ids", ()):
            body["logit_bias"] = {str(i): FORBID for i in forbidden}
        choice = self._post(body)["choices"][0]
        if choice.get("token_ids") is None:
            raise ValueError(f"{self.url} returns no token ids: it must be served by vLLM 0.11 or newer")
        self.turn += 1
        sampled = list(choice["token_ids"])
        logprobs = [float(x) for x in choice["logprobs"]["token_logprobs"]]
        return sampled, logprobs, bool(sampled) and sampled[-1] in self.codec.stop_ids

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                result: dict[str, Any] = json.load(answer)
                return result
        except urllib.error.HTTPError as error:
            raise ConnectionError(f"{self.url} refused: {error.read().decode()[:300]}") from error
        except OSError as error:
            raise ConnectionError(f"{self.url} does not answer: {error}") from error


def seed_of(*parts: object) -> int:
    """31 bits that depend on ``parts`` alone."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4], "big") >> 1


def play(
    instruction: str, terminal: RemoteTerminal, codec: Codec, params: HarnessParams, complete: Complete
) -> tuple[Task, Transcript]:
    """One episode to its end; the task is what the agent was told and no more."""
    task = Task("harbor", 0, "", instruction.rstrip("\n"), {}, (), ())
    episode = Episode(task, terminal, codec, params, task.seed)
    while not episode.done:
        episode.act(*complete(episode.transcript.ids, episode.budget))
    return task, episode.transcript
