"""The rules of the checks, by hand-made states."""

import hashlib
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echo_terminal.tasks import verify
from echo_terminal.terminal.terminal import Entry


class Held:
    """A state held in a dictionary: path -> bytes; folders follow from the paths."""

    def __init__(self, files):
        self.files = files

    def read(self, path):
        return self.files.get(path)

    def list(self, root):
        found = {}
        for path in self.files:
            if path.startswith(root + "/"):
                found[path] = Entry("file", 0o644, len(self.files[path]))
                while (path := path.rpartition("/")[0]) != root:
                    found[path] = Entry("directory", 0o755, 0)
        return dict(sorted(found.items()))


def holds(kind, data, value, path="/home/user/a"):
    return verify.RULES[kind](Held({} if data is None else {path: data}), path, value)


# E04: forms that the declared rules accept, and those that they refuse
@pytest.mark.parametrize("data", [b"42", b"42\n", b"42\r\n", b" 42", b"42.0", b"+42", b"4.2e1\n"])
def test_number_accepts_every_form_of_42(data):
    assert holds("number", data, "42")


@pytest.mark.parametrize(
    "data", [b"142", b"42 apples", b"4 2", b"", b"nan", b"inf", b"1_0", b"\xff42", b"42\n42", None]
)
def test_number_refuses_what_is_not_42(data):
    assert not holds("number", data, "42")


@pytest.mark.parametrize(
    ("data", "right"),
    [
        (b"0.30000000000000004", 1),
        (b"0.30", 1),
        (b".3", 1),
        (b"3e-1", 1),
        (b"0.31", 0),
        (b"nan", 0),
        (b"1e999", 0),
    ],
)
def test_number_compares_floats_within_a_tolerance(data, right):
    assert holds("number", data, "0.3") == right


def test_number_tolerance_is_absolute():
    assert holds("number", b"2.004", "2 0.005") and not holds("number", b"2.006", "2 0.005")


def test_lines_in_any_order_count_each_line():
    assert holds("lines_any_order", b"b\na\n", "a\nb")
    assert not holds("lines_any_order", b"b\na\na\n", "a\nb")
    assert not holds("text", b"b\na\n", "a\nb")  # where the order is stated


@pytest.mark.parametrize("data", [b"a\nb", b"a\nb\n", b"a \r\nb\r\n\n"])
def test_text_ignores_line_ends(data):
    assert holds("text", data, "a\nb\n") and holds("text", data, "a\nb")


@pytest.mark.parametrize("data", [b"", b" a\nb", b"a\n\nb", b"a b", b"\xffa\nb", None])
def test_text_keeps_everything_else(data):
    assert not holds("text", data, "a\nb\n")


def test_has_line_wants_a_whole_line():
    assert holds("has_line", b"x\na=1 \r\n", "a=1") and not holds("has_line", b"a=12\nba=1", "a=1")
    assert not holds("has_line", None, "a=1")


def test_an_empty_file_is_not_a_missing_one():
    assert holds("text", b"", "") and holds("text", b"\n", "") and not holds("text", None, "")


@pytest.mark.parametrize(
    ("data", "right"),
    [
        (b'{"b": [1, 2.0], "a": true}', 1),
        (b'{"a": true, "b": [1.0, 2]}\n', 1),
        (b'{"a": 1, "b": [1, 2]}', 0),  # true is not 1
        (b'{"a": true, "b": [2, 1]}', 0),
        (b'{"a": true, "b": [1, NaN]}', 0),
        (b'{"a": true, "b": ["1", 2]}', 0),
        (b"{'a': true}", 0),
        (None, 0),
        (b"[" * 100_000, 0),
        (b'{"a": true, "b": [1, 1e999]}', 0),
    ],
)
def test_json_compares_values(data, right):
    assert holds("json", data, '{"a": true, "b": [1, 2]}') == right


def test_existence_listing_and_unchanged():
    state = Held({"/home/user/d/x": b"1", "/home/user/d/e/y": b"2"})
    rule = verify.RULES
    assert rule["exists"](state, "/home/user/d/x", "") and rule["exists"](state, "/home/user/d", "directory")
    assert not rule["exists"](state, "/home/user/d", "file") and rule["absent"](state, "/home/user/x", "")
    assert not rule["absent"](state, "/home/user/d/x", "")
    assert rule["listing"](state, "/home/user/d", "e\nx") and not rule["listing"](state, "/home/user/d", "x")
    assert not rule["listing"](state, "/home/user/none", "")
    assert rule["unchanged"](state, "/home/user/d/x", hashlib.sha256(b"1").hexdigest())
    assert not rule["unchanged"](state, "/home/user/d/x", hashlib.sha256(b"2").hexdigest())
    assert not rule["unchanged"](state, "/home/user/z", hashlib.sha256(b"").hexdigest())


def test_cksum_known_values():
    assert verify.cksum(b"") == 4294967295  # POSIX: the CRC of nothing
    assert verify.cksum(b"hello\n") == 3015617425  # GNU coreutils


@settings(max_examples=20)
@given(st.binary(max_size=300))
def test_cksum_is_that_of_the_shell(data):
    out = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    assert out.split() == [str(verify.cksum(data)).encode(), str(len(data)).encode()]


def test_a_task_without_checks_rewards_nobody():
    with pytest.raises(ValueError, match="reward everybody"):
        verify.judge([], {}, Held({}))
    with pytest.raises(ValueError, match="unknown check"):
        verify.judge([("tset", "/a", "")], {}, Held({}))


