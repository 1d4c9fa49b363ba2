"""The Makefile's way to an environment, with a shell script in the place of Python."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAMP = ".venv/.complete"
PYTHON = """#!/bin/sh
case "$*" in
  "--version") echo "Python 3.12.0" ;;
  -c*) exit 0 ;;
  "-m venv"*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip"*) echo "$*" >> pip.log; while [ -e slow ]; do sleep 0.1; done; [ ! -e broken ] ;;
esac
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Makefile", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / "fake-python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKELEVEL", "MAKEFLAGS", "PYTHON")}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if not line.startswith("make: ")]


def test_an_interrupted_install_is_made_again(folder: Path) -> None:
    (folder / "broken").touch()
    first = make(folder, STAMP, "PYTHON=./fake-python")
    assert first.returncode and not (folder / STAMP).exists() and (folder / ".venv/.installing").exists()
    assert errors(first) == [
        "error: the install failed for the reason above: mend it and run the same command again"
    ]
    (folder / "broken").unlink()
    (folder / ".venv/half-written").touch()
    second = make(folder, STAMP, "PYTHON=./fake-python")
    assert second.returncode == 0 and "the last install was cut short: making .venv again" in second.stdout
    assert (folder / STAMP).exists() and not (folder / ".venv/half-written").exists()
    assert not (folder / ".venv/.installing").exists()
    assert "install -q --no-compile -e .[dev]" in (folder / "pip.log").read_text().splitlines()[-1]
    calls = (folder / "pip.log").read_text()
    assert make(folder, STAMP).returncode == 0 and (folder / "pip.log").read_text() == calls  # nothing to do
    os.utime(folder / "constraints.txt", (2**31, 2**31))
    (folder / ".venv/mine").touch()
    third = make(folder, STAMP)
    assert third.returncode == 0 and (folder / ".venv/mine").exists()  # new pins: installed again in place
    assert (folder / "pip.log").read_text() != calls


def test_a_wrong_python_is_one_line(folder: Path) -> None:
    done = make(folder, STAMP, "PYTHON=/bin/false")
    assert done.returncode and not (folder / ".venv").exists()
    assert errors(done) == [
        "error: no Python 3.11, 3.12 or 3.13 here (/bin/false is not one): install one, or name it with "
        "PYTHON=/path/to/python"
    ]


def test_an_environment_of_another_python_is_one_line(folder: Path) -> None:
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    done = make(folder, STAMP)
    assert done.returncode and errors(done) == [
        "error: .venv is not of Python 3.11, 3.12 or 3.13: delete it (rm -r .venv) and run the same command again"
    ]


def test_two_installs_at_once(folder: Path) -> None:
    """The second is refused and harms nothing, also when the first one's make was killed and pip still works."""
    (folder / "slow").touch()
    first = subprocess.Popen(["make", STAMP, "PYTHON=./fake-python"], cwd=folder, stdout=subprocess.PIPE)
    while not (folder / "pip.log").exists():
        assert first.poll() is None
        time.sleep(0.05)
    first.kill()
    second = make(folder, STAMP, "PYTHON=./fake-python")
    assert second.returncode and errors(second) == [
        "error: another make installs in this folder: wait for it, then run the same command again"
    ]
    (folder / "slow").unlink()
    first.communicate()  # until pip and its shell have closed their output
    assert (folder / STAMP).exists() and not (folder / ".venv/.installing").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_one_line(folder: Path) -> None:
    folder.chmod(0o555)
    done = make(folder, STAMP, "PYTHON=./fake-python")
    folder.chmod(0o755)
    assert done.returncode and len(errors(done)) == 1
    assert errors(done)[0].startswith("error: cannot write to ")


def test_a_full_disk_is_one_line(folder: Path) -> None:
    df = folder / "bin/df"
    df.parent.mkdir()
    df.write_text(
        "#!/bin/sh\necho 'Filesystem 1024-blocks Used Available'\necho 'disk 9000000 6000000 3000000'\n"
    )
    df.chmod(0o755)
    done = make(folder, STAMP, "PYTHON=./fake-python", f"PATH={df.parent}:{os.environ['PATH']}")
    assert done.returncode and not (folder / ".venv").exists()
    assert errors(done) == ["error: 2929 MB free on this disk, the install needs 4000: free some space"]


def test_help_is_the_default(folder: Path) -> None:
    done = make(folder)
    assert done.returncode == 0 and "make repro" in done.stdout and not (folder / ".venv").exists()
