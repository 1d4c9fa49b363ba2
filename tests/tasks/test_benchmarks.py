"""The benchmarks of the world run, on small numbers, and say what they measured."""

import pytest

from echo_terminal.pipeline import benchmarks as registered
from echo_terminal.pipeline.bench import CannotRun
from echo_terminal.tasks import benchmarks as b
from echo_terminal.terminal import benchmarks as t
from echo_terminal.terminal.terminal import EngineUnavailable


def test_samples_have_the_size_asked_for_and_no_task_twice():
    tasks = b.sample(30, seed=2)
    assert len(tasks) == 30
    assert len({task.canonical_hash for task in tasks}) == 30
    assert all(len(b.five(task)) == 5 for task in tasks)


def test_speed_and_endurance_have_a_row_for_each_target():
    assert [(r["unit"], r["target"]) for r in b.speed(14)] == [("1/s", ">= 2500"), ("ms", "<= 2")]
    growth, left = b.endurance(20)
    assert growth["unit"] == "MiB"
    assert (left["value"], left["holds"]) == (0, True)


def test_bubblewrap_is_slower_or_is_left_out():
    try:
        (ratio,) = b.against_bubblewrap(rounds=1, size=2)
    except EngineUnavailable as reason:
        pytest.skip(str(reason))
    assert ratio["value"] > 1


def test_what_a_machine_lacks_is_left_out_with_the_reason():
    def lacking():
        raise EngineUnavailable("no daemon; start one")

    with pytest.raises(CannotRun, match="start one"):
        registered._where_possible(lacking)


def test_two_processes_give_the_same_sessions():
    (found,) = t.determinism(80)
    assert (found["value"], found["holds"]) == (0, True)
    assert len(set(t.transcript_digests(80))) == 10
    assert t.transcript_digests(80, seed=6) != t.transcript_digests(80)
