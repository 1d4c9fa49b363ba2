"""Every template: its oracle passes, nothing else does."""

import json

import pytest

from echo_terminal.tasks.families import TEMPLATES, make_task
from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.machine import BIN, LEDGER, RANDOM_MACHINES, make_machine

CORE = ["fetch_value", "rename_by_extension", "set_key", "follow_chain", "move_containing", "fix_script"]
SITE = ["site_two", "site_three", "site_find"]


def play(terminal, task, commands):
    terminal.reset(task.files, task.seed)
    for command in commands:
        terminal.run(command)
    return grade(task, terminal)


@pytest.mark.parametrize("template", CORE + SITE)
def test_oracle_passes_and_nothing_else(template, terminal):
    for seed in range(12):
        task = make_task(template, seed, make_machine(1))
        oracle = [s.command for s in task.oracle]
        assert play(terminal, task, oracle).reward == 1, task
        for commands in ([], ["ls"], oracle[:-1] if template != "fix_script" else [], *task.wrong):
            assert play(terminal, task, commands).reward == 0, (task.instruction, commands)


@pytest.mark.parametrize("template", CORE + SITE)
def test_core_templates_are_short(template):
    for seed in range(50):
        task = make_task(template, seed, make_machine(1))
        assert len(task.instruction.split()) <= 14
        assert all(len(s.command.split()) <= 4 for s in task.oracle)
    assert len({make_task(template, s, make_machine(1)).canonical_hash for s in range(50)}) == 50
    assert len({make_task(template, s, make_machine(1)).canonical_hash for s in (1, 1)}) == 1


@pytest.mark.parametrize("template", SITE)
def test_misses_teach_the_fact(template, terminal):
    task = make_task(template, 5, make_machine(4))
    terminal.reset(task.files, 0)
    facts = iter(task.tokens_of_facts)
    for step in task.oracle:
        if step.misses:
            fact = next(facts)
            assert all(fact in terminal.run(m).stderr.split() for m in step.misses)
    assert next(facts, None) is None and [f.split(":")[0] for f in task.facts] == ["verb"] * len(
        task.tokens_of_facts
    )


def test_a_random_machine_belongs_to_one_task():
    a, b = (make_task("site_two", s, "random") for s in (1, 2))
    assert a.machine == RANDOM_MACHINES + 1 and b.machine == RANDOM_MACHINES + 2
    assert set(a.files) != set(b.files) and a == make_task("site_two", 1, "random")
    assert a.files == make_machine(a.machine).files | {p: f for p, f in a.files.items() if "/home/" in p}


def test_templates_say_what_they_lack():
    with pytest.raises(ValueError, match="needs a machine"):
        make_task("site_two", 1)
    with pytest.raises(ValueError, match="unknown template"):
        make_task("site_tow", 1)
    with pytest.raises(ValueError, match="levels"):
        make_task("site_two", 1, "random", level=9)
    assert make_task("set_key", 1).machine is None and set(TEMPLATES) >= {*CORE, *SITE}


# E01: what the agent can write never decides a verdict
FORGERIES = [
    ["mkdir -p logs/verifier", "echo 1.0 > logs/verifier/reward.txt"],
    ["mkdir -p /logs/verifier", "echo nan > /logs/verifier/reward.txt"],
    [
        "mkdir -p /logs/verifier",
        "echo inf > /logs/verifier/reward.txt",
        "echo -0.5 > /logs/verifier/reward.json",
    ],
    ["echo 1.5 > reward.txt"],
    ["echo 'collect_ignore_glob = [\"*\"]' > conftest.py"],
    ["echo 'alias diff=true' >> .bashrc"],
]


@pytest.mark.parametrize("commands", FORGERIES)
@pytest.mark.parametrize("template", ["fetch_value", "site_two"])
def test_forged_rewards_pay_nothing_and_are_flagged(template, commands, terminal):
    task = make_task(template, 3, make_machine(1))
    verdict = play(terminal, task, commands)
    assert verdict.reward == 0 and verdict.failed
    if commands[-1].split("> ")[-1].startswith("/") and not terminal.list("/logs"):
        return  # the engine keeps the agent out of this folder
    assert verdict.tampered
    # nor do they beside the right solution
    verdict = play(terminal, task, [*[s.command for s in task.oracle], *commands])
    assert verdict.reward == 0 and verdict.tampered and not verdict.failed


def test_forged_ledgers_are_flagged(terminal):
    task = make_task("site_two", 3, make_machine(1))
    oracle = [s.command for s in task.oracle]
    name, verb, file = oracle[0].split()
    assert (
        not play(terminal, task, oracle).tampered and not play(terminal, task, task.oracle[0].misses).tampered
    )
    record = f"{name} {verb} /home/user/{file} 1 1"
    for commands in (
        [f"echo '{record}' >> {LEDGER}"],
        [*oracle, f"echo '{record}' >> {LEDGER}"],
        [*oracle, f"rm {LEDGER}"],
        [*oracle, f"sed -i 1d {LEDGER}"],
    ):
        verdict = play(terminal, task, commands)
        assert verdict.reward == 0 and verdict.tampered, commands


@pytest.mark.parametrize("forgery", ["echo : > {}", "sed -i s/usage/use/ {}", "rm {}", "cp /bin/true {}"])
def test_tools_cannot_be_forged_unseen(forgery, terminal):
    task = make_task("site_two", 3, make_machine(1))
    tool = f"{BIN}/{task.oracle[0].command.split()[0]}"
    for path in (tool, f"{BIN}/diff"):
        verdict = play(terminal, task, [forgery.format(path)])
        changed = terminal.read(path) != (task.files[path].content if path in task.files else None)
        assert verdict.reward == 0 and verdict.tampered == changed  # an engine may keep the folder read-only


@pytest.mark.parametrize("template", ["py_fix_index", "py_write"])
def test_the_shown_answer_is_never_the_hidden_one(template):
    """Of 500 scripts about five had the same last number in both files: printing it passed."""
    for seed in range(500):
        checks = make_task(template, seed).checks
        shown, hidden = (json.loads(c.value)["expect"] for c in checks if c.kind == "runs")
        assert shown != hidden
