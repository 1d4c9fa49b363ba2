"""The fidelity table by hand: counts, groups and intervals; and what the picture shows."""

import pandas as pd
import pytest

from echo_terminal.analysis import fidelity

COMPARED = pd.DataFrame(
    {
        "family": ["ls", "ls", "awk", "awk"],
        "exact": [True, True, True, False],
        "fails": [False, True, False, True],
    }
)


def test_counts_and_groups_by_hand() -> None:
    table = fidelity.by_family(COMPARED, {"ls"}, ["awk", "sed"]).set_index("family")
    assert table["exact"].to_dict() == {
        "awk": 1,
        "ls": 2,
        fidelity.USED: 2,
        fidelity.FAILS: 1,
        fidelity.ALL: 3,
    }
    assert table["commands"].to_dict() == {
        "awk": 2,
        "ls": 2,
        fidelity.USED: 2,
        fidelity.FAILS: 2,
        fidelity.ALL: 4,
    }
    assert table["not run"].to_dict() == {
        "awk": 1,
        "ls": 0,
        fidelity.USED: 0,
        fidelity.FAILS: 0,
        fidelity.ALL: 2,
    }
    assert table.loc["awk", "low"] == pytest.approx(0.0945, abs=1e-4)  # Wilson's for 1 of 2
    said = fidelity.agreement(table.reset_index())
    assert (
        "**families that tasks use: 100.0%**" in said
        and "**all: 75.0%** [30.1%, 95.4%] of 4 (target 93%: missed)" in said
    )


def test_the_picture_has_a_bar_a_family_in_percent() -> None:
    axis = fidelity.picture(fidelity.by_family(COMPARED, {"ls"})).axes[0]
    assert [bar.get_width() for bar in axis.patches] == [100.0, 50.0]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["awk", "ls"]
    assert [t.get_text() for t in axis.texts] == ["1 of 2", "2 of 2"]


def test_speeds_have_a_panel_a_rate() -> None:
    timings = pd.DataFrame(
        {"engine": ["virtual", "bubblewrap"], "commands a second": [2000.0, 100.0], "ms": [1.0, 40.0]}
    )
    titles = [axis.get_title() for axis in fidelity.speeds(timings).axes]
    assert titles == ["commands a second", "ms"]
