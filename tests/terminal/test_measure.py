"""Measurements on terminals."""

from __future__ import annotations

from collections.abc import Mapping

from echo_terminal.terminal.conformance import Case, built_in_fixture
from echo_terminal.terminal.measure import answers_where_possible, session_digest, speed
from echo_terminal.terminal.terminal import EngineUnavailable, File, Observation, open_terminal


class WithoutPython:
    """A terminal on a machine that cannot sandbox python3."""

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        pass

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        if command.startswith("python3"):
            raise EngineUnavailable("no sandbox here")
        return Observation("said\n", "", 0, "/home/user")


def test_what_cannot_run_here_has_its_reason_and_the_rest_goes_on():
    cases = [Case("a", "echo"), Case("b", "python3 -c 1"), Case("c", "echo")]
    found = list(answers_where_possible(WithoutPython(), cases, built_in_fixture()))
    assert [(o and o.stdout, reason) for o, reason in found] == [
        ("said\n", ""), (None, "no sandbox here"), ("said\n", "")
    ]  # fmt: skip


def test_the_digest_repeats_and_tells_sessions_apart():
    assert session_digest(4, 1) == session_digest(4, 1)
    assert session_digest(4, 1) != session_digest(4, 2) != session_digest(3, 1)


def test_speed_counts_all_but_the_first_episode():
    found = speed(open_terminal("virtual"), [({}, ["true"] * 3), ({}, ["true"] * 3), ({}, ["true", "true"])])
    assert (found["episodes"], found["commands"]) == (2, 5)
    assert found["reset_seconds"] > 0 and found["run_seconds"] > 0
