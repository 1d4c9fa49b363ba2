"""The gate lets good tasks through and says why it drops others. E03 by hand-made faults."""

import dataclasses

import pytest

from echo_terminal.tasks.families import TEMPLATES, make_task
from echo_terminal.tasks.gate import agreement, gate, gate_parallel, violation
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
        "oracle fails": dataclasses.replace(good, oracle=(Step("srot a > b"),)),
        "oracle fails: text": dataclasses.replace(good, checks=(Check("text", out + "x", wanted),)),
        "wrong solution 0 passes": dataclasses.replace(good, wrong=((good.oracle[0].command,),)),
        "oracle fails: forged": dataclasses.replace(
            machine_task, oracle=(*machine_task.oracle, Step("echo a b c 1 1 >> /var/site/ledger"))
        ),
    }


@pytest.mark.parametrize("reason", list(faults()))
def test_a_faulty_task_is_dropped_with_its_reason(reason, terminal):
    task = faults()[reason]
    found = violation(task, terminal)
    assert found is not None and found.startswith(reason)
    report = gate([task], terminal)
    assert report.gated == 1 and not report.kept and report.dropped == {f"{task.template}: {found}": 1}
    assert list(report.examples.values()) == [task.task_id]


def test_every_output_is_named_in_the_instruction():
    """A path that is checked but neither there at the start nor named could not be known."""
    for name, template in TEMPLATES.items():
        if template.domain not in ("data", "composed"):
            continue
        for seed in range(20):
            task = make_task(name, seed)
            for check in task.checks:
                known = check.path in task.files or check.kind in ("absent", "runs")
                stem = check.path.rpartition("/")[2].partition(".")[0]
                shown = [task.instruction, *task.files, *(f.content.decode() for f in task.files.values())]
                assert known or any(stem in text for text in shown), (task.instruction, check)


def test_parts_of_a_parallel_gate_keep_the_order():
    tasks = [make_task("set_key", i) for i in range(9)]
    bad = dataclasses.replace(tasks[3], oracle=(Step("true"),))
    report = gate_parallel([*tasks[:3], bad, *tasks[4:]], workers=2, part=2)
    assert report.gated == 9 and report.kept == tasks[:3] + tasks[4:] and sum(report.dropped.values()) == 1


def test_engines_that_disagree_are_named(terminal):
    good = [make_task("set_key", 1, suite="val"), make_task("site_two", 1, RICH, suite="val")]
    assert agreement(good, [terminal]) == []
    bad = dataclasses.replace(good[0], oracle=(Step("true"),))
    assert agreement([bad], [terminal]) == ["virtual: val/set_key/1: no-op 0, oracle 0"]
