"""What kind of text a terminal-output token is part of: every OUTPUT token gets exactly one class.

A token takes the class of the word that holds its first character that is not white space. Words are judged
in this order: the exit code; a word that states a fact of the machine; a number; a name (something that is
not a plain word: a path, a file name, an identifier, or one of the lexicon's pseudo-words), seen earlier in
the transcript or never seen; everything else (plain words, punctuation, white space) takes the class of the
text around it: error, test output, listing, file content, other. A path counts as seen when each of its
components was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum

from echo_terminal.agent.transcript import Role, Segment, Transcript
from echo_terminal.tasks.lexicon import NAMES

Decode = Callable[[list[int]], str]


class TokenClass(StrEnum):
    """The partition of the OUTPUT tokens."""

    EXIT = "exit_code"
    FACT = "fact"
    NUMBER = "number"
    NAME_SEEN = "name_seen"
    NAME_NEW = "name_new"
    ERROR = "error"
    TEST = "test_output"
    LISTING = "listing"
    FILE = "file_content"
    OTHER = "other"


_WORD = re.compile(r"[^\s\"'`()\[\]{}<>|,;=]+")
_NUMBER = re.compile(r"[-+]?\d[\d.,:%-]*[a-zA-Z%]?")  # 12, -3.5, 10:42, 2024-06-01, 4.0K
_ERROR_LINE = re.compile(
    r"^(usage:|error|fatal|traceback|\w*(error|exception):)"
    r"|: (error|no such file|not a directory|is a directory|permission denied|command not found|not found"
    r"|invalid|missing|cannot|unknown|unrecognized)",
    re.IGNORECASE,
)
_NAMES = frozenset(NAMES)
_SEPARATOR = re.compile(r"&&|\|\||[;|\n]")
_TEST_RUN = re.compile(
    r"\b(pytest|unittest|ctest|tox|(make|npm|cargo|go) test)\b|(^|[\s/])(run[-_]?)?tests?\.(sh|py)\b"
)
_LISTERS = frozenset("ls find tree du df stat file dir".split())
_READERS = frozenset(
    "cat head tail less more nl tac sed grep awk cut sort uniq jq diff comm join paste od xxd".split()
)


def source_of_command(command: str | None) -> TokenClass:
    """The class of plain standard output, from the first program of the command that prints something itself."""
    if not command:
        return TokenClass.OTHER
    if _TEST_RUN.search(command):
        return TokenClass.TEST
    for part in _SEPARATOR.split(command):
        words = [w for w in part.split() if not re.fullmatch(r"\w+=\S*", w)]
        program = words[0].rsplit("/", 1)[-1] if words else "cd"
        if program in ("cd", "export", "set", "mkdir", "touch"):
            continue
        if program in _LISTERS:
            return TokenClass.LISTING
        return TokenClass.FILE if program in _READERS else TokenClass.OTHER
    return TokenClass.OTHER


def token_spans(ids: Sequence[int], decode: Decode) -> tuple[str, list[tuple[int, int]]]:
    """The text of ``ids`` and the [start, end) character span of each token.

    Tokens that hold parts of characters (byte-level BPE) share the span of their run.

    Raises:
        ValueError: the texts of single tokens do not add up to the text of all (the decoder is not byte-
            level).
    """
    pieces = [decode([i]) for i in ids]
    spans: list[tuple[int, int]] = []
    at = 0
    first = 0
    while first < len(ids):
        last = first + 1
        text = pieces[first]
        if "\ufffd" in text:
            while last < len(ids) and "\ufffd" in pieces[last]:
                last += 1
            text = decode(list(ids[first:last]))
        spans += [(at, at + len(text))] * (last - first)
        at += len(text)
        first = last
    text = decode(list(ids))
    if len(text) != at:
        raise ValueError(f"decoding token by token gives {at} characters, decoding all gives {len(text)}")
    return text, spans


class _Seen:
    """The words of the transcript so far, whole and by path component."""

    def __init__(self) -> None:
        self.words: set[str] = set()

    def add(self, word: str) -> None:
        self.words.add(word)
        self.words.update(word.split("/"))

    def has(self, word: str) -> bool:
        parts = [p for p in word.split("/") if p]
        return word in self.words or (bool(parts) and all(p in self.words for p in parts))


def words_of(text: str) -> list[tuple[str, int, int]]:
    """(word, start, end), final punctuation dropped from the word but not from its span."""
    return [(m.group().rstrip(".:!?") or m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]


def _class_of_word(word: str, seen: _Seen, facts: Collection[str]) -> TokenClass | None:
    if word in facts:
        return TokenClass.FACT
    if _NUMBER.fullmatch(word):
        return TokenClass.NUMBER
    if word in _NAMES or (any(c.isalpha() for c in word) and not word.isalpha()):
        return TokenClass.NAME_SEEN if seen.has(word) else TokenClass.NAME_NEW
    return None


def _character_classes(text: str, plain: TokenClass, seen: _Seen, facts: Collection[str]) -> list[TokenClass]:
    """The class of every character of one output piece; adds its words to ``seen``."""
    classes: list[TokenClass] = []
    for line in text.splitlines(keepends=True):
        classes += [TokenClass.ERROR if _ERROR_LINE.search(line) else plain] * len(line)
    for word, start, end in words_of(text):
        found = _class_of_word(word, seen, facts)
        if found is not None:
            classes[start:end] = [found] * (end - start)
        seen.add(word)
    return classes


def _classify_segment(
    text: str,
    spans: list[tuple[int, int]],
    segment: Segment,
    plain: TokenClass,
    seen: _Seen,
    facts: Collection[str],
) -> list[TokenClass]:
    if segment.kind == "exit":
        return [TokenClass.EXIT] * len(spans)
    by_character = _character_classes(text, plain, seen, facts)
    result = []
    for start, end in spans:
        first = next((i for i in range(start, end) if not text[i].isspace()), start)
        result.append(by_character[first] if first < len(by_character) else plain)
    return result


def classify(transcript: Transcript, decode: Decode, facts: Collection[str] = ()) -> list[TokenClass | None]:
    """One class for each OUTPUT token, None for every other token. ``facts`` are the words that state facts."""
    seen = _Seen()
    classes: list[TokenClass | None] = [None] * len(transcript.ids)
    for segment in transcript.segments:
        ids = transcript.ids[segment.start : segment.end]
        if segment.role != Role.OUTPUT:
            for word, _, _ in words_of(decode(ids)):
                seen.add(word)
            continue
        command = transcript.turns[segment.turn].command if segment.turn >= 0 else None
        plain = TokenClass.ERROR if segment.kind == "stderr" else source_of_command(command)
        text, spans = token_spans(ids, decode)
        classes[segment.start : segment.end] = _classify_segment(text, spans, segment, plain, seen, facts)
    return classes
