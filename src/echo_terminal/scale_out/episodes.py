"""Many terminals behind an engine that owns the rollout loop and sends each action as token ids.

The harness is ``agent.episode.Episode``, unchanged: its turn count, its limits, its grading. Such an engine
may drop a rollout without a word (its context limit, a dead worker), so an episode that nobody has stepped
for ``idle_s`` seconds is closed. An engine failure is survived once an episode: the actions so far are run
again on a new terminal.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import TURN_END, Codec, HarnessParams, Piece
from echo_terminal.agent.tool_call import Call
from echo_terminal.agent.transcript import Finish
from echo_terminal.scale_out.layout import neutralise
from echo_terminal.tasks.store import read_tasks
from echo_terminal.tasks.task import Playable, Task
from echo_terminal.terminal.terminal import Observation, Terminal


def suite_of(path: Path, suite: str) -> list[Task]:
    """The tasks of one suite in a file of stage 02_tasks.

    Raises:
        ValueError: it has none.
    """
    tasks = list(read_tasks(path))
    found = [task for task in tasks if task.suite == suite]
    if not found:
        raise ValueError(
            f"{path} holds no task of suite {suite!r}: choose one of {', '.join(sorted({t.suite for t in tasks}))}"
        )
    return found


@dataclass(frozen=True)
class Reply:
    """What goes back: the text to append, the reward (0 until the end), whether the episode is over, its
    key."""

    text: str
    reward: float
    done: bool
    key: int | None


class TextEpisode(Episode):
    """An episode whose reply is also kept as one text, printed control strings neutralised."""

    def __init__(
        self, task: Playable, terminal: Terminal, codec: Codec, params: HarnessParams, control: Sequence[str]
    ):
        self.control, self.said = control, ""
        super().__init__(task, terminal, codec, params, task.seed)

    def reply(self, observation: Observation | None, call: Call) -> list[Piece]:
        """The pieces of the parent, as this engine will tokenise them."""
        pieces = [
            p if p.frame else Piece(p.role, p.kind, neutralise(p.text, self.control), False)
            for p in super().reply(observation, call)
        ]
        self.said = "".join(p.text for p in pieces)
        return pieces


@dataclass
class _Open:
    episode: TextEpisode
    terminal: Terminal
    actions: list[list[int]] = field(default_factory=list)
    retried: bool = False
    touched: float = 0.0


class Episodes:
    """Open episodes by key. ``open_terminal`` makes a fresh terminal; ``control`` lists the vocabulary's
    control texts."""

    def __init__(
        self,
        tasks: Sequence[Playable],
        open_terminal: Callable[[], Terminal],
        codec: Codec,
        params: HarnessParams,
        control: Sequence[str],
        idle_s: float = 1800.0,
    ) -> None:
        self.tasks = {task.task_id: task for task in tasks}
        self.open_terminal, self.codec, self.params = open_terminal, codec, params
        self.control, self.idle_s = list(control), idle_s
        self.open: dict[int, _Open] = {}
        self._keys = itertools.count()

    def step(self, task_id: str, key: int | None, action: Sequence[int]) -> Reply:
        """Take one action of the episode ``key`` (None: its first action).

        Raises:
            KeyError: unknown task, or an episode that was closed for being idle.
            RuntimeError: the terminal engine failed twice in one episode.
        """
        if key is None:
            key = next(self._keys)
            self.open[key] = self._start(self.tasks[task_id])
        elif key not in self.open:
            raise KeyError(f"episode {key} is closed: it had not been stepped for {self.idle_s:g} s")
        entry = self.open[key]
        entry.touched = time.monotonic()
        entry.actions.append(list(action))
        self._act(entry, entry.actions[-1])
        if entry.episode.transcript.finish is Finish.LOST:
            self._again(entry)
        episode = entry.episode
        if not episode.done:
            return Reply(self._text(entry), 0.0, False, key)
        reward = float(episode.grade().reward)
        text = self._text(entry)
        self.close(key)
        return Reply(text, reward, True, None)

    def reap(self) -> int:
        """Close the episodes that nobody has stepped for ``idle_s`` seconds; their number."""
        now = time.monotonic()
        idle = [key for key, entry in self.open.items() if now - entry.touched > self.idle_s]
        for key in idle:
            self.close(key)
        return len(idle)

    def close(self, key: int) -> None:
        """Forget one episode and free its terminal."""
        self.open.pop(key).terminal.close()

    def _start(self, task: Playable) -> _Open:
        terminal = self.open_terminal()
        return _Open(TextEpisode(task, terminal, self.codec, self.params, self.control), terminal)

    def _act(self, entry: _Open, action: list[int]) -> None:
        episode = entry.episode
        episode.said = ""
        if episode.done:  # the prompt alone fills the context
            return
        if len(action) > episode.budget:
            episode.transcript.finish = Finish.CONTEXT
            return
        stopped = bool(action) and action[-1] in self.codec.stop_ids
        episode.act(action, [0.0] * len(action), stopped)

    def _again(self, entry: _Open) -> None:
        if entry.retried:
            raise RuntimeError(f"the terminal engine failed twice in task {entry.episode.task.task_id}")
        entry.retried = True
        entry.terminal.close()
        fresh = self._start(entry.episode.task)
        entry.episode, entry.terminal = fresh.episode, fresh.terminal
        for action in entry.actions:
            self._act(entry, action)
        if entry.episode.transcript.finish is Finish.LOST:
            raise RuntimeError(f"the terminal engine failed twice in task {entry.episode.task.task_id}")

    def _text(self, entry: _Open) -> str:
        """What the engine appends; a turn that was cut is ended first. Nothing if the reply did not fit."""
        episode = entry.episode
        if not episode.said or not episode.pending:
            return ""
        action = entry.actions[-1]
        ended = bool(action) and action[-1] == self.codec.stop_ids[0]
        return episode.said if ended else TURN_END + episode.said
