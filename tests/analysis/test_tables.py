"""Tables from synthetic results: numbers checked by hand, and every form of every table."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from echo_terminal.analysis import measures, render, results, tables
from echo_terminal.analysis.statistics import Interval

PUBLISHED = Path(__file__).parents[2] / "paper" / "published"


@pytest.fixture(scope="module")
def loaded(synthetic: Path) -> results.Results:
    return results.load(synthetic)


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_table_in_every_form(name: str, loaded: results.Results, tmp_path: Path) -> None:
    table = tables.TABLES[name](loaded, PUBLISHED)
    paths = render.write(table, tmp_path)
    assert [p.suffix for p in paths] == [".csv", ".md", ".tex", ".typ"]
    assert len(pd.read_csv(paths[0])) == len(table.shown)
    assert paths[2].read_text().count(r"\\") == len(table.shown) + 1
    assert "nan" not in paths[1].read_text()


def test_table_1_is_the_mean_over_attempts(loaded: results.Results) -> None:
    table = tables.pass_rates(loaded, PUBLISHED).data
    row = table[(table["from"] == "here") & (table["start"] == "sft") & (table["arm"] == "echo")].iloc[0]
    a = loaded.get("attempts")
    chosen = a[(a["suite"] == "itd") & (a["start"] == "sft") & (a["objective"] == "echo") & (a["step"] == 60)]
    assert row["itd"] == pytest.approx(100 * chosen["reward"].fillna(0).mean())
    assert row["itd_low"] < row["itd"] < row["itd_high"]
    assert row["hard"] < row["hard@3"] < row["hard@5"]
    assert len(table[table["from"] != "here"]) == 12  # three models: base, GRPO, ECHO and the gain


def tiny(rates: dict[tuple[str, str], float], suite: str = "val") -> results.Results:
    """Ten tasks, two seeds, one attempt; the first ``10 · rate`` tasks pass."""
    rows = [
        {"suite": suite, "task_id": f"t{i}", "template": "core", "start": start, "objective": objective,
         "seed": seed, "step": step, "reward": float(i < 10 * rate) if step else 0.0}
        for (start, objective), rate in rates.items()
        for i in range(10)
        for seed in (0, 1)
        for step in (0, 5)
    ]  # fmt: skip
    return results.Results("tiny", {"attempts": pd.DataFrame(rows)})


def test_share_closed_by_hand() -> None:
    """GRPO 20 %, ECHO 50 %, SFT 100 %: lift 30 of a gap of 80."""
    arms = {("base_small", "grpo"): 0.2, ("base_small", "echo"): 0.5, ("sft", "grpo"): 1.0}
    closed = measures.share_closed(tiny(arms), "base_small", "val")
    assert (closed.lift, closed.gap.value, closed.share.value) == pytest.approx((30, 80, 37.5))
    assert closed.share.low < 37.5 < closed.share.high
    assert (closed.seeds, closed.tasks) == (2, 10)


def test_no_interval_for_a_share_of_no_gap() -> None:
    closed = measures.share_closed(
        tiny({("base_small", "grpo"): 0.5, ("base_small", "echo"): 0.6, ("sft", "grpo"): 0.5}),
        "base_small",
        "val",
    )
    assert np.isnan(closed.share).all()


def test_speed_up_on_the_mean_curve() -> None:
    """Means of GRPO .2 .5 .4 (best at 10) and ECHO .2 .4 .6 (above .5 at 20): 10/20."""
    grpo = pd.DataFrame([[0.1, 0.4, 0.3], [0.3, 0.6, 0.5]], columns=[0, 10, 20])
    echo = pd.DataFrame([[0.1, 0.4, 0.6], [0.3, 0.4, 0.6]], columns=[0, 10, 20])
    assert measures.speed_up({"grpo": grpo, "echo": echo}) == (10, 20, 0.5)


def test_env_only_matrices_by_hand(loaded: results.Results) -> None:
    before, after, strata, step = measures.env_only_matrices(loaded, "val", "clean", "val")
    rows = loaded.get("env_only_attempts").query(
        "target_suite == 'val' and filter == 'clean' and suite == 'val'"
    )
    assert (step, len(strata), before.shape) == (60, 12, (1, 12))
    for matrix, at in ((before, 0), (after, 60)):
        assert matrix.to_numpy().mean() == pytest.approx(rows[rows["step"] == at]["reward"].fillna(0).mean())


def test_relative_change_needs_a_base() -> None:
    zero, one = pd.DataFrame([[0.0, 0.0]]), pd.DataFrame([[1.0, 1.0]])
    assert np.isnan(measures.relative_change(zero, one, ["a", "a"])).all()
    assert measures.relative_change(one, one / 2, ["a", "a"]) == (-50, -50, -50)


def test_output_ce_weighs_classes_by_tokens_and_leaves_warnings_out() -> None:
    """(3·1 + 1·5)/4 = 2; the warning's 9 nats do not count."""
    rows = pd.DataFrame(
        {"seed": 0, "step": 4, "token_class": ["listing", "error", "warning"], "n_tokens": [3, 1, 10],
         "ce_token_mean": [1.0, 5.0, 9.0]}
    )  # fmt: skip
    assert results.output_ce(rows).loc[0, 4] == 2.0


def test_common_step_is_never_chosen_by_score() -> None:
    rows = pd.DataFrame({"objective": ["grpo", "grpo", "echo"], "seed": 0, "step": [5, 9, 5]})
    assert results.common_step(rows, ("grpo", "echo")) == 5
    with pytest.raises(results.NotRun, match="no step after 0"):
        results.common_step(rows.assign(step=[5, 9, 7]), ("grpo", "echo"))


def test_bad_result_files_are_named(synthetic: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(synthetic, tmp_path / "r"))
    (folder / "controls.parquet").unlink()
    with pytest.raises(results.NotRun, match="this profile has no controls"):
        results.load(folder).get("controls")
    pd.read_parquet(folder / "sweeps.parquet").iloc[:0].to_parquet(folder / "sweeps.parquet")
    with pytest.raises(ValueError, match="sweeps.parquet is empty"):
        results.load(folder)
    pd.DataFrame({"suite": ["val"]}).to_parquet(folder / "sweeps.parquet")
    with pytest.raises(ValueError, match="sweeps.parquet lacks task_id"):
        results.load(folder)
    (folder / "attempts.parquet").unlink()
    with pytest.raises(FileNotFoundError, match="attempts.parquet is missing"):
        results.load(folder)


def test_rendering_escapes_markup() -> None:
    shown = pd.DataFrame({"a|b": ['x_1 & 5 % "q" \\'], "λ": [render.number(-0.04)]})
    table = render.Table("t", "A & B", "nb", shown, shown)
    assert r"a\|b" in render.markdown(table)
    assert r'x\_1 \& 5 \% "q" \textbackslash{}' in render.latex(table)
    assert r"x_1 & 5 % \"q\" \\" in render.typst(table)


def test_numbers_for_readers() -> None:
    assert render.number(-1.25, 1) == "\u22121.2"
    assert render.number(-0.04, 1) == "0.0"
    assert render.number(2.0, 1, sign=True) == "+2.0"
    assert render.number(float("nan")) == render.DASH
    assert render.with_interval(Interval(0.5, 0.4, 0.6), scale=100) == "50.0 [40.0, 60.0]"
    assert (render.p_value(0.0004), render.p_value(0.0123)) == ("<0.001", "0.012")
