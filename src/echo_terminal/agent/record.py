"""Transcripts as JSON: one object a rollout, so that a corpus is a JSON Lines file.

Roles are stored once, as segments, and log-probs only for ACTION tokens: the rest is NaN by definition.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from echo_terminal.agent.transcript import Finish, Role, Segment, Transcript, Turn
from echo_terminal.tasks.task import Playable
from echo_terminal.tasks.verify import Verdict


def to_record(transcript: Transcript, task: Playable, verdict: Verdict | None = None) -> dict[str, Any]:
    """A JSON-serialisable object; ``reward`` and its reasons are null where nothing was graded."""
    actions = [s for s in transcript.segments if s.role is Role.ACTION]
    return {
        "task_id": task.task_id,
        "suite": task.suite,
        "template": task.template,
        "machine": task.machine,
        "reward": None if verdict is None else verdict.reward,
        "failed": None if verdict is None else list(verdict.failed),
        "tampering": None if verdict is None else list(verdict.tampering),
        "finish": None if transcript.finish is None else str(transcript.finish),
        "policy_version": transcript.policy_version,
        "scripted": transcript.scripted,
        "ids": list(transcript.ids),
        "segments": [[s.start, s.end, int(s.role), s.kind, s.turn] for s in transcript.segments],
        "action_logprobs": [x for s in actions for x in transcript.logprobs[s.start : s.end]],
        "turns": [asdict(t) for t in transcript.turns],
    }


def from_record(record: dict[str, Any]) -> Transcript:
    """The transcript of a record.

    Raises:
        ValueError: segments do not cover the ids one after another, or log-probs are missing or left over.
    """
    out = Transcript(policy_version=record["policy_version"], scripted=record["scripted"])
    ids, logprobs, used = record["ids"], record["action_logprobs"], 0
    for start, end, role, kind, turn in record["segments"]:
        if start != len(out.ids) or not start < end <= len(ids):
            raise ValueError(f"segment {start}:{end} does not follow token {len(out.ids)} of {len(ids)}")
        own = None
        if role == Role.ACTION:
            own, used = logprobs[used : used + end - start], used + end - start
        out.append(ids[start:end], Role(role), kind=kind, logprobs=own)
        out.segments[-1] = Segment(start, end, Role(role), kind, turn)
    if len(out.ids) != len(ids) or used != len(logprobs):
        raise ValueError(
            f"segments cover {len(out.ids)} of {len(ids)} ids, {used} of {len(logprobs)} log-probs"
        )
    out.turns = [Turn(**t) for t in record["turns"]]
    out.finish = None if record["finish"] is None else Finish(record["finish"])
    return out


def digest(transcript: Transcript) -> str:
    """SHA-256 of everything but wall time: equal for two rollouts that went the same way."""
    turns = [{k: v for k, v in asdict(t).items() if k != "seconds"} for t in transcript.turns]
    content = [
        transcript.ids,
        transcript.roles,
        [None if x != x else x for x in transcript.logprobs],
        [[s.start, s.end, int(s.role), s.kind, s.turn] for s in transcript.segments],
        turns,
        transcript.finish and str(transcript.finish),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
