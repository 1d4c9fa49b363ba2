"""Machines: stable facts, and tools that do the same under two shells."""

import random

import pytest

from echo_terminal.tasks.lexicon import NAMES, VERBS
from echo_terminal.tasks.machine import BIN, FACT_KINDS, LEDGER, make_machine
from echo_terminal.tasks.verify import forged_records, read_ledger, tool_keys


def test_a_seed_is_a_machine():
    a, b = make_machine(1), make_machine(1, n_tools=24, facts=("verb",))
    assert a == b and a.files == b.files and len(a.tools) == 24
    assert set(a.tools) <= set(NAMES) and {t.verb for t in a.tools.values()} <= set(VERBS)
    assert make_machine(2).tools != a.tools
    assert len(VERBS) == 17 and len(set(NAMES)) == 256


@pytest.mark.parametrize(
    "wrong", [{"facts": ("colour",)}, {"usage": "loud"}, {"n_tools": 0}, {"n_tools": 65}]
)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong)).rstrip("s")):
        make_machine(1, **wrong)


def calls_of(tool):
    other = next(v for v in VERBS if v != tool.verb)
    return [
        [],
        [tool.verb],
        [other, "a.txt"],
        [tool.verb, "none"],
        [tool.verb, "b c.txt"],
        [tool.verb, "./a.txt"],
    ] + [
        [tool.verb, "a.txt"],
        ["a.txt", tool.verb],
        [tool.verb, "a.txt", "a.txt"],
    ]


@pytest.mark.parametrize("usage", ["informative", "silent"])
def test_a_tool_behaves_alike_under_bash_and_bashkit(usage, terminal, run_in_bash, tmp_path):
    machine = make_machine(7, usage=usage)
    tool = random.Random(0).choice(list(machine.tools.values()))
    script = machine.files[f"{BIN}/{tool.name}"].content.decode()
    (tmp_path / "a.txt").write_text("hello\n")
    (tmp_path / "b c.txt").write_text("x\n")
    terminal.reset(machine.files, 0)
    terminal.run("printf 'hello\\n' > a.txt; echo x > 'b c.txt'")
    for arguments in calls_of(tool):
        command = " ".join([tool.name, *(f"'{a}'" for a in arguments)])
        seen = terminal.run(command)
        assert (seen.exit_code, seen.stdout, seen.stderr) == run_in_bash(script, *arguments), command
    records = (tmp_path / "ledger").read_bytes().replace(str(tmp_path).encode(), b"/home/user")
    assert len(records.splitlines()) == 2
    assert b"3015617425" in records  # cksum of "hello\n"
    ours = terminal.read(LEDGER)
    assert forged_records(ours, tool_keys({p: f.content for p, f in machine.files.items()})) == []
    # the seals differ with the folder; everything before them does not
    assert [r.rsplit(b" ", 1)[0] for r in ours.splitlines()] == [
        r.rsplit(b" ", 1)[0] for r in records.splitlines()
    ]


def test_only_an_informative_usage_line_states_the_verb(terminal):
    for usage, states in (("informative", True), ("silent", False)):
        machine = make_machine(3, usage=usage)
        terminal.reset(machine.files, 0)
        for tool in machine.tools.values():
            seen = terminal.run(f"{tool.name} x y")
            assert (seen.exit_code, seen.stdout) == (2, "")
            assert (f"usage: {tool.name} {tool.verb} FILE\n" == seen.stderr) == states
            assert (tool.verb in seen.stderr.split()) == states


def test_control_commands_state_their_facts_only_if_they_may(terminal):
    for usage, told in (("informative", True), ("silent", False)):
        machine = make_machine(11, facts=FACT_KINDS, usage=usage)
        service, project = next(iter(machine.after)), next(iter(machine.targets))
        free = next(n for n in machine.services if n not in machine.after)
        terminal.reset(machine.files, 0)
        for command, code, fact in (
            (f"svc start {free}", 5, "=".join(machine.services[free])),
            (f"svc start {service}", 6, f"start {machine.after[service]} first"),
            (f"build {project}", 4, f"target is {machine.targets[project]}"),
            (f"check {project}", 4, f"level is {machine.levels[project]}"),
        ):
            seen = terminal.run(command)
            assert (seen.exit_code, seen.stdout, fact in seen.stderr) == (code, "", told), command
        folder = machine.folders["log"]
        assert (f"log files: {folder}\n" in terminal.run("cat README").stdout) == told
        for name, things in (
            ("svc", machine.services),
            ("build", machine.targets),
            ("check", machine.levels),
        ):
            assert terminal.run(f"{name} list").stdout.split() == list(things)
            assert terminal.run(name).stderr.startswith(f"usage: {name} list")


def test_a_service_starts_once_its_settings_and_forerunner_are_right(terminal):
    machine = make_machine(11, facts=FACT_KINDS)
    name, first = next(iter(machine.after.items()))
    terminal.reset(machine.files, 0)
    for service in (first, name):
        assert terminal.run(f"svc start {service}").exit_code == 5
        setting = "=".join(machine.services[service])
        assert terminal.run(f"echo {setting} > etc/{service}.cfg; svc start {service}").exit_code == 0
    records = read_ledger(terminal.read(LEDGER))
    assert [r.content[:3] for r in records] == [
        ("svc", "start", f"/home/user/etc/{n}.cfg") for n in (first, name)
    ]