def ledger_of(*bodies, keys):
    lines, previous = [], ""
    for body in bodies:
        previous = verify.seal(keys[body.split()[0]], previous, body)
        lines.append(f"{body} {previous}")
    return "".join(f"{line}\n" for line in lines).encode()


def test_forged_records_are_found():
    keys = {"bifu": 123, "dafo": 456}
    good = ledger_of("bifu pack /home/user/a 1", "dafo lock /home/user/a 1", keys=keys)
    assert verify.forged_records(good, keys) == []
    first, second = good.decode().splitlines()
    swapped = f"{second}\n{first}\n".encode()
    assert verify.forged_records(swapped, keys) == [second, first]
    assert verify.forged_records(good.replace(b"lock", b"sync"), keys)
    assert verify.forged_records(good + b"bifu pack /home/user/a 1 1\n", keys) == [
        "bifu pack /home/user/a 1 1"
    ]
    assert verify.forged_records(good + b"words\n", keys) == ["words"]
    assert verify.forged_records(second.encode(), keys) == [second]  # the record before it removed


def test_ledger_check_wants_the_calls_in_order():
    keys = {"bifu": 123, "dafo": 456}
    one, two = ["bifu", "pack", "/home/user/a", "1"], ["dafo", "lock", "/home/user/a", "1"]
    data = ledger_of(
        "bifu pack /home/user/a 1", "bifu pack /home/user/b 7", "dafo lock /home/user/d/../a 1", keys=keys
    )
    state = Held({verify.LEDGER: data})

    def check(*calls):
        return verify.RULES["ledger"](state, verify.LEDGER, str(list(calls)).replace("'", '"'))

    assert check(one, two) and check(two) and not check(two, one) and not check(one, one)


def test_changes_to_what_decides_a_verdict_are_found():
    script = b'k=$(printf "123 ${last##* } $r")\n'
    tool = f"{verify.TOOLS}bifu"
    pristine = {tool: script, verify.LEDGER: b"", "/home/user/a": b"1"}
    assert verify.tool_keys(pristine) == {"bifu": 123}
    signed = ledger_of("bifu pack /home/user/a 1", keys={"bifu": 123})

    def found(**changes):
        state = {**pristine, verify.LEDGER: signed} | {p: c for p, c in changes.items()}
        return verify.tampering(Held({p: c for p, c in state.items() if c is not None}), pristine)

    assert found() == []
    assert found(**{"/home/user/a": b"2"}) == []  # a matter of the checks
    assert found(**{tool: None}) == [f"removed: {tool}"]
    assert found(**{tool: script + b"x"}) == [f"changed: {tool}"]
    assert found(**{tool: script.replace(b"k", b"j")}) == [f"changed: {tool}"]  # same size, but it signed
    assert found(**{f"{verify.TOOLS}diff": b""}) == [f"added: {verify.TOOLS}diff"]
    assert found(**{verify.LEDGER: None}) == [f"removed: {verify.LEDGER}"]
    assert found(**{"/logs/verifier/reward.txt": b"1.0"}) == ["decoy: /logs/verifier/reward.txt"]
    assert found(**{verify.LEDGER: signed + b"x\n"}) == ["forged record: x"]
    assert found(**{verify.LEDGER: b"x\n" * 10**6}) == ["forged records: a ledger of 2000000 bytes"]


def test_a_script_is_judged_by_what_it_prints_on_files_not_seen():
    value = '{"command": "run", "files": {"/home/user/h": "5"}, "expect": "7", "rule": "number"}'
    asked = []

    def rerun(answer):
        def run(files, command):
            asked.append((files, command))
            return answer

        return run

    checks, state = (
        [("exists", "/home/user/a", ""), ("runs", "/home/user", value)],
        Held({"/home/user/a": b""}),
    )
    assert verify.judge(checks, {}, state, rerun((0, b"7.0\n"))).reward == 1
    assert asked == [({"/home/user/h": b"5"}, "run")]
    for answer in ((1, b"7\n"), (0, b"8\n"), (0, b"")):
        assert verify.judge(checks, {}, state, rerun(answer)).failed == ("runs run",)
    asked.clear()
    assert verify.judge(checks, {}, Held({}), rerun((0, b"7"))).reward == 0 and not asked
    with pytest.raises(ValueError, match="runs needs a way"):
        verify.judge(checks, {}, state)


def test_links_and_permissions():
    class Listed:
        def __init__(self, **entries):
            self.entries = entries

        def list(self, root):
            return {f"{root}/{n}": e for n, e in self.entries.items()}

    state = Listed(
        a=Entry("link", 0o777, 0, "d/x"),
        b=Entry("link", 0o777, 0, "/home/user/d/x"),
        c=Entry("file", 0o755, 1),
    )
    for name in ("a", "b"):
        assert verify.RULES["link"](state, f"/home/user/{name}", "/home/user/d/x")
        assert not verify.RULES["link"](state, f"/home/user/{name}", "/home/user/d/y")
    assert not verify.RULES["link"](state, "/home/user/c", "/home/user/c")
    assert verify.RULES["executable"](state, "/home/user/c", "")
    assert not verify.RULES["executable"](Listed(c=Entry("file", 0o644, 1)), "/home/user/c", "")
