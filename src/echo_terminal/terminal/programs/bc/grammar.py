"""The grammar of GNU bc 1.07: text to statements that ``bc`` runs.

A node is a tuple whose first item is its kind. ``adr`` counts bytes as bc's own compiler does, since its messages
show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from echo_terminal.terminal.programs.bc.words import SyntaxFault, Words

Node = tuple[Any, ...]
_KEYWORDS = frozenset(
    "define break quit length return for if while sqrt else scale ibase obase auto read print halt last "
    "continue void limits warranty".split()
)
_ASSIGN = ("=", "+=", "-=", "*=", "/=", "%=", "^=")
_BINARY = (("+", "-"), ("*", "/", "%"))
_SIGNAL = {"break": "break", "continue": "continue", "halt": "quit"}


class Quit(Exception):
    """``quit`` ends the program where it is read."""


class Parser(Words):
    """Statements from words."""

    def lines(self) -> Iterator[list[Node] | SyntaxFault | None]:
        """The statements of each line, or its fault, which ends the line; None at ``quit``."""
        while self.kind != "end":
            self.adr = 0
            try:
                found: list[Node] | SyntaxFault | None = self.one_line()
            except Quit:
                found, self.kind = None, "end"
            except SyntaxFault as fault:
                while self.kind not in ("newline", "end"):
                    self.advance()
                self.advance()
                found = fault
            yield found

    def one_line(self) -> list[Node]:
        """Statements up to the end of a line."""
        found = []
        if self.take("define"):
            found.append(self.definition())
        while self.kind not in ("newline", "end"):
            if not self.at(";"):
                found.append(self.statement())
            if self.kind not in ("newline", "end"):
                self.need(";")
        if self.kind == "newline":
            self.advance()
        return found

    def definition(self) -> Node:
        """``name(parameters) { auto …; statements }``."""
        self.take("void")
        name = self.name()
        self.need("(")
        parameters = self.names() if not self.at(")") else []
        self.need(")")
        self.skip_lines()
        self.need("{")
        self.skip_lines()
        autos = []
        if self.take("auto"):
            autos = self.names()
        return ("define", name, parameters, autos, self.block())

    def names(self) -> list[str]:
        """Names with commas between; arrays end in ``[]``."""
        found = []
        while True:
            name = self.name()
            if self.take("["):
                self.need("]")
                name += "[]"
            found.append(name)
            if not self.take(","):
                return found

    def name(self) -> str:
        """A name that is no keyword."""
        if self.kind != "name" or self.word in _KEYWORDS:
            raise SyntaxFault(self.line)
        word = self.word
        self.advance()
        return word

    def block(self) -> list[Node]:
        """Statements up to the closing brace; the opening one is behind us."""
        found = []
        while not self.take("}"):
            if self.kind == "end":
                raise SyntaxFault(self.line)
            if self.kind == "newline" or self.at(";"):
                self.advance()
                continue
            found.append(self.statement())
            if not (self.kind == "newline" or self.at(";", "}")):
                raise SyntaxFault(self.line)
        return found

    def statement(self) -> Node:
        """One statement."""
        if self.kind == "string":
            text = self.word[1:-1]
            self.advance()
            return ("text", text)
        if self.at("quit"):
            raise Quit
        if self.take("{"):
            return ("block", self.block())
        if self.take("print"):
            return self.printing()
        for word, signal in _SIGNAL.items():
            if self.take(word):
                return ("signal", signal)
        if self.take("return"):
            empty = self.kind in ("newline", "end") or self.at(";", "}")
            return ("return", None if empty else self.expression())
        if self.take("if"):
            return self.condition()
        if self.take("while"):
            self.need("(")
            test = self.expression()
            self.need(")")
            self.skip_lines()
            return ("loop", None, test, None, self.statement())
        if self.take("for"):
            self.need("(")
            parts = []
            for end in (";", ";", ")"):
                parts.append(None if self.at(end) else self.expression())
                self.need(end)
            self.skip_lines()
            return ("loop", *parts, self.statement())
        start = self.at("(")
        value = self.expression()
        self.adr += 1
        return ("drop" if value[0] == "assign" and not start else "show", value)

    def printing(self) -> Node:
        """The rest of ``print``: strings and values with commas between."""
        found: list[Node] = []
        while True:
            if self.kind == "string":
                found.append(("text", self.word[1:-1]))
                self.advance()
            else:
                found.append(self.expression())
            if not self.take(","):
                return ("print", found)

    def condition(self) -> Node:
        """The rest of ``if``."""
        self.need("(")
        test = self.expression()
        self.need(")")
        self.skip_lines()
        first = self.statement()
        mark = (self.place, self.line, self.kind, self.word)
        if self.at(";"):
            self.advance()
        if self.take("else"):
            self.skip_lines()
            return ("if", test, first, self.statement())
        self.place, self.line, self.kind, self.word = mark
        return ("if", test, first, None)

    def expression(self) -> Node:
        """Or, and, not, relation, assignment and arithmetic, from loose to tight."""
        left = self.conjunction()
        while self.take("||"):
            left = ("or", left, self.conjunction())
        return left

    def conjunction(self) -> Node:
        """Terms of ``&&``."""
        left = self.negation()
        while self.take("&&"):
            left = ("and", left, self.negation())
        return left

    def negation(self) -> Node:
        """``!`` binds looser than a comparison."""
        if self.take("!"):
            return ("not", self.negation())
        left = self.arithmetic(0)
        while self.at("<", ">", "<=", ">=", "==", "!="):
            sign = self.word
            self.advance()
            right = self.arithmetic(0)
            self.adr += 1
            left = ("compare", sign, left, right)
        return left

    def arithmetic(self, level: int) -> Node:
        """Sums of products of powers."""
        if level == len(_BINARY):
            return self.sign()
        left = self.arithmetic(level + 1)
        while self.at(*_BINARY[level]):
            sign = self.word
            self.advance()
            right = self.arithmetic(level + 1)
            self.adr += 1
            left = ("binary", sign, left, right, self.adr)
        return left

    def sign(self) -> Node:
        """A minus binds tighter than ``^``."""
        if self.take("-"):
            value = self.sign_tight()
            self.adr += 1
            return self.power(("negative", value))
        return self.power(self.primary())

    def sign_tight(self) -> Node:
        """What a minus applies to."""
        return ("negative", self.sign_tight()) if self.take("-") else self.primary()

    def power(self, left: Node) -> Node:
        """``^`` groups from the right."""
        if not self.take("^"):
            return left
        right = self.sign()
        self.adr += 1
        return ("binary", "^", left, right, self.adr)

    def primary(self) -> Node:
        """A number, a place, a call or parentheses."""
        if self.kind == "number":
            text = self.word.replace("\\\n", "")
            self.advance()
            self.adr += 1 if text in ("0", "1") else len(text.lstrip("0")) + 2
            return ("number", text)
        if self.take("("):
            inner = self.expression()
            self.need(")")
            return ("group", inner)
        if self.at("++", "--"):
            sign = self.word[0]
            self.advance()
            return ("before", sign, self.target())
        if self.at("length", "sqrt", "scale", "ibase", "obase", "last", "."):
            return self.special()
        if self.kind != "name" or self.word in _KEYWORDS - {"read"}:
            raise SyntaxFault(self.line)
        return self.named()

    def special(self) -> Node:
        """Words of the language that are values or functions."""
        word = self.word
        self.advance()
        if word in ("sqrt", "length") or (word == "scale" and self.at("(")):
            self.need("(")
            inner = self.expression()
            self.need(")")
            self.adr += 2
            return ("function", word, inner, self.adr)
        self.adr += 2
        return self.assigned(("place", "last" if word == "." else word, None))

    def named(self) -> Node:
        """A variable, an array's item or a call."""
        name = self.word
        self.advance()
        if self.take("("):
            given = []
            while not self.at(")"):
                given.append(self.expression())
                if not self.take(","):
                    break
            self.need(")")
            at = self.adr + 2
            self.adr = at + len(given) + 1
            return ("call", name, given, at)
        return self.assigned(self.indexed(name))

    def indexed(self, name: str) -> Node:
        """A place: a variable, or an array's item."""
        self.adr += 2
        if not self.take("["):
            return ("place", name, None)
        if self.take("]"):
            return ("array", name)
        inner = self.expression()
        self.need("]")
        return ("place", name, inner)

    def target(self) -> Node:
        """The place that ``++`` or ``--`` in front changes."""
        name = self.word
        if self.kind != "name":
            raise SyntaxFault(self.line)
        self.advance()
        return self.indexed(name)

    def assigned(self, place: Node) -> Node:
        """An assignment or a step behind a place."""
        if self.at("++", "--"):
            sign = self.word[0]
            self.advance()
            return ("after", sign, place)
        if self.at(*_ASSIGN):
            sign = self.word[:-1]
            self.adr -= 0 if sign else 2  # what is set is not loaded
            self.advance()
            value = self.expression()
            self.adr += 2
            return ("assign", sign, place, value, self.adr)
        return place
