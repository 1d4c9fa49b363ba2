from pathlib import Path

import jupytext
import pytest
from nbformat.v4 import new_output

from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.notebook import check_values, normalise, parameters, scrub


def notebook(cell: str, tags: str = ' tags=["parameters"]', later: str = "print(lam)"):  # type: ignore[no-untyped-def]
    return jupytext.reads(f"# %%{tags}\n{cell}\n\n# %%\n{later}\n", fmt="py:percent")


def test_names_types_and_defaults() -> None:
    found = parameters(notebook("lam = 0.0"), "n")
    assert found == {"lam": (float, 0.0)}
    found = parameters(notebook("lam: float | None = None"), "n")
    assert found == {"lam": (float | None, None)}


def test_the_tag_survives_the_round_trip() -> None:  # fault G01
    text = jupytext.writes(notebook("lam = 0.0"), fmt="py:percent")
    assert parameters(jupytext.reads(text, fmt="py:percent"), "n") == {"lam": (float, 0.0)}


@pytest.mark.parametrize(
    ("cell", "tags", "later", "line"),
    [
        ("lam = 0.0", "", "print(lam)", 'must have the tag "parameters", 0 have'),  # fault G01
        ("lam = 0.0", ' tags=["parameters"]', "print(lamda)", "no cell reads the parameter lam"),  # fault G02
        ("lam = 0.0", ' tags=["parameters"]', "lam = 1", "no cell reads the parameter lam"),
        ("lam = None", ' tags=["parameters"]', "print(lam)", "lam = None needs a type"),
        ("import os", ' tags=["parameters"]', "print(os)", "assignments of plain values alone"),
    ],
)
def test_faults_of_the_parameters_cell(cell: str, tags: str, later: str, line: str) -> None:
    with pytest.raises(UserError, match=line):
        parameters(notebook(cell, tags, later), "n")


def test_magics_do_not_hide_a_use() -> None:
    assert "lam" in parameters(notebook("lam = 0.0", later="%matplotlib inline\nprint(lam)"), "n")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"lamda": 0.05}, "no parameter 'lamda': choose one of lam, n"),
        ({"lam": "0.05"}, "lam must be float | None, got '0.05'"),
        ({"n": 1.5}, "n must be int, got 1.5"),
        ({"n": True}, "n must be int, got True"),
    ],
)
def test_wrong_values(given: dict[str, object], line: str) -> None:  # fault G02
    declared = {"lam": (float | None, None), "n": (int, 1)}
    check_values(declared, {"lam": 0.05, "n": 2}, "nb")
    check_values(declared, {"lam": None}, "nb")
    with pytest.raises(UserError) as error:
        check_values(declared, given, "nb")
    assert line in str(error.value)


def test_normal_form_has_no_times_ids_or_paths() -> None:
    one, two = notebook("lam = 0.0"), notebook("lam = 0.0")
    for index, nb in enumerate((one, two)):
        nb.metadata.papermill = {"start_time": index}
        nb.cells[1].metadata.papermill = {"duration": index}
        nb.cells[1].outputs = [
            new_output("stream", name="stdout", text=f"/root/x/a.csv <T at 0x7f00{index}aaaa> /root/x"),
            new_output(
                "display_data",
                {"text/html": f"/tmp/ipykernel_{index}/9{index}.py:3: Warning", "image/png": "aGk="},
            ),
        ]
    assert normalise(one, Path("/root/x")) == normalise(two, Path("/root/x"))
    assert one.cells[1].outputs[0].text == "a.csv <T at 0x…> ."
    assert one.cells[1].outputs[1].data["text/html"] == "<cell>:3: Warning"
    assert one.cells[0].metadata.tags == ["parameters"]


def test_short_hexadecimal_numbers_stay() -> None:
    assert scrub("0x1f and 0o644", Path("/r")) == "0x1f and 0o644"
