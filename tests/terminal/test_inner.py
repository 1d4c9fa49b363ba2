"""Shells inside a command have what its programs need, and nothing that the engine adds is seen: answers of bash."""

import pytest

from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.wording.piping import FUNCTIONS

FILES = {
    f"{HOME}/a.txt": File(b"one\ntwo\n"),
    f"{HOME}/d/a": File(b"1\n"),
    f"{HOME}/j.json": File(b'{"a":1.0}\n'),
}
SUM = "2094b601daac3d68f5aed51d3c20f7cd *-\n"
SHOWN = (
    "f () \n{ \n    tar c d | tar t;\n    timeout -s KILL 1 which -a ls;\n"
    "    jq .a j.json;\n    ls > l;\n    bash a.sh\n}\n"
)


def test_functions_can_stand_in_quotes():
    assert not [name for name, text in FUNCTIONS.items() if "'" in text or "\n" in text]


@pytest.mark.parametrize(
    ("command", "stdout"),
    [
        ("bash -c 'cat a.txt | md5sum -b; tar c d | tar t'", f"{SUM}d/\nd/a\n"),
        ('sh -c "cat a.txt | md5sum -b; which -a ls"', f"{SUM}/usr/bin/ls\n/bin/ls\n"),
        ("f() { bash -c 'cat a.txt | md5sum -b'; }; x=$(f); echo \"$x\"", SUM),
        ("bash <<< 'cat a.txt | md5sum -b'", SUM),
        ("bash <<E\ncat a.txt | md5sum -b\nE", SUM),
        ("echo 'cat a.txt | md5sum -b' | sh", SUM),
        ("ls d | xargs -I{} sh -c 'cat a.txt | md5sum -b'", SUM),
        ("find d -type f -exec sh -c 'cat $1 | md5sum -b' _ {} \\;", "b026324c6904b2a9cb4b88d6d61c81d1 *-\n"),
        ("printf '%s\\n' \"bash -c 'cat a.txt | md5sum -b'\" > s.sh; bash s.sh", SUM),
        ("bash -c 'timeout -s KILL 1 true; echo 1.0 | jq .; echo $?'", "1\n0\n"),
        ("cat a.txt | md5sum -b; cat <<E\nsh -c 'md5sum'\nE", f"{SUM}sh -c 'md5sum'\n"),
    ],
)
def test_shells_inside(terminal, command, stdout):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (stdout, "", 0)


@pytest.mark.parametrize(
    ("command", "stdout", "stderr"),
    [
        (
            "f() { tar c d | tar t; timeout -s KILL 1 which -a ls; jq .a j.json; ls > l; bash a.sh; }; declare -f f",
            SHOWN,
            "",
        ),
        (
            "f() { xargs echo < a.txt; umask 022; kill -l; }; type f 2>&1",
            "f is a function\nf () \n{ \n    xargs echo < a.txt;\n    umask 022;\n    kill -l\n}\n",
            "",
        ),
        ("printf '%s\\n' 'echo 1.0 | jq .' > w.sh; cat w.sh", "echo 1.0 | jq .\n", ""),
        ("set -x; history", "", "++ history\n"),
        ("bash -c 'history'", "", ""),
        ("bash -x -c 'tr a b < a.txt'", "one\ntwo\n", "+ tr a b\n"),
        (
            "printf '%s\\n' \"bash -c 'ls | wc -l'\" > s.sh; cat s.sh; bash d/a 2> e",
            "bash -c 'ls | wc -l'\n",
            "",
        ),
        ("set -e; > __init__.py; ls", "__init__.py\na.txt\nd\nj.json\n", ""),
    ],
)
def test_nothing_of_the_engine_is_seen(terminal, command, stdout, stderr):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr) == (stdout, stderr)


@pytest.mark.parametrize(
    ("commands", "stdout"),  # of the last; bash -i, where no command is handed over by eval
    [
        (["sleep 1 & echo last", "echo $_"], "last\n"),
        (["cat a.txt | md5sum -b", "echo a b", "echo $_"], "b\n"),
        (["bash d/a", "echo a b", "echo $_"], "b\n"),
        (["! true", "echo $? ${PIPESTATUS[@]}"], "1 1\n"),
        (["cat a.txt | md5sum -b | grep x", "echo ${PIPESTATUS[@]}"], "0 0 1\n"),
    ],
)
def test_what_the_command_before_leaves(terminal, commands, stdout):
    assert [terminal.run(command) for command in commands][-1].stdout == stdout


@pytest.mark.parametrize("word", ["env", "command", "nohup", "timeout 9", "exec", "nice", "env X=1", "time"])
def test_programs_that_start_each_other_overflow_no_stack(terminal, word):
    terminal.run(f"{word} " * 4000, timeout=1.0)
    terminal.run(f"x=$(printf '{word} %.0s' $(seq 3000)); $x", timeout=1.0)
    assert terminal.run("echo here").stdout == "here\n"
