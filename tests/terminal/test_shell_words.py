"""What the shell does and says, beside the recorded answers of bash 5.2.15, dash and findutils 4.9 (Debian 12)."""

import pytest

from echo_terminal.terminal.programs.call import quote, shown
from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.wording.grammar import refused, warnings
from echo_terminal.terminal.wording.refusing import PROGRAMS, complaint
from echo_terminal.terminal.wording.usage import SED

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\n", mtime=1714558560),
    f"{HOME}/b.txt": File(b"b\n", mtime=1714558620),
    f"{HOME}/d/x": File(b"x\n"),
    f"{HOME}/run": File(b"#!/bin/bash\necho hi\n", 0o755),
    f"{HOME}/closed": File(b"no\n", 0),
}
WARNING = "xargs: warning: options {} are mutually exclusive, ignoring previous {} value\n"


@pytest.mark.parametrize(
    ("command", "stdout", "stderr"),
    [
        # options that are not there, with the code of the program
        ("cat -z; echo $?", "1\n", "cat: invalid option -- 'z'\nTry 'cat --help' for more information.\n"),
        ("pwd -x; echo $?", "2\n", "bash: pwd: -x: invalid option\npwd: usage: pwd [-LP]\n"),
        ("uname x; echo $?", "1\n", "uname: extra operand 'x'\nTry 'uname --help' for more information.\n"),
        ("timeout 5; echo $?", "125\n", "Try 'timeout --help' for more information.\n"),
        ("dirs -x", "", "bash: dirs: -x: invalid number\ndirs: usage: dirs [-clpv] [+N] [-N]\n"),
        ("ls --version | head -1; xargs --version | head -1",
         "ls (GNU coreutils) 9.1\nxargs (GNU findutils) 4.9.0\n", ""),
        ("ls --sort=foo | cat", "",
         "ls: invalid argument 'foo' for '--sort'\nValid arguments are:\n  - 'none'\n  - 'time'\n"
         "  - 'size'\n  - 'extension'\n  - 'version'\n  - 'width'\nTry 'ls --help' for more information.\n"),
        # redirections open their files before the command runs
        ("ls > list; wc -l < list", "6\n", ""),
        ("sort a.txt > a.txt; wc -c < a.txt", "0\n", ""),
        ("mkdir e; mv e > e.log e.log", "", "mv: cannot overwrite non-directory 'e.log' with directory 'e'\n"),
        ("printf x > b1 b2 > b3; wc -c b1 b3", "0 b1\n1 b3\n1 total\n", ""),  # all are opened, the last is used
        ("for i in 1 2; do echo $i; done > w > v; cat v; [[ b > a ]] && echo y > u > t; cat t", "1\n2\ny\n", ""),
        ("set -C; echo 1 > k > l; echo 2 > k > m; ls m", "", "bash: k: cannot overwrite existing file\n"
         "ls: cannot access 'm': No such file or directory\n"),
        ("cat < nosuch < a.txt; echo x > a.txt/y > z; ls z", "", "bash: nosuch: No such file or directory\n"
         "bash: a.txt/y: Not a directory\nls: cannot access 'z': No such file or directory\n"),
        ("grep -v b a.txt > a.txt; echo $?", "2\n", "grep: a.txt: input file is also the output\n"),
        ("echo x > /usr/f; touch /usr/f", "", "bash: /usr/f: Read-only file system\n"
         "touch: cannot touch '/usr/f': Read-only file system\n"),
        ("cat < d; grep x < d", "", "cat: -: Is a directory\ngrep: (standard input): Is a directory\n"),
        # tests
        ("[[ b.txt -nt a.txt ]] && echo new; [[ -x a.txt ]] || echo no; [[ -x run && -f run ]] && echo x",
         "new\nno\nx\n", ""),
        ("f=closed; [[ -r $f ]] || echo denied", "denied\n", ""),
        ("[[ ! -L d && -d d ]] && echo real; [[ -p a.txt || -S d || -h a.txt || -k d || -g d ]]; echo $?",
         "real\n1\n", ""),
        ("sed -n; sed --foo; sed -n q nosuch 2>&1 | head -1", "sed: can't read nosuch: No such file or directory\n",
         SED + "sed: unrecognized option '--foo'\n" + SED),
        ("find . -name x -o; shuf --random-source=b.txt b.txt", "b\n", "find: expected an expression after '-o'\n"),
        ("echo '[{\"a\": 1}]' | jq -c 'INDEX(.a), INDEX(.[]; .a + 1)'", '{"1":{"a":1}}\n{"2":{"a":1}}\n', ""),
        # traces
        ("set -x; for i in 1 2; do echo $i; done", "1\n2\n",
         "++ for i in 1 2\n++ echo 1\n++ for i in 1 2\n++ echo 2\n"),
        ("bash -x -c 'echo hi'", "hi\n", "+ echo hi\n"),
        # grammar
        ("function; echo", "", "bash: syntax error near unexpected token `;'\n"),
        ("echo $((1 + 2)", "", "bash: unexpected EOF while looking for matching `)'\n"),
        ("[[ 1 -eq 1 ] && echo yes", "", "bash: syntax error in conditional expression\n"),
        ("echo $((2 + ))", "", 'bash: 2 + : syntax error: operand expected (error token is "+ ")\n'),
        ("x=2.5; echo $((x * 2))", "", 'bash: 2.5: syntax error: invalid arithmetic operator (error token is ".5")\n'),
        # variables
        ("export B=2 foo=3; env | grep -v PYTHON; printenv | tail -1",
         "SHELL=/bin/bash\nPWD=/home/user\nLOGNAME=user\nTZ=UTC\nB=2\nHOME=/home/user\nTIME_STYLE=long-iso\nfoo=3\n"
         "TERM=dumb\nUSER=user\nSHLVL=1\nPATH=/usr/local/bin:/usr/bin:/bin\n_=/usr/bin/env\n_=/usr/bin/printenv\n", ""),
        ("declare -A c; w=Ab:d; ((c[${w,,}]++)); c[${w%%:*}]=5; echo ${c[${w,,}]} \"${c[${w%:*}]:-0}\" '${c[${w,,}]}'",
         "1 5 ${c[${w,,}]}\n", ""),
        ("select x in a b; do echo $x; done <<< $'2\\n1'", "b\na\n\n", "1) a\n2) b\n#? #? #? "),
        # names
        ("cat 'no such' \"it's\"", "",
         "cat: 'no such': No such file or directory\ncat: \"it's\": No such file or directory\n"),
        ("touch -- -x; rm -x; ln -s d l; cp -rL l c; ln -s nowhere c/dead; cp -aL c e; cp -rH l f; ls -d c e/* f/x; "
         "rm -- -x; readlink c", "c\ne/x\nf/x\n",
         "rm: invalid option -- 'x'\nTry 'rm ./-x' to remove the file '-x'.\nTry 'rm --help' for more information.\n"
         "cp: cannot stat 'c/dead': No such file or directory\n"),
        # programs that start others
        ("nice nosuch; echo $?", "127\n", "nice: 'nosuch': No such file or directory\n"),
        ("nohup ./nosuch", "", "nohup: failed to run command './nosuch': No such file or directory\n"),
        ("find a.txt -exec nosuch {} ';'", "", "find: 'nosuch': No such file or directory\n"),
        # sourced files and other shells
        ("echo nosuch > s; . ./s", "", "bash: nosuch: command not found\n"),
        ("echo ')' > s; . ./s", "",
         "bash: ./s: line 1: syntax error near unexpected token `)'\nbash: ./s: line 1: `)'\n"),
        (". d; source d", "", "bash: .: d: is a directory\nbash: source: d: is a directory\n"),
        ("sh -c 'cd nosuch'", "", "sh: 1: cd: can't cd to nosuch\n"),
        ("sh -c 'source x; echo $?'", "127\n", "sh: 1: source: not found\n"),
        ("sh -c 'echo \"a\\tb\"; echo -e x'", "a\tb\n-e x\n", ""),
        ("echo 'echo $1' | bash -s arg", "arg\n", ""),
        ("echo -e '\\u2713'; printf \"\\u00e9\\n\"", "\\u2713\n\\u00E9\n", ""),
        # head and tail
        ("tail -f nosuch", "",
         "tail: cannot open 'nosuch' for reading: No such file or directory\ntail: no files remaining\n"),
        ("printf 'a\\0b\\0c' | head -z -n2 | tr '\\0' ' '", "a b ", ""),
        ("head -n1 d a.txt", "==> d <==\n\n==> a.txt <==\nalpha\n", "head: error reading 'd': Is a directory\n"),
        # files
        ("echo y | rm -i a.txt; ls a.txt", "", "rm: remove regular file 'a.txt'? "
         "ls: cannot access 'a.txt': No such file or directory\n"),
        ("mv --backup=numbered a.txt b.txt; ls b*", "b.txt\nb.txt.~1~\n", ""),
        ("chmod 000 d; cd d; chmod 755 d", "", "bash: cd: d: Permission denied\n"),
        ("cat a.txt | grep -v beta | while read -r l; do echo \"<$l>\"; done", "<alpha>\n<gamma>\n", ""),
        ("cat *.txt | grep -c a", "3\n", ""),
        ("{ ls nosuch; } 2>&1 | grep -c cannot; echo $? *.txt", "1\n0 a.txt b.txt\n", ""),
    ],
)  # fmt: skip
def test_as_bash_answered(terminal, command, stdout, stderr):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr) == (stdout, stderr)


