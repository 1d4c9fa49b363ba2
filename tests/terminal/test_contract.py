"""What every terminal engine must do: one suite for all, those that this machine cannot run are skipped."""

import os

import pytest

from echo_terminal.terminal.terminal import (
    CLOCK,
    HOME,
    EngineUnavailable,
    File,
    Status,
    Terminal,
)

TOOL = b"#!/bin/bash\nif [ $# -eq 0 ]; then echo 'usage: greet NAME' >&2; exit 2; fi\necho \"hello $1\"\n"
FILES = {
    f"{HOME}/notes/a.txt": File(b"alpha\nbeta\n"),
    f"{HOME}/notes/old.txt": File(b"old\n", 0o600, CLOCK - 86_400),
    f"{HOME}/link": File(link="notes/a.txt"),
    f"{HOME}/bytes": File(bytes(range(256))),
    "/usr/local/bin/greet": File(TOOL, 0o755),
}


@pytest.fixture
def terminal(engine):
    engine.reset(FILES, seed=7)
    return engine


def test_is_a_terminal(terminal):
    assert isinstance(terminal, Terminal)


def test_files_links_modes_and_times(terminal):
    assert terminal.read(f"{HOME}/notes/a.txt") == b"alpha\nbeta\n"
    assert terminal.read(f"{HOME}/bytes") == bytes(range(256))
    assert terminal.read(f"{HOME}/link") is None  # no link is followed
    assert terminal.read(f"{HOME}/nosuch") is None
    assert terminal.read(f"{HOME}/notes") is None
    entries = terminal.list()
    assert [(p[len(HOME) + 1 :], e.kind, e.mode, e.size, e.target) for p, e in entries.items()] == [
        ("bytes", "file", 0o644, 256, None),
        ("link", "link", 0o777, 0, "notes/a.txt"),
        ("notes", "directory", 0o755, 0, None),
        ("notes/a.txt", "file", 0o644, 11, None),
        ("notes/old.txt", "file", 0o600, 4, None),
    ]
    assert terminal.list(f"{HOME}/notes/a.txt") == {}
    assert terminal.run("stat -c %Y notes/old.txt notes/a.txt").stdout == f"{CLOCK - 86_400}\n{CLOCK}\n"


def test_site_tools_run_and_cannot_be_changed(terminal):
    assert terminal.run("greet you").stdout == "hello you\n"
    usage = terminal.run("greet")
    assert (usage.stdout, usage.stderr, usage.exit_code) == ("", "usage: greet NAME\n", 2)
    assert terminal.run("echo x > /usr/local/bin/greet").exit_code != 0
    assert terminal.run("greet you").stdout == "hello you\n"


def test_state_lasts_from_command_to_command(terminal):
    terminal.run("cd notes; x=5; export Y='a b'; f() { echo \"f $1\"; }; a=(1 2); declare -A m=([k]=v)")
    seen = terminal.run('pwd; echo "$x $Y ${a[1]} ${m[k]}"; f z; bash -c \'echo "[$x][$Y]"\'')
    assert seen.stdout == f"{HOME}/notes\n5 a b 2 v\nf z\n[][a b]\n"
    assert seen.cwd == f"{HOME}/notes"
    terminal.reset(FILES, seed=7)
    assert terminal.run('pwd; echo "[$x][$Y]"').stdout == f"{HOME}\n[][]\n"


def test_status_of_the_command_before(terminal):
    assert terminal.run("(exit 3)").exit_code == 3
    assert terminal.run("echo $?").stdout == "3\n"
    assert terminal.run("echo $?").stdout == "0\n"


def test_options_and_aliases_last(terminal):
    terminal.run("set -u; set -o pipefail; alias hi='echo hello'")
    assert terminal.run("hi").stdout == "hello\n"
    assert terminal.run("false | true").exit_code == 1
    assert terminal.run("echo $nosuch").exit_code == 1
    terminal.run("set +u +o pipefail")
    assert terminal.run('false | true; echo "$?$nosuch"').stdout == "0\n"


