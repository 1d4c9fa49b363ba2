"""The words of an awk program as mawk 1.3.4 has them, and a cursor over them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from echo_terminal.terminal.programs.awk.values import AwkError, unescape

Node = tuple[Any, ...]
KEYWORDS = frozenset(
    "BEGIN END if else while for do break continue next nextfile exit return delete in function print printf getline"
    .split()
)  # fmt: skip
BUILTINS = {  # least and most arguments
    "length": (0, 1), "index": (2, 2), "substr": (2, 3), "sprintf": (1, 99), "sin": (1, 1), "cos": (1, 1),
    "atan2": (2, 2), "exp": (1, 1), "log": (1, 1), "int": (1, 1), "sqrt": (1, 1), "rand": (0, 0), "srand": (0, 1),
    "close": (1, 1), "system": (1, 1), "toupper": (1, 1), "tolower": (1, 1), "fflush": (0, 1), "systime": (0, 0),
    "mktime": (1, 1), "strftime": (0, 3), "split": (2, 3), "match": (2, 2), "sub": (2, 3), "gsub": (2, 3),
}  # fmt: skip
_TOKEN = re.compile(
    r"[ \t\r\f\v]+|\\\r?\n|\#[^\n]*"
    r"|(?P<nl>\n)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<word>[A-Za-z_]\w*)"
    r'|"(?P<text>(?:[^"\\\n]|\\.|\\\n)*)"'
    r"|(?P<sign>\+\+|--|&&|\|\||!~|[-+*/%^=!<>]=|[-+*/%^!<>|?:~$=,;{}()\[\]])",
    re.A | re.S,
)
_REGEX = re.compile(r"((?:[^/\\\[\n]|\\.|\[\^?\]?(?:[^\]\\\n]|\\.)*\])*)/")
CAT = 8  # how strongly the operator without a sign binds


class Token(NamedTuple):
    """``kind``: number, text, regex, word, call (a word before a parenthesis), sign, nl or end."""

    kind: str
    text: str
    line: int


@dataclass
class Function:
    """A function: its parameters, which of them are arrays, its body."""

    name: str
    names: list[str]
    body: Node = ("block", [])
    arrays: set[str] = field(default_factory=set)


@dataclass
class Program:
    """Rules by kind, functions, names of global arrays."""

    begin: list[Node] = field(default_factory=list)
    main: list[tuple[Node | None, Node | None, Node | None]] = field(default_factory=list)
    end: list[Node] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    arrays: set[str] = field(default_factory=set)


def tokens(source: str) -> list[Token]:
    """The tokens of a program.

    Raises:
        AwkError: a character, text or expression that is none.
    """
    found: list[Token] = []
    place, line, ended = 0, 1, False  # ended: would a slash divide?
    while place < len(source):
        m = _TOKEN.match(source, place)
        letter = source[place]
        if letter == "/" and not ended:
            r = _REGEX.match(source, place + 1)
            if r is None:
                rest = source[place + 1 :].partition("\n")[0]
                raise AwkError(f"awk: line {line}: runaway regular expression /{rest[:10]} ...\n")
            found.append(Token("regex", r[1].replace("\\/", "/"), line))
            place, ended = r.end(), True
            continue
        if m is None:
            if letter == '"':
                rest = source[place + 1 :].partition("\n")[0]
                raise AwkError(f'awk: line {line}: runaway string constant "{rest[:10]} ...\n')
            shown = f"'{letter}'" if " " < letter < "\x7f" else f"0x{ord(letter):02x}"
            raise AwkError(f"awk: {line}: unexpected character {shown}\n")
        kind = m.lastgroup
        place = m.end()
        if kind is None:
            line += m[0].count("\n")
            continue
        text = m[kind]
        if kind == "nl":
            found.append(Token("nl", "\n", line))
            line += 1
            ended = False
            continue
        if kind == "word" and text not in KEYWORDS and source[place : place + 1] == "(":
            kind = "call"
        found.append(Token(kind, unescape(text) if kind == "text" else text, line))
        line += text.count("\n")
        if kind == "sign":
            ended = text in (")", "]", "++", "--", "$")
        else:
            ended = text not in KEYWORDS if kind == "word" else kind != "call"
    found.append(Token("nl", "\n", line))
    found.append(Token("end", "end of file", line + 1))
    return found


class Cursor:
    """A place in the tokens of a program, and what a parser knows there."""

    def __init__(self, source: str) -> None:
        self.tokens = tokens(source)
        self.place = 0
        self.program = Program()
        self.function: Function | None = None
        self.parens = self.braces = self.loops = 0
        self.printing = False  # would > redirect?
        self.scope = ""
        self.calls: list[tuple[str, str, list[Node], int]] = []  # in which function, which, with what, line
        self.used: dict[str, str] = {}  # global name -> how it was used first
        self.level = 0

    def at(self, *texts: str) -> bool:
        """Is the next token one of these signs or keywords?"""
        kind, text, _ = self.tokens[self.place]
        return text in texts and kind in ("sign", "word", "nl")

    def take(self) -> Token:
        """The next token."""
        token = self.tokens[self.place]
        self.place += 1
        if token.kind == "sign":
            if token.text in "()":
                self.parens += 1 if token.text == "(" else -1
            elif token.text in "{}":
                self.braces += 1 if token.text == "{" else -1
        return token

    def want(self, text: str) -> None:
        """Pass a sign that must come."""
        if not self.at(text):
            raise self.error()
        self.take()

    def lines(self) -> None:
        """Pass ends of lines."""
        while self.tokens[self.place].kind == "nl":
            self.place += 1

    def complain(self, text: str, line: int | None = None) -> AwkError:
        """An error of the compiler."""
        return AwkError(f"awk: line {self.tokens[self.place].line if line is None else line}: {text}\n")

    def error(self) -> AwkError:
        """The syntax error that the next token is."""
        kind, text, _ = self.tokens[self.place]
        shown = "end of line" if kind == "nl" else f"/{text}/" if kind == "regex" else text
        if kind == "end" and self.place > 1 and self.parens and self.tokens[self.place - 1].kind == "nl":
            shown = "end of file"
        if text == ")" and kind == "sign" and self.parens == 0:
            return self.complain("extra ')'")
        if self.parens > 0 and (kind in ("nl", "end") or (kind == "sign" and text in (";", "}"))):
            return self.complain(f"missing ) near {shown}")
        if self.braces > 0 and (kind == "end" or text in ("BEGIN", "END")):
            return self.complain(f"missing }} near {shown}")
        return self.complain(f"syntax error at or near {shown}")
