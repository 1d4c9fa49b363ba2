"""Text tools of the virtual engine: what GNU coreutils 9.1, diffutils 3.8 and mawk 1.3.4 print, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.virtual import VirtualTerminal

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\ndelta\n"),
    f"{HOME}/b.txt": File(b"alpha\nbeta2\ngamma\nepsilon\ndelta\n"),
    f"{HOME}/f.txt": File(b"banana\napple\ncherry\napple\nBanana\ndate\napple\nfig\nbanana\n"),
}


@pytest.fixture(scope="module")
def terminal():
    engine = VirtualTerminal()
    engine.reset(FILES, seed=0)
    return engine


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("tr a b c <<< a", "", "tr: extra operand 'c'\nTry 'tr --help' for more information.\n", 1),
        ("tr -d a b <<< a", "", "tr: extra operand 'b'\nOnly one string may be given when deleting without squeezing "
         "repeats.\nTry 'tr --help' for more information.\n", 1),
        ("tr '[:foo:]' x <<< a", "", "tr: invalid character class 'foo'\n", 1),
        ("tr abc '[x*2]y' <<< abc", "xxy\n", "", 0),
        ("tr é e <<< é", "ee\n", "", 0),
        ("tr a '' <<< a", "", "tr: when not truncating set1, string2 must be non-empty\n", 1),
        ("echo abc | tr a-c A-C | tr -d B", "AC\n", "", 0),
        ("tr -cs a-z '\\n' <<< 'hi, you'", "hi\nyou\n", "", 0),
        ("echo '; tr a b'", "; tr a b\n", "", 0),  # words in quotes stay
        ("uniq --group <<< $'a\\na\\nb'", "a\na\n\nb\n", "", 0),
        ("uniq -D -c a.txt", "", "uniq: printing all duplicated lines and repeat counts is meaningless\n"
         "Try 'uniq --help' for more information.\n", 1),
        ("cmp -l a.txt b.txt | head -2", "11  12  62\n12 147  12\n", "cmp: EOF on a.txt after byte 23\n", 0),
        ("cmp -x", "", "cmp: invalid option -- 'x'\ncmp: Try 'cmp --help' for more information.\n", 2),
        ("cmp a.txt b.txt", "a.txt b.txt differ: char 11, line 2\n", "", 1),
        ("tail +3 a.txt", "gamma\ndelta\n", "", 0),
        ("head -5c a.txt", "alpha", "", 0),
    ],
)  # fmt: skip
def test_text_tools(terminal, command, printed, complaint, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)
