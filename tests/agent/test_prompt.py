"""The text that the policy reads, against renderings written by hand."""

import pytest

from echo_terminal.agent.prompt import (
    ACTION_FRAMES,
    FRAMES,
    SYSTEM,
    WARNINGS,
    HarnessParams,
    Piece,
    observation_pieces,
    prompt_pieces,
)
from echo_terminal.agent.tool_call import Call, parse_action
from echo_terminal.agent.transcript import Role
from echo_terminal.terminal.terminal import HOME, Observation, Status

LS = Call("bash", "ls")


def text(pieces: list[Piece]) -> str:
    return "".join(p.text for p in pieces)


def of(pieces: list[Piece], *roles: Role) -> str:
    return "".join(p.text for p in pieces if p.role in roles)


def seen(stdout: str = "", stderr: str = "", code: int = 0, status: Status = Status.OK) -> Observation:
    return Observation(stdout, stderr, code, HOME, status)


def test_prompt_is_qwen3s_chat_form(task) -> None:
    bare = prompt_pieces(task, HarnessParams(thinking=True))
    assert text(bare) == "<|im_start|>user\nWrite hi to a.txt.<|im_end|>\n<|im_start|>assistant\n"
    full = prompt_pieces(task, HarnessParams(system="Be brief."))
    assert text(full) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWrite hi to a.txt.<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    assert of(full, Role.PROMPT) == "Be brief.Write hi to a.txt."
    assert all(p.frame == (p.role is Role.GLUE) for p in full)


def test_reply_shows_the_exit_code_first_and_each_role_has_its_own_text() -> None:  # A07
    pieces = observation_pieces(
        seen("a.txt\n", "ls: no\n", 2), Call("bash", "ls", "later_calls"), HarnessParams()
    )
    assert text(pieces) == (
        "\n<|im_start|>user\n<tool_response>\n[warning: one call per turn. Only the first was run.]\n"
        "exit code: 2\na.txt\nls: no\n\n</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    assert [(p.role, p.kind, p.text) for p in pieces if p.role is Role.OUTPUT] == [
        (Role.OUTPUT, "exit", "2"),
        (Role.OUTPUT, "stdout", "a.txt\n"),
        (Role.OUTPUT, "stderr", "ls: no\n"),
    ]
    assert of(pieces, Role.WARNING) == "[warning: one call per turn. Only the first was run.]\n"
    assert of(pieces, Role.ACTION, Role.PROMPT) == ""


