"""Programs that the virtual engine brings along: answers of GNU bc 1.07, coreutils 9.1 and file 5.44."""

import pytest

from echo_terminal.terminal.terminal import HOME, File

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\ndelta\n"),
    f"{HOME}/t.csv": File(b"id,name,age\n1,Ann,30\n2,Bob,25\n"),
    f"{HOME}/u.txt": File("café\n".encode()),
    f"{HOME}/run": File(b"#!/bin/bash\necho hi\n", 0o755),
}


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("5/2; 5%2; 2^70", "2\n1\n1180591620717411303424\n"),
        ("scale=3; 10/3; -1/3; 7.5 % 2", "3.333\n-.333\n0\n"),
        (
            "1.50 + 2.5; .5 * .5; 1.23 * 4.56",
            "4.00\n.2\n5.60\n",
        ),  # the scale of a product: max of both, here 1 and 2
        ("obase=16; 255; obase=2; 10", "FF\n1010\n"),
        ("ibase=16; FF; A", "255\n10\n"),
        ("for (i=1; i<=3; i++) i^2", "1\n4\n9\n"),
        ("define f(n) { if (n<=1) return (1); return (n*f(n-1)); }; f(20)", "2432902008176640000\n"),
        ("a[1]=5; a[1]+1; x=3; x", "6\n3\n"),
        ("sqrt(16); length(123.4); scale(1.23)", "4\n4\n2\n"),
        ("5 > 3; 1 && 0; !0", "1\n0\n1\n"),
        ("-2^2; 2^3^2; 10-3-2", "4\n512\n5\n"),
        ('print "a", 1, "\\n"', "a1\n"),
        ("5; quit", ""),  # the line is not run: quit ends the program where it is read
    ],
)
def test_bc(terminal, program, printed):
    seen = terminal.run(f"bc <<'END'\n{program}\nEND")
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, "", 0)


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("scale=10; 4*a(1); e(1); l(2)", "3.1415926532\n2.7182818284\n.6931471805\n"),
        ("s(0); 1/3", "0\n.33333333333333333333\n"),
        ("s(100); c(1)", "-.50636564110975879365\n.54030230586813971740\n"),
    ],
)
def test_library_of_bc_cuts_off(terminal, program, printed):
    assert terminal.run(f"echo '{program}' | bc -l").stdout == printed


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("1/0", "Runtime error (func=(main), adr=3): Divide by zero\n"),
        ("10/0", "Runtime error (func=(main), adr=6): Divide by zero\n"),
        ("3 +", "(standard_in) 2: syntax error\n"),
        ("1 2", "(standard_in) 1: syntax error\n"),
        ("foo(1)", "Runtime error (func=(main), adr=3): Function foo not defined.\n"),
        ("1 @ 2", "(standard_in) 1: illegal character: @\n(standard_in) 1: syntax error\n"),
    ],
)
def test_errors_of_bc(terminal, program, message):
    seen = terminal.run(f"echo '{program}' | bc")
    assert (seen.stdout, seen.stderr, seen.exit_code) == ("", message, 0)


def test_bc_ends_a_program_without_end(terminal):
    assert terminal.run("echo 'while (1) x = x + 1' | bc", timeout=60).exit_code == 137
    assert len(terminal.run("echo '2^20000' | bc | tr -d '\\\\\\n'").stdout) == 6021
    assert terminal.run("echo alive").stdout == "alive\n"


@pytest.mark.parametrize(
    ("command", "printed", "code"),
    [
        (r"expr \( 1 + 2 \) \* 3", "9\n", 0),
        ("expr 10 - 3 - 2", "5\n", 0),
        ("expr 3 - 3", "0\n", 1),
        ("expr abcd : 'a\\(.*\\)d'", "bc\n", 0),
        ("expr substr hello 2 3", "ell\n", 0),
        ("cut -d, -f3,1 t.csv | head -n 1", "id,age\n", 0),
        ("cut --complement -c2-4 a.txt | head -n 1", "aa\n", 0),
        ("cut -b4 u.txt", "\ufffd\n", 0),  # a byte of the two that make the last letter
        ("wc -lm u.txt", "1 6 u.txt\n", 0),
        ("wc < a.txt", " 4  4 23\n", 0),  # a file's size is known, so the columns are narrow
        ("cat a.txt | wc", "      4       4      23\n", 0),
        ("wc -l nosuch a.txt 2>/dev/null", " 4 a.txt\n 4 total\n", 1),
        ("file a.txt run u.txt", "a.txt: ASCII text\nrun:   Bourne-Again shell script, ASCII text executable\n"
         "u.txt: Unicode text, UTF-8 text\n", 0),
    ],
)  # fmt: skip
def test_other_programs(terminal, command, printed, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.exit_code) == (printed, code)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cut -f0 a.txt", "cut: fields are numbered from 1\nTry 'cut --help' for more information.\n"),
        ("cut -c3-1 a.txt", "cut: invalid decreasing range\nTry 'cut --help' for more information.\n"),
        ("expr 1 +", "expr: syntax error: missing argument after '+'\n"),
        ("expr a + 1", "expr: non-integer argument\n"),
        ("whoami x", "whoami: extra operand 'x'\nTry 'whoami --help' for more information.\n"),
        ("id nosuch", "id: 'nosuch': no such user\n"),
    ],
)
def test_complaints(terminal, command, message):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr) == ("", message)
    assert seen.exit_code > 0


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("tar cvf x.tar a.txt run; tar tvf x.tar", "a.txt\nrun\n-rw-r--r-- user/user        23 2024-06-01 00:00 a.txt\n"
         "-rwxr-xr-x user/user        20 2024-06-01 00:00 run\n", "", 0),
        ("tar czf x.tgz a.txt; mkdir o; tar xf x.tgz -C o; cat o/a.txt | wc -l; rm -r o", "4\n", "", 0),
        ("tar cf x.tar nosuch a.txt; tar tf x.tar", "a.txt\n", "tar: nosuch: Cannot stat: No such file or directory\n"
         "tar: Exiting with failure status due to previous errors\n", 0),
        ("tar cf x.tar a.txt; tar tf x.tar nosuch", "", "tar: nosuch: Not found in archive\n"
         "tar: Exiting with failure status due to previous errors\n", 2),
        ("tar xzf a.txt", "", "\ngzip: stdin: not in gzip format\ntar: Child returned status 1\n"
         "tar: Error is not recoverable: exiting now\n", 2),
        ("tar cf - a.txt | tar tf -", "a.txt\n", "", 0),  # bytes in a pipe: bashkit's own
        ("gzip -k a.txt; gzip -l a.txt.gz; gzip -t a.txt.gz; rm a.txt.gz",
         "         compressed        uncompressed  ratio uncompressed_name\n"
         "                 47                  23   0.0% a.txt\n", "", 0),
        ("gzip -c a.txt | zcat | head -n 1", "alpha\n", "", 0),
        ("gunzip nosuch", "", "gzip: nosuch.gz: No such file or directory\n", 1),
        ("cat a.txt/x", "", "cat: a.txt/x: Not a directory\n", 1),
    ],
)  # fmt: skip
def test_archives(terminal, command, printed, complaint, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)


def test_overwriting_can_keep_the_old_file_or_ask(terminal):
    assert terminal.run("echo 1 > p; echo 2 > q; cp -b p q; cat q q~").stdout == "1\n2\n"
    seen = terminal.run("echo 3 > r; mv -i r q < /dev/null; cat q r")
    assert (seen.stdout, seen.stderr) == ("1\n3\n", "mv: overwrite 'q'? ")
    assert terminal.run("echo y | mv -i r q; cat q").stdout == "3\n"
