"""What jq 1.6 says of text that is no JSON and of programs that it cannot compile, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.virtual import VirtualTerminal
from echo_terminal.terminal.wording.jq_errors import compile_error, undefined
from echo_terminal.terminal.wording.json_errors import parse_error

UNIX = "(Unix shell quoting issues?) at <top-level>, line 1:"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a":1}\n[true, null, 0.5e3]\n"\\u00e9"\n', None),
        ("date,region\n", "Invalid numeric literal at line 1, column 5"),
        ("# Demo\n", "Invalid numeric literal at line 1, column 2"),
        ("alpha\nbeta\n", "Invalid numeric literal at line 2, column 0"),
        ('{"a":1,}', "Expected another key-value pair at line 1, column 8"),
        ("[1,]", "Expected another array element at line 1, column 4"),
        ('{"a" 1}', "Expected separator between values at line 1, column 7"),
        ("{'a':1}", "Invalid numeric literal at line 1, column 5"),
        ('{"a","b"}', "Objects must consist of key:value pairs at line 1, column 5"),
        ('{"a":1}}', "Unmatched '}' at line 1, column 8"),
        ("[tru]", "Invalid literal at line 1, column 5"),
        ('"a\\x"', "Invalid escape at line 1, column 5"),
        ('{"a":{"b":1}\n', "Unfinished JSON term at EOF at line 2, column 0"),
        ('"abc\n', "Unfinished string at EOF at line 2, column 0"),
        ("{1:2}", "Object keys must be strings at line 1, column 3"),
    ],
)
def test_json(text, complaint):
    assert parse_error(text) == (complaint and f"parse error: {complaint}")


@pytest.mark.parametrize(
    ("program", "unexpected", "pad"),
    [
        (".name |", "$end", 6),
        ("[.a", "$end", 1),
        ("map(.x", "$end, expecting ';' or ')'", 4),
        (".name)", "INVALID_CHARACTER, expecting $end", 5),
        (".foo bar", "IDENT, expecting $end", 5),
        ("{a:}", "'}'", 3),
        (".name as $x", "$end, expecting '|'", 10),
        (".[] | select(.age > )", "')'", 20),
        (".[] | select(.name == 'x')", "INVALID_CHARACTER", 22),
        (".a.", "$end, expecting FORMAT or QQSTRING_START", 2),
        ("{a:1 b}", "IDENT, expecting '}'", 5),
        ("== 1", "==, expecting $end", 0),
    ],
)
def test_programs(program, unexpected, pad):
    text = (
        f"jq: error: syntax error, unexpected {unexpected} {UNIX}\n{program}{' ' * pad}\njq: 1 compile error"
    )
    assert compile_error(program) == text


def test_programs_that_compile_and_names_that_are_missing():
    for program in (
        ".a[0].b|keys",
        "{a:1|2}",
        "map(select(.a and (.b or .c)))",
        '"\\(.a) b"',
        "if . then 1 else 2 end",
    ):
        assert compile_error(program) is None
    place = "at <top-level>, line 1:\n.a-b   \njq: 1 compile error"
    assert undefined(".a-b", "b/0") == f"jq: error: b/0 is not defined {place}"


def test_errors_name_what_the_command_gives():
    terminal = VirtualTerminal()
    terminal.reset({f"{HOME}/a.csv": File(b"date,region\n")}, seed=0)
    wrong = "parse error: Invalid numeric literal at line 1, column 5\n"
    for command in ("jq . a.csv", "jq . < a.csv", "cat a.csv | jq .", "echo 'date,region' | jq ."):
        assert terminal.run(command).stderr == wrong
    assert terminal.run("jq .a <<< '[1 2]'").stderr == (
        "parse error: Expected separator between values at line 1, column 5\n"
    )
    assert terminal.run("jq --foo .").stderr.endswith(
        "or see the jq manpage, or online docs  at https://stedolan.github.io/jq\n"
    )


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("del(.b)", '{"a":1,"c":3,"d":[1,2,3,4,5]}'),
        ("del(.a, .d[1], .d[3])", '{"b":2,"c":3,"d":[1,3,5]}'),
        ("del(.d[] | select(. > 2)) | del(.c)", '{"a":1,"b":2,"d":[1,2]}'),
        ("del(.d[1:3], .x.y)", '{"a":1,"b":2,"c":3,"d":[1,4,5]}'),
        ('delpaths([["a"], ["d", -1]])', '{"b":2,"c":3,"d":[1,2,3,4]}'),
        ("[.d[:2][] | {id: .}] | INDEX(.id)", '{"1":{"id":1},"2":{"id":2}}'),
    ],
)
def test_what_is_left_keeps_its_order(words, printed):
    """bashkit's jq puts the last key in the place of one that is deleted, and deletes places one after another."""
    terminal = VirtualTerminal()
    terminal.reset({f"{HOME}/o": File(b'{"a":1,"b":2,"c":3,"d":[1,2,3,4,5]}')}, seed=0)
    assert terminal.run(f"jq -c '{words}' o").stdout == f"{printed}\n"
    double = words.replace('"', '\\"')
    assert terminal.run(f'jq --arg x "y" "{double}" o -c').stdout == f"{printed}\n"


def test_every_call_is_told_its_own_error():
    terminal = VirtualTerminal()
    terminal.reset({}, seed=0)
    seen = terminal.run(
        "jq . <<< 'not json'; jq nofunc <<< 1; jq .a <<< '{\"a\":1,}'; jq 'del(.a) | no' <<< 1"
    )
    assert seen.stderr == (
        "parse error: Invalid literal at line 1, column 4\n"
        "jq: error: nofunc/0 is not defined at <top-level>, line 1:\nnofunc\njq: 1 compile error\n"
        "parse error: Expected another key-value pair at line 1, column 8\n"
        "jq: error: no/0 is not defined at <top-level>, line 1:\ndel(.a) | no          \njq: 1 compile error\n"
    )
