"""Every figure is drawn from synthetic results; its files depend on the data alone."""

import struct
from pathlib import Path

import pytest

from echo_terminal.analysis import results, style
from echo_terminal.analysis.catalogue import FIGURES

PUBLISHED = Path(__file__).parents[2] / "paper" / "published"


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure(name: str, synthetic: Path, tmp_path: Path) -> None:
    figure = FIGURES[name].draw(results.load(synthetic), PUBLISHED)
    assert any(a.has_data() or a.texts or a.patches for a in figure.axes)
    png, svg = style.save(figure, name, tmp_path)
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    assert 600 <= width <= 1320 and height <= 1800
    assert "<dc:date>" not in svg.read_text()


def test_figure_bytes_are_repeatable(synthetic: Path, tmp_path: Path) -> None:
    draw = FIGURES["figure2"].draw
    first, second = (
        [p.read_bytes() for p in style.save(draw(results.load(synthetic), PUBLISHED), "f", tmp_path / n)]
        for n in "ab"
    )
    assert first == second


@pytest.mark.parametrize(
    ("figure", "frame"), [("figure5", "verifier_free"), ("forecast", "forecast"), ("controls", "controls")]
)
def test_a_figure_without_its_file_says_so(figure: str, frame: str, synthetic: Path) -> None:
    whole = results.load(synthetic)
    part = results.Results("p", {k: v for k, v in whole.frames.items() if k != frame})
    with pytest.raises(results.NotRun, match=f"this profile has no {results.MADE_BY[frame]}"):
        FIGURES[figure].draw(part, PUBLISHED)


def test_gap_figure_needs_a_gap(synthetic: Path) -> None:
    whole = results.load(synthetic)
    attempts = whole.get("attempts").query("start != 'sft'")
    with pytest.raises(results.NotRun, match="excludes zero"):
        FIGURES["figure4"].draw(results.Results("p", {**whole.frames, "attempts": attempts}), PUBLISHED)
