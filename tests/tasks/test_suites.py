"""Suites keep apart what must be apart; rows and files give back the same tasks."""

import dataclasses
import random

import pytest
from pydantic import ValidationError

from echo_terminal.tasks import split, store
from echo_terminal.tasks.families import TEMPLATE_SETS, TEMPLATES, expand, make_task
from echo_terminal.tasks.machine import FACT_KINDS, make_machine
from echo_terminal.tasks.suites import (
    SuiteParams,
    TaskParams,
    build_suite,
    build_suites,
    core_suites,
    describe_suites,
    solvable,
)


def small(**changes):
    sizes = {"train": 200, "val": 40, "itd": 22, "itd_machine": 64, "lite": 12, "hard": 9, "pyterm": 7}
    suites = {n: s.model_copy(update={"size": sizes[n]}) for n, s in TaskParams().suites.items()}
    return TaskParams(suites=suites, **changes)


@pytest.fixture(scope="module")
def tasks():
    return build_suites(small())


def by_suite(tasks, name):
    return [t for t in tasks if t.suite == name]


def test_templates_and_domains():
    assert len(TEMPLATES) >= 24 and {"data", "system", "development", "pyterm"} <= {
        t.domain for t in TEMPLATES.values()
    }
    everywhere = [n for names in TEMPLATE_SETS.values() for n in names]
    assert not set(TEMPLATE_SETS["trained"]) & set(TEMPLATE_SETS["held_out"]) and set(everywhere) <= set(
        TEMPLATES
    )
    assert {TEMPLATES[n].domain for n in TEMPLATE_SETS["held_out"]} == {"data", "system", "development"}
    assert expand(["core", "set_key", "site_two"]) == (*TEMPLATE_SETS["core"], "site_two")
    with pytest.raises(ValueError, match="unknown template 'site_to'"):
        expand(["site_to"])


# E06: the split is by template for itd, by seed and content for val
def test_no_template_of_itd_is_in_train_and_no_seed_in_two_suites(tasks):
    train = by_suite(tasks, "train")
    for name in ("itd", "lite", "hard", "pyterm"):
        held_out = by_suite(tasks, name)
        assert held_out and not {t.template for t in held_out} & {t.template for t in train}
    assert {t.template for t in by_suite(tasks, "val")} <= {t.template for t in train}
    seeds = [t.seed for t in tasks]
    assert len(set(seeds)) == len(seeds)
    spans = {n: range(next(split.seeds(n, 0)), next(split.seeds(n, 0)) + 10**9) for n in split.SUITES}
    assert all(t.seed in spans[t.suite] for t in tasks)


def test_machines_of_itd_machine_are_never_seen(tasks):
    seen = {t.machine for t in tasks if t.suite not in ("itd_machine", "pyterm")}
    unseen = {t.machine for t in by_suite(tasks, "itd_machine")}
    assert seen == {1, 2, 3, 4} and unseen == {1001, 1002}
    assert {t.machine for t in by_suite(tasks, "pyterm")} == {None}


def test_every_task_on_a_machine_of_its_own():
    suite = SuiteParams(size=12, templates=("site_two", "set_key"), machines="each")
    drawn = build_suite(TaskParams(suites={"val": suite}), "val")
    assert len({t.machine for t in drawn if t.template == "site_two"}) == 6


def test_sets_of_tools_are_split_but_every_single_tool_is_trained():
    params = TaskParams(facts=("verb",), train_machines=(1,), suites=core_suites(300, 40))
    tasks = build_suites(params)
    trained = {tuple(split.tools_of(t)) for t in by_suite(tasks, "train")}
    tested = {tuple(split.tools_of(t)) for t in tasks if t.suite in ("val", "lite")}
    assert tested and not trained & tested
    assert {tool for tools in trained for tool in tools} == set(make_machine(1).tools)
    # one in five (51/256) of all pairs is held out
    rng, machine = random.Random(0), make_machine(1)
    pairs = [make_task("site_two", rng.randrange(10**6), machine) for _ in range(400)]
    assert abs(sum(map(split.held_out_combination, pairs)) / 400 - 51 / 256) < 0.1


