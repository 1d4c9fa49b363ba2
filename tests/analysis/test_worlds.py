"""What outputs reveal, varied in worlds of their own: made-up results, hand-computed gains, and what is not run."""

import json
import shutil
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from echo_terminal.analysis import catalogue, claims, estimates, paper, results, site, worlds
from echo_terminal.analysis.results import NotRun
from echo_terminal.lake.evaluation_run import side_tables
from echo_terminal.pipeline.params import load_params

ROOT = Path(__file__).parents[2]
RATES = {"cpu": {"grpo": 4, "echo": 9}, "silent": {"grpo": 4, "echo": 4}, "random": {"grpo": 3, "echo": 4}}
TASKS, SUITES = 10, ("val", "itd_machine")


def attempts(passed: Mapping[str, int], objectives: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Two site tasks to one generic; an arm passes its first ``passed`` of ten tasks of each kind, on every seed."""
    rows = []
    arms = objectives or {name: name for name in passed}
    for (name, arm), suite, seed, step, kind, task in product(
        arms.items(), SUITES, (0, 1, 2), (0, 20), ("site_two", "set_key"), range(TASKS)
    ):
        done = task < (2 if step == 0 else passed[arm] if kind == "site_two" else 5)
        rows.append(
            {
                "suite": suite, "task_id": f"{suite}/{kind}/{task}", "template": kind, "domain": "system",
                "machine": 1, "start": "base_small", "objective": name, "seed": seed, "step": step, "attempt": 0,
                "reward": float(done), "done": done, "turns": 3, "action_tokens": 30, "timeouts": 0, "malformed": 0,
                "finish": "done" if done else "turns",
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def root(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worlds")
    for profile, passed in RATES.items():
        out = folder / profile / "05_evaluate"
        out.mkdir(parents=True)
        attempts(passed).to_parquet(out / "attempts.parquet")
        for name in ("heldout_ce", "train_steps"):
            shutil.copy(synthetic / f"{name}.parquet", out)
    return folder


def test_gains_by_hand(root: Path) -> None:
    """Own tools: 9 − 4 of ten here, 4 − 4 where usage lines are silent, 4 − 3 with new machines."""
    here = results.load(root / "cpu")
    own = {"start": "base_small", "suite": "val", "tools": "site"}
    assert estimates.world_gain(here, world="silent_usage", **own)[:3] == (0.0, 0.0, 0.0)
    gain = estimates.world_gain(here, world="random_machine", **own)
    assert gain.effect == pytest.approx(10.0) and gain.low == 0.0 and (gain.seeds, gain.tasks) == (3, 10)
    less = estimates.world_contrast(here, world="silent_usage", **own)
    assert less.effect == pytest.approx(-50.0) and less.high < -10 and less.p < 0.05
    assert estimates.world_contrast(here, world="random_machine", **own).effect == pytest.approx(-40.0)


def test_swapped_worlds_turn_the_sign(root: Path) -> None:
    here = results.load(root / "cpu")
    a, b = (worlds.arms(here, "base_small", c) for c in worlds.CONDITIONS[:2])
    assert worlds.contrast(a, b)[0].value == pytest.approx(-worlds.contrast(b, a)[0].value)


def test_verdicts_come_by_themselves(root: Path, tmp_path: Path) -> None:
    chosen = [c for c in claims.load(ROOT / "paper" / "claims.yaml") if c.metric.startswith("world")]
    assert len(chosen) == 4
    rows = {row["id"].split("/")[0]: row for row in claims.evaluate(chosen, results.load(root / "cpu"))}
    assert rows["gain-silent"]["verdict"] == "reproduced"
    assert rows["gain-silent-less"]["verdict"] == "reproduced"
    assert rows["gain-random"]["verdict"] == "inconclusive"  # the interval reaches over five points
    lone = results.Results(
        "cpu", {k: v for k, v in results.load(root / "cpu").frames.items() if k != "worlds"}
    )
    for row in claims.evaluate(chosen, lone):
        assert row["verdict"] == "not run"
        assert row["reason"] == f"the profile {row['id'].split('-')[1].split('/')[0]} was not run"


def test_a_world_is_compared_with_none(root: Path) -> None:
    own = results.load(root / "silent")
    assert "worlds" not in own.frames
    with pytest.raises(NotRun, match="not compared with other worlds"):
        results.world_rows(own, "random_machine")


def test_the_figure_says_what_was_not_run(root: Path) -> None:
    whole = results.load(root / "cpu")
    lone = results.Results("cpu", {k: v for k, v in whole.frames.items() if k != "worlds"})
    for of, absent in ((whole, 0), (lone, 2)):
        figure = worlds.when(of, ROOT / "paper" / "published")
        left = figure.axes[0]
        assert [t.get_text() for t in left.texts] == [
            f"the profile {name} was not run" for name in ("silent", "random")[:absent]
        ]
        titles = [t.get_text() for t in left.get_yticklabels()]
        assert titles[0].endswith("10 tasks, 3 seeds") and len(titles) == len(worlds.CONDITIONS)


def test_the_paper_and_the_site_of_the_default_profile_and_of_a_world(root: Path, tmp_path: Path) -> None:
    """Both builds end; the default profile's verdicts hold the worlds', the world's own page stands by itself."""
    for name in ("silent", "random"):
        claims.write([], root / name / "claims.json")
    for name in ("cpu", "silent"):
        out = tmp_path / name
        made = paper.build(root / name, out, paper=ROOT / "paper")
        assert {"families", "figure2"} <= set(made.figures)
        assert ("when" in made.figures) == (
            name == "cpu"
        )  # a world is a row there; its own rows would mislead
        filled = json.loads((out / "values.json").read_text())
        ran = {c["id"] for c in filled["claims"] if c["verdict"] != "not run"}
        assert ("gain-silent" in ran) == ("gain-random-less" in ran) == (name == "cpu")
        cell = nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("stream", text="1")])
        (tmp_path / f"executed-{name}").mkdir()
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / f"executed-{name}" / "05.ipynb")
        index = site.build(out, tmp_path / f"executed-{name}", tmp_path / "site" / name)[0].read_text()
        assert f"profile {name}" in index and ('src="figures/when.svg"' in index) == (name == "cpu")
    text = site.front(tmp_path / "site").read_text()
    assert text.index("cpu/index.html") < text.index("silent/index.html") and "reproduced" in text
    assert site.check_links([tmp_path / "site" / "index.html"]) == []


