"""A bare in-process terminal and a way to run site tools under real bash, enough to test tasks by themselves."""

import subprocess

import pytest
from bashkit import Bash

from echo_terminal.terminal.terminal import HOME, PATH, Entry, Observation


class BareTerminal:
    """bashkit without any of the virtual engine's corrections."""

    name = "bare"

    def reset(self, files, seed):
        self.bash = Bash(
            username="user", hostname="sim", cwd=HOME, files={p: f.content.decode() for p, f in files.items()}
        )
        executable = [p for p, f in files.items() if f.mode & 0o100]
        self.bash.execute_sync(f"export PATH={PATH} HOME={HOME}; chmod 755 {' '.join(executable)} /dev/null")

    def run(self, command, timeout=10.0):
        r = self.bash.execute_sync(command)
        return Observation(r.stdout, r.stderr, r.exit_code, HOME)

    def read(self, path):
        try:
            return bytes(self.bash.fs().read_file(path))
        except Exception:  # noqa: BLE001  (bashkit has one exception for everything)
            return None

    def list(self, root=HOME):
        out = self.bash.execute_sync(
            f"find {root} -mindepth 1 -type d; echo --; find {root} -mindepth 1 -type f"
        )
        folders, _, files = out.stdout.partition("--\n")
        found = {p: Entry("directory", 0o755, 0) for p in folders.split()}
        found |= {p: Entry("file", 0o644, 0) for p in files.split()}
        return dict(sorted(found.items()))

    def close(self):
        pass


@pytest.fixture
def bare():
    return BareTerminal()


@pytest.fixture
def run_in_bash(tmp_path):
    """Run one site tool's script with /bin/bash, its ledger moved below tmp_path: (exit code, stdout, stderr)."""

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
