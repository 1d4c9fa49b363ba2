"""The figure of the costs is drawn from benchmark rows."""

from pathlib import Path

from echo_terminal.analysis.scaling import scaling_figure


def test_every_cost_is_drawn(tmp_path: Path) -> None:
    rows = [
        {"name": f"{what}_ms_{axis}_{size}", "value": 0.5 * size}
        for what in ("update", "decode")
        for axis in ("context", "batch", "parameters")
        for size in (8, 16)
    ]
    scaling_figure([*rows, {"name": "update_exponent_batch", "value": 1.0}], tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn.count("<path") > 12 and "<svg" in drawn