def test_reply_to_a_command_without_output() -> None:
    pieces = observation_pieces(seen(), LS, HarnessParams(thinking=True))
    assert text(pieces) == (
        "\n<|im_start|>user\n<tool_response>\nexit code: 0\n\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    assert of(pieces, Role.OUTPUT) == "0"


@pytest.mark.parametrize("reason", [r for r in WARNINGS if r not in ("later_calls", "imagined", "confirm")])
def test_where_nothing_ran_there_is_a_warning_and_no_exit_code(reason: str) -> None:
    for shown in (True, False):
        pieces = observation_pieces(None, Call("malformed", None, reason), HarnessParams(warnings=shown))
        assert of(pieces, Role.WARNING) == f"[warning: {WARNINGS[reason]}]"
        assert of(pieces, Role.OUTPUT) == "" and "exit code" not in text(pieces)
        assert WARNINGS[reason].endswith("Nothing was run.")


def test_warnings_about_calls_that_ran_can_be_left_out() -> None:
    call = Call("bash", "ls", "later_calls", imagined=True)
    said = of(observation_pieces(seen("x"), call, HarnessParams()), Role.WARNING)
    assert said == f"[warning: {WARNINGS['later_calls']}]\n[warning: {WARNINGS['imagined']}]\n"
    assert of(observation_pieces(seen("x"), call, HarnessParams(warnings=False)), Role.WARNING) == ""


def test_long_output_keeps_head_tail_and_exit_code_within_the_limit() -> None:  # D04
    stdout = "".join(f"{n}\n" for n in range(1, 200_001)) + "FATAL: code 7\n"
    pieces = observation_pieces(seen(stdout, code=7), LS, HarnessParams(output_chars=2000))
    shown = [p for p in pieces if p.kind in ("stdout", "notice")]
    assert shown[0].text.startswith("1\n2\n") and shown[-1].text.endswith("FATAL: code 7\n")
    assert sum(len(p.text) for p in shown) <= 2000
    notices = [p for p in shown if p.kind == "notice"]
    assert len(notices) == 1 and notices[0].role is Role.WARNING
    omitted = len(stdout) - sum(len(p.text) for p in shown if p.kind == "stdout")
    assert f"{omitted} characters" in notices[0].text
    assert [p.text for p in pieces if p.kind == "exit"] == ["7"]
    assert pieces == observation_pieces(seen(stdout, code=7), LS, HarnessParams(output_chars=2000))


@pytest.mark.parametrize(
    ("out", "err", "kept_out", "kept_err"),
    [(300, 100, True, True), (5000, 100, False, True), (100, 5000, True, False), (5000, 5000, False, False)],
)
def test_both_streams_share_the_limit_and_a_short_one_is_whole(
    out: int, err: int, kept_out: bool, kept_err: bool
) -> None:
    pieces = observation_pieces(seen("o" * out, "e" * err), LS, HarnessParams(output_chars=400))
    body = [p for p in pieces if p.kind in ("stdout", "stderr", "notice")]
    assert sum(len(p.text) for p in body) <= 400
    assert ("o" * out in text(body)) is kept_out
    assert ("e" * err in text(body)) is kept_err
    assert sum(p.kind == "notice" for p in body) == (not kept_out) + (not kept_err)


def test_a_stopped_command_names_its_limit_after_the_output() -> None:  # D01
    params = HarnessParams(command_timeout_s=1.5)
    pieces = observation_pieces(seen("part", code=124, status=Status.TIMEOUT), LS, params)
    assert text(pieces[1:6]) == "exit code: 124\npart\n[stopped at the limit of 1.5 s]"
    assert pieces[5] == Piece(Role.WARNING, "notice", "\n[stopped at the limit of 1.5 s]", False)
    killed = observation_pieces(seen("a\n", code=137, status=Status.KILLED), LS, params)
    assert text(killed[1:6]) == "exit code: 137\na\n[killed]"


def test_frames_hold_every_frame_of_every_message(task) -> None:
    call = Call("bash", "ls", "later_calls")
    messages = [
        prompt_pieces(task, HarnessParams(system="s")),
        observation_pieces(seen("a", "b"), call, HarnessParams()),
    ]
    used = {p.text for m in messages for p in m if p.frame}
    assert used - {"\n"} == set(FRAMES) - set(ACTION_FRAMES)
    assert len(set(FRAMES)) == len(FRAMES)


def test_a_policy_may_sample_the_frames_of_an_action_and_no_others(bpe_codec) -> None:
    def ids(frame: str) -> list[int]:
        return bpe_codec.frame(frame)

    for frame in FRAMES:
        assert len(ids(frame)) == 1 and bpe_codec.decode(ids(frame)) == frame
        assert (ids(frame)[0] in bpe_codec.forbidden_ids) == (frame not in ACTION_FRAMES)


def test_the_system_message_shows_calls_that_parse() -> None:
    assert parse_action(SYSTEM, truncated=False) == Call("bash", "ls -la", "later_calls")


def test_settings_refuse_unknown_and_impossible_values() -> None:
    published = HarnessParams()
    assert (published.max_turns, published.max_turn_tokens, published.max_context) == (16, 2048, 16384)
    for wrong in ({"max_turn": 3}, {"max_turns": 0}, {"output_chars": 10}, {"command_timeout_s": "10"}):
        with pytest.raises(ValueError):
            HarnessParams(**wrong)
