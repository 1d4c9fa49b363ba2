"""Every OUTPUT token has exactly one class, and the right one."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_terminal.agent.transcript import Role, Transcript
from echo_terminal.evaluation.token_class import TokenClass, classify, source_of_command, token_spans
from echo_terminal.tasks.lexicon import NAMES

Build = Callable[..., Transcript]
OUT, G = Role.OUTPUT, Role.GLUE


def observation(code: str, stdout: str, stderr: str = "") -> list[tuple[str, Role, str]]:
    return [
        ("code: ", G, ""),
        (code, OUT, "exit"),
        ("\n", G, ""),
        (stdout, OUT, "stdout"),
        (stderr, OUT, "stderr"),
    ]


def classes_of(transcript: Transcript, decode: Callable[..., str], word: str, **options: object) -> set[str]:
    """The classes of the tokens of the last place where ``word`` stands."""
    at = bytes(transcript.ids).rindex(word.encode())
    return {str(c) for c in classify(transcript, decode, **options)[at : at + len(word.encode())]}  # type: ignore[arg-type]


def test_each_kind_of_text(transcript: Build, codec: tuple) -> None:
    _, decode = codec
    t = transcript(
        "Sum the column of data/in.csv into total.txt",
        [
            ("ls -l data", 0, observation("0", "total 8\n-rw-r--r-- 1 user user 20 in.csv\nnew_name.log\n")),
            ("cat data/in.csv", 0, observation("0", "apple,3\nbanana split\n")),
            ("frob", 2, observation("2", "", "usage: frob knit FILE\n")),
            ("pytest -q", 1, observation("1", "collected two items\n")),
            ("./go", 0, observation("0", "all good\nerror: bad things\n")),
        ],
    )
    assert classes_of(t, decode, "total") == {"listing"}
    assert classes_of(t, decode, "20") == {"number"}
    assert classes_of(t, decode, "new_name.log") == {"name_new"}
    assert classes_of(t, decode, "in.csv\nnew")  # spans a line break: several classes
    assert classes_of(t, decode, "apple") == {"file_content"}
    assert classes_of(t, decode, "3") == {"number"}
    assert classes_of(t, decode, "knit") == {"error"}
    assert classes_of(t, decode, "knit", facts={"knit"}) == {"fact"}
    assert classes_of(t, decode, "items") == {"test_output"}
    assert classes_of(t, decode, "good") == {"other"}
    assert classes_of(t, decode, "things") == {"error"}


def test_a_name_is_seen_when_every_component_was(transcript: Build, codec: tuple) -> None:
    _, decode = codec
    listing = [("0", OUT, "exit"), ("src/a.py\nsrc/b.py\n", OUT, "stdout")]
    t = transcript(
        "look at src/a.py", [("find", 0, listing), ("find", 0, [("a.py b.py src/b.py", OUT, "stdout")])]
    )
    classes = classify(t, decode)
    text = bytes(t.ids).decode()
    first = text.index("src/a.py\n")
    assert classes[first] is TokenClass.NAME_SEEN
    assert classes[text.index("src/b.py\n")] is TokenClass.NAME_NEW
    assert classes[text.rindex("src/b.py")] is TokenClass.NAME_SEEN


def test_pseudo_words_of_the_lexicon_are_names(transcript: Build, codec: tuple) -> None:
    _, decode = codec
    old, new = NAMES[:2]
    t = transcript(f"read {old}", [("ls", 0, [(f"{new} {old} plain", OUT, "stdout")])])
    assert classes_of(t, decode, new) == {"name_new"}
    assert classes_of(t, decode, old) == {"name_seen"}
    assert classes_of(t, decode, "plain") == {"listing"}


def test_the_exit_code_is_not_a_number(transcript: Build, codec: tuple) -> None:
    _, decode = codec
    t = transcript("p", [("x", 127, observation("127", "127\n"))])
    kinds = [c for c in classify(t, decode) if c is not None]
    assert kinds == [TokenClass.EXIT] * 3 + [TokenClass.NUMBER] * 3 + [TokenClass.OTHER]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("cd data && ls -la", "listing"),
        ("LC_ALL=C ls", "listing"),
        ("/bin/cat x | sort", "file_content"),
        ("python3 -m pytest tests", "test_output"),
        ("bash run_tests.sh", "test_output"),
        ("python3 main.py", "other"),
        ("", "other"),
        (None, "other"),
    ],
)
def test_source_of_a_command(command: str | None, kind: str) -> None:
    assert source_of_command(command) == kind


@given(st.text(max_size=60), st.text(max_size=60))
def test_exactly_the_output_tokens_have_a_class(out: str, err: str) -> None:
    t = Transcript()
    t.append(list(b"task"), Role.PROMPT)
    for text, role in ((out, Role.OUTPUT), ("glue", Role.GLUE), (err, Role.OUTPUT), ("warn", Role.WARNING)):
        t.append(list(text.encode()), role, kind="stdout")
    classes = classify(t, lambda ids: bytes(ids).decode(errors="replace"))
    assert [c is not None for c in classes] == [r == Role.OUTPUT for r in t.roles]


@given(st.text(max_size=80), st.integers(1, 5))
def test_spans_tile_the_text_when_tokens_cut_characters(text: str, width: int) -> None:
    data = text.encode()
    chunks = [data[i : i + width] for i in range(0, len(data), width)]
    got, spans = token_spans(
        range(len(chunks)), lambda ids: b"".join(chunks[i] for i in ids).decode(errors="replace")
    )
    assert got == text
    assert all(start <= end for start, end in spans)
    assert (spans[-1][1] if spans else 0) == len(text)
    for (a, b), (c, d) in zip(spans, spans[1:], strict=False):
        assert (a, b) == (c, d) or c == b


def test_a_decoder_that_loses_characters_is_refused() -> None:
    with pytest.raises(ValueError, match="token by token"):
        token_spans([97, 32, 97], lambda ids: bytes(ids).decode().strip())
