"""What only the virtual engine promises: a clock that stands still, repeatable randomness, GNU programs, limits."""

import json
import os
from pathlib import Path

import pytest

from echo_terminal.terminal import python_sandbox
from echo_terminal.terminal.programs import callback
from echo_terminal.terminal.programs.call import Clock, human, quote
from echo_terminal.terminal.programs.dates import format_time, parse_date
from echo_terminal.terminal.programs.files.modes import parse_mode
from echo_terminal.terminal.programs.text.edits import Hunk, hunks
from echo_terminal.terminal.terminal import CLOCK, HOME, EngineUnavailable, File, Status
from echo_terminal.terminal.virtual import VirtualParams, VirtualTerminal
from echo_terminal.terminal.wording.grammar import syntax_error
from echo_terminal.terminal.wording.messages import real_messages
from echo_terminal.terminal.wording.wordings import RULES

DATA = Path(__file__).parents[1] / "data"
RAW = (
    "bash: line 1: foo: command not found. Did you mean: for?\n",
    "error: unexpected argument '--zz' found\n\nUsage: ls [OPTION]\n\nFor more information, try '--help'.\n",
    "cat: x: io error: file not found\n",
    "head: x: No such file or directory\n",
    "user unavailable\nsys\tunavailable\nreal\t0m0.120s\n",
    "sed: -e expression #1, char 3: invalid pattern: regex parse error: unclosed group\n",
)


@pytest.fixture
def terminal():
    engine = VirtualTerminal()
    engine.reset({f"{HOME}/a.txt": File(b"alpha\nbeta\n"), f"{HOME}/d/b.txt": File(b"b\n", 0o600)}, seed=3)
    return engine


def out(terminal, command):
    return terminal.run(command).stdout


def test_clock_stands_still(terminal):
    assert out(terminal, "date") == "Sat Jun  1 00:00:00 UTC 2024\n"
    assert out(terminal, "date +%s") == f"{CLOCK}\n"
    assert out(terminal, "date -d 'next month' +%F") == "2024-07-01\n"
    assert out(terminal, "printf '%(%s)T\\n' -1; printf -v d '%(%F)T'; echo $d") == f"{CLOCK}\n2024-06-01\n"
    assert (
        out(terminal, "printf 'at %(%Y)T %s.\\n' 0 a; printf '%(%s)T %s\\n' -2 b")
        == f"at 1970 a.\n{CLOCK} b\n"
    )
    assert out(terminal, "cat <<'E'\nprintf '%(%s)T' -1\nE") == "printf '%(%s)T' -1\n"
    assert out(terminal, "touch new; stat -c %Y new") == f"{CLOCK}\n"
    assert out(terminal, "ls -l new") == "-rw-r--r-- 1 user user 0 2024-06-01 00:00 new\n"
    assert (
        out(terminal, "touch -d 2024-05-05 old; cp -p old kept; ls -l --time-style=+%F kept").split()[5]
        == "2024-05-05"
    )


def test_random_numbers_follow_the_seed_through_other_limits_of_time():
    seen = []
    for seconds in ((10.0, 10.0, 10.0), (7.0, 6.0, 5.0), (7.0, 6.0, 5.0)):
        engine = VirtualTerminal()
        engine.reset({}, 1)
        seen.append([engine.run("echo $RANDOM $RANDOM", limit).stdout for limit in seconds])
    assert seen[0][0] == seen[1][0]
    assert seen[1] == seen[2] and len(set(seen[1])) == 3


def test_sqlite_looks_at_no_clock_and_draws_by_a_seed(terminal):
    command = (
        "sqlite3 t.db \"create table t(a default CURRENT_TIMESTAMP, b); insert into t(b) values('now'); "
        "select * from t; select datetime(), strftime('%s','now'), julianday('NOW'), date('now','+1 day'), "
        "current_date, time('12:00'), date(NULL), date('2024-02-31','+0 days'), strftime()\""
    )
    assert out(terminal, command) == (
        "2024-06-01 00:00:00|now\n"
        "2024-06-01 00:00:00|1717200000|2460462.5|2024-06-02|2024-06-01|12:00:00||2024-03-02|\n"
    )
    draw = "sqlite3 :memory: 'select hex(randomblob(4)), random()'"
    terminal.reset({}, seed=5)
    drawn = out(terminal, draw)
    assert drawn != out(terminal, draw)
    terminal.reset({}, seed=5)
    assert drawn == out(terminal, draw)


def test_random_sources_follow_the_seed():
    command = "echo $RANDOM $RANDOM; mktemp; shuf -i 1-9; bash -c 'echo $RANDOM'"
    seen = []
    for seed in (1, 1, 2):
        engine = VirtualTerminal()
        engine.reset({}, seed)
        seen.append(out(engine, command))
    assert seen[0] == seen[1] != seen[2]


