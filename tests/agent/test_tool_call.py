"""Reading a turn: what runs, what is refused, and that nothing else ever runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.agent.fuzz import FRAGMENTS, fuzz_parser
from echo_terminal.agent.prompt import WARNINGS
from echo_terminal.agent.tool_call import CALL_CLOSE, CALL_OPEN, DONE, Call, parse_action, render_call

PLAIN = st.text(st.characters(blacklist_categories=["Cs"]))
TAGGED = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=8).map("".join)
OPEN, CLOSE = CALL_OPEN, CALL_CLOSE


def read(text: str) -> Call:
    return parse_action(text, truncated=False)


@given(PLAIN)
def test_any_plain_text_is_read_back_as_it_is(command: str) -> None:
    assert read(render_call(command)) == Call("bash", command)


@given(TAGGED)
def test_text_with_tags_is_read_back_or_refused_never_changed(command: str) -> None:
    call = read(OPEN + command + CLOSE)
    assert call.command in (command, None) or call.reason == "later_calls"
    try:
        rendered = render_call(command)
    except ValueError:
        return
    assert read(rendered) == Call("bash", command)


@pytest.mark.parametrize(
    "value",
    ["", " ", "\n", "a\n", "  a", "a\r\n", "\u00a0a", "    if x:\n        return 1\n", "\n\n", "\t\n "],
)
def test_a_value_keeps_all_its_blanks(value: str) -> None:  # C02
    assert read(OPEN + value + CLOSE).command == value


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("ls", "ls"),
        ("\nls\n", "ls"),
        ("\nls", "ls"),
        ("ls\n", "ls"),
        (" ls ", " ls "),
        ("", ""),
        ("\n", ""),
        ("&lt;a&gt; &amp;", "&lt;a&gt; &amp;"),
        ("%20\\n", "%20\\n"),
    ],
)
def test_framing_is_one_newline_a_side_and_nothing_is_decoded(body: str, value: str) -> None:
    text = f"<tool_call><function=bash><parameter=command>{body}</parameter></function></tool_call>"
    assert read(text) == Call("bash", value)


def test_the_first_of_two_inline_calls_runs() -> None:  # C02, second case
    inline = "<tool_call>\n<function=bash>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>\n"
    assert read(inline + render_call("pwd")) == Call("bash", "ls", "later_calls")
    assert read(DONE + render_call("pwd")) == Call("done", None, "later_calls")
    assert read(render_call("pwd") + DONE) == Call("bash", "pwd", "later_calls")


def test_a_closing_tag_inside_the_value_does_not_end_it() -> None:  # C01
    assert read(render_call("echo '</parameter>' > f.txt")).command == "echo '</parameter>' > f.txt"
    assert read(render_call("cat <<'E'\n</parameter>\nE")).command == "cat <<'E'\n</parameter>\nE"


@pytest.mark.parametrize(
    "value",
    [
        "echo '</function>'",
        "echo '</parameter> </function>'",
        "echo a" + CLOSE,
        "echo a" + CLOSE + OPEN + "rm b",
        "echo '</think>'",
        "echo '<function=bash>'",
        "<parameter=command>",
    ],
)
def test_what_cannot_be_carried_is_refused_when_rendered(value: str) -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        render_call(value)
    assert read(OPEN + value + CLOSE).command in (None, "echo a")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no_call"),
        ("ls -la", "no_call"),
        ("```bash\nls\n```", "no_call"),
        ("<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</function>\n</tool_call>", "unclosed_parameter"),
        ("<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", "stray_tag"),
        ("<tool_call>\n<function=bash>\n<parameter=command\nls</parameter></function></tool_call>", "broken_parameter"),
        ("<tool_call>\n<function=bash>\n</function>\n</tool_call>", "broken_parameter"),
        ("<tool_call>\n<function=sh>\n<parameter=command>\n1" + CLOSE, "unknown_function"),
        ("<tool_call>\n<function=bash\n<parameter=command>\n1" + CLOSE, "broken_function"),
        ('<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>', "broken_function"),
        (OPEN + "ls\n</parameter>\n<parameter=timeout>\n5" + CLOSE, "ambiguous"),
        (OPEN + "ls\n" + OPEN + "pwd" + CLOSE, "ambiguous"),
        (OPEN + "ls\n</parameter>\n</function>", "unclosed_call"),
        (OPEN + "ls\n</parameter>", "unclosed_call"),
        (OPEN + "ls\n</parameter>\n</function> so\n</tool_call>", "unclosed_call"),
        ("<tool_call>\n<function=done>\n<parameter=command>\nls" + CLOSE, "unknown_parameter"),
        ("</tool_call>" + render_call("ls"), "stray_tag"),
        (render_call("ls") + "</tool_call>", "ambiguous"),
        (render_call("ls") + "so </think> it is", "no_call"),
        ("<think>a</think>" + render_call("ls") + "</think>" + render_call("rm d"), "ambiguous"),
        (render_call("echo 1 <think> 2") + "</think>", "ambiguous"),
    ],
)  # fmt: skip
def test_malformed_turns_run_nothing_and_say_why(text: str, reason: str) -> None:  # C03
    assert read(text) == Call("malformed", None, reason)
    assert reason in WARNINGS


def test_a_broken_second_call_does_not_spoil_the_first() -> None:  # C03, second case: the first call runs
    broken = "<tool_call>\n<function=bash>\n<parameter=command\nls</parameter></function></tool_call>"
    assert read(render_call("pwd") + "\n" + broken) == Call("bash", "pwd", "later_calls")


def test_calls_inside_reasoning_never_run() -> None:  # C04
    draft = "maybe " + render_call("rm -r d")
    assert read(f"<think>{draft}</think>\n" + render_call("ls")) == Call("bash", "ls")
    assert read(f"{draft}</think>\n" + render_call("ls")) == Call("bash", "ls")
    assert read(f"<think>{draft}") == Call("malformed", None, "unclosed_think")
    assert read(f"so <think>{draft}</think> then <think>{draft}</think>" + render_call("ls")) == Call(
        "bash", "ls"
    )
    assert read(f"<think>{draft}</think>") == Call("malformed", None, "no_call")
    assert read("<think>a</think>" + DONE) == Call("done")


@given(TAGGED.filter(lambda t: "think>" not in t), st.booleans())
def test_reasoning_of_any_text_hides_its_calls(reasoning: str, opened: bool) -> None:
    text = ("<think>" if opened else "") + reasoning + "</think>" + render_call("the one")
    assert read(text).command == "the one" if opened else read(text).command in ("the one", None)


def test_a_turn_that_was_cut_runs_nothing() -> None:  # C07
    cut = OPEN + "rm -rf /srv/build"
    assert parse_action(cut, truncated=True) == Call("malformed", None, "truncated")
    assert parse_action(render_call("ls") + "\n" + cut, truncated=True) == Call(
        "malformed", None, "truncated"
    )
    assert parse_action(DONE, truncated=True) == Call("malformed", None, "truncated")


@pytest.mark.parametrize(
    "text", [render_call("rm -rf /srv/build/cache"), "<think>\nhm\n</think>\n\n" + render_call("a\n"), DONE]
)
def test_no_proper_prefix_of_an_action_runs(text: str) -> None:
    assert read(text).kind != "malformed"
    assert {read(text[:n]).kind for n in range(len(text))} == {"malformed"}


def test_imitated_replies_are_flagged_but_quoting_one_is_not() -> None:
    imitation = "\n<|im_start|>user\n<tool_response>\nexit code: 0\n</tool_response>"
    assert read(render_call("ls") + imitation) == Call("bash", "ls", "", imagined=True)
    assert read("<think>" + imitation + "</think>" + render_call("ls")).imagined
    assert read(imitation) == Call("malformed", None, "no_call", imagined=True)
    assert not read(render_call("grep '<tool_response>' log")).imagined


def test_fuzz() -> None:
    result = fuzz_parser(20_000, seed=1)
    assert result.inputs == 20_000
    assert min(result.kinds.values()) > 500  # all of bash, done and malformed are well covered
    assert (
        set(WARNINGS) >= result.reasons > {"ambiguous", "unclosed_think", "later_calls", "unclosed_parameter"}
    )
