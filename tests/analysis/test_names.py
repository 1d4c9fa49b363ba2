"""Names for readers: every objective of every shipped profile has one, and the λ that it says is the λ that is set."""

import ast
import re
from pathlib import Path

import pytest

from echo_terminal.analysis import names
from echo_terminal.pipeline.params import load_params

ROOT = Path(__file__).parents[2]
PROFILES = [ROOT / "params.yaml", *sorted(ROOT.glob("profiles/*/params.yaml"))]


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.parent.name)
def test_every_objective_and_start_of_a_profile_has_a_name(path: Path) -> None:
    params = load_params(path)
    for name, objective in params.objectives.items():
        assert name in names.OBJECTIVES and names.label(name) != name
        if names.WEIGHT.fullmatch(name):
            assert names.label(name).endswith(f"λ = {objective.env_term.weight.value:g}")
    assert set(params.matrix.starts) <= set(names.STARTS)


def test_labels() -> None:
    said = {"echo_05": "ECHO, λ = 0.05", "echo_1": "ECHO, λ = 0.1", "masked_facts": "ECHO without facts"}
    said |= {"start": "before RL", "sft": "SFT start", "mine": "mine"}
    assert {name: names.label(name) for name in said} == said


def test_no_two_things_share_a_colour_and_order_is_fixed() -> None:
    colours = [colour for _, colour in (names.STARTS | names.OBJECTIVES).values()]
    assert len(set(colours)) == len(colours)
    assert names.in_order(["z", "echo", "a", "grpo"]) == ["grpo", "echo", "a", "z"]
    assert names.colour_of("mine") == names.PLAIN and names.marker_of("mine") in names.OTHER_MARKERS


def test_what_the_training_notebooks_write_out_is_what_is_said_elsewhere() -> None:
    """Notebooks 03 and 04 import no names (a label must not train anew); their own lists must agree."""
    shades, shown = (
        ast.literal_eval(re.search(rf"^{name} = (\{{.*?\}})$", text, re.MULTILINE | re.DOTALL)[1])  # type: ignore[index]
        for name, text in (
            ("SHADES", (ROOT / "notebooks" / "03_starting_policies.py").read_text()),
            ("SHOWN", (ROOT / "notebooks" / "04_train.py").read_text()),
        )
    )
    assert shades == {start: names.colour_of(start) for start in names.STARTS}
    assert shown == {o: (names.label(o), names.colour_of(o)) for o in shown} and len(shown) == 9
