"""Scripted transcripts, and transcripts as JSON."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.record import digest, from_record, to_record
from echo_terminal.agent.replay import drive, replay
from echo_terminal.agent.scripted import DONE
from echo_terminal.agent.transcript import Finish, Role, Transcript
from echo_terminal.terminal.terminal import HOME, Observation

PARAMS = HarnessParams(max_turns=4)


def test_replay_runs_each_command_and_marks_the_transcript(codec, saying, task) -> None:
    terminal = saying("a.txt\n", Observation("", "cat: q: no\n", 1, HOME))
    transcript = replay(task, ["ls", "cat q", DONE], terminal, codec, PARAMS)
    assert terminal.commands == ["ls", "cat q"]
    assert [(t.call, t.command, t.exit_code) for t in transcript.turns] == [
        ("ok", "ls", 0),
        ("ok", "cat q", 1),
        ("done", None, None),
    ]
    assert transcript.scripted and transcript.finish is Finish.DONE
    for role, value in zip(transcript.roles, transcript.logprobs, strict=True):
        assert value == 0.0 if role == Role.ACTION else math.isnan(value)


def test_whole_frames_are_single_ids_in_our_own_vocabulary(bpe_codec, saying, task) -> None:
    transcript = replay(task, ["ls", DONE], saying(), bpe_codec, PARAMS)
    assert [t.action_tokens for t in transcript.turns] == [3 + len(bpe_codec.encode("ls")), 2]


def test_replay_without_the_done_signal_leaves_the_episode_open(char_codec, saying, task) -> None:
    episode = Episode(task, saying(), char_codec, PARAMS, 0)
    assert drive(episode, ["ls"]).finish is None
    assert drive(episode, [DONE]).finish is Finish.DONE and episode.grade().reward == 1


def test_replay_ends_where_the_episode_ends(char_codec, saying, task) -> None:
    terminal = saying()
    assert replay(task, ["ls"] * 9, terminal, char_codec, PARAMS).finish is Finish.TURNS
    assert len(terminal.commands) == 4
    small = HarnessParams(max_context=500)
    transcript = replay(task, ["ls"] * 9, terminal, char_codec, small)
    assert len(transcript.ids) <= 500 and 1 <= len(transcript.turns) < 9


def test_replay_refuses_what_an_action_cannot_carry(char_codec, saying, task) -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        replay(task, ["echo '</function>'"], saying(), char_codec, PARAMS)
    with pytest.raises(ValueError, match="a turn may have 90"):
        replay(task, ["echo " + "a" * 90], saying(), char_codec, HarnessParams(max_turn_tokens=90))


OBSERVED = st.builds(
    Observation, st.text(max_size=40), st.text(max_size=40), st.integers(0, 255), st.just(HOME)
)


@given(st.lists(OBSERVED, min_size=1, max_size=4), st.integers(0, 9))
def test_records_survive_json(char_codec, saying, task, answers: list[Observation], version: int) -> None:
    episode = Episode(task, saying(*answers), char_codec, HarnessParams(output_chars=300), 0, version)
    transcript = drive(episode, ["ls"] * len(answers) + [DONE])
    record = json.loads(json.dumps(to_record(transcript, task, episode.grade()), allow_nan=False))
    assert (record["task_id"], record["reward"], record["finish"]) == ("val/greet/7", 1, "done")
    again = from_record(record)
    assert digest(again) == digest(transcript)
    assert (again.ids, again.roles, again.segments) == (transcript.ids, transcript.roles, transcript.segments)
    assert (again.turns, again.finish) == (transcript.turns, transcript.finish)
    assert (again.policy_version, again.scripted) == (version, True)


def test_records_that_do_not_add_up_are_refused(char_codec, saying, task) -> None:
    good = to_record(replay(task, ["ls", DONE], saying(), char_codec, PARAMS), task)
    assert good["reward"] is None
    for key, wrong in (
        ("ids", good["ids"] + [5]),
        ("ids", good["ids"][:-1]),
        ("segments", good["segments"][1:]),
        ("action_logprobs", good["action_logprobs"][:-1]),
        ("action_logprobs", good["action_logprobs"] + [0.0]),
    ):
        with pytest.raises(ValueError):
            from_record({**good, key: wrong})


def test_the_digest_sees_everything_but_wall_time() -> None:
    def build(value: float = -1.0, role: Role = Role.OUTPUT, token: int = 5) -> Transcript:
        transcript = Transcript()
        transcript.append([1, 2], Role.ACTION, logprobs=[value, -2.0])
        transcript.append([token], role)
        return transcript

    assert digest(build()) == digest(build())
    others = {digest(build(-1.5)), digest(build(role=Role.WARNING)), digest(build(token=6)), digest(build())}
    assert len(others) == 4
    slow, fast = (Observation("a\n", "", 0, HOME, seconds=s) for s in (1.0, 2.0))
    assert slow == fast
