"""Scripts that a command runs, beside the recorded answers of bash 5.2.15 (Debian 12)."""

import pytest

from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.wording.calling import RUN, scripts_called

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\n", mtime=1714558560),
    f"{HOME}/closed": File(b"no\n", 0),
    f"{HOME}/fixed": File(b"no\n", 0o444),
    f"{HOME}/old.sh": File(b"printf '%5%|'; getopts ab opt -c\necho $((1/0))\ncat <\n"),
    f"{HOME}/env.py": File(b"#!/usr/bin/env python3\nprint('hi')\n", 0o755),
    f"{HOME}/none.sh": File(b"#!/opt/none\n", 0o755),
    f"{HOME}/windows.sh": File(b"#!/bin/bash\r\necho hi\r\n", 0o755),
    f"{HOME}/words.sed": File(b"#!/usr/bin/sed -f\ns/a/<a>/\n", 0o755),
    f"{HOME}/absent": File(b"#!/usr/bin/env absent\n", 0o755),
}


def script(*lines):
    body = "\n".join(lines)
    return f"cat > s.sh <<'END'\n{body}\nEND\n"


@pytest.mark.parametrize(
    ("command", "stdout", "stderr", "code"),
    [
        # what is said and done in a script is what is said and done at a prompt
        (script("cat closed", "echo x > fixed") + "bash s.sh", "",
         "cat: closed: Permission denied\ns.sh: line 2: fixed: Permission denied\n", 1),
        (script("wc -lc < a.txt", "cat a.txt a.txt > a.txt; wc -c < a.txt") + "bash s.sh", " 2 11\n0\n", "", 0),
        (script("cat -x a.txt", "echo $?", "seq 3 | xargs -n2 echo") + "bash s.sh", "1\n1 2\n3\n",
         "cat: invalid option -- 'x'\nTry 'cat --help' for more information.\n", 0),
        ("bash old.sh", "", "old.sh: line 1: printf: `%': invalid format character\nold.sh: illegal option -- c\n"
         'old.sh: line 2: 1/0: division by 0 (error token is "0")\n'
         "old.sh: line 3: syntax error near unexpected token `newline'\nold.sh: line 3: `cat <'\n", 2),
        # names, arguments and lines are the script's own
        (script("sort closed", 'echo "$0 ${BASH_SOURCE[0]##*/} $# $2 $LINENO"; cat', "exit 4")
         + "echo in | bash ./s.sh a 'b c'; echo $?", "./s.sh s.sh 2 b c 2\nin\n4\n",
         "sort: cannot read: closed: Permission denied\n", 0),
        (script("wc -c < a.txt", "bash ./t.sh; ./t.sh") + "echo 'cat -x' > t.sh; bash s.sh", "11\n",
         "cat: invalid option -- 'x'\nTry 'cat --help' for more information.\n"
         "s.sh: line 2: ./t.sh: Permission denied\n", 126),
        # first lines
        ("./none.sh; ./windows.sh; ./absent", "", "bash: ./none.sh: cannot execute: required file not found\n"
         "bash: ./windows.sh: cannot execute: required file not found\n"
         "/usr/bin/env: 'absent': No such file or directory\n", 127),
        ("./words.sed a.txt; ./old.sh; bash closed; ./nosuch; ./", "<a>lpha\nbet<a>\n",
         "bash: ./old.sh: Permission denied\nbash: closed: Permission denied\n"
         "bash: ./nosuch: No such file or directory\nbash: ./: Is a directory\n", 126),
        # what is written anew keeps its mode
        ("echo 'echo new' > env.py; ./env.py; cp a.txt absent; echo x | tee none.sh\nstat -c %a env.py absent none.sh",
         "new\nx\n755\n755\n755\n", "", 0),
        ("chmod 644 env.py; echo x > env.py; ls -l env.py > words.sed; cut -c1-10 words.sed; stat -c %a words.sed",
         "-rw-r--r--\n755\n", "", 0),
        # options, and what is wrong with a whole script
        (script("for i in 1 2; do", "  echo $i", "done", "false") + "bash -x s.sh", "1\n2\n",
         "+ for i in 1 2\n+ echo 1\n+ for i in 1 2\n+ echo 2\n+ false\n", 1),
        ("printf '#!/bin/bash -e\\nwc -c < a.txt\\nfalse\\necho no\\n' > windows.sh; ./windows.sh", "11\n", "", 1),
        (script("echo $(cat a.txt", "echo end") + "bash s.sh", "",
         "s.sh: line 3: unexpected EOF while looking for matching `)'\n", 2),
        (script("echo a", "case x in", "  y) echo y", "  x) echo x ;;", "esac") + "bash s.sh", "a\n",
         "s.sh: line 4: syntax error near unexpected token `)'\ns.sh: line 4: `  x) echo x ;;'\n", 2),
        (script("cat <<E", "hello") + "bash s.sh", "hello\n",
         "s.sh: line 2: warning: here-document at line 1 delimited by end-of-file (wanted `E')\n", 0),
        (script("echo a", "echo ${x") + "bash s.sh", "a\n",
         "s.sh: line 2: unexpected EOF while looking for matching `}'\n", 2),
        (script("echo a", "a=(1 2", "echo no") + "bash s.sh", "a\n",
         "s.sh: line 2: unexpected EOF while looking for matching `)'\n", 1),
        ("a=(1 2 3); (IFS=+; echo $((${a[*]})))", "6\n", "", 0),
        ("echo 'cat <' > s.sh; echo 'echo $(ls' > t.sh; bash s.sh; bash t.sh", "",
         "s.sh: line 1: syntax error near unexpected token `newline'\ns.sh: line 1: `cat <'\n"
         "t.sh: line 2: unexpected EOF while looking for matching `)'\n", 2),
        # what dash does not have
        (script("echo start {1..3}", "f() {", "  :", "}", "arr=(1 2)") + "sh s.sh", "start {1..3}\n",
         's.sh: 5: Syntax error: "(" unexpected\n', 2),
        (script("#!/bin/sh", '[[ -f x ]] || echo "no {a,b} [["', "source ./x", '[ "$1" == b ]', "echo -e 'a\\tb'",
                "cat closed <<E", "<<< {a,b}", "E", 'echo "${1^^}"', "echo no") + "chmod +x s.sh; ./s.sh c",
         "no {a,b} [[\n-e a\tb\n",
         "./s.sh: 2: [[: not found\n./s.sh: 3: source: not found\n./s.sh: 4: [: c: unexpected operator\n"
         "cat: closed: Permission denied\n./s.sh: 9: Bad substitution\n", 2),
        (script("set -eo pipefail", "echo no") + "sh s.sh", "", "s.sh: 1: set: Illegal option -o pipefail\n", 2),
        (script("echo a", "for ((;;)); do :; done") + "sh s.sh", "a\n",
         "s.sh: 2: Syntax error: Bad for loop variable\n", 2),
        (script("#!/bin/sh", "nosuch x", "cd nosuch", "exit 3") + "chmod +x s.sh; ./s.sh", "",
         "./s.sh: 2: nosuch: not found\n./s.sh: 3: cd: can't cd to nosuch\n", 3),
        # outputs of the whole script
        (script("exec 3>&1 4>&2", "exec > o 2> e # both", "echo hid; nosuch", "exec 1>&3 2>&4", "echo shown $LINENO",
                "cat o e") + "bash s.sh", "shown 5\nhid\ns.sh: line 3: nosuch: command not found\n", "", 0),
        (script("exec &>> o", "exec < a.txt", "read x; echo $x; cat nosuch; exit 3") + "bash s.sh; echo $?; cat o",
         "3\nalpha\ncat: nosuch: No such file or directory\n", "", 0),
        # lines of another system
        ("printf 'echo a\\r\\n\\r\\nnosuch\\r\\ncd d\\r\\nif true; then\\r\\n' > w; bash w", "a\n",
         "w: line 2: $'\\r': command not found\nw: line 3: $'nosuch\\r': command not found\n"
         "w: line 4: cd: $'d\\r': No such file or directory\nw: line 6: syntax error: unexpected end of file\n", 2),
        # texts are no scripts
        ("echo '\n./old.sh x' \"\nbash old.sh\"; a=(./old.sh ./none.sh); echo ${#a[@]} $((8/ 2)) $(( (9/3) / 3 ))",
         "\n./old.sh x \nbash old.sh\n2 4 1\n", "", 0),
        ("printf '#!/usr/bin/env bash\\n' > f.sh; cat f.sh\nf=./old.sh; case $f in\n./old.sh) echo o;; esac",
         "#!/usr/bin/env bash\no\n", "", 0),
    ],
)  # fmt: skip
def test_scripts_answer_as_in_bash(terminal, command, stdout, stderr, code):
    terminal.reset(FILES, 0)
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (stdout, stderr, code)


@pytest.mark.parametrize(
    ("command", "called"),
    [
        ("./s.sh a && sh t.sh", f"{RUN} $LINENO ./s.sh a && {RUN} $LINENO sh t.sh"),
        ("x=$(./s.sh); (bin/t) | sort", f"x=$({RUN} $LINENO ./s.sh); ({RUN} $LINENO bin/t) | sort"),
        ("bash -n s.sh; bash; /usr/bin/env; /bin/ls; echo ./s.sh", None),
        ("for kv in ${s//&/ }; do echo ${kv#*;./}; done", None),
        ("cp \\\n  ./s.sh d; a=(\n./s.sh\n); case $f in ./a|./b) ;; esac", None),
        ("echo './s.sh' \"; ./s.sh\"; echo 'open", None),
    ],
)
def test_calls_of_scripts_are_found(command, called):
    assert scripts_called(command) == (called or command)