def test_a_sweep_of_weights_and_controls_shows_under_names_for_readers() -> None:
    """Every objective of the full study, made-up rates: the λ axis, the controls and the gains have all of them."""
    objectives = load_params(ROOT / "profiles" / "cpu-full" / "params.yaml").objectives
    arms = {name: "echo" if objective.kind == "echo" else "grpo" for name, objective in objectives.items()}
    rows = attempts(RATES["cpu"], arms)
    tables = side_tables(rows, objectives)
    assert set(tables["controls"]["variant"]) == {"masked_facts", "shuffled", "unrelated"}
    assert {0.0, 0.05, 0.1, 0.2, 0.3} <= set(tables["sweeps"]["level"])
    assert len(tables["sweeps"]["level"].unique()) == 10  # λ = 0 is GRPO, 0.3 the profile's own ECHO
    of = results.Results("cpu-full", {"attempts": rows, **tables})
    published = ROOT / "paper" / "published"
    ticks = catalogue.FIGURES["lambda"].draw(of, published).axes[0].get_xticklabels()
    assert [t.get_text() for t in ticks][:2] == ["0", "0.001"] and "0.2" in [t.get_text() for t in ticks]
    for figure in ("objectives", "controls"):
        shown = catalogue.FIGURES[figure].draw(of, published).axes[0].get_yticklabels()
        assert not {t.get_text() for t in shown} & set(objectives)
    gap = estimates.level_gap(of, "base_small", "val", "lambda", "reward", high=0.2, low=0.0)
    assert gap.effect == pytest.approx(25.0)  # 14 − 9 of twenty tasks
