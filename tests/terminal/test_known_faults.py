"""Faults met in other terminals (D03 to D08): the minimal case, and what a real bash does, on every engine."""

import pytest


@pytest.fixture
def run(engine):
    engine.reset({}, seed=1)

    def step(command: str) -> tuple[str, int]:
        seen = engine.run(command, timeout=20)
        assert seen.seconds < 20, f"{command!r} waited"
        return seen.stdout, seen.exit_code

    return step


def test_d03_the_session_outlives_strict_mode_and_exit(run):
    assert run("set -euo pipefail") == ("", 0)
    assert run("false") == ("", 1)
    assert run("echo alive") == ("alive\n", 0)
    assert run("exit 3") == ("", 3)
    assert run("echo alive") == ("alive\n", 0)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("false", 1),
        ("false | true", 0),
        ("set -o pipefail; false | true", 1),
        ("nosuchcmd", 127),
        ("(exit 3)", 3),
        ("kill -9 $$", 137),
    ],
)
def test_d03_exit_codes(run, command, code):
    assert run(command)[1] == code
    assert run("echo alive") == ("alive\n", 0)


def test_d05_standard_input_is_at_its_end(run):
    assert run("cat") == ("", 0)
    assert run('read x; echo "[$x] rc=$?"') == ("[] rc=1\n", 0)
    assert run("cat <<'E' >/dev/null\nhi\nE\nread y; echo $?") == ("1\n", 0)
    assert run("python3") == ("", 0)
    for interactive in ("vi f", "sudo -S true"):
        assert run(interactive)[1] != 0


@pytest.mark.parametrize(
    ("command", "stdout"),
    [
        ('cd /; (cd /tmp; x=1); pwd; echo "[$x]"', "/\n[]\n"),
        ("x=1; bash -c 'echo \"[$x]\"'; export x; bash -c 'echo \"[$x]\"'", "[]\n[1]\n"),
        ("declare -A o; o[x]=42; bash -c 'declare -A o; echo ${o[x]:-EMPTY}'", "EMPTY\n"),
        ("false; bash -c 'echo $?'", "0\n"),
        ('set -- a b; (set -- z); echo "$@"', "a b\n"),
    ],
)
def test_d07_nothing_leaks_out_of_a_subshell(run, command, stdout):
    assert run(command) == (stdout, 0)


@pytest.mark.parametrize(
    ("command", "stdout"),
    [
        ("cat <<'EOF'\n$HOME 'x' `id`\nEOF", "$HOME 'x' `id`\n"),
        ('cat <<"MY-END"\nb\nMY-END', "b\n"),
        ("cat <<EOF\n$((1+2)) \\$HOME\nEOF", "3 $HOME\n"),
        ("cat <<-E\n\ttabs\n\t\tgone\n\tE", "tabs\ngone\n"),
        ("cat <<'E' | wc -l\na\nb\nE", "2\n"),
    ],
)
def test_d08_heredocs_are_verbatim(run, command, stdout):
    assert run(command) == (stdout, 0)


def test_d08_an_unterminated_heredoc_returns(run):
    stdout, _ = run("cat <<'E'\nhi")
    assert stdout in ("hi\n", "hi", "")
    assert run("echo alive") == ("alive\n", 0)