@pytest.mark.parametrize(
    ("command", "stdout", "stderr"),
    [
        ("echo a b | xargs -n1 -I{} echo {}", "a b\n", WARNING.format("--max-args and --replace/-I/-i", "--max-args")),
        ("echo a b | xargs -I{} -n2 echo {}", "{} a b\n", WARNING.format("--replace and --max-args/-n", "--replace")),
        ("seq 3 | xargs -I{} sh -c 'test {} != 2'; echo $?", "123\n", ""),
        ("seq 2 | xargs -n1 sh -c 'exit 255'; echo $?", "124\n", "xargs: sh: exited with status 255; aborting\n"),
        ("echo a | xargs nosuch; echo $?", "127\n", "xargs: nosuch: No such file or directory\n"),
        ("echo a | xargs cd; echo $?", "127\n", "xargs: cd: No such file or directory\n"),
        ("echo a 'b' | xargs -t echo x", "x a b\n", "echo x a b\n"),
        ("echo \"a 'b c' \\\"d e\\\" f\\ g\" | xargs -n1", "a\nb c\nd e\nf g\n", ""),
        ("echo 'a \"b' | xargs", "a\n",
         "xargs: unmatched double quote; by default quotes are special to xargs unless you use the -0 option\n"),
        ("printf 'a b \\nc\\nd\\n' | xargs -L1 echo", "a b c\nd\n", ""),
        ("echo a,b,,c | xargs -d, echo; printf 'a\\0b c\\0' | xargs -0 -n1 echo", "a b  c\n\na\nb c\n", ""),
        ("echo a b STOP c | xargs -E STOP; xargs < /dev/null; xargs -r < /dev/null", "a b\n\n", ""),
        ("seq 3000 | xargs -n1 echo | tail -1; seq 900 | xargs -n1 test 500 -ge; echo $?", "3000\n123\n", ""),
        ("echo a | xargs -i echo {}b; printf 'a b\\nc d\\n' | xargs -l echo; ls *.txt | xargs wc -l | tail -1",
         "ab\na b\nc d\n 4 total\n", ""),
        ("xargs -a nosuch echo; echo $?", "1\n", "xargs: Cannot open input file 'nosuch': No such file or directory\n"),
        ("echo a b | xargs -n 0; echo $?", "1\n",
         "xargs: value 0 for -n option should be >= 1\nTry 'xargs --help' for more information.\n"),
    ],
)  # fmt: skip
def test_xargs(terminal, command, stdout, stderr):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr) == (stdout, stderr)


