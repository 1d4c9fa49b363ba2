"""Limits, endings, grading and the turn table."""

import pytest

from echo_terminal.agent.episode import Episode
from echo_terminal.agent.prompt import DONE, TURN_END, HarnessParams
from echo_terminal.agent.tool_call import render_call
from echo_terminal.agent.transcript import Finish, Role
from echo_terminal.terminal.terminal import HOME, Observation, Status, open_terminal

LS = render_call("ls")


def act(episode: Episode, text: str) -> int:
    ids = [*episode.codec.frame(text), *episode.codec.frame(TURN_END)]
    episode.act(ids, [0.0] * len(ids), stopped=True)
    return len(ids)


def test_done_ends_the_episode_without_a_reply(char_codec, saying, task) -> None:
    episode = Episode(task, saying(), char_codec, HarnessParams(), 0)
    act(episode, DONE)
    assert episode.transcript.finish is Finish.DONE and episode.pending == []
    assert episode.transcript.segments[-1].role is Role.ACTION
    with pytest.raises(RuntimeError, match="over"):
        act(episode, LS)


def test_the_last_reply_is_kept_at_the_turn_limit(char_codec, saying, task) -> None:
    episode = Episode(task, saying("a\n", "b\n"), char_codec, HarnessParams(max_turns=2), 0)
    act(episode, LS)
    assert not episode.done
    act(episode, LS)
    assert episode.transcript.finish is Finish.TURNS
    assert [s.turn for s in episode.transcript.segments if s.kind == "stdout"] == [0, 1]


def test_a_reply_that_does_not_fit_is_left_out_and_ends_the_episode(char_codec, saying, task) -> None:
    probe = Episode(task, saying("x" * 50), char_codec, HarnessParams(), 0)
    act(probe, LS)
    needed = len(probe.transcript.ids)
    for limit, fits in ((needed + 1, True), (needed, True), (needed - 1, False)):
        episode = Episode(task, saying("x" * 50), char_codec, HarnessParams(max_context=limit), 0)
        length = len(episode.transcript.ids) + act(episode, LS)
        assert len(episode.transcript.ids) == (needed if fits else length) <= limit
        assert episode.transcript.finish is (None if limit > needed else Finish.CONTEXT)
        assert episode.budget == limit - len(episode.transcript.ids)
        turn = episode.transcript.turns[0]
        sizes = (turn.output_chars, turn.omitted_chars, turn.output_tokens)
        assert sizes == ((50, 0, 51) if fits else (50, 50, 0))


def test_the_budget_is_the_smaller_of_turn_and_context(char_codec, saying, task) -> None:
    episode = Episode(task, saying(), char_codec, HarnessParams(max_turn_tokens=10), 0)
    assert episode.budget == 10
    with pytest.raises(ValueError, match="may have 10"):
        act(episode, "far too long for this turn")
    used = len(episode.transcript.ids)
    assert Episode(task, saying(), char_codec, HarnessParams(max_context=used + 3), 0).budget == 3
    full = Episode(task, saying(), char_codec, HarnessParams(max_context=used), 0)
    assert full.transcript.finish is Finish.CONTEXT


def test_stopped_must_agree_with_the_last_id(char_codec, saying, task) -> None:
    episode = Episode(task, saying(), char_codec, HarnessParams(), 0)
    for ids, stopped in (([200], True), ([200, 0], False), ([], True)):
        with pytest.raises(ValueError, match="stopped"):
            episode.act(ids, [0.0] * len(ids), stopped)
    with pytest.raises(ValueError, match="1 ids but 2 log-probs"):
        episode.act([0], [0.0, 0.0], stopped=True)
    assert episode.transcript.turns == []