def test_hashes_never_collide_and_the_report_finds_planted_leaks(tasks):
    report = split.leakage(tasks)
    assert report.collisions == 0 and report.sizes["train"] == 200
    assert report.shared_templates["itd"] == 0 and report.shared_templates["val"] == 1
    leaked = dataclasses.replace(by_suite(tasks, "train")[0], suite="itd")
    near = dataclasses.replace(leaked, instruction=leaked.instruction.replace("the", "a"), suite="lite")
    planted = split.leakage([*tasks, leaked, near])
    assert planted.collisions == 1
    assert planted.near["itd"] == report.near["itd"] + 1 and planted.examples[0].similarity == 1.0
    assert planted.near["lite"] >= report.near["lite"]


def test_content_decides_the_canonical_hash():
    a = make_task("set_key", 1, suite="train")
    assert a.canonical_hash == dataclasses.replace(a, suite="val", seed=9).canonical_hash
    assert a.canonical_hash != dataclasses.replace(a, instruction=a.instruction + " ").canonical_hash


def test_builds_repeat_and_seeds_of_builds_differ(tasks):
    assert build_suite(small(), "val") == build_suite(small(), "val")
    other = build_suite(small(seed=7), "val")
    assert not {t.canonical_hash for t in other} & {t.canonical_hash for t in tasks}
    with pytest.raises(ValueError, match="seed of a build"):
        split.seeds("val", 1000)


def test_too_little_variety_is_an_error():
    params = TaskParams(suites={"val": SuiteParams(size=400, templates=("check_project",), machines="none")})
    with pytest.raises(ValueError, match="needs a machine"):
        build_suite(params, "val")
    with pytest.raises(ValueError, match="unknown suite"):
        build_suite(params, "vla")
    with pytest.raises(ValidationError, match="unknown template"):
        SuiteParams(size=1, templates=("site_to",))
    assert SuiteParams.model_validate({"size": 1, "templates": ["core"]}).templates == ("core",)


def test_levels_restrict_difficulty():
    suite = SuiteParams(size=30, templates=("sort_lines", "set_key", "site_copy"), levels=(3,))
    found = build_suite(TaskParams(suites={"val": suite}), "val")
    assert {(t.template, t.difficulty) for t in found} == {
        ("sort_lines", 3),
        ("set_key", 1),
        ("site_copy", 2),
    }


def test_rows_and_files_give_the_same_tasks(tasks, tmp_path):
    some = tasks[::9]
    assert [store.from_row(store.to_row(t)) for t in some] == some
    for name in ("t.jsonl", "t.jsonl.gz", "t.parquet"):
        assert store.write_tasks(tmp_path / name, some) == len(some)
        assert list(store.read_tasks(tmp_path / name)) == some
        first = (tmp_path / name).read_bytes()
        store.write_tasks(tmp_path / name, some)
        assert (tmp_path / name).read_bytes() == first
    row = store.to_row(some[0]) | {"instruction": "do nothing"}
    with pytest.raises(ValueError, match="canonical hash"):
        store.from_row(row)


def test_the_table_counts(tasks):
    rows = describe_suites(tasks)
    assert sum(r["tasks"] for r in rows) == len(tasks) and {r["suite"] for r in rows} == set(
        TaskParams().suites
    )
    train = [r for r in rows if r["suite"] == "train"]
    assert {r["domain"] for r in train} == {"data", "system", "development"} and train[0]["machines"] == 4


def test_the_solvability_filter_stops_at_the_first_pass():
    tried = []

    def third_time(task, attempt):
        tried.append(attempt)
        return attempt == 2

    task = make_task("set_key", 1)
    assert solvable(task, third_time) and tried == [0, 1, 2]
    assert not solvable(task, lambda t, a: False) and not solvable(task, third_time, tries=2)


def test_a_rich_machine_has_tens_of_facts_of_every_kind():
    machine = make_machine(5, facts=FACT_KINDS)
    kinds = {name.partition(":")[0] for name in machine.facts}
    assert kinds == {
        "verb",
        "flag",
        "order",
        "setting",
        "service",
        "after",
        "folder",
        "backup",
        "target",
        "level",
    }
    assert 70 <= len(machine.facts) <= 120
    plain = make_machine(5)
    assert {n: t.verb for n, t in plain.tools.items()} == {n: t.verb for n, t in machine.tools.items()}
    others = [make_machine(s, facts=FACT_KINDS).facts for s in range(5)]
    assert len({tuple(f.items()) for f in others}) == 5
