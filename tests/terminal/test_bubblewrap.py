"""The bubblewrap engine: what the contract leaves open, and what only real bash can show."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echo_terminal.terminal import sandbox, shell_session
from echo_terminal.terminal.bubblewrap import BubblewrapParams, BubblewrapTerminal
from echo_terminal.terminal.terminal import EngineUnavailable, File, Status, open_terminal

FILES = {
    "/home/user/a/b.txt": File(b"text\n", 0o000, mtime=1_700_000_000),
    "/home/user/link": File(link="a/b.txt"),
    "/usr/local/bin/tool": File(b"#!/bin/bash\necho tool $1\n", 0o755),
    "/var/site/ledger": File(b"one\n"),
    "/etc/site/key": File(b"k=1\n"),
    "/opt/x/y": File(b"opt\n"),
    "/tmp/scratch": File(b"tmp\n"),  # noqa: S108
}


@pytest.fixture
def terminal():
    try:
        engine = BubblewrapTerminal()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    engine.reset(FILES, seed=7)
    yield engine
    engine.close()


def test_places_of_files(terminal: BubblewrapTerminal) -> None:
    assert (
        terminal.run("tool 5; cat /etc/site/key /opt/x/y /tmp/scratch link").stdout
        == "tool 5\nk=1\nopt\ntmp\n"
    )
    assert (
        terminal.run("echo two >> /var/site/ledger; echo x > /tmp/new; chmod 644 a/b.txt; cat link").stdout
        == "text\n"
    )
    for path in ("/usr/local/bin/tool", "/etc/site/key", "/opt/x/y", "/usr/bin/new", "/new", "/home/new"):
        assert terminal.run(f"echo x > {path}").exit_code == 1
    assert terminal.read("/var/site/ledger") == b"one\ntwo\n"
    assert terminal.read("/usr/local/bin/tool") == FILES["/usr/local/bin/tool"].content
    assert terminal.run("stat -c %Y a/b.txt a . /etc/site/key").stdout.split() == [
        "1700000000",
        *["1717200000"] * 3,
    ]


def test_reads_a_file_without_permissions_and_leaves_them(terminal: BubblewrapTerminal) -> None:
    assert terminal.read("/home/user/a/b.txt") == b"text\n"
    assert terminal.list("/home/user")["/home/user/a/b.txt"].mode == 0


@pytest.mark.parametrize(
    "path", ["/usr/bin/x", "/proc/x", "/dev/x", "/home/other/x", "/x", "relative", "/etc/../x"]
)
def test_refuses_places(terminal: BubblewrapTerminal, path: str) -> None:
    with pytest.raises(ValueError, match=r"file"):
        terminal.reset({path: File()}, seed=0)


def test_leaving_keeps_directory_and_exported_variables(terminal: BubblewrapTerminal) -> None:
    seen = terminal.run(
        "mkdir 'a b'; cd 'a b'; plain=1; export KEPT='x y'; f() { echo f; }; echo out; exit 3"
    )
    assert (seen.stdout, seen.stderr, seen.exit_code, seen.status) == ("out\n", "", 3, Status.OK)
    assert seen.cwd == "/home/user/a b"
    assert terminal.run('pwd; echo "[$plain][$KEPT]"; f').stdout == "/home/user/a b\n[][x y]\n"


def test_killed_shell_goes_back_to_the_command_before(terminal: BubblewrapTerminal) -> None:
    terminal.run("cd a; export KEPT=1")
    seen = terminal.run("cd /tmp; export KEPT=2; kill -9 $$")
    assert (seen.exit_code, seen.status, seen.cwd) == (137, Status.KILLED, "/home/user/a")
    assert terminal.run("echo $KEPT").stdout == "1\n"


def test_set_e_ends_the_shell_and_is_gone(terminal: BubblewrapTerminal) -> None:
    assert terminal.run("set -euo pipefail; export A=1").exit_code == 0
    assert terminal.run("false | true").exit_code == 1
    assert terminal.run("echo alive $A $NOPE; false; echo still").stdout == "alive 1\nstill\n"


@pytest.mark.parametrize(
    "command", ["while :; do :; done", "sleep 60", "sleep 60 & sleep 60", "trap '' INT; sleep 60"]
)
def test_time_out_keeps_the_session(terminal: BubblewrapTerminal, command: str) -> None:
    terminal.run("x=5; f() { echo f$x; }; cd a")
    started = time.monotonic()
    seen = terminal.run(f"echo part; {command}", timeout=1)
    assert time.monotonic() - started < 30  # far from 60
    assert (seen.stdout, seen.exit_code, seen.status, seen.cwd) == (
        "part\n",
        124,
        Status.TIMEOUT,
        "/home/user/a",
    )
    assert terminal.run("f; pwd; ps ax | grep -c '[s]leep'").stdout == "f5\n/home/user/a\n0\n"


def test_background_child_does_not_hold_the_step(terminal: BubblewrapTerminal) -> None:
    seen = terminal.run("(until [ -e go ]; do sleep 0.1; done; echo late; echo made > late.txt) & echo now")
    assert (seen.stdout, seen.stderr, seen.status) == ("now\n", "", Status.OK)
    assert terminal.run("touch go; wait; cat late.txt").stdout == "made\n"


def test_exit_code_of_the_step_before(terminal: BubblewrapTerminal) -> None:
    terminal.run("set -e")
    terminal.run("false || (exit 42) && true")
    assert terminal.run("echo $?").stdout == "42\n"
    assert terminal.run("echo $?").stdout == "0\n"


def test_output_limit() -> None:
    try:
        terminal = BubblewrapTerminal(BubblewrapParams(output_bytes=4096))
    except EngineUnavailable as error:
        pytest.skip(str(error))
    terminal.reset({}, seed=0)
    exact = terminal.run("head -c 4096 /dev/zero | tr '\\0' a")
    assert (len(exact.stdout), exact.exit_code) == (4096, 0)
    over = terminal.run("head -c 4097 /dev/zero | tr '\\0' a")
    assert (len(over.stdout), over.exit_code, over.status) == (4096, 137, Status.KILLED)
    terminal.close()


def test_disk_limit_is_an_ordinary_error(terminal: BubblewrapTerminal) -> None:
    seen = terminal.run("head -c 100M /dev/zero > big; echo $?; stat -c %s big")
    code, size = map(int, seen.stdout.split())
    assert code == 1 and 63 << 20 < size <= 64 << 20
    assert "No space left on device" in seen.stderr


def test_fingerprint(terminal: BubblewrapTerminal) -> None:
    def after(*commands: str) -> str:
        terminal.reset(FILES, seed=7)
        for command in commands:
            terminal.run(command)
        return terminal.fingerprint()

    start = after()
    assert after("ls; echo hi; true") == start
    changed = [
        "x=1",
        "export x=1",
        "x=2",
        "a=(1 2)",
        "declare -A m=([k]=v)",
        "cd a",
        "mkdir c",
        "rm link",
        "chmod 700 a",
    ]
    digests = [after(command) for command in changed]
    assert digests[0] == digests[1]  # exported or not: one variable
    assert len({start, *digests}) == len(changed)


def test_fingerprint_is_that_of_the_virtual_engine(terminal: BubblewrapTerminal) -> None:
    files = {path: file for path, file in FILES.items() if path.startswith("/home")}
    commands = (
        "cd a; x=5",
        "export y='a \"b\" $c'",
        "a=(1 'b c'); declare -A m=([k]=v)",
        "n=$'l1\\nl2'; mkdir -p ../q/r",
    )
    digests = []
    for engine in (terminal, open_terminal("virtual")):
        engine.reset(files, seed=1)
        for command in commands:
            assert engine.run(command).exit_code == 0
        digests.append(engine.fingerprint())
    assert digests[0] == digests[1]


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1
    )
)
def test_declared_values_are_read_back(values: dict[str, str]) -> None:
    fill = 'declare -A m; for n in a b c d; do [[ -v $n ]] && m[" $n]\\""]=${!n}; done'
    script = f"{fill}; declare -p a b c d m 2>/dev/null"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env={"LC_ALL": "C", **values}, capture_output=True, check=False
    )
    found = shell_session.variables(done.stdout.decode("utf-8", "surrogateescape"))
    assert {n: v for n, v in found.items() if n != "m"} == values
    assert found["m"] == {f' {n}]"': v for n, v in values.items()}


def test_unavailable_says_how_to_allow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to the user that the sandbox runs as
    refuser = folder / "bwrap"
    refuser.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    refuser.chmod(0o755)
    folder.chmod(0o755)
    sandbox.launcher.cache_clear()
    monkeypatch.setattr(sandbox, "_binaries", lambda: [str(refuser)])
    with pytest.raises(EngineUnavailable, match=r"create new namespace.*unprivileged_userns") as caught:
        open_terminal("bubblewrap")
    assert "\n" not in str(caught.value)
    sandbox.launcher.cache_clear()
    shutil.rmtree(folder)


def test_close_leaves_nothing(terminal: BubblewrapTerminal) -> None:
    terminal.run("sleep 60 & sleep 60 &")
    deadline = time.monotonic() + 60  # until the shell's two children show
    while len(processes := terminal._processes()) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    folder = terminal._folder
    assert len(processes) == 3 and folder is not None
    terminal.close()
    terminal.close()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in processes) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(Path(f"/proc/{pid}").exists() for pid in processes)
    assert not folder.exists()
