"""The docker engine: the same session rules as bubblewrap, images as they are, and what it says without a daemon."""

import time

import pytest
from docker.models.containers import ExecResult

from echo_terminal.terminal.docker import IMAGE, DockerParams, DockerTerminal, check_available, connect
from echo_terminal.terminal.terminal import EngineUnavailable, File, Status, open_terminal

FILES = {
    "/home/user/a/b.txt": File(b"text\n", 0o000, mtime=1_700_000_000),
    "/home/user/link": File(link="a/b.txt"),
    "/usr/local/bin/tool": File(b"#!/bin/bash\necho tool $1\n", 0o755),
    "/var/site/ledger": File(b"one\n"),
    "/etc/site/key": File(b"k=1\n"),
}


@pytest.fixture(scope="module")
def shared():
    """One container for all tests that leave it as they found it."""
    try:
        engine = DockerTerminal()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    engine.reset(FILES, seed=7)
    yield engine
    engine.close()


@pytest.fixture
def terminal(shared: DockerTerminal):
    shared.run("cd; set +eux; unset x a KEPT")
    return shared


def test_without_a_daemon_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(EngineUnavailable, match=r"no Docker daemon answers .*DOCKER_HOST") as caught:
        open_terminal("docker")
    assert "\n" not in str(caught.value)


def test_a_missing_image_is_named(shared: DockerTerminal) -> None:
    with pytest.raises(EngineUnavailable, match="Docker has no image echo-terminal/none:1: build or pull it"):
        check_available("echo-terminal/none:1")


def test_an_output_that_the_daemon_loses_is_asked_for_again(
    terminal: DockerTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, container = [ExecResult(0, b""), ExecResult(0, b"d\x00755\x00")], terminal._container
    ask = container.exec_run
    monkeypatch.setattr(container, "exec_run", lambda *a, **k: answers.pop() if answers else ask(*a, **k))
    assert "/home/user/a/b.txt" in terminal.list()
    answers += [ExecResult(0, b"")] * 3
    with pytest.raises(RuntimeError, match="no answer"):
        terminal.list()


def test_places_of_files(terminal: DockerTerminal) -> None:
    assert terminal.run("tool 5; cat /etc/site/key; echo two >> /var/site/ledger").stdout == "tool 5\nk=1\n"
    assert terminal.run("id -un; hostname; pwd; echo $HOME").stdout == "user\nsim\n/home/user\n/home/user\n"
    for path in ("/usr/local/bin/tool", "/etc/site/key", "/new", "/home/new", "/run/control/x"):
        assert terminal.run(f"echo x > {path}").exit_code == 1
    assert terminal.read("/var/site/ledger") == b"one\ntwo\n"
    assert terminal.run("stat -c %Y a/b.txt a /etc/site/key").stdout.split() == [
        "1700000000",
        "1717200000",
        "1717200000",
    ]


def test_reads_without_following_links(terminal: DockerTerminal) -> None:
    assert terminal.read("/home/user/a/b.txt") == b"text\n"
    assert terminal.list("/home/user")["/home/user/a/b.txt"].mode == 0
    for path in ("/home/user/link", "/home/user/a", "/home/user/absent", "/proc/1/environ/x"):
        assert terminal.read(path) is None
    assert terminal.list("/absent") == {}


def test_reads_what_the_last_command_left(terminal: DockerTerminal) -> None:
    terminal.run("mkdir -p /tmp/r; echo 1 > /tmp/r/f; echo x > '/tmp/r/a b'; truncate -s 8T /tmp/r/sparse")
    assert (terminal.read("/tmp/r/f"), terminal.read("/tmp/r/a b")) == (b"1\n", b"x\n")
    assert terminal.read("/tmp/r/sparse") is None  # too large
    terminal.run("echo 2 > /tmp/r/f; rm /tmp/r/*b")
    assert (terminal.read("/tmp/r/f"), terminal.read("/tmp/r/a b")) == (b"2\n", None)
    terminal.run("rm -r /tmp/r")
    assert terminal.read("/tmp/r/f") is None


def test_session_rules(terminal: DockerTerminal) -> None:
    seen = terminal.run("cd a; x=1; export KEPT=2; exit 3")
    assert (seen.exit_code, seen.status, seen.cwd) == (3, Status.OK, "/home/user/a")
    assert terminal.run('echo "[$x][$KEPT]"; pwd; false').stdout == "[][2]\n/home/user/a\n"
    assert terminal.run("echo $?; sleep 60 & true").stdout == "1\n"
    seen = terminal.run("cd /tmp; kill -9 $$")
    assert (seen.exit_code, seen.status, seen.cwd) == (137, Status.KILLED, "/home/user/a")
    assert terminal.run("pgrep sleep").exit_code == 1


def test_time_out_keeps_the_session(terminal: DockerTerminal) -> None:
    terminal.run("x=5; f() { echo f$x; }")
    started = time.monotonic()
    seen = terminal.run("echo part; while :; do :; done", timeout=2)
    assert time.monotonic() - started < 30  # how much beyond its limit is a benchmark's matter
    assert (seen.stdout, seen.exit_code, seen.status) == ("part\n", 124, Status.TIMEOUT)
    assert terminal.run("f").stdout == "f5\n"


def test_output_in_any_form(terminal: DockerTerminal) -> None:
    assert terminal.run("printf 'a\\0b\\xff\\n'; printf 'e\\n' >&2").stdout == "ab\ufffd\n"
    large = terminal.run("head -c 1048576 /dev/zero | tr '\\0' a")
    assert (len(large.stdout), large.exit_code) == (1 << 20, 0)
    over = terminal.run("head -c 1048577 /dev/zero | tr '\\0' a")
    assert (len(over.stdout), over.exit_code, over.status) == (1 << 20, 137, Status.KILLED)
    assert terminal.run("cat <<'X'\n'q' \"d\" $x \\ `y`\nX").stdout == "'q' \"d\" $x \\ `y`\n"


def test_fingerprint_is_that_of_bubblewrap(shared: DockerTerminal) -> None:
    try:
        reference = open_terminal("bubblewrap")
    except EngineUnavailable as error:
        pytest.skip(str(error))
    found = []
    for engine in (shared, reference):
        engine.reset(FILES, seed=7)
        for command in ("cd a; x=5; a=(1 2)", "mkdir c; echo text > c/d; ln c/d c/e; chmod 600 c/d"):
            engine.run(command)
        found.append(engine.fingerprint())
    reference.close()
    assert found[0] == found[1]


def test_as_image_keeps_the_image_and_network_is_a_choice() -> None:
    try:
        check_available()
    except EngineUnavailable as error:
        pytest.skip(str(error))
    terminal = DockerTerminal(DockerParams(as_image=True, network=True))
    terminal.reset({}, seed=0)
    seen = terminal.run("id -u; pwd; ls /sys/class/net | grep -c eth0; touch /new && echo made")
    assert seen.stdout == "0\n/\n1\nmade\n"
    assert terminal.read("/new") == b""
    terminal.close()


def test_close_removes_the_container(shared: DockerTerminal) -> None:
    client = connect()
    terminal = DockerTerminal()
    terminal.reset({}, seed=0)
    name = terminal._container.id
    assert any(c.id == name for c in client.containers.list())
    terminal.close()
    assert all(c.id != name for c in client.containers.list(all=True))
    client.close()
    assert IMAGE in shared._client.images.get(IMAGE).tags
