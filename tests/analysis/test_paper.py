"""The whole build on synthetic results: PDF, values, README block and site; and what must stop it."""

import json
import re
import shutil
import time
from pathlib import Path

import nbformat
import pytest

from echo_terminal.analysis import paper, readme, results, site, values

PAPER = Path(__file__).parents[2] / "paper"


@pytest.fixture(scope="module")
def built(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, paper.Built]:
    out = tmp_path_factory.mktemp("built")
    return out, paper.build(synthetic, out, paper=PAPER, settings={"λ": 0.3})


def test_build_within_its_budget_of_cpu(built: tuple[Path, paper.Built], synthetic: Path) -> None:
    out, made = built
    assert made.pdf.read_bytes().startswith(b"%PDF")
    assert set(made.figures) | set(made.not_run) >= set(paper.FIGURES)
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
    del filled["tally"]["pass-val"]
    (out / "values.json").write_text(json.dumps(filled))
    with pytest.raises(RuntimeError, match="does not compile"):
        paper.compile_pdf(PAPER, out)


def test_every_claim_is_spoken_of_in_the_paper() -> None:
    text = (PAPER / "paper.typ").read_text()
    ids = re.findall(r"^- id: (\S+)", (PAPER / "claims.yaml").read_text(), re.MULTILINE)
    silent = {i for i in ids if f'tally("{i}")' not in text}
    assert silent == {"solved-hard"}  # in the verdict table alone


def test_smallest_profile_builds(synthetic: Path, tmp_path: Path) -> None:
    """Required files alone: everything else is left out by rule and the PDF says so."""
    folder = tmp_path / "results" / "tiny"
    folder.mkdir(parents=True)
    for name in results.REQUIRED:
        shutil.copy(synthetic / f"{name}.parquet", folder)
    made = paper.build(folder, tmp_path / "out", paper=PAPER)
    assert made.not_run["figure5"] == "verifier_free.parquet is not produced in this profile"
    assert made.not_run["table4"] == "env_only_attempts.parquet is not produced in this profile"
    assert made.pdf.exists()


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        (["reproduced"] * 3, "holds from each of the 3 starts"),
        (["reversed", "reversed"], "is reversed from each of the 2 starts"),
        (
            ["reproduced", "inconclusive", "not run"],
            "holds from 1 of 2 starts, is left open from 1 of 2 starts",
        ),
        (["not run"], "was not run in this profile"),
        (["inconclusive"], "is left open (from SFT start)"),
    ],
)
def test_tally(verdicts: list[str], text: str) -> None:
    assert values.tally([{"verdict": v, "start": "sft"} for v in verdicts]) == text


def test_readme_block(built: tuple[Path, paper.Built], tmp_path: Path) -> None:
    block = readme.block(built[0], "synthetic")
    assert block.count("**reproduced**") == sum(row["verdict"] == "reproduced" for row in built[1].claims)
    assert "Not run in this profile" in block and "nan" not in block.lower().replace("finance", "")
    path = tmp_path / "README.md"
    path.write_text(f"# Title\n\n{readme.BEGIN}\nold\n{readme.END}\n\nafter\n")
    readme.update(path, block)
    readme.update(path, block)
    text = path.read_text()
    assert "old" not in text and text.startswith("# Title") and text.endswith("after\n")
    assert text.count(block.strip()) == 1
    path.write_text("no markers")
    with pytest.raises(ValueError, match="needs one line"):
        readme.update(path, block)


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
    assert index.count("<tr>") == len(built[1].claims) + 1
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
