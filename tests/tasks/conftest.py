"""The engines that tests of tasks run on."""

import subprocess

import pytest

from echo_terminal.terminal.terminal import open_terminal


@pytest.fixture
def terminal():
    """The virtual engine."""
    opened = open_terminal("virtual")
    yield opened
    opened.close()


@pytest.fixture
def run_in_bash(tmp_path):
    """Run a script with /bin/bash, its ledger moved below tmp_path: (exit code, stdout, stderr)."""

    def run(script, *arguments):
        (tmp_path / "tool").write_text(script.replace("/var/site", str(tmp_path)))
        (tmp_path / "ledger").touch()
        r = subprocess.run(
            ["/bin/bash", str(tmp_path / "tool"), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return r.returncode, r.stdout, r.stderr

    return run
