"""The whole build on synthetic results: PDF, values, README block and site; and what must stop it."""

import json
import re
import shutil
import time
from pathlib import Path

import nbformat
import pytest

from echo_terminal.analysis import claims, paper, readme, results, site, verdicts
from echo_terminal.analysis.catalogue import FIGURES

PAPER = Path(__file__).parents[2] / "paper"


@pytest.fixture(scope="module")
def built(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, paper.Built]:
    out = tmp_path_factory.mktemp("built")
    return out, paper.build(synthetic, out, paper=PAPER, settings={"λ": 0.3})


def test_build_within_its_budget_of_cpu(built: tuple[Path, paper.Built], synthetic: Path) -> None:
    out, made = built
    assert made.pdf.read_bytes().startswith(b"%PDF")
    assert set(made.figures) | set(made.not_run) >= set(FIGURES)
    assert not set(made.not_run) - {"figure4"}, made.not_run  # synthetic starts may have no gap
    start = time.process_time()
    paper.compile_pdf(PAPER, out)
    assert time.process_time() - start < 20


def test_pdf_bytes_are_repeatable(built: tuple[Path, paper.Built]) -> None:
    out, made = built
    first = made.pdf.read_bytes()
    paper.compile_pdf(PAPER, out)
    assert made.pdf.read_bytes() == first


def test_no_number_of_a_result_is_typed_in_the_template() -> None:
    """Decimals in the template's prose, lengths aside: the level of the test and the λ values that claims name."""
    text = (PAPER / "paper.typ").read_text()
    prose = re.sub(r"\d+(\.\d+)?(pt|em|cm)", "", text[text.index("#align(center)") :])
    assert set(re.findall(r"\d+\.\d+", prose)) == {"0.05", "0.2"}


def test_a_missing_value_stops_the_build(built: tuple[Path, paper.Built], tmp_path: Path) -> None:
    out = Path(shutil.copytree(built[0], tmp_path / "o"))
    filled = json.loads((out / "values.json").read_text())
    filled["claims"] = [c for c in filled["claims"] if c["id"] != "pass-val"]
    (out / "values.json").write_text(json.dumps(filled))
    with pytest.raises(RuntimeError, match="no claim pass-val"):
        paper.compile_pdf(PAPER, out)


def test_every_claim_stands_in_one_table_of_the_paper() -> None:
    text = (PAPER / "paper.typ").read_text()
    asked = re.findall(r'"([^"]+)"', " ".join(re.findall(r"#verdicts\(([^)]*)\)", text)))
    families = {c.family for c in claims.load(PAPER / "claims.yaml")}
    assert sorted(asked) == sorted(families)


def test_every_figure_and_table_stands_in_the_paper() -> None:
    text = (PAPER / "paper.typ").read_text()
    calls = " ".join(re.findall(r"#(?:fig|pair|tab)\(([^)]*)\)", text))
    asked = re.findall(r'"([^"]+)"', calls)
    assert sorted(asked) == sorted([*FIGURES, *(f"table{i}" for i in range(1, 6))])


def test_smallest_profile_builds(synthetic: Path, tmp_path: Path) -> None:
    """Required files alone: everything else is left out by rule and the PDF says so."""
    folder = tmp_path / "results" / "tiny"
    folder.mkdir(parents=True)
    for name in results.REQUIRED:
        shutil.copy(synthetic / f"{name}.parquet", folder)
    made = paper.build(folder, tmp_path / "out", paper=PAPER)
    assert (
        made.not_run["figure5"] == made.not_run["table4"] == "this profile has no training without a verifier"
    )
    assert made.pdf.exists()


def test_another_profile_completes_the_first(
    built: tuple[Path, paper.Built], synthetic: Path, tmp_path: Path
) -> None:
    """Required files alone beside a profile that has everything: figures and verdicts are lent, and named."""
    root = tmp_path / "results"
    for name in ("main", "smoke", "synthetic"):
        (root / name).mkdir(parents=True)
        for path in synthetic.glob("*.parquet"):
            if name != "main" or path.stem in results.REQUIRED:
                shutil.copy(path, root / name)
    for name in ("smoke", "synthetic"):
        shutil.copy(built[0] / "claims.json", root / name)
    made = paper.build(root / "main", tmp_path / "out", paper=PAPER)
    assert made.captions["lambda"]["profile"] == "synthetic" and made.captions["figure2"]["profile"] == "main"
    assert "lambda" not in made.not_run and "3 seeds" in made.captions["lambda"]["caption"]
    own = {row["id"]: row for row in made.claims}
    assert own["lambda-range/base_small"]["verdict"] == "not run"  # the profile's own file lends nothing
    filled = json.loads((tmp_path / "out" / "values.json").read_text())
    by_id = {(c["id"], c["start"]): c for c in filled["claims"]}
    assert by_id["lambda-range", "Base, small"]["profile"] == "synthetic"
    assert by_id["pass-val", "Base, small"]["profile"] == "main"
    assert verdicts.other_profiles(root / "smoke") == []