def test_xargs_leaves_no_function_and_ends_with_its_time(terminal):
    assert terminal.run("echo a | xargs echo; exit_code=$?; declare -F").stdout.startswith("a\n")
    assert terminal.run("declare -F").stdout == ""
    seen = terminal.run("yes | head -3 | xargs -n1 sh -c 'while :; do :; done'", timeout=1)
    assert seen.exit_code in (124, 137)


def test_lines_of_the_session_are_counted_as_the_other_engines_do(terminal):
    assert terminal.run("cat <<EOF\nx").stderr == (
        "bash: warning: here-document at line 3 delimited by end-of-file (wanted `EOF')\n"
    )
    assert terminal.run("echo $LINENO").stdout == "5\n"
    assert terminal.run("echo a\necho $LINENO").stdout == "a\n8\n"
    assert warnings("cat <<A <<B\nx\nA\nz", 13) == (
        "bash: warning: here-document at line 15 delimited by end-of-file (wanted `B')\n"
    )
    assert warnings("echo $((1<<2)); cat <<'E'\n$x\nE", 3) == ""


def test_followed_files_never_end(terminal):
    seen = terminal.run("tail -f a.txt", timeout=2)
    assert (seen.stdout, seen.exit_code) == ("alpha\nbeta\ngamma\n", 124)


def test_names_are_quoted_as_in_the_c_locale():
    assert [quote(t) for t in ("a b", "é", "a\tb", "a\n")] == [
        "'a b'",
        "''$'\\303\\251'",
        "'a'$'\\t''b'",
        "'a'$'\\n'",
    ]
    assert [shown(t) for t in ("a", "a:b", "~x", "x~", "a=b")] == ["a", "'a:b'", "'~x'", "x~", "'a=b'"]


def test_words_that_getopt_takes_are_left_alone():
    assert complaint(PROGRAMS["head"], ["-5", "-qn", "3", "--lines=2", "--", "-z9"]) is None
    assert complaint(PROGRAMS["tail"], ["--ret", "-c+5"]) is None
    assert complaint(PROGRAMS["env"], ["A=1", "ls", "-@"]) is None
    assert complaint(PROGRAMS["cat"], ["x", "--show"]) == (
        "option '--show' is ambiguous; possibilities: '--show-nonprinting' '--show-ends' '--show-tabs' '--show-all'"
    )
    assert refused("echo $(( (1) + (2) )) ${x:-}") is None


def test_files_that_noclobber_keeps(terminal):
    """Bash: the file that was there before keeps what it holds, and ``n`` is new."""
    seen = terminal.run(
        "set -C; echo old > k; ls > k; echo $?; cat k; ls > n; echo $?; ls >| k; head -c 1 k | wc -c"
    )
    assert seen.stdout == "1\nold\n0\n1\n"
    assert seen.stderr == "bash: k: cannot overwrite existing file\n"
