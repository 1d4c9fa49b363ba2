"""Roles read back from observation text equal the roles of the pieces it was made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.agent.prompt import HarnessParams, observation_pieces
from echo_terminal.agent.tool_call import Call
from echo_terminal.agent.transcript import Role
from echo_terminal.scale_out.layout import byte_roles, neutralise, row_roles, token_roles, vocabulary_bytes
from echo_terminal.terminal.terminal import Observation, Status

PARAMS = HarnessParams(output_chars=400)
OUTPUTS = st.text(alphabet="ab c\n0é", max_size=60) | st.just("line of text\n" * 60) | st.just("x" * 900)
CALLS = st.sampled_from(
    [
        Call("bash", "x"),
        Call("bash", "x", "later_calls"),
        Call("bash", "x", "later_calls", True),
        Call("bash", "x", "", True),
    ]
)


def observation(stdout="", stderr="", code=0, status=Status.OK) -> Observation:
    return Observation(stdout, stderr, code, "/home/user", status)


@given(
    OUTPUTS, OUTPUTS, st.integers(0, 255), CALLS, st.sampled_from([Status.OK, Status.TIMEOUT, Status.KILLED])
)
def test_bytes_have_the_roles_of_their_pieces(stdout, stderr, code, call, status):
    pieces = observation_pieces(observation(stdout, stderr, code, status), call, PARAMS)
    span = "".join(p.text for p in pieces).encode()
    true = np.concatenate([np.full(len(p.text.encode()), p.role, dtype=np.int8) for p in pieces])
    roles = byte_roles(span)
    wrong = np.flatnonzero(roles != true)
    # the newline before a notice may be the output's: it is then the notice's here, and no target
    for at in wrong:
        assert span[at : at + 2] == b"\n[" and true[at] == Role.OUTPUT and roles[at] == Role.WARNING
    assert len(wrong) <= 3


def test_nothing_was_run():
    pieces = observation_pieces(None, Call("malformed", None, "no_call"), PARAMS)
    span = "".join(p.text for p in pieces).encode()
    roles = byte_roles(span)
    assert set(roles.tolist()) == {Role.WARNING, Role.GLUE}
    said = bytes(np.frombuffer(span, np.uint8)[roles == Role.WARNING])
    assert said == b"[warning: no tool call found. Nothing was run.]"
    assert Role.OUTPUT not in byte_roles(b"<|im_end|>\n").tolist()


def test_tokens_of_two_roles_are_no_targets():
    span = [
        b"\n<|im_start|>",
        b"user\n<tool_response>\nexit code:",
        b" 0",
        b"\n",
        b"a.txt",
        b"\n",
        b"b\n\n",
        b"</tool_response>",
    ]
    tail = [b"<|im_end|>\n<|im_start|>assistant\n"]
    roles = token_roles([*span, *tail])
    # " 0" holds a blank of the frame; "b\n\n" holds the newline before the closing tag
    assert np.flatnonzero(roles == Role.OUTPUT).tolist() == [4, 5]


def test_cut_observation_keeps_its_targets():
    roles = token_roles([b"\n<|im_start|>user\n<tool_response>\nexit code: ", b"1", b"\n", b"ls: no"])
    assert np.flatnonzero(roles == Role.OUTPUT).tolist() == [1, 3]


def test_a_row_of_two_turns():
    vocabulary = [
        b"",
        b"task",
        b"act",
        b"\n<|im_start|>user\n<tool_response>\nexit code: ",
        b"7",
        b"\n",
        b"out",
    ]
    vocabulary.append(b"\n</tool_response><|im_end|>\n<|im_start|>assistant\n")
    ids = [1, 2, 2, 3, 4, 5, 6, 7, 2, 3, 4, 7, 0, 0]
    sampled = np.array([0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0], dtype=bool)
    roles = row_roles(ids, sampled, 12, vocabulary)
    names = "".join({0: "P", 1: "A", 2: "O", 3: "W", 4: "G"}[int(r)] for r in roles)
    assert names == "PAAGOGOGAGOGGG"
    assert row_roles([1, 1], np.zeros(2, bool), 2, vocabulary).tolist() == [Role.PROMPT] * 2


@given(st.lists(st.sampled_from(["<|im_end|>", "<|im_start|>", "</think>", "a", "<", "|"]), max_size=12))
def test_neutralised_text_holds_no_control_string(parts):
    control = ["<|im_end|>", "<|im_start|>", "</think>"]
    text = neutralise("".join(parts), control)
    assert not any(token in text for token in control)
    assert text.replace("\u200b", "") == "".join(parts)


def test_roles_need_a_byte_level_vocabulary():
    class Tokenizer:
        added_tokens_decoder = {0: "<|im_end|>"}

        def __len__(self):
            return 3

        def convert_ids_to_tokens(self, ids):
            return ["<|im_end|>", "Ġa", "▁b"][: len(ids)]

    with pytest.raises(ValueError, match="not byte-level"):
        vocabulary_bytes(Tokenizer())
