"""Numbers and errors of jq 1.6, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File
from echo_terminal.terminal.virtual import VirtualTerminal


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("echo '{\"p\":2.50,\"q\":1.0,\"r\":1e3,\"s\":\"1.0\"}' | jq -c .",
         '{"p":2.5,"q":1,"r":1000,"s":"1.0"}\n', "", 0),
        ("jq '.[].price' prices.json", "10\n5.25\n", "", 0),
        ("jq -r '.[].price' prices.json | head -1", "10\n", "", 0),
        ("echo '{\"v\":\"1.10\"}' | jq -r .v", "1.10\n", "", 0),  # a text, quoted or not
        ("jq -n -c '[1e17, 1.0e-5, 12345678901234567890, 1.5e-7]'",
         "[1e+17,1e-05,12345678901234567000,1.5e-07]\n", "", 0),
        ("jq 'keys' <<< 5", "", "jq: error (at <stdin>:1): number (5) has no keys\n", 5),
        ("jq 'length' <<< true", "", "jq: error (at <stdin>:1): boolean (true) has no length\n", 5),
        ("jq 'test(\"[\")' <<< '\"x\"'", "",
         "jq: error (at <stdin>:1): Regex failure: premature end of char-class\n", 5),
        ("jq 'input' <<< 1", "", "jq: error (at <stdin>:1): break\n", 5),
        ("jq -n '1/0'", "", "jq: error: Division by zero? at <top-level>, line 1:\n1/0\njq: 1 compile error\n", 3),
        ("jq '. / 0' <<< 4", "", "jq: error (at <stdin>:1): number (4) and number (0) cannot be divided because the "
         "divisor is zero\n", 5),
    ],
)  # fmt: skip
def test_jq_counts_in_doubles_and_complains_as_jq_1_6(command, printed, complaint, code):
    terminal = VirtualTerminal()
    terminal.reset({f"{HOME}/prices.json": File(b'[{"price": 10.00}, {"price": 5.25}]\n')}, seed=0)
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)
