"""The words of GNU bc 1.07, and a cursor over them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"(?P<skip>(?:[ \t]|\\\n|/\*.*?\*/|#[^\n]*)+)|(?P<newline>\n)|(?P<string>\"[^\"]*\")"
    r"|(?P<number>(?:[0-9A-F]|\\\n)+(?:\.(?:[0-9A-F]|\\\n)*)?|\.[0-9A-F](?:[0-9A-F]|\\\n)*)|(?P<name>[a-z][a-z0-9_]*)"
    r"|(?P<op>\+\+|--|&&|\|\||[-+*/%^=<>!]=|[-+*/%^=<>!(){}\[\];,.])|(?P<bad>.)",
    re.S,
)


class SyntaxFault(Exception):
    """A word at which no statement goes on; ``line`` as bc counts it."""

    def __init__(self, line: int, text: str = "syntax error") -> None:
        super().__init__(text)
        self.line, self.text = line, text


@dataclass
class Words:
    """A cursor over the words of one source."""

    text: str
    place: int = 0
    line: int = 1
    adr: int = 0
    complaints: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kind, self.word = "newline", ""
        self.advance()

    def advance(self) -> None:
        """Go to the next word; at the end ``kind`` is ``end``."""
        while True:
            found = _TOKEN.match(self.text, self.place)
            if found is None:
                self.kind, self.word = "end", ""
                return
            self.place, kind = found.end(), str(found.lastgroup)
            self.line += found[0].count("\n")
            if kind == "bad":
                self.complaints.append((self.line, f"illegal character: {found[0]}"))
            elif kind != "skip":
                self.kind, self.word = kind, found[0]
                return

    def at(self, *words: str) -> bool:
        """Is the cursor at one of these words?"""
        return self.kind in ("op", "name") and self.word in words

    def take(self, word: str) -> bool:
        """Step over a word where it stands here."""
        if self.at(word):
            self.advance()
            return True
        return False

    def need(self, word: str) -> None:
        """Step over a word that must stand here."""
        if not self.take(word):
            raise SyntaxFault(self.line)

    def skip_lines(self) -> None:
        """Step over ends of lines."""
        while self.kind == "newline":
            self.advance()
