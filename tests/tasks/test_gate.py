"""The gate lets good tasks through and says why it drops others. E03 by hand-made faults."""

import dataclasses

import pytest

from echo_terminal.tasks.families import TEMPLATES, make_task
from echo_terminal.tasks.gate import gate, gate_parallel, violation
from echo_terminal.tasks.machine import FACT_KINDS, make_machine
from echo_terminal.tasks.task import Check, Step
from echo_terminal.terminal.terminal import File

RICH = make_machine(1, facts=FACT_KINDS)


@pytest.mark.parametrize("template", [n for n, t in TEMPLATES.items()])
def test_every_template_passes(template, terminal):
    machine = None if TEMPLATES[template].domain == "pyterm" else RICH
    tasks = [make_task(template, 900, machine, level=level) for level in TEMPLATES[template].levels]
    report = gate(tasks, terminal)
    assert report.kept == tasks, (report.dropped, report.examples)


def faults():
    good = make_task("sort_lines", 1, level=1)
    out = next(c.path for c in good.checks if c.kind == "text")
    wanted = next(c.value for c in good.checks if c.kind == "text")
    machine_task = make_task("site_two", 1, RICH)
    return {
        "no-op passes": dataclasses.replace(good, files={**good.files, out: File(wanted.encode())}),
        "ls passes": dataclasses.replace(
            good,
            files={**good.files, "/home/user/README": File(b"")},
            checks=(Check("absent", "/home/user/x"),),
        ),
        "oracle fails": dataclasses.replace(good, oracle=(Step("srot a > b"),)),
        "oracle fails: text": dataclasses.replace(good, checks=(Check("text", out + "x", wanted),)),
        "wrong solution 0 passes": dataclasses.replace(good, wrong=((good.oracle[0].command,),)),
        "oracle fails: forged": dataclasses.replace(
            machine_task, oracle=(*machine_task.oracle, Step("echo a b c 1 1 >> /var/site/ledger"))
        ),
    }


@pytest.mark.parametrize("reason", [r for r in faults() if r != "ls passes"])
def test_a_faulty_task_is_dropped_with_its_reason(reason, terminal):
    task = faults()[reason]
    found = violation(task, terminal)
    assert found is not None and found.startswith(reason)
    report = gate([task], terminal)
    assert report.gated == 1 and not report.kept and report.dropped == {f"{task.template}: {found}": 1}
    assert list(report.examples.values()) == [task.task_id]


def test_a_task_that_ls_solves_is_dropped(terminal):
    """A shell function would do it, but no task brings one: the check is on a command's own effect."""
    task = make_task("sort_lines", 1, level=1)
    script = File(b"#!/bin/bash\necho solved > /home/user/x\n", 0o755)
    solved = dataclasses.replace(
        task,
        files={**task.files, "/usr/local/bin/ls": script},
        checks=(Check("text", "/home/user/x", "solved"),),
    )
    assert violation(solved, terminal) in ("ls passes", "oracle fails: text")


def test_parts_of_a_parallel_gate_keep_the_order():
    tasks = [make_task("set_key", i) for i in range(9)]
    bad = dataclasses.replace(tasks[3], oracle=(Step("true"),))
    report = gate_parallel([*tasks[:3], bad, *tasks[4:]], workers=2, part=2)
    assert report.gated == 9 and report.kept == tasks[:3] + tasks[4:] and sum(report.dropped.values()) == 1