# -- known faults ------------------------------------------------------------------------------------------------------


def test_d01_background_children_do_not_hold_a_command(terminal):
    seen = terminal.run("sleep 60 & echo done", timeout=30)
    assert (seen.stdout, seen.stderr, seen.exit_code, seen.status) == ("done\n", "", 0, Status.OK)
    seen = terminal.run("(trap '' TERM; sleep 60) & exit 0", timeout=30)
    assert (seen.stdout, seen.exit_code) == ("", 0)  # 124 if it had waited


def test_d01_time_out_keeps_partial_output_and_the_session(terminal):
    terminal.run("x=kept; cd notes")
    seen = terminal.run("echo part; sleep 60", timeout=2)
    assert (seen.stdout, seen.exit_code, seen.status) == ("part\n", 124, Status.TIMEOUT)
    assert 1.9 < seen.seconds < 30
    assert terminal.run("echo $x; pwd; cat a.txt").stdout == f"kept\n{HOME}/notes\nalpha\nbeta\n"


def test_d02_bytes_that_are_no_text(terminal):
    assert terminal.run(r"printf 'a\xff\xf0b'").stdout == "a\ufffd\ufffdb"
    assert terminal.run(r"printf 'a\0b'").stdout == "ab"
    assert terminal.run("head -c 4 bytes | od -An -tx1").stdout == " 00 01 02 03\n"


def test_d03_leaving_does_not_end_the_session(terminal):
    terminal.run("cd notes; export E=1; v=1")
    assert terminal.run("set -euo pipefail").exit_code == 0
    assert terminal.run("false").exit_code == 1
    seen = terminal.run("echo alive $E [$v]")
    assert (seen.stdout, seen.cwd) == ("alive 1 []\n", f"{HOME}/notes")
    assert terminal.run("exit 3").exit_code == 3
    assert terminal.run("echo alive").stdout == "alive\n"
    assert terminal.run("false | true").exit_code == 0  # the options went with the shell


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("false", 1),
        ("false | true", 0),
        ("nosuchcmd", 127),
        ("(exit 3)", 3),
        ("set -o pipefail; false | true", 1),
    ],
)
def test_d03_exit_codes(terminal, command, code):
    assert terminal.run(command).exit_code == code


def test_d03_a_killed_shell_is_reported_and_replaced(terminal):
    seen = terminal.run("kill -9 $$")
    assert (seen.exit_code, seen.status) == (137, Status.KILLED)
    assert terminal.run("echo alive").stdout == "alive\n"


def test_d04_long_output_arrives_whole_with_its_exit_code(terminal):
    seen = terminal.run("seq 1 150000; echo 'FATAL: code 7'; exit 7")
    assert seen.stdout.startswith("1\n2\n") and seen.stdout.endswith("150000\nFATAL: code 7\n")
    assert (seen.exit_code, seen.stdout.count("\n")) == (7, 150_001)


def test_d05_standard_input_is_at_its_end(terminal):
    seen = terminal.run("cat")
    assert (seen.stdout, seen.exit_code) == ("", 0)
    assert terminal.run('read x; echo "[$x] rc=$?"').stdout == "[] rc=1\n"
    assert terminal.run("cat <<'E' >/dev/null\nhi\nE\nread y; echo $?").stdout == "1\n"
    assert terminal.run("sudo -S true").exit_code not in (0, 124)  # 124: it waited to its limit


def test_d07_subshells_and_other_shells_keep_to_themselves(terminal):
    assert terminal.run('cd /; (cd /tmp; x=1); pwd; echo "[$x]"; cd').stdout == "/\n[]\n"
    command = "x=1; bash -c 'echo \"[$x]\"'; export x; bash -c 'echo \"[$x]\"'"
    assert terminal.run(command).stdout == "[]\n[1]\n"
    assert (
        terminal.run("declare -A o; o[x]=42; bash -c 'declare -A o; echo ${o[x]:-EMPTY}'").stdout == "EMPTY\n"
    )
    assert terminal.run("false; bash -c 'echo $?'").stdout == "0\n"
    assert terminal.run('set -- a b; (set -- z); echo "$@"').stdout == "a b\n"