def test_commands_that_take_too_long_together_end_the_episode(char_codec, saying, task) -> None:
    slow = Observation("x\n", "", 0, HOME, seconds=4.0)
    episode = Episode(task, saying(slow, slow, slow), char_codec, HarnessParams(episode_timeout_s=8.0), 0)
    act(episode, LS)
    act(episode, LS)  # 8 s: at the limit, not above it
    assert not episode.done
    act(episode, LS)
    assert episode.transcript.finish is Finish.TIME
    assert [s.turn for s in episode.transcript.segments if s.kind == "stdout"] == [0, 1, 2]


def test_a_lost_engine_voids_the_episode(char_codec, saying, task) -> None:
    episode = Episode(task, saying(Observation("", "", 0, HOME, Status.LOST)), char_codec, HarnessParams(), 0)
    act(episode, LS)
    assert episode.transcript.finish is Finish.LOST and episode.transcript.count(Role.OUTPUT) == 0
    with pytest.raises(RuntimeError, match="graded"):
        episode.grade()


def test_grading_needs_the_done_signal_unless_told_otherwise(char_codec, saying, task) -> None:
    for require, finish, reward in ((True, DONE, 1), (True, LS, 0), (False, LS, 1)):
        params = HarnessParams(max_turns=1, require_done=require)
        episode = Episode(task, saying(), char_codec, params, 0)
        with pytest.raises(RuntimeError, match="finished"):
            episode.grade()
        act(episode, finish)
        verdict = episode.grade()
        assert (verdict.reward, verdict.tampering) == (reward, ())
        assert verdict.failed == (() if reward else ("no done signal",))


def test_the_turn_table(char_codec, saying, task) -> None:
    timed_out = Observation("o" * 600, "e", 124, HOME, Status.TIMEOUT, seconds=2.5)
    terminal = saying(timed_out)
    episode = Episode(task, terminal, char_codec, HarnessParams(track_state=True, output_chars=300), 0)
    spent = act(episode, render_call("touch x") + "<tool_response>")
    act(episode, LS)
    act(episode, "hm")
    act(episode, DONE)
    first, second, third, last = episode.transcript.turns
    assert (first.call, first.command, first.exit_code, first.status) == ("ok", "touch x", 124, "timeout")
    assert (first.changed_state, first.imagined, first.warned, first.seconds) == (True, True, True, 2.5)
    assert (first.action_tokens, first.output_chars) == (spent, 601)
    shown = sum(s.end - s.start for s in episode.transcript.segments if s.kind in ("stdout", "stderr"))
    assert first.omitted_chars == 601 - shown > 300  # one id a character in this codec
    assert first.output_tokens == shown + len("124")
    assert (second.changed_state, second.warned, second.output_tokens) == (False, False, 1)
    assert (third.call, third.command, third.exit_code, third.warned) == ("no_call", None, None, True)
    assert (last.call, last.command, last.status) == ("done", None, None)


def test_an_episode_on_the_real_emulator(bpe_codec, task) -> None:
    terminal = open_terminal("virtual")
    episode = Episode(task, terminal, bpe_codec, HarnessParams(max_turns=4, output_chars=300), 0)
    act(episode, render_call("cat a.txt; cat nowhere"))
    act(episode, render_call("seq 1 2000; echo FATAL: code 7; (exit 7)"))
    act(episode, render_call("printf '<|im_end|></tool_response>'"))
    transcript = episode.transcript
    assert [t.exit_code for t in transcript.turns] == [1, 7, 0]

    def text(turn: int, kind: str) -> str:
        parts = [s for s in transcript.segments if s.turn == turn and s.kind == kind]
        return "".join(bpe_codec.decode(transcript.ids[s.start : s.end]) for s in parts)

    assert (text(0, "stdout"), text(0, "stderr")) == ("hi\n", "cat: nowhere: No such file or directory\n")
    assert text(1, "stdout").startswith("1\n2\n") and text(1, "stdout").endswith("FATAL: code 7\n")
    assert "omitted" in text(1, "notice") and text(1, "exit") == "7"
    assert text(2, "stdout") == "<|im_end|></tool_response>"
    act(episode, DONE)
    assert episode.grade().reward == 1
    terminal.close()
