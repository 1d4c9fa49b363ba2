"""Verdicts: the rule by hand, every claim of the repository on synthetic results, and reversal by symmetry."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.analysis import claims, estimates, render, results
from echo_terminal.analysis.estimates import Estimate

CLAIMS = Path(__file__).parents[2] / "paper" / "claims.yaml"
NAN = float("nan")


def claim(expect: str, threshold: float = 0.0, min_seeds: int = 3) -> claims.Claim:
    return claims.Claim(
        id="c", family="f", source="s", claim="x", metric="pass_gain", expect=expect, threshold=threshold,
        unit="points", min_seeds=min_seeds, notebook="05_evaluate",
    )  # fmt: skip


def judged(low: float, high: float, of: claims.Claim, p: float = NAN, seeds: int = 3) -> str:
    return claims.verdict(Estimate((low + high) / 2, low, high, p, seeds, 50, "t"), p, of)[0]


@pytest.mark.parametrize(
    ("low", "high", "expect", "threshold", "p", "outcome"),
    [
        (1, 5, "above", 0, 0.01, "reproduced"),
        (-5, -1, "above", 0, 0.01, "reversed"),
        (-1, 5, "above", 0, 0.01, "inconclusive"),
        (1, 5, "above", 0, 0.2, "inconclusive"),  # Holm takes it back
        (1, 5, "above", 2, NAN, "inconclusive"),
        (-5, -1, "below", 0, 0.01, "reproduced"),
        (1, 5, "below", 0, NAN, "reversed"),
        (-2, 3, "within", 5, 0.9, "reproduced"),
        (-2, 6, "within", 5, 0.9, "inconclusive"),
        (6, 9, "within", 5, 0.9, "reversed"),
        (NAN, NAN, "above", 0, NAN, "inconclusive"),
    ],
)
def test_the_rule(low: float, high: float, expect: str, threshold: float, p: float, outcome: str) -> None:
    assert judged(low, high, claim(expect, threshold), p) == outcome


def test_few_seeds_are_never_conclusive() -> None:
    assert judged(1, 5, claim("above"), 0.001, seeds=2) == "inconclusive"
    assert judged(1, 5, claim("above", min_seeds=1), 0.001, seeds=2) == "reproduced"


@given(st.floats(-9, 9), st.floats(0, 9), st.floats(-3, 3))
def test_above_and_below_mirror_each_other(low: float, width: float, threshold: float) -> None:
    mirror = {"reproduced": "reversed", "reversed": "reproduced", "inconclusive": "inconclusive"}
    above = judged(low, low + width, claim("above", threshold))
    assert judged(low, low + width, claim("below", threshold)) == mirror[above]


def test_p_against_a_threshold_is_the_t_test_there() -> None:
    """1, 2, 3 against 1: t = 1/(1/√3) = 1.732, two-sided p(2) = 0.2254."""
    e = estimates._over_seeds(pd.Series([1.0, 2.0, 3.0]))
    assert e.p_against(1.0) == pytest.approx(0.2254, abs=1e-4)
    assert e.p_against(0.0) == pytest.approx(0.0742, abs=1e-4)
    assert np.isnan(e._replace(test="wilcoxon").p_against(1.0))


@pytest.fixture(scope="module")
def rows(synthetic: Path) -> list[dict]:
    return claims.evaluate(claims.load(CLAIMS), results.load(synthetic))


def test_no_row_is_empty(rows: list[dict], tmp_path: Path) -> None:
    expected = sum(max(1, len(c.starts)) for c in claims.load(CLAIMS))
    assert len(rows) == expected == len({row["id"] for row in rows})
    for row in rows:
        assert row["verdict"] in claims.VERDICTS and row["reason"]
        assert (row.get("effect") is None) == (row["verdict"] == "not run"), row["id"]
    claims.write(rows, tmp_path / "claims.json")
    assert json.loads((tmp_path / "claims.json").read_text()) == rows
    table = claims.table(rows)
    assert len(table.shown) == expected and "nan" not in render.markdown(table).lower()


def test_synthetic_verdicts_follow_the_made_up_effects(rows: list[dict]) -> None:
    verdicts = {row["id"]: row["verdict"] for row in rows}
    assert (
        verdicts["ce-val/sft"]
        == verdicts["ce-grpo-flat/sft"]
        == verdicts["gradients-orthogonal/sft"]
        == "reproduced"
    )
    assert verdicts["pass-hard/sft"] == "reproduced"
    assert verdicts["pass-val/base_medium"] == verdicts["warnings-fade/base_small"] == "not run"
    assert {row["reason"] for row in rows if row["id"] == "pass-val/base_medium"} == {
        "the start base_medium is not part of this profile"
    }


def test_swapped_arms_reverse_the_verdict(synthetic: Path) -> None:
    """The same data with the names of the arms exchanged: what was reproduced is reversed, at the same size."""
    whole = results.load(synthetic)
    swap = {"grpo": "echo", "echo": "grpo"}
    swapped = {
        k: f.assign(objective=f["objective"].replace(swap))
        for k, f in whole.frames.items()
        if "objective" in f
    }
    chosen = [c for c in claims.load(CLAIMS) if c.id in ("pass-hard", "ce-val", "pass-itd")]
    there = claims.evaluate(chosen, whole)
    back = claims.evaluate(chosen, results.Results("s", swapped))
    mirror = {"reproduced": "reversed", "inconclusive": "inconclusive", "not run": "not run"}
    assert [mirror[row["verdict"]] for row in there] == [row["verdict"] for row in back]
    assert there[0]["effect"] == pytest.approx(-back[0]["effect"])


def test_holm_is_taken_over_a_family(synthetic: Path) -> None:
    whole = results.load(synthetic)
    table1 = [c for c in claims.load(CLAIMS) if c.family == "table1"]
    alone = claims.evaluate([table1[-1]], whole)[0]
    together = claims.evaluate(table1, whole)
    ours = next(row for row in together if row["id"] == alone["id"])
    assert ours["p"] == alone["p"] and ours["p_holm"] >= alone["p_holm"] >= alone["p"]


def test_claims_file_faults_are_named(tmp_path: Path) -> None:
    text = CLAIMS.read_text()
    path = tmp_path / "claims.yaml"
    path.write_text(text.replace("metric: ce_gap", "metric: ce_gapp"))
    with pytest.raises(ValueError, match="no metric ce_gapp"):
        claims.load(path)
    path.write_text(text.replace("- id: pass-itd", "- id: pass-val"))
    with pytest.raises(ValueError, match="named twice: pass-val"):
        claims.load(path)


def test_the_paired_benchmark_keeps_its_spread() -> None:
    bench = {"u": 1.01, "u_p10": 0.99, "u_p90": 1.03}
    estimate = estimates.benchmark(results.Results("s", {}, bench), "u")
    assert estimate[:3] == (1.01, 0.99, 1.03)
    with pytest.raises(results.NotRun, match="run make bench"):
        estimates.benchmark(results.Results("s", {}, {"u": 1.0}), "u")


def test_seeds_that_pass_equal_shares_have_no_spread_to_compare() -> None:
    """GRPO passes as many of five tries under every seed, on other tasks: its means differ by rounding alone."""
    rows = [{"start": "sft", "objective": o, "suite": "val", "seed": s, "task_id": f"t{t:02}", "template": "x",
             "step": 1, "attempt": a, "reward": float(a < passed + (s if o == "echo" else 0))}
            for o in ("grpo", "echo") for s in (0, 1, 2)
            for t, passed in enumerate(np.random.default_rng(s).permutation([0, 1, 2, 3] * 20))
            for a in range(5)]  # fmt: skip
    with pytest.raises(results.NotRun, match="two seeds an arm that differ"):
        estimates.spread_ratio(results.Results("s", {"attempts": pd.DataFrame(rows)}), "sft", "val")


def test_a_speed_up_never_reached_counts_as_nothing() -> None:
    steps = [{"start": "sft", "objective": o, "seed": s, "step": t, "val_pass": v}
             for s in (0, 1, 2) for o, curve in (("grpo", (0.1, 0.5)), ("echo", (0.1, 0.3)))
             for t, v in zip((10, 20), curve, strict=True)]  # fmt: skip
    frames = {
        "train_steps": pd.DataFrame(steps),
        "attempts": pd.DataFrame({"start": [], "objective": [], "suite": []}),
    }
    estimate = estimates.speed_up(results.Results("s", frames), "sft", "during training")
    assert estimate[:3] == (0.0, 0.0, 0.0)


def test_a_world_of_its_own_is_a_control_and_unpaired_where_its_tasks_differ(
    synthetic: Path, tmp_path: Path
) -> None:
    for name in ("sweep", "silent", "random"):
        shutil.copytree(synthetic, tmp_path / name)
    for name in ("silent", "random"):
        (tmp_path / name / "05_evaluate").mkdir()
        rows = pd.read_parquet(tmp_path / name / "attempts.parquet")
        if name == "random":
            rows["task_id"] = "other/" + rows["task_id"]
        rows.to_parquet(tmp_path / name / "05_evaluate" / "attempts.parquet")
    controls = pd.read_parquet(tmp_path / "sweep" / "controls.parquet")
    controls = controls[~controls["variant"].isin(results.WORLDS.values())]
    controls.to_parquet(tmp_path / "sweep" / "controls.parquet")
    loaded = results.load(tmp_path / "sweep")
    gap = {
        name: estimates.control_gap(loaded, start="base_small", suite="val", variant=variant, against="echo")
        for name, variant in results.WORLDS.items()
    }
    assert gap["silent"][:4] == (0.0, 0.0, 0.0, 1.0) and gap["silent"].test == "wilcoxon"  # the same attempts
    assert gap["random"].effect == 0.0 and gap["random"].test == "mann-whitney"
    assert gap["random"].low < -5 < 5 < gap["random"].high


def test_another_baseline_takes_the_place_of_grpo() -> None:
    passed = {"grpo": 1, "grpo_tuned": 2, "echo": 3}  # of 4 attempts at each task
    rows = [{"start": "sft", "objective": o, "suite": "val", "seed": s, "task_id": f"t{t}", "template": "x",
             "step": 1, "attempt": a, "reward": float(a < passed[o])}
            for o in passed for s in (0, 1, 2) for t in range(12) for a in range(4)]  # fmt: skip
    loaded = results.Results("s", {"attempts": pd.DataFrame(rows)})
    assert estimates.pass_gain(loaded, "sft", "val").effect == pytest.approx(50)  # 3/4 − 1/4
    assert estimates.pass_gain(loaded, "sft", "val", against="grpo_tuned").effect == pytest.approx(25)
    with pytest.raises(results.NotRun, match="no run of objective grpo_other"):
        estimates.pass_gain(loaded, "sft", "val", against="grpo_other")
