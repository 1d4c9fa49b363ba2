"""One episode: a policy's turns on a terminal, written down as they are made.

Ids go into the transcript as sampled and nothing is re-tokenised. Tokens that the harness adds (the end of a
turn that was cut, headers, tags) are GLUE and carry no log-prob; a stop token that was sampled is part of the
action and carries its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from echo_terminal.agent import scripted, tool_call
from echo_terminal.agent.prompt import (
    TURN_END,
    Codec,
    HarnessParams,
    Piece,
    observation_pieces,
    prompt_pieces,
)
from echo_terminal.agent.tool_call import Call, parse_action
from echo_terminal.agent.transcript import Finish, Role, Transcript, Turn
from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.task import Playable
from echo_terminal.tasks.verify import Verdict
from echo_terminal.terminal.terminal import Observation, Status, Terminal


class Episode:
    """Alternates between ``act`` and the policy until ``done``.

    ``pending`` holds the ids that followed the last action (at first: the prompt), which the policy must read
    before it acts again. The action's own ids, the last sampled one included, are not in it: the engine that
    sampled them has them.
    """

    def __init__(
        self,
        task: Playable,
        terminal: Terminal,
        codec: Codec,
        params: HarnessParams,
        seed: int,
        policy_version: int = 0,
    ) -> None:
        self.task, self.terminal, self.codec, self.params = task, terminal, codec, params
        terminal.reset(task.files, seed)
        self._state = terminal.fingerprint() if params.track_state else ""
        self.transcript = Transcript(policy_version=policy_version)
        self.pending: list[int] = []
        self._seconds = 0.0
        if not self._reply(self.prompt()) or self.budget < 1:
            self.transcript.finish = Finish.CONTEXT

    @property
    def done(self) -> bool:
        """Whether the episode is over; ``transcript.finish`` says why."""
        return self.transcript.finish is not None

    @property
    def budget(self) -> int:
        """Most tokens that the next action may have, its stop token included."""
        return min(self.params.max_turn_tokens, self.params.max_context - len(self.transcript.ids))

    def act(self, ids: Sequence[int], logprobs: Sequence[float], stopped: bool) -> None:
        """Take one action: sampled ids with their log-probs; ``stopped`` if the last of them is a stop token.

        An action that was cut (``stopped`` false) runs nothing.

        Raises:
            RuntimeError: the episode is over.
            ValueError: more ids than ``budget``, lengths differ, or ``stopped`` contradicts the last id.
        """
        if self.done:
            raise RuntimeError(f"the episode is over ({self.transcript.finish})")
        if len(ids) != len(logprobs):
            raise ValueError(f"{len(ids)} ids but {len(logprobs)} log-probs")
        if len(ids) > self.budget:
            raise ValueError(f"{len(ids)} tokens in an action that may have {self.budget}")
        if stopped != (len(ids) > 0 and ids[-1] in self.codec.stop_ids):
            raise ValueError(f"stopped is {stopped}, but the action ends with {list(ids[-1:])}")
        transcript = self.transcript
        turn = Turn(call="", action_tokens=len(ids))
        transcript.turns.append(turn)
        transcript.append(ids, Role.ACTION, logprobs=logprobs)
        call = self.parse(self.codec.decode(ids[:-1] if stopped else ids), truncated=not stopped)
        turn.call = {"bash": "ok", "done": "done"}.get(call.kind, call.reason)
        turn.command, turn.imagined = call.command, call.imagined
        self.pending = []
        if call.kind == "done":
            transcript.finish = Finish.DONE
            return
        observation = self._run(call, turn) if call.command is not None else None
        if observation is not None and observation.status is Status.LOST:
            transcript.finish = Finish.LOST
            return
        pieces = self.reply(observation, call)
        fits = self._reply(pieces, close=not stopped or ids[-1] != self.codec.stop_ids[0])
        self._measure(turn, observation, pieces if fits else [])
        if len(transcript.turns) >= self.params.max_turns:
            transcript.finish = Finish.TURNS
        elif self._seconds > self.params.episode_timeout_s:
            transcript.finish = Finish.TIME
        elif not fits or self.budget < 1:
            transcript.finish = Finish.CONTEXT

    def grade(self) -> Verdict:
        """Judge the final state; without a done signal the reward is 0 where ``require_done`` is set.

        Raises:
            RuntimeError: the episode still runs, or its engine failed and there is nothing to judge.
        """
        if not self.done or self.transcript.finish is Finish.LOST:
            raise RuntimeError("only a finished episode whose engine did not fail can be graded")
        verdict = grade(self.task, self.terminal)
        if self.params.require_done and self.transcript.finish is not Finish.DONE:
            verdict = replace(verdict, reward=0, failed=(*verdict.failed, "no done signal"))
        return verdict

    # The form of this harness: what another harness overrides.

    def prompt(self) -> list[Piece]:
        """What the policy reads before its first action."""
        return prompt_pieces(self.task, self.params)

    def parse(self, text: str, *, truncated: bool) -> Call:
        """What an action asks for."""
        return parse_action(text, truncated=truncated)

    def reply(self, observation: Observation | None, call: Call) -> list[Piece]:
        """What the policy reads after an action."""
        return observation_pieces(observation, call, self.params)

    def action_ids(self, command: str) -> list[int]:
        """The action that runs ``command`` or, for ``scripted.DONE``, ends the episode; in one fixed spelling.

        Raises:
            ValueError: the form cannot carry the command.
        """
        frame = self.codec.frame
        if command == scripted.DONE:
            return [*frame(tool_call.DONE), *frame(TURN_END)]
        tool_call.render_call(command)
        ids = [*frame(tool_call.CALL_OPEN), *self.codec.encode(command), *frame(tool_call.CALL_CLOSE)]
        return [*ids, *frame(TURN_END)]

    def _run(self, call: Call, turn: Turn) -> Observation:
        assert call.command is not None
        observation = self.terminal.run(call.command, self.params.command_timeout_s)
        turn.exit_code, turn.status = observation.exit_code, str(observation.status)
        turn.seconds = observation.seconds
        self._seconds += observation.seconds
        if self.params.track_state and observation.status is not Status.LOST:
            before, self._state = self._state, self.terminal.fingerprint()
            turn.changed_state = before != self._state
        return observation

    def _reply(self, pieces: Sequence[Piece], close: bool = False) -> bool:
        """Append the harness's pieces if all of them fit; ``close`` ends the turn before them."""
        codec, transcript = self.codec, self.transcript
        rows = [(list(codec.stop_ids[:1]), Role.GLUE, "end")] if close else []
        rows += [(codec.frame(p.text) if p.frame else codec.encode(p.text), p.role, p.kind) for p in pieces]
        if len(transcript.ids) + sum(len(ids) for ids, _, _ in rows) > self.params.max_context:
            return False
        start = len(transcript.ids)
        for ids, role, kind in rows:
            transcript.append(ids, role, kind=kind)
        self.pending = transcript.ids[start:]
        return True

    def _measure(self, turn: Turn, observation: Observation | None, pieces: Sequence[Piece]) -> None:
        """Sizes of the reply as the policy reads it, for the turn table."""
        turn.warned = any(p.kind == "warning" for p in pieces)
        if observation is not None:
            turn.output_chars = len(observation.stdout) + len(observation.stderr)
            shown = sum(len(p.text) for p in pieces if p.kind in ("stdout", "stderr"))
            turn.omitted_chars = turn.output_chars - shown
            roles = self.transcript.roles
            turn.output_tokens = roles[len(roles) - len(self.pending) :].count(Role.OUTPUT)