def test_a_shell_that_is_used_again_remembers_nothing(terminal):
    terminal.run("x=1; export y=2; list=(a b); f() { echo f; }; alias hi='echo hi'; set -u; cd d; umask 077")
    terminal.run("echo new > ~/n; rm ~/a.txt; touch -d 2024-05-05 ~/d/b.txt; ln -s /etc /tmp/l; (exit 3)")
    before = terminal._shell
    terminal.reset({f"{HOME}/c": File(b"c\n")}, seed=4)
    assert terminal._shell is before
    seen = terminal.run(
        "echo $? $x$y${list[*]} $PWD $(umask); f; hi; ls -A ~ /tmp; ls -l --full-time | tail -1; jobs"
    )
    assert seen.stdout.split() == (
        f"0 {HOME} 0022 /home/user: c /tmp: -rw-r--r-- 1 user user 2 2024-06-01 00:00:00.000000000 +0000 c".split()
    )
    assert seen.stderr == "bash: f: command not found\nbash: hi: command not found\n"
    fresh = VirtualTerminal()
    fresh.reset({f"{HOME}/c": File(b"c\n")}, seed=4)
    everything = (
        "declare -p | grep -v '^declare -[^ ]* _='; declare -F; alias; set +o; shopt; history; find / | sort"
    )
    terminal.reset({f"{HOME}/c": File(b"c\n")}, seed=4)
    assert terminal.run(everything) == fresh.run(everything)


def test_a_shell_that_was_stopped_is_not_used_again(terminal):
    before = terminal._shell
    assert terminal.run("while true; do :; done", timeout=0.5).status is not Status.OK
    terminal.reset({}, seed=0)
    assert terminal._shell is not before
    assert out(terminal, "echo $((6 * 7))") == "42\n"


def test_an_error_of_a_program_is_raised_where_it_was_called(terminal):
    def broken(call):
        call.fs.read_dir(HOME)
        raise ValueError("of no use")

    run = callback(broken, Clock(), files=True)

    class Context:
        name, argv, stdin, env, cwd, fs = "broken", [], None, {}, HOME, terminal._shell.fs()

    for _ in range(2):  # the thread goes on
        with pytest.raises(ValueError, match="of no use"):
            run(Context)


def test_newer_files_come_first(terminal):
    assert out(terminal, "echo 1 > one; echo 2 > two; ls -t") == "two\none\na.txt\nd\n"
    assert out(terminal, "find . -newer a.txt -type f | sort") == "./one\n./two\n"


def test_programs_of_other_systems_are_absent(terminal):
    for name in ("sudo", "tree", "nano", "rg", "yq"):
        seen = terminal.run(f"{name} x")
        assert (seen.stdout, seen.stderr, seen.exit_code) == ("", f"bash: {name}: command not found\n", 127)


def test_scripts_of_python_run_as_python(terminal):
    try:
        python_sandbox.check_available()
    except EngineUnavailable as reason:
        pytest.skip(str(reason))
    terminal.run("printf '#!/usr/bin/env python3\\nimport sys; print(sys.argv[1:])\\n' > s; chmod +x s")
    assert terminal.run("./s a 'b c'", timeout=20).stdout == "['a', 'b c']\n"
    seen = terminal.run("python3 -c 'print(1, flush=True)\nwhile True: pass'", timeout=5)
    assert (seen.stdout, seen.exit_code, seen.status) == ("1\n", 124, Status.TIMEOUT)
    assert terminal.run("echo alive").stdout == "alive\n"


def test_python_without_a_sandbox_says_how_to_allow_it(terminal, monkeypatch):
    def refuse():
        raise EngineUnavailable("bubblewrap cannot run here; allow user namespaces")

    monkeypatch.setattr("echo_terminal.terminal.virtual_python.shared_sandbox", refuse)
    with pytest.raises(EngineUnavailable, match="allow user namespaces"):
        terminal.run("python3 -c 1")
    assert out(terminal, "echo fine") == "fine\n"


def test_limits_are_reported_as_killed():
    engine = VirtualTerminal(VirtualParams(max_output=1000, max_commands=500))
    engine.reset({}, 0)
    flood = engine.run("yes")
    assert (len(flood.stdout), flood.exit_code, flood.status) == (1000, 137, Status.KILLED)
    loop = engine.run("while :; do :; done")
    assert (loop.exit_code, loop.status) == (137, Status.KILLED)
    assert out(engine, "echo alive") == "alive\n"


def test_nested_eval_ends_at_the_time_limit(terminal):
    seen = terminal.run('x=\'eval "$x"\'; eval "$x"', timeout=1)
    assert seen.exit_code in (124, 137)
    assert out(terminal, "echo alive") == "alive\n"


def test_a_new_time_limit_keeps_the_session(terminal):
    terminal.run("x=5; cd d; chmod 640 b.txt; touch -d 2024-01-02 b.txt")
    assert terminal.run("echo $x; pwd; stat -c '%a %y' b.txt", timeout=30).stdout == (
        f"5\n{HOME}/d\n640 2024-01-02 00:00:00.000000000 +0000\n"
    )


def test_syntax_errors_run_nothing_of_their_line(terminal):
    seen = terminal.run("touch x; if")
    assert (seen.stderr, seen.exit_code) == ("bash: syntax error: unexpected end of file\n", 2)
    assert terminal.run("echo a &&").exit_code == 2
    assert terminal.read(f"{HOME}/x") is None


