"""What the virtual engine forbids, and programs of its own for files: answers of bash 5.2, findutils 4.9, zip 3.0."""

import pytest

from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.virtual import VirtualTerminal

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\n"),
    f"{HOME}/secret": File(b"top\n", 0o000),
    f"{HOME}/fixed": File(b"as it is\n", 0o444),
    f"{HOME}/d/run": File(b"#!/bin/bash\ncd nosuch\n", 0o755),
}


@pytest.fixture
def run():
    engine = VirtualTerminal()
    engine.reset(FILES, seed=0)

    def step(command):
        seen = engine.run(command)
        return seen.stdout, seen.stderr, seen.exit_code

    return step


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("cat secret a.txt | head -n 1", "alpha\n", "cat: secret: Permission denied\n", 0),
        ("head -n 1 secret", "", "head: cannot open 'secret' for reading: Permission denied\n", 1),
        ("grep -r top .", "", "grep: ./secret: Permission denied\n", 2),
        ("cat < secret; echo $?", "1\n", "bash: secret: Permission denied\n", 0),
        ("echo x > fixed; echo $?; cat fixed", "1\nas it is\n", "bash: fixed: Permission denied\n", 0),
        ("echo x | tee fixed", "x\n", "tee: fixed: Permission denied\n", 1),
        ("[ -r secret ] || echo closed; [ -w a.txt ] && echo open", "closed\nopen\n", "", 0),
        ("chmod 000 a.txt; cat a.txt; chmod 644 a.txt; cat a.txt", "alpha\nbeta\n",
         "cat: a.txt: Permission denied\n", 0),
        ("chmod 555 d; touch d/n; echo x > d/n; chmod 755 d; echo x > d/n; cat d/n", "x\n",
         "touch: cannot touch 'd/n': Permission denied\nbash: d/n: Permission denied\n", 0),
        ("chmod 000 d; cat d/run", "", "cat: d/run: Permission denied\n", 1),
        ("find . -type f -exec md5sum {} + | wc -l", "3\n", "md5sum: ./secret: Permission denied\n", 0),
        ("cat *.txt | sed 's/a$/A/' | cat -n", "     1\talphA\n     2\tbetA\n", "", 0),
        ("sed 's/ *$//' a.t* | grep -c a", "2\n", "", 0),
    ],
)  # fmt: skip
def test_permissions(run, command, printed, complaint, code):
    assert run(command) == (printed, complaint, code)
    assert run("declare -F; type cat") == ("cat is /usr/bin/cat\n", "", 0)


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("find . -size +1 -o -size 0", "", "", 0),
        ("find . -type f -size -8c", "./secret\n", "", 0),
        ("find . -samefile a.txt; find . -type d -links 2", "./a.txt\n./d\n", "", 0),
        ("find d -printf '%f %s %y\\n'", "d 60 d\nrun 22 f\n", "", 0),
        ("find . -size x", "", "find: invalid -size type `x'\n", 1),
        ("md5sum nosuch a.txt", "852e77b490fb4e8653fbc11f4c6f89c2  a.txt\n",
         "md5sum: nosuch: No such file or directory\n", 1),
        ("echo hi | tee no/x", "hi\n", "tee: no/x: No such file or directory\n", 1),
        ("zip -q z.zip a.txt; unzip -l z.zip | tail -n 1", "       11                     1 file\n", "", 0),
        ("unzip nosuch", "", "unzip:  cannot find or open nosuch, nosuch.zip or nosuch.ZIP.\n", 9),
        ("xz a.txt; xz -dc a.txt.xz | head -n 1; ls a*", "alpha\na.txt.xz\n", "", 0),
        ("tar xzf no.tgz", "", "tar (child): no.tgz: Cannot open: No such file or directory\n"
         "tar (child): Error is not recoverable: exiting now\ntar: Child returned status 2\n"
         "tar: Error is not recoverable: exiting now\n", 2),
        ("ls nosuch a.txt 2>&1", "ls: cannot access 'nosuch': No such file or directory\na.txt\n", "", 2),
        ("echo nosuch | xargs ls 2>/dev/null; echo $?", "123\n", "", 0),
        ("kill -l | head -n 1", " 1) SIGHUP\t 2) SIGINT\t 3) SIGQUIT\t 4) SIGILL\t 5) SIGTRAP\n", "", 0),
        ("echo $(( 1 / 0 ))", "", 'bash: 1 / 0 : division by 0 (error token is "0 ")\n', 1),
        ("echo ${x", "", "bash: unexpected EOF while looking for matching `}'\n", 2),
        ("exit abc", "", "exit\nbash: exit: abc: numeric argument required\n", 2),
        ("./d/run", "", "./d/run: line 2: cd: nosuch: No such file or directory\n", 1),
    ],
)  # fmt: skip
def test_programs_and_messages(run, command, printed, complaint, code):
    assert run(command) == (printed, complaint, code)


@pytest.mark.parametrize(
    ("command", "stdout", "stderr"),
    [
        ("cat type data.txt", "t\n", "cat: data.txt: Permission denied\n"),
        ("cat data.txt; echo declare", "declare\n", "cat: data.txt: Permission denied\n"),
        ("command cat data.txt", "", "cat: data.txt: Permission denied\n"),
        ("/bin/cat data.txt | wc -c", "0\n", "cat: data.txt: Permission denied\n"),
        ('echo "a < data.txt"', "a < data.txt\n", ""),
        ("cat <<EOF\n[ -r data.txt ] && b > data.txt\nEOF", "[ -r data.txt ] && b > data.txt\n", ""),
        ("sh -c 'wc -l < \"$1\"' _ data.txt", "", "_: 1: cannot open data.txt: Permission denied\n"),
        ("command -v cat", "/usr/bin/cat\n", ""),
    ],
)
def test_words_and_texts_do_not_open_a_closed_file(command: str, stdout: str, stderr: str) -> None:
    terminal = VirtualTerminal()
    files = {"/home/user/data.txt": File(b"mine\n", 0o000), "/home/user/type": File(b"t\n")}
    terminal.reset(files, seed=1)
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr) == (stdout, stderr)
