import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from echo_terminal.pipeline.errors import UserError
from echo_terminal.pipeline.layout import profile_folder, profiles
from echo_terminal.pipeline.params import load_params, params_hash

ROOT = Path(__file__).parents[2]
PROFILES = profiles(ROOT)


def read(profile: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / profile_folder(ROOT, profile) / "params.yaml").read_text())


def with_value(data: dict[str, Any], dotted: str, value: Any) -> dict[str, Any]:
    """A deep copy with one value replaced (``...`` removes the key)."""
    head, _, rest = dotted.partition(".")
    copy = dict(data)
    if rest:
        copy[head] = with_value(data.get(head, {}), rest, value)
    elif value is ...:
        del copy[head]
    else:
        copy[head] = value
    return copy


def leaves(data: Any, prefix: str = "") -> list[str]:
    if not isinstance(data, dict) or not data:
        return [prefix]
    return [
        leaf for key, value in data.items() for leaf in leaves(value, f"{prefix}.{key}" if prefix else key)
    ]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_loads_and_is_named_after_its_folder(profile: str) -> None:
    loaded = load_params(ROOT / profile_folder(ROOT, profile) / "params.yaml")
    assert loaded.profile == profile
    assert set(PROFILES) == {
        "cpu",
        "smoke",
        "cpu-full",
        "sweep",
        "medium",
        "silent",
        "random",
        "h200",
        "cluster",
    }


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("harness.max_turn", 5, "unknown key harness.max_turn; the nearest valid key is harness.max_turns"),
        (
            "pretrain.copying.step",
            5,
            "unknown key pretrain.copying.step; the nearest valid key is pretrain.copying.steps",
        ),
        (
            "tasks.suites.val.sizes",
            5,
            "unknown key tasks.suites.val.sizes; the nearest valid key is tasks.suites.val.size",
        ),
        ("lamda", 5, "unknown key lamda; the nearest valid key is lake"),
        ("seed", ..., "missing key seed: add it"),
        ("harness.max_turns", ..., "missing key harness.max_turns: add it (the usual value is 16)"),
        ("tasks.suites.val.turns", ..., "missing key tasks.suites.val.turns: add it (the usual value is 16)"),
        ("train.lr", "1e-5", "train.lr: '1e-5' is text in YAML: write 1.0e-5"),
        ("train.lr", "1E5", "train.lr: '1E5' is text in YAML: write 1.0e+5"),
        ("train.lr", "fast", "train.lr: Input should be a valid number (got 'fast')"),
        ("train.steps", 1.5, "train.steps: Input should be a valid integer"),
        ("train.steps", True, "train.steps: Input should be a valid integer"),
        ("train.steps", 0, "train.steps: Input should be greater than or equal to 1"),
        ("matrix.seeds", [0, 0], "matrix: seeds names one twice"),
        ("matrix.objectives", ["grpo"], "they must be the same"),
        ("objectives.echo.env.filter", "clena", "objectives.echo.env.filter: Input should be"),
        ("objectives.grpo.env", {"target": "output"}, "kind grpo has no environment term"),
    ],
)
def test_faults_are_one_line_with_the_dotted_name(tmp_path: Path, key: str, value: Any, line: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(with_value(read("cpu"), key, value)))
    with pytest.raises(UserError) as error:
        load_params(file)
    assert line in str(error.value)
    assert str(error.value).startswith(f"{file}: ") and "\n" not in str(error.value)


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(with_value(with_value(read("cpu"), "sede", 1), "train.lrr", 1)))
    with pytest.raises(UserError) as error:
        load_params(file)
    assert len(str(error.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: 2\na: 3\n", "key a is given twice"), ("a: [1", "not valid YAML"), ("7", "is a mapping")],
)
def test_broken_files(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "params.yaml").write_text(text)
    with pytest.raises(UserError, match=line):
        load_params(tmp_path / "params.yaml")


def test_no_such_profile() -> None:
    with pytest.raises(UserError, match="no profile 'smok': choose one of cpu, cluster"):
        profile_folder(ROOT, "smok")


def test_every_value_changes_the_hash() -> None:  # faults G02, G03
    values = read("cpu")
    names = leaves(values)
    seen = {params_hash(values), *(params_hash(with_value(values, name, "changed")) for name in names)}
    assert len(seen) == len(names) + 1


def test_every_key_is_read_somewhere() -> None:
    """No inert key: the code or a notebook reads an attribute of that name, or dvc.yaml a template."""
    read_names: set[str] = set()
    for file in [*(ROOT / "src").rglob("*.py"), *(ROOT / "notebooks").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read_names.add(node.attr)
    for template in re.findall(r"\$\{([^}]+)\}", (ROOT / "dvc.yaml").read_text()):
        read_names.update(template.split("."))
    free = ("tasks.suites.", "objectives.")  # their first level is named by the user
    for profile in PROFILES:
        for name in leaves(read(profile)):
            for prefix in free:
                if name.startswith(prefix):
                    name = name.removeprefix(prefix).partition(".")[2]
            assert set(name.split(".")) <= read_names, f"{profile}: nothing reads {name}"
