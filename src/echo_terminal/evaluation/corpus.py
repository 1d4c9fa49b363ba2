"""The held-out corpus: trajectories of a stronger agent than any policy here, fixed for every checkpoint.

The paper takes a stronger model's; here it is the scripted expert, who knows the machine and now and then
tries first what a stranger would try, so that usage lines and errors occur too. The corpus is a function of
the tasks and the settings alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from echo_terminal.agent import scripted
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.replay import replay
from echo_terminal.agent.transcript import Transcript
from echo_terminal.config import StrictModel
from echo_terminal.evaluation.floor import domains
from echo_terminal.evaluation.heldout_ce import HeldOut, prepare
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.tasks.suites import SuiteParams
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import Terminal


class HeldoutParams(StrictModel):
    """``tasks`` of each of ``suites``, once each; ``misses``: how often the expert errs before a step.

    ``rerank_samples`` actions a turn are ranked by the policy's forecast on ``rerank_tasks`` tasks of the first suite.
    """

    suites: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = ("val", "itd", "itd_machine")
    tasks: int = Field(48, ge=1)
    misses: float = Field(0.5, ge=0, le=1)
    rerank_tasks: int = Field(24, ge=1)
    rerank_samples: int = Field(4, ge=2)


def expert_corpus(
    tasks: Mapping[str, Sequence[Task]],
    terminal: Terminal,
    tokenizer: PolicyTokenizer,
    harness: HarnessParams,
    suites: Mapping[str, SuiteParams],
    params: HeldoutParams,
) -> list[tuple[Task, Transcript]]:
    """One expert episode for each of the first ``params.tasks`` tasks of each suite.

    An episode may take twice the suite's turns, so that an error before every step still leaves room to
    finish.
    """
    corpus = []
    for name in params.suites:
        limits = harness.model_copy(update={"max_turns": 2 * suites[name].turns})
        for task in tasks[name][: params.tasks]:
            commands = scripted.expert(task, random.Random(f"held out {task.task_id}"), params.misses)
            corpus.append((task, replay(task, commands, terminal, tokenizer, limits, task.seed)))
    return corpus


def held_out(
    corpus: Sequence[tuple[Task, Transcript]],
    tokenizer: PolicyTokenizer,
    suites: Mapping[str, SuiteParams],
    tools: int = 0,
) -> list[HeldOut]:
    """The corpus ready to be scored; the facts of held-out machines are chance to every policy (``floor.domains``)."""
    return [
        prepare(
            transcript,
            tokenizer.decode,
            trajectory_id=task.task_id,
            task_id=task.task_id,
            suite=task.suite,
            facts=task.tokens_of_facts,
            drawn=domains(task.tokens_of_facts if suites[task.suite].machines == "held_out" else (), tools),
        )
        for task, transcript in corpus
    ]