def test_verdicts_are_lent_by_the_first_profile_that_ran_a_claim() -> None:
    def row(name: str, verdict: str, reason: str = "") -> dict:
        return {"id": name, "verdict": verdict, "reason": reason}

    rows = [
        row("a", "inconclusive"),
        row("b", "not run", "x"),
        row("c", "not run", "x"),
        row("d", "reproduced"),
    ]
    others = {"one": [row("b", "not run", "y")], "two": [row("a", "reversed"), row("b", "reversed")]}
    shown = verdicts.completed("own", rows, others)
    assert [(r["verdict"], r["profile"]) for r in shown] == [
        ("inconclusive", "own"), ("reversed", "two"), ("not run", "own"), ("reproduced", "own"),
    ]  # fmt: skip
    assert [r["id"] for r in verdicts.decided_first(shown)] == ["d", "b", "a"]
    assert verdicts.by_reason(shown, "not run") == [("x", 1)]


def test_readme_block(built: tuple[Path, paper.Built], tmp_path: Path) -> None:
    root = tmp_path / "results"
    (root / "main" / "09_paper").mkdir(parents=True)
    shutil.copytree(built[0] / "tables", root / "main" / "09_paper" / "tables")
    rows = [dict(row, verdict="not run", reason="why") for row in built[1].claims]
    claims.write(rows, root / "main" / "claims.json")
    (root / "other").mkdir()
    shutil.copy(built[0] / "claims.json", root / "other")
    block = readme.block(root, "main", ["other"])
    assert block.count("**reproduced**") == sum(row["verdict"] == "reproduced" for row in built[1].claims)
    assert block.count("](executed/other/") == sum(row["verdict"] != "not run" for row in built[1].claims)
    skipped = sum(row["verdict"] == "not run" for row in built[1].claims)
    assert f"({skipped} judgements)" in block and f"- {skipped}: why" in block
    assert "nan" not in block.lower()
    path = tmp_path / "README.md"
    begin, end = readme.markers("results")
    path.write_text(f"# Title\n\n{begin}\nold\n{end}\n\nafter\n")
    readme.update(path, "results", block)
    readme.update(path, "results", block)
    text = path.read_text()
    assert "old" not in text and text.startswith("# Title") and text.endswith("after\n")
    assert text.count(block.strip()) == 1
    path.write_text("no markers")
    with pytest.raises(ValueError, match="needs one line"):
        readme.update(path, "results", block)
    gain = next(row for row in built[1].claims if row["id"] == "site-gain/base_small")
    assert claims.shown_effect(gain) in readme.headline(root, "main", ["other"])
    assert "No pass rate" in readme.headline(root, "main")


def notebook(path: Path, *cells: nbformat.NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells)), path)


def test_site(built: tuple[Path, paper.Built], tmp_path: Path) -> None:
    output = nbformat.v4.new_output("execute_result", {"text/html": "<table><tr><td>42</td></tr></table>"})
    stream = nbformat.v4.new_output("stream", text="costs $5 and $6 <b>")
    executed = tmp_path / "executed"
    notebook(
        executed / "04_train.ipynb",
        nbformat.v4.new_markdown_cell(
            "# Training\n\n| a | b |\n|---|---|\n| 1 | $\\lambda L$ |\n\n$$\\frac{1}{Z}\\sum_t x_t$$"
        ),
        nbformat.v4.new_code_cell("x = '<tag>'", outputs=[output, stream]),
    )
    pages = site.build(built[0], executed, tmp_path / "site")
    assert [p.name for p in pages] == ["index.html", "04_train.html"]
    text = pages[1].read_text()
    assert "<title>Training</title>" in text and text.count("<math") == 2 and "<td>42</td>" in text
    assert "costs $5 and $6 &lt;b&gt;" in text and "&lt;tag&gt;" in text
    index = pages[0].read_text()
    assert index.count("<figure>") == len(built[1].figures)
    assert index.count("<tr>") == 1 + sum(row["verdict"] != "not run" for row in built[1].claims)
    assert "<script" not in index + text and "http" not in re.sub(r'xmlns="[^"]*"', "", index + text)


def test_site_refuses_what_was_not_executed(built: tuple[Path, paper.Built], tmp_path: Path) -> None:
    notebook(tmp_path / "e" / "a.ipynb", nbformat.v4.new_code_cell("x = 1"))
    with pytest.raises(ValueError, match="was not executed"):
        site.build(built[0], tmp_path / "e", tmp_path / "site")
    with pytest.raises(FileNotFoundError, match="no executed notebook"):
        site.build(built[0], tmp_path / "none", tmp_path / "site")


def test_missing_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text('<a href="b.html"></a><img src="c.png"><a href="#x"></a><a href="https://x.org">')
    (tmp_path / "b.html").write_text("")
    assert site.check_links([page]) == ["a.html: c.png"]
