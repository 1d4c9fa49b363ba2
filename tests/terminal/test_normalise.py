import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.terminal.normalise import MIN_LIMIT, normal_form, truncate


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"a\xff\xf0b", "a\ufffd\ufffdb"),  # D02
        (b"caf\xc3", "caf\ufffd"),  # a multi-byte character cut short
        (b"a\0b", "ab"),
        (b"\x1b[?25l 10%\r 20%\r100%\n\x1b[?25h", "100%\n"),  # D10
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\x1b]0;t\x07", ""),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        (b"\x1b]0;no end\nnext\n", "\nnext\n"),
        (b"abcdef\rxy\n", "xycdef\n"),
        (b"abcdef\r\x1b[Kxy\n", "xy\n"),
        (b"abcdef\r\x1b[2Kxy", "xy"),
        (b"abc\r", "abc"),
        (b"\x1b[1;31mred\x1b[0m plain\x1b(B", "red plain"),
        (b"bell\x07 back\x08 del\x7f \xc2\x9b1mc1", "bell back del c1"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        (b"tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_normal_form(raw, shown):
    assert normal_form(raw) == shown


@given(
    st.one_of(st.binary(max_size=80), st.text(alphabet="a\r\n\x1b[]0;2K\x07\x9b\t\x00m\ud800é", max_size=40))
)
def test_normal_form_is_valid_text_and_idempotent(raw):
    text = normal_form(raw)
    assert all(c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f") for c in text)
    assert json.loads(json.dumps(text)).encode().decode() == text
    assert normal_form(text) == text


def test_truncate_keeps_both_ends_and_counts_exactly():
    text = "".join(f"{i}\n" for i in range(1, 200_001)) + "FATAL: code 7\n"  # D04
    head, notice, tail = truncate(text, 2000)
    assert head.text.startswith("1\n2\n") and head.text.endswith("\n")
    assert tail.text.endswith("200000\nFATAL: code 7\n")
    omitted = len(text) - len(head.text) - len(tail.text)
    lines = text.count("\n") - head.text.count("\n") - tail.text.count("\n")
    assert notice.text == f"[... {omitted} characters ({omitted} bytes, {lines} newlines) omitted ...]\n"
    assert (head.notice, notice.notice, tail.notice) == (False, True, False)
    assert len(head.text + notice.text + tail.text) <= 2000


def test_truncate_cuts_a_single_long_line():
    head, notice, tail = truncate("é" * 1000, MIN_LIMIT)
    omitted = 1000 - len(head.text) - len(tail.text)
    assert notice.text == f"\n[... {omitted} characters ({2 * omitted} bytes, 0 newlines) omitted ...]\n"


def test_short_output_is_left_alone():
    assert [p.text for p in truncate("x" * MIN_LIMIT, MIN_LIMIT)] == ["x" * MIN_LIMIT]
    assert truncate("", MIN_LIMIT) == []
    with pytest.raises(ValueError, match="at least"):
        truncate("x", MIN_LIMIT - 1)


@given(st.text(alphabet="ab\né", max_size=2000), st.integers(MIN_LIMIT, 400))
def test_truncated_output_is_a_prefix_and_a_suffix(text, limit):
    pieces = truncate(text, limit)
    assert sum(len(p.text) for p in pieces) <= limit
    own = [p.text for p in pieces if not p.notice]
    if len(own) == 2:
        assert text.startswith(own[0]) and text.endswith(own[1])
    else:
        assert "".join(own) == text
