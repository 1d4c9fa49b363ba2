"""Tools that scripts and people call in passing: what Debian 12's print, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\ndelta\n"),
    f"{HOME}/b.txt": File(b"alpha\nbeta2\n"),
    f"{HOME}/secret.txt": File(b"alpha\n", 0),
    f"{HOME}/d/x": File(b"x\n"),
}


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("getopt", "", "getopt: missing optstring argument\nTry 'getopt --help' for more information.\n", 2),
        ("getopt -o ab: -l long,arg: -n prog -- -a --arg x -c \"it's\" y", " -a --arg 'x' -- 'it'\\''s' 'y'\n",
         "prog: invalid option -- 'c'\n", 1),
        ("getopt --options=a: --longoptions=beta,gamma: -- --be --gamma", " --beta --\n",
         "getopt: option '--gamma' requires an argument\n", 1),
        ("getopt -o '+a' -- x -a", " -- 'x' '-a'\n", "", 0),
        ("getopt -o 'a::' -- -a -afoo", " -a '' -a 'foo' --\n", "", 0),
        ("getopt -q -o a -- -z; echo $?", " --\n1\n", "", 0),
        ("getopt abc -a foo -b", " -a -b -- foo\n", "", 0),
        ("getopt -a -o '' -l alpha -- -alpha", " --alpha --\n", "", 0),
        ("eval set -- \"$(getopt -o vf: --long verbose,file: -- -v --file out x)\"; echo \"$1|$2|$3|$4|$5\"",
         "-v|--file|out|--|x\n", "", 0),
        ("getopt -T", "", "", 4),
        ("which -a ls nosuch cat", "/usr/bin/ls\n/bin/ls\n/usr/bin/cat\n/bin/cat\n", "", 1),
        ("which || echo none", "none\n", "", 0),
        ("more nosuch b.txt", "::::::::::::::\nb.txt\n::::::::::::::\nalpha\nbeta2\n",
         "more: cannot open nosuch: No such file or directory\n", 0),
        ("more d; less d nosuch", "\n*** d: directory ***\n\nd is a directory\nnosuch: No such file or directory\n",
         "", 0),
        ("curl -sS http://127.0.0.1/x", "",
         "curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server\n", 7),
        ("curl -s localhost:3000/", "", "", 7),
        ("clear", "", "", 1),
        ("sort -h -n a.txt", "", "sort: options '-hn' are incompatible\n", 2),
        ("sort -k2,2nd a.txt", "", "sort: options '-dn' are incompatible\n", 2),
        ("sort -n -k1,1h a.txt | head -1", "alpha\n", "", 0),  # what is asked of a key holds in place of the rest
        ("sort --sort=numeric -d a.txt", "", "sort: options '-dn' are incompatible\n", 2),
        ("sort -c -o x a.txt", "", "sort: options '-co' are incompatible\n", 2),
        ("sort -c a.txt b.txt", "", "sort: extra operand 'b.txt' not allowed with -c\n", 2),
        ("sort -S 1x a.txt", "", "sort: invalid suffix in -S argument '1x'\n", 2),
        ("sort --check=foo a.txt", "", "sort: invalid argument 'foo' for '--check'\nValid arguments are:\n"
         "  - 'quiet', 'silent'\n  - 'diagnose-first'\nTry 'sort --help' for more information.\n", 1),
        ("grep -r alpha", "a.txt:alpha\nb.txt:alpha\n", "grep: secret.txt: Permission denied\n", 2),
        ("grep -rl --include='a*' alpha .", "./a.txt\n", "", 0),
        ("cat <<EOF\nunended", "unended\n",
         "bash: warning: here-document at line 3 delimited by end-of-file (wanted `EOF')\n", 0),
        ("bzip2 -d a.txt; bzip2 d; bzcat b.txt", "", "bzip2: Can't guess original name for a.txt -- using a.txt.out\n"
         "bzip2: a.txt is not a bzip2 file.\nbzip2: Input file d is a directory.\nbzcat: b.txt is not a bzip2 file.\n",
         2),
        ("bzip2 -k a.txt; bzip2 -fkv a.txt; bunzip2 a.txt.bz2", "",
         "  a.txt:  0.404:1, 19.826 bits/byte, -147.83% saved, 23 in, 57 out.\n"
         "bunzip2: Output file a.txt already exists.\n", 1),
        ("zip -q y.zip a.txt b.txt; zip -d y.zip 'b*' nosuch; unzip -l y.zip | tail -1",
         "\tzip warning: name not matched: nosuch\ndeleting: b.txt\n       23                     1 file\n", "", 0),
        ("zip -q v.zip a.txt -x b.txt; unzip -v v.zip | tail -3",
         "      23  Stored       23   0% 2024-06-01 00:00 be4228ca  a.txt\n"
         "--------          -------  ---                            -------\n"
         "      23               23   0%                            1 file\n", "", 0),
        ("zip -qr v.zip . -i 'b*'; unzip -c v.zip", "Archive:  v.zip\n extracting: b.txt                   \n"
         "alpha\nbeta2\n\n", "", 0),
        ("zip -qm v.zip a.txt b.txt; unzip -o v.zip -d /nosuch; ls *.txt", "Archive:  v.zip\nsecret.txt\n",
         "checkdir:  cannot create extraction directory: /nosuch\n           Read-only file system\n", 0),
        ("echo a | xargs -I{} {}", "", "xargs: {}: No such file or directory\n", 127),
        ("diff -qr -x '*.txt' . d", "Only in .: d\nOnly in d: x\n", "", 1),
        ("unzip -t nosuch", "unzip:  cannot find or open nosuch, nosuch.zip or nosuch.ZIP.\n", "", 9),
    ],
)  # fmt: skip
def test_small_tools(terminal, command, printed, complaint, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)


def test_the_machine_shows_its_own_time(terminal):
    assert terminal.run("uptime").stdout == " 00:00:00 up 0 min,  0 user,  load average: 0.00, 0.00, 0.00\n"
