"""A person in the agent's chair."""

import pytest
import typer
from typer.testing import CliRunner

from echo_terminal.tasks.families import make_task
from echo_terminal.tasks.play import find_task, play, play_command, template_table
from echo_terminal.tasks.suites import TaskParams, build_suite


def session(task, terminal, lines, turns=16):
    answers, said = iter(lines), []

    def ask(prompt):
        answer = next(answers, None)
        if answer is None:
            raise EOFError
        return answer

    return play(task, terminal, ask, said.append, turns), said


def test_the_oracle_typed_by_hand_is_rewarded(terminal):
    task = make_task("site_find", 3, TaskParams().machine(1))
    commands = [s.command for s in task.oracle]
    verdict, said = session(task, terminal, [*commands, "done"])
    assert verdict.reward == 1 and task.instruction in said[0] and said[-1] == "Reward 1."
    verdict, said = session(task, terminal, [*task.oracle[1].misses[:1]])
    assert verdict.reward == 0 and any(s.startswith("usage: ") for s in said) and "ledger" in said[-1]
    verdict, said = session(task, terminal, commands, turns=1)
    assert verdict.reward == 0 and "No turns left." in said


def test_tasks_are_found_by_name():
    params = TaskParams()
    assert find_task("set_key", params, 1) == make_task("set_key", 0, params.machine(1))
    assert find_task("set_key/7", params, 2) == make_task("set_key", 7, params.machine(2))
    task = build_suite(params, "val")[5]
    assert find_task(task.task_id, params, 1) == task
    for name, why in (
        ("set_key/x", "is not a task"),
        ("val/set_key/1", "has no task"),
        ("vla/a/1", "unknown suite"),
    ):
        with pytest.raises(ValueError, match=why):
            find_task(name, params, 1)


def test_the_command_plays_and_complains_in_one_line(tmp_path):
    app = typer.Typer()
    app.command()(play_command)
    result = CliRunner().invoke(app, ["set_key/1", "--show-oracle"], input="ls\n")
    assert result.exit_code == 1 and "oracle: sed" in result.output and "Reward 0." in result.output
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 2 and "holds 0 tasks" in result.output
    result = CliRunner().invoke(app, ["nothing"])
    assert result.exit_code == 2 and len(result.output.splitlines()) == 1


def test_every_template_says_what_it_is_about():
    rows = template_table()
    assert len({r["about"] for r in rows}) == len(rows) and all(r["about"] for r in rows)
