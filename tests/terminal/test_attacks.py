"""Hostile commands: each returns in time, changes nothing outside, and the next command works."""

import socket
import time
import unicodedata
from pathlib import Path

import pytest

from echo_terminal.terminal.terminal import EngineUnavailable, File, Status, open_terminal

LIMIT = 0.6  # seconds given to each attack
ENGINES = ("virtual", "bubblewrap", "docker")
FILES = {"/home/user/data.txt": File(b"mine\n")}

BOMBS = {
    "fork bomb": ":(){ :|:& };:",
    "fork bomb in front": "f(){ f|f& }; f; wait",
    "fork bomb in python": "python3 -c 'import os\nwhile True: os.fork()'",
    "many children": "for i in $(seq 500); do sleep 9 & done; wait",
    "memory: one string": "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done",
    "memory: array": 'a=(x); while :; do a+=("${a[@]}"); done',
    "memory: python": "python3 -c 'x = []\nwhile True: x.append(bytearray(10**8))'",
    "memory: one line": "tail /dev/zero",
    "time: awk": "awk 'BEGIN { while (1) x++ }'",
    "time: shell in awk": "awk 'BEGIN { system(\"while true; do :; done\") }'",
    "time: pattern in awk": "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac | awk '/^(a|aa)+$/ || /(a+)+b/ || 1'",
    "time: pattern in expr": "expr aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac : '\\(a*\\)*b'",
    "time: pattern in diff": "seq 9 > a; echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac > b; diff -I '^(a|aa)+$' a b",
    "memory: width in awk": "awk 'BEGIN { printf \"%2000000000d\", 1 }'",
    "memory: field in awk": "awk 'BEGIN { $2000000000 = 1; NF = 2000000000 }'",
    "memory: array in awk": "awk 'BEGIN { while (1) a[i++] = i }'",
    "memory: substitution in awk": "awk 'BEGIN { x = \"aa\"; while (1) gsub(/a/, x, x) }'",
    "memory: number form in awk": 'awk \'BEGIN { CONVFMT = "%.2000000000f"; x = 0.1 ""; print length(x) }\'',
    "memory: shells in awk": 'echo \'awk "BEGIN { system(\\"sh s\\") }"\' > s; sh s',
    "memory: awk": "awk 'BEGIN { x = \"aaaaaaaa\"; while (1) x = x x }'",
    "memory: many processes": "for i in 1 2 3 4 5; do python3 -c 'x = bytearray(9 * 10**8)\nwhile 1: 1' & done; wait",
    "memory: braces": "echo {1..300000000}",
    "disk: one file": "yes > big",
    "disk: /tmp": "cat /dev/zero > /tmp/big",
    "disk: shared memory": "cat /dev/zero > /dev/shm/big",
    "disk: many files": "i=0; while :; do i=$((i+1)); echo $i > f$i; done",
    "disk: sparse": "truncate -s 8T sparse; ls -l sparse",
    "disk: deep folders": "while mkdir d && cd d; do :; done",
    "output: yes": "yes",
    "output: errors": "yes >&2",
    "output: zeros": "cat /dev/zero",
    "output: shell loop": "while :; do echo line; done",
    "output: background": "yes &",
    "output: one long line": "head -c 900000 /dev/zero | tr '\\0' a",
    "recursion: function": "f(){ f; }; f",
    "recursion: eval": 'x=\'eval "$x"\'; eval "$x"',
    "recursion: script": "printf '#!/bin/bash\\n./s\\n' > s; chmod +x s; ./s",
    "recursion: arithmetic": "a=b; b=a; echo $((a))",
    "regular expression": "[[ $(printf 'a%.0s' {1..40}) =~ ^(a|aa)*(a*)*(a*)*b$ ]]",
    "loop": "while :; do :; done",
    "loop without interrupts": "trap '' INT TERM HUP; while :; do :; done",
    "waits for input": "cat; read line; python3 -c 'input()'; sleep 1000",
    "fifo": "mkfifo p; cat p",
    "signal: own shell": "kill -9 $$",
    "signal: stop": "kill -STOP $$",
    "signal: everybody": "kill -9 -1",
    "signal: process 1": "for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done",
    "signal: parent": "kill -9 $PPID",
    "replaces the shell": "exec sleep 1000",
    "leaves": "exit 7",
    "set -e": "set -euo pipefail; false",
    "closes descriptors": 'exec 0<&- 1>&- 2>&-; for i in $(seq 3 20); do eval "exec $i>&-"; done',
    "forged end of a step": "for i in $(seq 3 30); do printf '@1.0 0 /\\0!9\\0' >&$i; done 2>/dev/null",
    "redefined builtins": "printf() { sleep 9; }; eval() { sleep 9; }; source() { sleep 9; }; echo() { sleep 9; }",
    "read-only variables": "readonly PWD OLDPWD RANDOM PS1",
    "process priorities": "echo b > /proc/sysrq-trigger; echo 0 > /proc/sys/kernel/pid_max; renice -20 1",
    "devices": "mknod sda b 8 0; mount -t proc proc /mnt; unshare -r true; chroot / true",
    "writes to the system": "echo x > /etc/passwd; echo x > /usr/bin/ls; rm -rf --no-preserve-root / ; mkdir /new",
    "removes its home": "cd /; rm -rf /home/user /home/user/* /home/user/.*",
    "controls": "printf '\\033]0;title\\007\\033[2J\\033[31mred\\033P+q\\033\\\\ \\x9b31m\\0\\x7f\\b\\r\\n\\xff'",
}


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A readable folder of the host, of which no command may see or change anything."""
    folder = tmp_path_factory.mktemp("host")
    folder.chmod(0o777)
    (folder / "secret.txt").write_text("host-secret\n")
    (folder / "secret.txt").chmod(0o666)
    return folder


@pytest.fixture(scope="module")
def opened():
    """Terminals by engine; a container, slow to make, serves all attacks one after another."""
    engines: dict[str, object] = {}
    yield engines
    for engine in engines.values():
        engine.close()


@pytest.fixture(params=ENGINES)
def terminal(request: pytest.FixtureRequest, opened):
    try:
        fresh = request.param not in opened
        engine = (
            opened.setdefault(request.param, open_terminal(request.param)) if fresh else opened[request.param]
        )
    except EngineUnavailable as error:
        pytest.skip(str(error))
    if fresh or request.param != "docker":
        engine.reset(FILES, seed=1)
    else:
        engine.run("exit")
        engine.run("cd /home/user; rm -rf ./* /tmp/*; rm -f /dev/shm/big; echo mine > data.txt")
    return engine


def strike(terminal, command: str, limit: float = LIMIT):
    """Run an attack, then check what holds after every one of them.

    Whether it hangs is checked here; the second that it may take beyond its limit is a benchmark's matter, since a
    busy machine takes longer.
    """
    started = time.monotonic()
    seen = terminal.run(command, limit)
    assert time.monotonic() - started <= limit + 30
    assert seen.status is not Status.LOST
    for text in (seen.stdout, seen.stderr):
        assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in text)
        assert len(text) <= 4 << 20  # the largest limit of an engine
    after = terminal.run("builtin echo alive-$((40+2)) && cat /etc/passwd | wc -l | tr -d ' '", 20.0)
    assert (after.stdout, after.exit_code, after.status) == ("alive-42\n2\n", 0, Status.OK)
    return seen


@pytest.mark.parametrize("attack", BOMBS)
def test_bomb(terminal, canary: Path, attack: str) -> None:
    strike(terminal, BOMBS[attack])
    assert [p.name for p in canary.iterdir()] == ["secret.txt"]
    assert (canary / "secret.txt").read_text() == "host-secret\n"


def test_status_of_limits(terminal) -> None:
    loop = strike(terminal, "echo before; while :; do :; done")
    assert (loop.stdout, loop.exit_code, loop.status) == ("before\n", 124, Status.TIMEOUT)
    flood = strike(terminal, "yes", 3.0)
    assert (flood.exit_code, flood.status) == (137, Status.KILLED)
    assert set(flood.stdout) == {"y", "\n"}


def test_host_files_and_environment(terminal, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_TOKEN", "host-secret")
    terminal.reset(FILES, seed=1)
    secret = canary / "secret.txt"
    for command in (
        f"cat {secret}; ls {canary}; cat /proc/1/root{secret}; cat /proc/self/root{secret}; cat ../..{secret}",
        f"for p in /proc/[0-9]*; do cat $p/root{secret} $p/cwd/secret.txt; done",
        "env; cat /proc/*/environ | tr '\\0' '\\n'",
        f"ln -s {secret} link; cat link; echo changed > link; cp /etc/hostname {canary}/new; cat link",
        f"ln -s {canary} folder; cat folder/secret.txt; touch folder/new; rm -f folder/secret.txt",
        "cat /etc/shadow /root/.bashrc /root/.ssh/*",
    ):
        seen = terminal.run(command, 5.0)
        assert "host-secret" not in seen.stdout + seen.stderr, command
        assert "root:$" not in seen.stdout
    assert terminal.read("/home/user/link") is None
    assert terminal.read("/home/user/folder/secret.txt") is None
    assert not any("secret.txt" in path for path in terminal.list("/home/user"))
    assert [p.name for p in canary.iterdir()] == ["secret.txt"]
    assert secret.read_text() == "host-secret\n"


def test_reader_follows_no_link_and_opens_no_device(terminal) -> None:
    terminal.run(
        "ln -s /etc/passwd out.txt; ln -s . loop; ln -s loop2 loop2; mkdir d; ln -s / d/top; mkfifo pipe"
    )
    for path in (
        "out.txt",
        "loop/data.txt",
        "loop2",
        "d/top/etc/passwd",
        "pipe",
        "d",
        "absent",
        "data.txt/x",
    ):
        assert terminal.read(f"/home/user/{path}") is None, path
    assert terminal.read("/home/user/data.txt") == b"mine\n"
    assert not any("/top/" in path or "/loop/" in path for path in terminal.list("/home/user"))


def test_no_network(terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        python = f'import socket; socket.create_connection(("127.0.0.1", {port}), 1); print("through")'
        for command in (f"echo hi > /dev/tcp/127.0.0.1/{port} && echo through", f"python3 -c '{python}'"):
            assert "through" not in terminal.run(command, 3.0).stdout
        with pytest.raises(BlockingIOError):  # whoever connected would wait in the queue
            server.accept()


@pytest.mark.parametrize("engine", ENGINES)
def test_other_episodes_are_out_of_sight(engine: str) -> None:
    try:
        first, second = open_terminal(engine), open_terminal(engine)
    except EngineUnavailable as error:
        pytest.skip(str(error))
    try:
        first.reset(
            {"/home/user/private.txt": File(b"episode-secret\n"), "/tmp/private.txt": File(b"x")}, seed=1
        )  # noqa: S108
        second.reset({}, seed=1)
        first.run("sleep 30 & echo episode-secret > /tmp/made.txt")
        search = "grep -rs episode-secret /home /tmp /var /run /dev/shm /proc/[0-9]*/root/home; ls -R /home; ps aux"
        seen = second.run(search, 5.0)
        assert "private" not in seen.stdout and "sleep 30" not in seen.stdout
        assert second.run("kill -9 -1; kill -9 $(seq 2 4000) 2>/dev/null", 5.0).status is not Status.LOST
        assert first.read("/home/user/private.txt") == b"episode-secret\n"
        assert first.run("cat private.txt").stdout == "episode-secret\n"
        first.reset({}, seed=2)
        assert first.run("ls -A /home/user /tmp").stdout == "/home/user:\n\n/tmp:\n"
    finally:
        first.close()
        second.close()


def test_verifier_is_out_of_reach(terminal) -> None:
    hidden = "-name 'verify*.py' -o -name test.sh -o -name reward.txt -o -name '*oracle*'"
    seen = terminal.run(f"for d in /[a-oq-tv-z]*; do find $d {hidden}; done 2>/dev/null", 5.0)
    assert seen.stdout == ""
    assert "fine" not in terminal.run("python3 -c 'import echo_terminal; print(\"fine\")'", 5.0).stdout
    terminal.run("mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt")
    assert terminal.read("/home/user/data.txt") == b"mine\n"
