import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from echo_terminal import cli

ROOT = Path(__file__).parents[2]


def call(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["echo-terminal", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    if isinstance(end.value.code, str):
        print(end.value.code, file=sys.stderr)
        return 1
    return int(end.value.code or 0)


def test_help_loads_no_heavy_module() -> None:
    heavy = ("torch", "pandas", "pyspark", "bashkit")
    code = f"import sys, echo_terminal.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("entry", cli.MODULES, ids=lambda entry: entry[0])
def test_commands_of_modules_exist_and_show_their_own_help(
    entry: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, function = entry[1].partition(":")
    assert callable(getattr(import_module(module), function))
    assert call(entry[0], "--help", monkeypatch=monkeypatch) == 0
    assert f"echo-terminal {entry[0]}" in capsys.readouterr().out


def test_params_prints_the_hash(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("params", "--profile", "smoke", "--show", monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert out.startswith("profile: smoke\n") and "profiles/smoke/params.yaml: hash " in out.splitlines()[-1]


def test_user_errors_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("digest", "--profile", "smok", monkeypatch=monkeypatch) == 1
    assert capsys.readouterr().err == (
        "error: no profile 'smok': choose one of cpu, cluster, cpu-full, h200, medium, random, silent, smoke, sweep\n"
    )