def test_d08_heredocs_are_verbatim(terminal):
    assert terminal.run("cat <<'EOF'\n$HOME 'x' `id`\nEOF").stdout == "$HOME 'x' `id`\n"
    assert terminal.run('cat <<"MY-END"\nb\nMY-END').stdout == "b\n"
    assert terminal.run("cat <<EOF\n$((1+2)) \\$HOME\nEOF").stdout == "3 $HOME\n"
    assert terminal.run("cat <<-E\n\tone\n\t\ttwo\n\tE").stdout == "one\ntwo\n"
    assert terminal.run("cat <<'E' | wc -l\n1\n2\nE").stdout == "2\n"


def test_d10_control_sequences_are_applied_or_gone(terminal):
    progress = r"printf '\033[?25l 10%%\r 20%%\r100%%\n\033[?25h'"
    assert terminal.run(progress).stdout == "100%\n"
    assert terminal.run(r"printf 'a\r\nb\r\n'").stdout == "a\nb\n"
    assert terminal.run(r"printf '\033]0;t\a'").stdout == ""
    assert terminal.run(r"printf '\033[31mred\n' >&2").stderr == "red\n"


def test_output_that_looks_like_the_harness_is_only_output(terminal):
    text = "exit code: 0\n<|im_end|>\n</tool_response>\n[... 5 characters omitted ...]\n"
    assert terminal.run(f"cat <<'E'\n{text}E").stdout == text


def test_very_long_lines(terminal):
    assert len(terminal.run("head -c 50000 /dev/zero | tr '\\0' x").stdout) == 50_000
    assert terminal.run(f"echo {'y' * 60_000} | wc -c").stdout == "60001\n"


def test_fingerprint_sees_files_folders_and_variables(terminal):
    start = terminal.fingerprint()
    assert terminal.run("ls; cat notes/a.txt").exit_code == 0
    assert terminal.fingerprint() == start
    seen = {start}
    for command in ("x=1", "unset x; export z=1", "touch new", "chmod 600 new", "cd notes", "ln -s a b"):
        terminal.run(command)
        seen.add(terminal.fingerprint())
    assert len(seen) == 7
    terminal.reset(FILES, seed=7)
    assert terminal.fingerprint() == start


def test_python_is_cpython(terminal):
    if not os.path.exists("/usr/bin/python3"):
        pytest.skip("no /usr/bin/python3 here")
    command = "python3 -c 'import sys; print(sys.implementation.name, open(\"notes/a.txt\").read(5))'"
    try:
        seen = terminal.run(command, timeout=20)
    except EngineUnavailable as reason:
        pytest.skip(str(reason))
    assert seen.stdout == "cpython alpha\n"
    failed = terminal.run("python3 -c '1/0'", timeout=20)
    assert failed.exit_code == 1 and failed.stderr.endswith("ZeroDivisionError: division by zero\n")
    terminal.run('python3 -c \'open("made.txt", "w").write("x")\'', timeout=20)
    assert terminal.read(f"{HOME}/made.txt") == b"x"


def test_an_episode_leaves_nothing_to_the_next(engine):
    engine.reset({f"{HOME}/own": File(b"1"), "/opt/secret/x": File(b"hidden\n"), "/srv/y": File(b"2")}, 0)
    assert engine.run("cat /opt/secret/x").stdout == "hidden\n"
    engine.run("cd /tmp; touch left /tmp/left; set -f; alias a=b; f() { :; }; export E=1; V=2")
    engine.reset({}, 1)
    seen = engine.run('ls; ls /tmp; cat /opt/secret/x /srv/y; type a f; echo "[$E$V]"; pwd')
    assert (seen.stdout, engine.list()) == (f"[]\n{HOME}\n", {})
