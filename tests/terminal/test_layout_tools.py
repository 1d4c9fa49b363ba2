"""Tools that join, split, fill and tabulate: what GNU coreutils 9.1 and util-linux 2.38 print, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\ndelta\n"),
    f"{HOME}/b.txt": File(b"alpha\nbeta2\ngamma\nepsilon\ndelta\n"),
    f"{HOME}/n.txt": File(b"1 alice\n2 bob\n3 carol\n4 dave\n"),
    f"{HOME}/o.txt": File(b"1 102 book\n2 101 pen\n3 103 lamp\n5 104 desk\n"),
    f"{HOME}/p.txt": File(b"  indented text here that is long enough to wrap around\n  more\n"),
}
HINT = "Try 'split --help' for more information.\n"
SIDES = "join: a.txt:4: is not sorted: delta\njoin: b.txt:4: is not sorted: epsilon\n"
UNSORTED = f"{SIDES}join: input is not in sorted order\n"


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("mkfifo p; ls -F; file p; stat -c %F p; ls -l p | cut -c1", "a.txt\nb.txt\nn.txt\no.txt\np|\np.txt\n"
         "p: fifo (named pipe)\nfifo\np\n", "", 0),
        ("mkfifo p; (echo a > p &); cat p", "a\n", "", 0),
        ("join n.txt o.txt", "1 alice 102 book\n2 bob 101 pen\n3 carol 103 lamp\n", "", 0),
        ("join -a1 -a2 -e NULL -o 0,1.2,2.3 n.txt o.txt | tail -2", "4 dave NULL\n5 NULL desk\n", "", 0),
        ("join -v 2 n.txt o.txt", "5 104 desk\n", "", 0),
        ("join -t, a.txt b.txt", "alpha\ngamma\n", UNSORTED, 1),
        ("join --check-order a.txt b.txt", "alpha\n", "join: a.txt:4: is not sorted: delta\n", 1),
        ("join n.txt nosuch", "", "join: nosuch: No such file or directory\n", 1),
        ("join -t ab n.txt o.txt", "", "join: multi-character tab 'ab'\n", 1),
        ("join -o 3.1 n.txt o.txt", "", "join: invalid file number in field spec: '3.1'\n", 1),
        ("join a.txt", "", "join: missing operand after 'a.txt'\nTry 'join --help' for more information.\n", 1),
        ("comm -1 -2 a.txt a.txt", "alpha\nbeta\ngamma\ndelta\n", "", 0),
        ("split -n 2 a.txt; wc -c x*", "11 xaa\n12 xab\n23 total\n", "", 0),
        ("split -n l/2 a.txt; wc -l x*", " 2 xaa\n 2 xab\n 4 total\n", "", 0),
        ("split -a 1 -l 2 --verbose a.txt z_", "creating file 'z_a'\ncreating file 'z_b'\n", "", 0),
        ("split --numeric-suffixes=1 -l 2 --additional-suffix=.t a.txt q; ls q*", "q01.t\nq02.t\n", "", 0),
        ("split -l abc a.txt", "", "split: invalid number of lines: 'abc'\n", 1),
        ("split -b 0 a.txt", "", "split: invalid number of bytes: '0': Numerical result out of range\n", 1),
        ("fmt -w 20 <<< 'the quick brown fox jumps over the lazy dog'",
         "the quick brown\nfox jumps over the\nlazy dog\n", "", 0),
        ("fmt -w 30 p.txt", "  indented text here that\n  is long enough to wrap\n  around more\n", "", 0),
        ("seq 12 | column -c 40", "1\t4\t7\t10\n2\t5\t8\t11\n3\t6\t9\t12\n", "", 0),
        ("column -t -s '' n.txt | head -1", "1 alice\n", "", 0),
        ("column -t -N a,b,c o.txt | head -2", "a  b    c\n1  102  book\n", "", 0),
        ("printf 'a  b\\n\\nc d e\\n' | column -t", "a  b  \nc  d  e\n", "", 0),
        ("cat nosuch* 'a b' | wc -l; sort 'a b'", "0\n", "cat: 'nosuch*': No such file or directory\n"
         "cat: 'a b': No such file or directory\nsort: cannot read: 'a b': No such file or directory\n", 2),
        ("sort -t '\\t' a.txt", "", "sort: multi-character tab '\\\\t'\n", 2),
        ("tr '\\n' < a.txt", "", "tr: missing operand after '\\\\n'\nTwo strings must be given when translating.\n"
         "Try 'tr --help' for more information.\n", 1),
        ("fold -w 0 a.txt", "", "fold: invalid number of columns: '0': Numerical result out of range\n", 1),
        ("wc --lines --bytes a.txt", " 4 23 a.txt\n", "", 0),
    ],
)  # fmt: skip
def test_layout(terminal, command, printed, complaint, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("tail -2 a.txt b.txt", "", "tail: option used in invalid context -- 2\n", 1),
        ("tail -2 a*", "gamma\ndelta\n", "", 0),
        ("tail -1 nosuch*", "", "tail: cannot open 'nosuch*' for reading: No such file or directory\n", 1),
        ("gzip a.txt; gunzip -l a.txt.gz | wc -l", "2\n", "", 0),
        ("gzip a.txt; zgrep -n mm a.txt.gz; zgrep -c zz a.txt b.txt", "3:gamma\na.txt:0\nb.txt:0\n", "", 1),
        ("zgrep a nosuch", "", "gzip: nosuch: No such file or directory\n", 2),
        ("grep -oEP a a.txt; grep -E -F a a.txt; grep -E -E alph a.txt", "alpha\n",
         "grep: conflicting matchers specified\ngrep: conflicting matchers specified\n", 0),
        ("grep --inclde=x a 2>&1 | head -n 1", "grep: unrecognized option '--inclde=x'\n", "", 0),
        ("hexdump nosuch", "",
         "hexdump: nosuch: No such file or directory\nhexdump: all input file arguments failed\n", 1),
        ("grep -P '[' a.txt", "", "grep: missing terminating ] for character class\n", 2),
        ("diff -yW x a.txt b.txt", "", "diff: invalid width 'x'\ndiff: Try 'diff --help' for more information.\n", 2),
        ("diff --strip-trailing-cr a.txt <(sed 's/$/\\r/' a.txt); echo $?", "0\n", "", 0),
        ("unzip -l nosuch", "", "unzip:  cannot find or open nosuch, nosuch.zip or nosuch.ZIP.\n", 9),
        ("sort --version | head -1; diff --version | head -1; grep --version | head -1; patch --version | head -1",
         "sort (GNU coreutils) 9.1\ndiff (GNU diffutils) 3.8\ngrep (GNU grep) 3.8\nGNU patch 2.7.6\n", "", 0),
    ],
)  # fmt: skip
def test_other_forms(terminal, command, printed, complaint, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("-a x", "invalid suffix length: 'x'\n"),
        ("-a 300", f"x{'a' * 300}: File name too long\n"),
        ("--numeric-suffixes=zz", f"'zz': invalid start value for numerical suffix\n{HINT}"),
        ("--hex-suffixes=g", f"'g': invalid start value for hexadecimal suffix\n{HINT}"),
        ("-l 18446744073709551616",
         "invalid number of lines: '18446744073709551616': Value too large for defined data type\n"),
        ("-b 8E", "invalid number of bytes: '8E': Value too large for defined data type\n"),
        ("-l 1k", "invalid number of lines: '1k'\n"),
        ("-t ab", "multi-character separator 'ab'\n"),
        ("-t ''", "empty record separator\n"),
    ],
)  # fmt: skip
def test_split_refuses_what_bash_refuses(terminal, words, complaint):
    seen = terminal.run(f"split {words} a.txt; echo $?; ls x* 2>/dev/null")
    assert (seen.stdout, seen.stderr.replace(f"x{'a' * 256}:", f"x{'a' * 300}:")) == (
        "1\n",
        f"split: {complaint}",
    )


def test_split_ends_whatever_the_length_of_its_names(terminal):
    seen = terminal.run("split -a 100000000 a.txt; echo $?", timeout=5)  # bash runs out of memory
    assert seen.stdout == "1\n" and seen.stderr.endswith(": File name too long\n")
    assert terminal.run("echo alive").stdout == "alive\n"
