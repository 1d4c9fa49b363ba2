"""What GNU sed 4.9 says of scripts, and the GNU C library of regular expressions, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.wording import regex_errors

FILES = {f"{HOME}/a.txt": File(b"alpha\nbeta\n")}


@pytest.mark.parametrize(
    ("words", "expression", "place", "complaint"),
    [
        ("s/x/y", 1, 5, "unterminated `s' command"),
        ("'s/x/y/k'", 1, 7, "unknown option to `s'"),
        ("'s/[a/x/'", 1, 7, "unterminated `s' command"),
        ("/x", 1, 2, "unterminated address regex"),
        ("3,p", 1, 3, "unexpected `,'"),
        ("1,", 1, 2, "unexpected `,'"),
        ("a", 1, 1, "expected \\ after `a', `c' or `i'"),
        ("-i data", 1, 2, "extra characters after command"),
        ("'n d'", 1, 3, "extra characters after command"),
        ("dp", 1, 2, "extra characters after command"),
        ("-e s/a/b/ -e s/c/d", 2, 5, "unterminated `s' command"),
        ("'s/(a)(b)/\\2\\1/'", 1, 14, "invalid reference \\2 on `s' command's RHS"),
        ("-E 's/a{2,1}/x/'", 1, 11, "Invalid content of \\{\\}"),
        ("-E 's/[0-9]{3/N/g'", 1, 13, "Unmatched \\{"),
        ("-E 's/*/x/'", 1, 6, "Invalid preceding regular expression"),
        ("'s/[[:alhpa:]]/x/'", 1, 16, "Invalid character class name"),
        ("'/a/}p'", 1, 4, "unexpected `}'"),
        ("0~0p", 1, 4, "invalid usage of line address 0"),
        ("+1p", 1, 2, "invalid usage of +N or ~N as first address"),
        ("1,2q", 1, 4, "command only uses one address"),
        ("r", 1, 1, "missing filename in r/R/w/W commands"),
        ("s/a/b/w", 1, 7, "missing filename in r/R/w/W commands"),
        ("s/a/b/gg", 1, 8, "multiple `g' options to `s' command"),
        ("'s/a/b/2 3'", 1, 9, "multiple number options to `s' command"),
        ("s/a/b/0", 1, 7, "number option to `s' command may not be zero"),
        ("'1!!p'", 1, 3, "multiple `!'s"),
        ("1", 1, 1, "missing command"),
        (":", 1, 1, '":" lacks a label'),
        ("y/abc", 1, 5, "unterminated `y' command"),
        ("'v 9.0'", 1, 5, "expected newer version of sed"),
    ],
)
def test_refused_scripts(terminal, words, expression, place, complaint):
    seen = terminal.run(f"sed {words} a.txt; echo $?")
    text = f"sed: -e expression #{expression}, char {place}: {complaint}\n"
    assert (seen.stdout, seen.stderr) == ("1\n", text)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("-n '/\\[a/!p' a.txt", "alpha\nbeta\n"),
        ("'s/[/]/x/;s/[]]/x/;s/[^]]/x/' a.txt", "xlpha\nxeta\n"),
        ("-e 1i\\\\ -e 'dp dq' a.txt", "dp dq\nalpha\nbeta\n"),
        ("'1{s/a*/x/;s/*//};# dp' a.txt", "xlpha\nbeta\n"),
        ("-E 's/(a|b){1,2}$/<&>/;s/a{2}|^x?//' a.txt", "alph<a>\nbet<a>\n"),
        ("'y/a;/b}/;s,\\,,x,' a.txt", "blphb\nbetb\n"),
        (
            "':x;s/l/L/;tx;b;dp' a.txt 2>&1",
            "sed: -e expression #1, char 17: extra characters after command\n",
        ),
        ("'1i x\\ny\\tz' a.txt", "x\ny\tz\nalpha\nbeta\n"),
        ('-n "/be/,\\$p;\\$=" a.txt', "beta\n2\n"),
        ("'1i\\tx' a.txt", "tx\nalpha\nbeta\n"),  # the first backslash only begins the text
        ("'1a\\\\tx' a.txt", "alpha\n\tx\nbeta\n"),
        ("-i '1i\\    one\\n    \\\\ntwo' a.txt; cat a.txt", "    one\n    \\ntwo\nalpha\nbeta\n"),
        ("'/beta/c new\\x41\\o102' a.txt", "alpha\nnewAB\n"),
        ("'1a\\\none\\ntwo\\\nthree' a.txt", "alpha\none\ntwo\nthree\nbeta\n"),
        ("'$a\\' a.txt <<< x; printf x > b; sed -i '$a\\' b; cat b", "alpha\nbeta\nx\n"),
    ],
)
def test_scripts_that_run(terminal, words, printed):
    terminal.reset({f"{HOME}/a.txt": File(b"alpha\nbeta\n")}, seed=0)
    assert terminal.run(f"sed {words}").stdout == printed


def test_scripts_in_texts_are_no_commands(terminal):
    assert terminal.run("echo '; sed dp a.txt'").stdout == "; sed dp a.txt\n"


@pytest.mark.parametrize(
    ("pattern", "basic", "extended"),
    [
        ("a*b*", None, None),
        ("a**", regex_errors.REPEAT, None),
        ("a\\{1\\}*", regex_errors.REPEAT, None),
        ("*a", None, regex_errors.REPEAT),
        ("(*a)", None, regex_errors.REPEAT),
        ("a|*b", None, regex_errors.REPEAT),
        ("^*", None, regex_errors.REPEAT),
        ("(a", None, "Unmatched ( or \\("),
        ("\\(a", "Unmatched ( or \\(", None),
        ("a)", None, "Unmatched ) or \\)"),
        ("[a", regex_errors.BRACKET, regex_errors.BRACKET),
        ("[[:alpha:]", regex_errors.BRACKET, regex_errors.BRACKET),
        ("[]a]", None, None),
        ("[z-a]", "Invalid range end", "Invalid range end"),
        ("a\\", "Trailing backslash", "Trailing backslash"),
        ("\\(a\\)\\1", None, "Invalid back reference"),
        ("(a)\\2", "Invalid back reference", "Invalid back reference"),
        ("a{1", None, regex_errors.OPEN_BRACE),
        ("a{x}", None, regex_errors.CONTENT),
        ("a{,3}", None, None),
        ("\\{1\\}", regex_errors.REPEAT, None),
    ],
)
def test_regular_expressions(pattern, basic, extended):
    assert regex_errors.complaint(pattern, extended=False) == basic
    assert regex_errors.complaint(pattern, extended=True) == extended
