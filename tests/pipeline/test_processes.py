import subprocess
import sys
from pathlib import Path

CHILD = """
import os, sys, time
from echo_terminal.pipeline.processes import die_with_parent
while os.path.exists("wait"):
    time.sleep(0.02)
die_with_parent()
open("went on", "w").close()
"""
PARENT = """
import os, subprocess, sys
from echo_terminal.pipeline.processes import lead_the_run
lead_the_run()
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
print(child.pid, flush=True)
sys.stdin.readline()
sys.exit(child.wait() if sys.argv[2] == "stays" else 0)
"""


def family(folder: Path, what: str) -> subprocess.Popen[str]:
    (folder / "wait").touch()
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD, what],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_process_whose_parent_lives_goes_on(tmp_path: Path) -> None:
    parent = family(tmp_path, "stays")
    (tmp_path / "wait").unlink()
    parent.communicate("\n")
    assert parent.returncode == 0 and (tmp_path / "went on").exists()


def test_a_process_ends_if_its_parent_was_killed_before_it_could_ask_to_be_told(tmp_path: Path) -> None:
    parent = family(tmp_path, "goes")
    assert parent.stdin and parent.stdout
    assert int(parent.stdout.readline()) > 1  # the child is there
    parent.kill()
    parent.wait()
    (tmp_path / "wait").unlink()
    assert parent.stdout.read() == ""  # the child has ended: it held the other end
    assert not (tmp_path / "went on").exists()


def test_the_limit_of_open_files_is_raised() -> None:
    code = (
        "import resource as r; from echo_terminal.pipeline.processes import allow_open_files\n"
        "r.setrlimit(r.RLIMIT_NOFILE, (200, 300)); allow_open_files(); print(r.getrlimit(r.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(300, 300)\n", done.stderr
