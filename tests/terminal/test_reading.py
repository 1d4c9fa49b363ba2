"""Commands that are a name and plain words run beside the shell, and nobody can tell."""

import importlib
import pkgutil
import re
import time
from re import _parser  # type: ignore[attr-defined]

import pytest

import echo_terminal.terminal
from echo_terminal.terminal.reading import read
from echo_terminal.terminal.terminal import HOME, File, Status
from echo_terminal.terminal.virtual import VirtualTerminal

NOPE = "ls: cannot access 'nope': No such file or directory\n"


@pytest.fixture
def terminal():
    engine = VirtualTerminal()
    engine.reset({f"{HOME}/f.sh": File(b"ls() { echo SOURCED; }\n"), f"{HOME}/d/b": File(b"b\n")}, seed=3)
    return engine


def test_plain_words_need_no_shell(terminal, monkeypatch):
    monkeypatch.delattr(VirtualTerminal, "_inside")
    assert terminal.run("ls d").stdout == "b\n"
    assert terminal.run(" mkdir  -p e/f ").exit_code == 0
    seen = terminal.run("ls nope")
    assert (seen.stdout, seen.stderr, seen.exit_code) == ("", NOPE, 2)
    assert terminal.run("ls").stdout == "d\ne\nf.sh\n"
    with pytest.raises(AttributeError):
        terminal.run("ls *")


@pytest.mark.parametrize(
    ("commands", "stdout"),  # of the last one, as bash answers
    [
        (["ls() { echo MINE; }", "ls"], "MINE\n"),
        (["ls() { echo MINE; }", "unset -f ls", "ls"], "d\nf.sh\n"),
        (["function ls { echo MINE; }", "ls"], "MINE\n"),
        ([". ./f.sh", "ls"], "SOURCED\n"),
        (["source f.sh", "ls"], "SOURCED\n"),
        (['eval "$(cat f.sh)"', "ls"], "SOURCED\n"),
        (["alias ls='echo ALIAS'", "ls"], "ALIAS\n"),
        (["bash f.sh", "ls"], "d\nf.sh\n"),
        (["ls nope", "echo ${PIPESTATUS[0]} $?"], "2 2\n"),
        (["mkdir e", "cd $_", "pwd"], f"{HOME}/e\n"),
        (["cd d", "ls"], "b\n"),
        (["mkdir 'x y' \"z\"w", "cd $_", "cd ..", "ls -d x* z*"], "x y\nzw\n"),
        (["export A=1; cat d/b > c", "awk 'BEGIN {print ENVIRON[\"A\"]}'"], "1\n"),
        (["ls nope", "true", "echo $? ${PIPESTATUS[0]}"], "0 0\n"),
        (["export TIME_STYLE=+%Y", "ls -l d"], "total 4\n-rw-r--r-- 1 user user 2 2024 b\n"),
    ],
)
def test_the_shell_decides_what_a_word_means(terminal, commands, stdout):
    assert [terminal.run(command) for command in commands][-1].stdout == stdout


def test_options_hold_for_programs_beside_the_shell(terminal):
    terminal.run("set -x")
    seen = terminal.run("ls d")
    assert (seen.stdout, seen.stderr) == ("b\n", "++ ls d\n")  # as below ``eval``


def test_a_lone_program_over_its_limit_is_stopped_with_what_it_said(terminal):
    terminal.run("seq 300000 > big")
    seen = terminal.run("cat big big big")
    assert (seen.exit_code, seen.status) == (137, Status.KILLED)
    assert seen.stdout.startswith("1\n2\n3\n")
    assert terminal.run("cat d/b").stdout == "b\n"


def test_what_a_text_tells():
    assert read("ls -l a.txt").words == ("ls", "-l", "a.txt")
    assert read("awk '{print $1}' 'a b'\"c d\" \"\"").words == ("awk", "{print $1}", "a bc d", "")
    for text in ("ls *", "ls ~", 'ls "$a"', "ls|wc", "ls #x", "ls\npwd", "", "ls !$", "ls \\a", "ls 'a"):
        assert read(text).words == ()
    for text in ("pwd", "cat x > 'a;b'", "sed -i s/a/b/ x", "sort < a"):
        assert read(text).lone
    for text in (
        "cd d",
        "cat a; cd",
        "cat $(cd)",
        "cat `x`",
        "x=1 cat",
        "cat << E\na\nE",
        "time cat",
        "tool",
        "cat &",
    ):
        assert not read(text).lone
    assert read("make all").stores and read("find . -mtime 1").times and not read("find . -name x").times
    assert read("sleep 1 & wait").child and not read("a && b 2>&1").child
    assert read("exit 3").leaves and not read("cat exits").leaves
    assert read("./run.sh").nests
    assert read("echo a |").refused == ("bash: syntax error: unexpected end of file\n", 2)
    assert read("x" * 5000) == read("x" * 5000)


@pytest.mark.parametrize("word", ["a" * 60 + "!", "?" * 60, "if " * 30, "$(a" * 30, "-a " * 30, "a=" * 3000])
def test_no_condition_takes_long_to_read(word):
    started = time.perf_counter()
    read(f"[[ {word} =~ ^(a|aa)*$ ]]")
    assert time.perf_counter() - started < 1  # limit: the time of a command starts behind its reading


LONG = (
    "\n", "[[ ", "[[ a =~ ", "grep a; > x; ", "exec ", "set ", "set -e; ", "set -x; for a in ", "find . ",
    "find . -exec ",
    "jq '", 'jq "', "jq .a | ", "jq 'del(.a)", "} >> a ", "> a > b; ", "< a < b; ", "cat > a <<E\n", "<<E <<E ",
    "a=( <<",
    "tar | openssl a ", "timeout -k 1 ", "$(timeout -k -n", "sh ", "eval 'a' ", "eval x; 'sh ", "echo '\\u00e9' ",
    "\\u00e9", "sed -e ", "sed s/a/b/; ", "`touch a ", "`sort a ", "< /dev/zero ", "(ls 2>&1", "xargs -xargs ",
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "[[ a =~ " * 8_000 + "b ]]",
        "ls > a " * 2_000,
        f"grep {'a ' * 200}; echo > x",
        *((unit * 60_000)[:60_000] for unit in LONG),
    ],
)
def test_no_long_text_takes_long_to_read(text):
    started = time.perf_counter()
    read(text)
    assert time.perf_counter() - started < 2  # limit: minutes, where every part is looked at from every other


def test_no_pattern_needs_what_old_pythons_match_wrongly():
    """Python 3.11.0 to 3.11.4 (Debian 12 has 3.11.2) take ``(?:a|'b')++`` for more than it is."""
    found = 0
    for module in pkgutil.walk_packages(echo_terminal.terminal.__path__, "echo_terminal.terminal."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                text = str(_parser.parse(value.pattern, value.flags))
                assert "POSSESSIVE" not in text and "ATOMIC" not in text, (module.name, name)
                found += 1
    assert found > 100
