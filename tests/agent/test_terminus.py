"""The screen harness: what is typed, what is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.agent.prompt import TURN_END, WARNINGS, Piece
from echo_terminal.agent.replay import drive
from echo_terminal.agent.scripted import DONE
from echo_terminal.agent.terminus import (
    SYSTEM,
    TerminusEpisode,
    TerminusParams,
    last_rows,
    parse_keystrokes,
    shell_prompt,
)
from echo_terminal.agent.tool_call import Call
from echo_terminal.agent.transcript import Finish, Role
from echo_terminal.terminal.terminal import HOME, Observation, Status, open_terminal


def read(text: str) -> Call:
    return parse_keystrokes(text, truncated=False)


def keys(text: str) -> str:
    return f"<keystrokes>\n{text}\n</keystrokes>"


@given(st.text().filter(lambda t: "</" not in t and "<keystrokes>" not in t))
def test_keystrokes_are_typed_as_they_stand(text: str) -> None:
    assert read(keys(text)) == Call("bash", text)


@given(
    st.lists(
        st.sampled_from(
            ["<keystrokes>", "</keystrokes>", "<think>", "</think>", "<task_complete>", "ls", "\n"]
        )
    )
)
def test_no_text_raises_and_what_is_typed_was_framed(parts: list[str]) -> None:
    call = read("".join(parts))
    assert (call.command is not None) == (call.kind == "bash")
    assert call.kind != "malformed" or call.reason in WARNINGS


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("I see.\n" + keys("cd d") + "\nthen\n" + keys("ls"), Call("bash", "cd d\nls")),
        (keys("ls") + "<task_complete>", Call("bash", "ls", "confirm")),
        ("<task_complete>", Call("done")),
        ("All is done.\n<task_complete>\n", Call("done")),
        ("<think>" + keys("rm -r d") + "</think>" + keys("ls"), Call("bash", "ls")),
        (keys("rm -r d") + "</think>" + keys("ls"), Call("bash", "ls")),
        ("<think>" + keys("ls"), Call("malformed", None, "unclosed_think")),
        (keys("ls") + "<think>" + keys("rm") + "</think>", Call("malformed", None, "ambiguous")),
        ("<keystrokes>\nls", Call("malformed", None, "unclosed_keystrokes")),
        ("<keystrokes>\nls\n" + keys("pwd"), Call("malformed", None, "ambiguous")),
        (keys("echo '</keystrokes>'"), Call("malformed", None, "ambiguous")),
        ("ls", Call("malformed", None, "no_call")),
        (keys("ls") + "<tool_response>", Call("bash", "ls", imagined=True)),
    ],
)
def test_forms_of_a_turn(text: str, call: Call) -> None:
    assert read(text) == call
    assert parse_keystrokes(text, truncated=True).reason == "truncated"


def test_the_system_message_shows_the_form() -> None:
    assert read(SYSTEM) == Call("bash", "ls -la", "confirm")


def screen(*texts: str) -> list[Piece]:
    return [Piece(Role.OUTPUT, "stdout", t, False) for t in texts]


@pytest.mark.parametrize(
    ("texts", "rows", "shown"),
    [
        (["a\nb\nc\n", "$ "], 4, "a\nb\nc\n$ "),
        (["a\nb\nc\n", "$ "], 3, "b\nc\n$ "),
        (["a\nb\nc\n", "$ "], 1, "$ "),
        (["x" * 25 + "\n", "$ "], 4, "x" * 25 + "\n$ "),  # 25 characters in 10 columns take three rows
        (["x" * 25 + "\n", "$ "], 3, "x" * 15 + "\n$ "),
        (["", "$ "], 3, "$ "),
        (["a\n\n\nb\n", "$ "], 3, "\nb\n$ "),
    ],
)
def test_the_screen_is_its_last_rows(texts: list[str], rows: int, shown: str) -> None:
    pieces = last_rows(screen(*texts), rows, columns=10)
    assert "".join(p.text for p in pieces) == shown and all(p.text for p in pieces)


def test_prompt_of_the_shell() -> None:
    assert shell_prompt(HOME) == "user@sim:~$ "
    assert shell_prompt(HOME + "/d e") == "user@sim:~/d e$ "
    assert shell_prompt("/home/user2") == "user@sim:/home/user2$ "


@pytest.mark.parametrize("form", ["keystrokes", "tool_call"])
def test_an_episode_on_the_screen(form: str, bpe_codec, task) -> None:
    terminal = open_terminal("virtual")
    params = TerminusParams(rows=4, columns=40, system="", form=form)
    episode = TerminusEpisode(task, terminal, bpe_codec, params, 0)
    transcript = drive(episode, ["mkdir d; cd d; cat ../a.txt", "seq 1 9; printf x", DONE])

    def shown(turn: int) -> str:
        parts = [s for s in transcript.segments if s.turn == turn and s.kind]
        return "".join(bpe_codec.decode(transcript.ids[s.start : s.end]) for s in parts)

    assert shown(0) == "user@sim:~$ mkdir d; cd d; cat ../a.txt\nhi\nuser@sim:~/d$ "
    assert shown(1).startswith("8\n9\nx") and shown(1).endswith("user@sim:~/d$ ")
    assert shown(2) == f"[warning: {WARNINGS['confirm']}]" and not episode.done
    drive(episode, ["true", DONE])
    assert not episode.done  # a command in between takes the question back
    drive(episode, [DONE])
    assert transcript.finish is Finish.DONE and episode.grade().reward == 1
    echoed = {s.role for s in transcript.segments if s.kind in ("echo", "prompt")}
    assert echoed == {Role.GLUE}
    terminal.close()


def test_a_stopped_command_and_a_broken_turn_on_the_screen(char_codec, saying, task) -> None:
    terminal = saying(Observation("part", "", 124, HOME, Status.TIMEOUT))
    episode = TerminusEpisode(task, terminal, char_codec, TerminusParams(system=""), 0)
    drive(episode, ["sleep 99"])
    ids = [*char_codec.encode("hm"), *char_codec.frame(TURN_END)]
    episode.act(ids, [0.0] * len(ids), stopped=True)
    text = char_codec.decode(episode.transcript.ids)
    assert "$ sleep 99\npart\n[stopped at the limit of 30 s]\nuser@sim:~$ \n</tool_response>" in text
    assert "<tool_response>\n[warning: no tool call found. Nothing was run.]\n</tool_response>" in text
    assert terminal.commands == ["sleep 99"]


def test_keystrokes_that_cannot_be_typed_are_refused(char_codec, saying, task) -> None:
    episode = TerminusEpisode(task, saying(), char_codec, TerminusParams(), 0)
    with pytest.raises(ValueError, match="ambiguous"):
        drive(episode, ["echo '</keystrokes>'"])
