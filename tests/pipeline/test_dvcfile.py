import ast
from pathlib import Path

import pytest
import yaml

from echo_terminal.pipeline.dvcfile import content_hash, derive, find_stage, inputs, read_pipeline, stage_key
from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.layout import profile_folder, profiles
from echo_terminal.pipeline.params import read_params
from echo_terminal.pipeline.sections import Params

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(p.stem for p in (ROOT / "notebooks").glob("*.py"))
# The machinery: what it does to results is checked at run time, so a change of it trains nothing anew.
MACHINERY = ("src/echo_terminal/pipeline", "src/echo_terminal/progress.py")


def specs():  # type: ignore[no-untyped-def]
    return read_pipeline(ROOT / "dvc.yaml", read_params(ROOT / "params.yaml"))


@pytest.mark.parametrize("profile", [p for p in profiles(ROOT) if p != "cpu"])
def test_derived_files_are_in_step(profile: str) -> None:
    text = (ROOT / "profiles" / profile / "dvc.yaml").read_text()
    assert text == derive((ROOT / "dvc.yaml").read_text(), profile), (
        "run python -m echo_terminal.pipeline.dvcfile"
    )


def test_templates_and_matrix(repository: Path) -> None:
    params = {"profile": "smoke", "seed": 0, "train": {}, "matrix": {"seeds": [3, 4]}}
    found = read_pipeline(repository / "profiles/smoke/dvc.yaml", params)
    assert [s.name for s in found] == ["01_first", "02_second-3", "02_second-4"]
    second = find_stage(found, "02_second", {"seed": 4})
    assert second.cmd.endswith("runner 02_second --params profiles/smoke/params.yaml -p seed=4")
    assert second.deps == ("notebooks/02_second.py", "results/smoke/01_first/numbers.json")
    assert second.outs[0] == "runs/smoke/02_second/4" and second.sections == ("profile",)


def test_key_follows_every_declared_thing_and_no_other(repository: Path) -> None:  # fault G03
    params = {"profile": "cpu", "seed": 0, "train": {"steps": 1}, "matrix": {"seeds": [3]}, "lake": 1}
    first = find_stage(read_pipeline(repository / "dvc.yaml", params), "01_first", {})
    key = stage_key(repository, first, params)
    assert set(inputs(repository, first, params)) == {
        "item", "params: profile", "params: seed", "params: train", "notebooks/01_first.py", "code",
    }  # fmt: skip
    assert stage_key(repository, first, params | {"lake": 2}) == key
    assert stage_key(repository, first, params | {"seed": 1}) != key
    assert stage_key(repository, first, params | {"train": {"steps": 2}}) != key
    (repository / "code/__pycache__").mkdir()
    (repository / "code/__pycache__/x.pyc").write_text("x")
    assert stage_key(repository, first, params) == key
    (repository / "code/new.py").write_text("")
    assert stage_key(repository, first, params) != key


def test_content_hash_sees_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").write_text("1")
    one = content_hash(tmp_path / "d")
    (tmp_path / "d/a").rename(tmp_path / "d/b")
    two = content_hash(tmp_path / "d")
    (tmp_path / "d/b").write_text("2")
    assert len({one, two, content_hash(tmp_path / "d")}) == 3
    with pytest.raises(UserError, match="nothing is missing: run the stage"):
        content_hash(tmp_path / "nothing")


def test_no_notebook_is_an_input_and_every_stage_has_its_three_outputs() -> None:
    for spec in specs():
        assert not [dep for dep in spec.deps if dep.endswith(".ipynb") or dep.startswith("executed")]
        assert f"executed/cpu/{spec.name}.ipynb" in spec.outs
        assert f"results/cpu/provenance/{spec.name}.json" in spec.outs
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    for stage in stages.values():
        for out in stage["outs"]:
            ((path, options),) = out.items()
            assert options == ({"persist": True} if path.startswith("runs/") else {"cache": False})


@pytest.mark.parametrize("profile", profiles(ROOT))
def test_a_stage_comes_after_those_that_it_reads_and_no_output_is_made_twice(profile: str) -> None:
    """``make repro`` lets DVC go through the file in its order."""
    folder = ROOT / profile_folder(ROOT, profile)
    found = read_pipeline(folder / "dvc.yaml", read_params(folder / "params.yaml"))
    outs = [out for spec in found for out in spec.outs]
    assert len(set(outs)) == len(outs)
    for at, spec in enumerate(found):
        to_come = [out for later in found[at:] for out in later.outs]
        for dep in spec.deps:
            early = [
                out for out in to_come if f"{out}/".startswith(f"{dep}/") or f"{dep}/".startswith(f"{out}/")
            ]
            assert not early, f"{spec.name} reads {dep}, which only comes with {early}"


def imports(file: Path) -> set[str]:
    """Paths of the modules of this package that a file names, also inside functions.

    ``open_terminal`` is the exception: it names every engine and a stage opens one or two of them.
    """
    tree = ast.parse(file.read_text())
    found = set()
    for node in tree.body if file.name == "terminal.py" else ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            path = "src/" + name.replace(".", "/")
            if name.startswith("echo_terminal.") and (ROOT / f"{path}.py").is_file():
                found.add(f"{path}.py")
    return found


@pytest.mark.parametrize("stage", NOTEBOOKS)
def test_dependencies_cover_what_a_notebook_imports(stage: str) -> None:  # fault G03
    """Every module that the notebook reaches is a declared dependency, the machinery aside."""
    spec = next(s for s in specs() if s.stage == stage)
    waiting, seen = imports(ROOT / f"notebooks/{stage}.py"), set[str]()
    while waiting:
        file = waiting.pop()
        if file in seen or file.startswith(MACHINERY):
            continue
        seen.add(file)
        waiting |= imports(ROOT / file)
    missing = [f for f in sorted(seen) if not any(f == d or f.startswith(f"{d}/") for d in spec.deps)]
    assert not missing, f"add to the deps of {stage} in dvc.yaml: {missing}"


@pytest.mark.parametrize("stage", NOTEBOOKS)
def test_declared_sections_are_those_that_a_notebook_reads(stage: str) -> None:  # fault G03
    spec = next(s for s in specs() if s.stage == stage)
    text = (ROOT / f"notebooks/{stage}.py").read_text()
    read = {"profile"} | ({"matrix"} if "stage.items(" in text else set())
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("stage.params", "p"):
            read.add(node.attr)
    read &= set(Params.model_fields)  # ``p`` may be something else for a line
    declared = {section.partition(".")[0] for section in spec.sections}
    assert declared == read, (
        f"{stage}: dvc.yaml declares {sorted(declared)}, the notebook reads {sorted(read)}"
    )