def test_reset_refuses_relative_paths():
    with pytest.raises(ValueError, match="absolute"):
        VirtualTerminal().reset({"a.txt": File()}, 0)
    with pytest.raises(RuntimeError, match="reset"):
        VirtualTerminal().run("ls")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2024-01-31 +1 month", "2024-03-02 00:00"),  # 31 February is 2 March
        ("2024-03-01 -1 day", "2024-02-29 00:00"),
        ("last monday", "2024-05-27 00:00"),  # the clock stands at a Saturday
        ("2 days ago", "2024-05-30 00:00"),
        ("1 jan 2024 10:30", "2024-01-01 10:30"),
        ("2024-05-01 12:00 +0200", "2024-05-01 10:00"),
        ("@86400", "1970-01-02 00:00"),
    ],
)
def test_dates(text, shown):
    assert format_time(parse_date(text), "%F %H:%M") == shown


def test_wrong_dates_are_refused():
    for text in ("bogus", "2024-02-30", "25:00"):
        with pytest.raises(ValueError):
            parse_date(text)


@pytest.mark.parametrize(
    ("mode", "old", "new"),
    [("u+x", 0o644, 0o744), ("go=", 0o644, 0o600), ("a=r", 0o755, 0o444), ("755", 0, 0o755), ("g=u", 0o640, 0o660),
     ("+X", 0o644, 0o644), ("u+q", 0o644, None), ("999", 0o644, None)],
)  # fmt: skip
def test_modes(mode, old, new):
    assert parse_mode(mode, old, folder=False) == new


def test_edit_scripts_are_shortest():
    assert hunks("abc", "abc") == []
    assert hunks("abcd", "axcyd") == [Hunk(1, 2, 1, 2), Hunk(3, 3, 3, 4)]
    assert hunks("", "ab") == [Hunk(0, 0, 0, 2)]
    assert hunks("aab", "aaab") == [Hunk(2, 2, 2, 3)]  # of equal lines the last is the new one


def test_what_a_rule_needs_is_in_all_that_it_matches():
    errors = [json.loads(line)["stderr"] for line in (DATA / "bash_answers.jsonl").open(encoding="utf-8")]
    texts = [*errors, *RAW]
    matches = [(needed, text) for needed, pattern, _ in RULES for text in texts if pattern.search(text)]
    assert len(matches) > 12
    assert all(needed in text for needed, text in matches)
    needs = {pattern.pattern: needed for needed, pattern, _ in RULES}
    assert needs["io error: (?:file )?not found|io error: parent directory not found"] == "io error: "
    assert needs[r"^(user|sys) unavailable$"] == " unavailable"


def test_words_of_messages():
    assert quote("a b") == "'a b'" and quote("it's") == '"it\'s"'
    assert [human(n) for n in (1023, 1024, 10240, 1048576, 1900)] == ["1023", "1.0K", "10K", "1.0M", "1.9K"]
    text = real_messages("bash: line 1: foo: command not found. Did you mean: for?\n", "foo", (HOME,))
    assert text == "bash: foo: command not found\n"
    assert real_messages(f"sort: {HOME}/x: No such file or directory\n", "sort x", (HOME,)) == (
        "sort: cannot read: x: No such file or directory\n"
    )
    assert syntax_error("parse error at line 1, column 6: syntax error near unexpected token `)'") == (
        "bash: syntax error near unexpected token `)'\n",
        2,
    )


def test_episodes_leave_no_open_files_behind() -> None:
    """Every interpreter holds file descriptors; a hundred resets must not hold a hundred interpreters."""
    terminal = VirtualTerminal()

    def play() -> int:
        for seed in range(100):
            terminal.reset({}, seed)
            terminal.run("echo hi > a; cat a")
        return len(os.listdir("/proc/self/fd"))

    assert play() == play()


def test_a_terminal_that_nobody_closed_is_gone_with_its_last_user() -> None:
    def play() -> int:
        for seed in range(20):
            VirtualTerminal().reset({}, seed)
        return len(os.listdir("/proc/self/fd"))

    before = play()
    assert play() <= before  # fewer, where those of another test go meanwhile


def test_system_folders_show_the_clock_and_times_asked_for_are_kept(terminal):
    assert {line.split()[5] for line in out(terminal, "ls -l /").splitlines()[1:]} == {"2024-06-01"}
    assert out(terminal, "touch -d 2030-01-01 f; stat -c %y f").startswith("2030-01-01 00:00:00")


def test_system_folders_show_no_order_of_time(terminal) -> None:
    """bashkit stamps a mounted file system as it is looked at, so that its place in the list would be chance."""
    for folder in ("/", "/usr", "/proc/sys/kernel"):
        assert terminal.run(f"ls -t {folder}").stdout == terminal.run(f"ls {folder}").stdout != ""
    assert terminal.run("cd /tmp; touch a; touch b; ls -t").stdout == "b\na\n"
