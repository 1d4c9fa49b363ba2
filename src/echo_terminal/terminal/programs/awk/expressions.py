"""Expressions of awk, by how strongly operators bind."""

from __future__ import annotations

from echo_terminal.terminal.programs.awk.regex import regex
from echo_terminal.terminal.programs.awk.values import AwkError
from echo_terminal.terminal.programs.awk.words import BUILTINS, CAT, KEYWORDS, Cursor, Node

_COMPARE = frozenset(("==", "!=", "<", "<=", ">", ">="))
_ASSIGN = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "^="))
_POWER = {"?": 2, "||": 3, "&&": 4, "in": 5, "~": 6, "!~": 6, **dict.fromkeys(_COMPARE, 7), "+": 9, "-": 9, "*": 10,
          "/": 10, "%": 10, "|": 12, "^": 13}  # fmt: skip
_UNARY, _POSTFIX = 11, 14
_LVALUES = frozenset(("name", "item", "field"))
_ENDS = frozenset((")", "]", "}", ",", ";", ":", "{"))


class Expressions(Cursor):
    """The part of the parser that reads expressions."""

    def expression(self, least: int = 0) -> Node:
        """An expression of operators that bind at least so strongly."""
        left = self.operand()
        while True:
            kind, text, _ = self.tokens[self.place]
            if kind in ("sign", "word"):
                if kind == "word" and text not in KEYWORDS:
                    power = CAT
                elif text in _ASSIGN and left[0] in _LVALUES and least <= CAT:
                    self.take()
                    self.lines()
                    self.set_variable(left)
                    left = ("set", text[:-1], left, self.expression(1))
                    continue
                elif text == "|" and not (self.tokens[self.place + 1].text == "getline"):
                    return left
                elif text in _POWER:
                    power = _POWER[text]
                    if text == ">" and self.printing and self.parens == self.level:
                        return left
                elif text in ("!", "$", "(", "++", "--") or (kind == "word" and text == "getline"):
                    power = CAT
                else:
                    return left
            elif kind in ("nl", "end"):
                return left
            else:
                power = CAT
            if power < least:
                return left
            left = self.joined(left, text, power)

    def joined(self, left: Node, text: str, power: int) -> Node:
        """``left`` and what follows it: an operator and its right side, or a text to put behind it."""
        if power == CAT:
            return ("cat", left, self.expression(CAT + 1))
        self.take()
        if text in ("&&", "||"):
            self.lines()
            return (text, left, self.expression(power + 1))
        if text == "?":
            self.lines()
            yes = self.expression(1)
            self.lines()
            self.want(":")
            self.lines()
            return ("?", left, yes, self.expression(1))
        if text == "in":
            if self.tokens[self.place].kind != "word":
                raise self.error()
            keys = left[1] if left[0] == "group" else [left]
            return ("in", keys, self.array(self.take().text))
        if text == "|":
            self.take()
            return ("getline |", left, self.target())
        if text in ("~", "!~"):
            return (text, left, self.expression(power + 1))
        if text in _COMPARE:
            return ("compare", text, left, self.expression(power + 1))
        return ("math", text, left, self.expression(power if text == "^" else power + 1))

    def target(self) -> Node | None:
        """Where ``getline`` puts a line."""
        kind, text, _ = self.tokens[self.place]
        if (kind == "word" and text not in KEYWORDS and text not in BUILTINS) or (
            kind == "sign" and text == "$"
        ):
            node = self.primary()
            self.set_variable(node)
            return node
        return None

    def operand(self) -> Node:
        """An operand with the signs in front of it and behind it."""
        kind, text, _ = self.tokens[self.place]
        if kind == "sign":
            if text == "!":
                self.take()
                return ("not", self.expression(_UNARY))
            if text in "+-":
                self.take()
                return ("sign", text, self.expression(_UNARY))
            if text in ("++", "--"):
                self.take()
                node = self.primary()
                if node[0] not in _LVALUES:
                    raise self.error()
                self.set_variable(node)
                return ("before", text, node)
        node = self.primary()
        if node[0] in _LVALUES and self.at("++", "--"):
            self.set_variable(node)
            return ("after", self.take().text, node)
        return node

    def primary(self) -> Node:
        """A constant, a variable, a field, a call or a group."""
        kind, text, line = self.tokens[self.place]
        if kind == "number":
            self.take()
            return ("constant", float(text))
        if kind == "text":
            self.take()
            return ("constant", text)
        if kind == "regex":
            self.take()
            return ("regex", self.checked(text, line))
        if kind == "call" or (kind == "word" and text in BUILTINS):
            return self.called()
        if kind == "word" and text not in KEYWORDS:
            self.take()
            if self.at("["):
                return ("item", self.array(text), self.subscript())
            return ("name", text)
        if kind == "word" and text == "getline":
            self.take()
            where = self.target()
            if self.at("<"):
                self.take()
                return ("getline <", self.expression(_POSTFIX - 1), where)
            return ("getline", where)
        if kind == "sign" and text == "$":
            self.take()
            if self.at("++", "--", "-", "+", "!"):
                return ("field", self.operand())
            return ("field", self.primary())
        if kind == "sign" and text == "(":
            return self.grouped()
        raise self.error()

    def grouped(self) -> Node:
        """What parentheses hold: an expression, or several for ``in`` and ``print``."""
        self.take()
        if self.at(")") and self.printing:
            self.take()
            return ("group", [])
        nodes = [self.expression()]
        while self.at(","):
            self.take()
            self.lines()
            nodes.append(self.expression())
        if not self.at(")"):
            raise self.error()
        self.take()
        if len(nodes) == 1:
            return nodes[0] if nodes[0][0] not in _LVALUES or nodes[0][0] == "field" else ("held", nodes[0])
        if not (self.at("in") or self.printing):
            raise self.error()
        return ("group", nodes)

    def checked(self, text: str, line: int) -> str:
        """A regular expression that compiles."""
        try:
            regex(text)
        except AwkError as error:
            raise AwkError(f"awk: line {line}: {error}") from None
        return text

    def subscript(self) -> list[Node]:
        """The keys of an element."""
        self.want("[")
        nodes = [self.expression()]
        while self.at(","):
            self.take()
            nodes.append(self.expression())
        self.want("]")
        return nodes

    def called(self) -> Node:
        """A call of a builtin or of a function."""
        _, name, line = self.take()
        if name in BUILTINS:
            given: list[Node] = []
            if self.at("("):
                self.take()
                given = self.between()
                if len(given) < BUILTINS[name][0] and name in ("split", "match", "sub", "gsub"):
                    raise self.error()
                self.take()
            elif name != "length":
                raise self.error()
            least, most = BUILTINS[name]
            if not least <= len(given) <= most:
                raise self.complain(f"wrong number of arguments in call to {name}", line)
            if name == "split":
                if given[1][0] != "name":
                    raise self.error()
                self.array(given[1][1])
            if name in ("sub", "gsub") and len(given) == 3:
                self.set_variable(given[2])
            return ("builtin", name, given)
        self.want("(")
        given = self.between()
        self.take()
        self.calls.append((self.function.name if self.function else "", name, given, line))
        return ("call", name, given)

    def between(self) -> list[Node]:
        """The expressions before the closing parenthesis of a call."""
        given: list[Node] = []
        self.lines()
        while not self.at(")"):
            if given:
                if not self.at(","):
                    raise self.error()
                self.take()
                self.lines()
            given.append(self.expression())
        return given

    # -- names -----------------------------------------------------------------------------------------------------

    def array(self, name: str) -> str:
        """A name that is used as an array."""
        if self.function is not None and name in self.function.names:
            self.function.arrays.add(name)
        else:
            if self.used.setdefault(name, "array") == "variable":
                raise self.complain(f"illegal reference to variable {name}")
            self.program.arrays.add(name)
        return name

    def variable(self, name: str) -> str:
        """A name that is used as a variable."""
        local = self.function is not None and name in self.function.names
        if not local and self.used.setdefault(name, "variable") == "array":
            raise self.complain(f"illegal reference to array {name}")
        return name

    def set_variable(self, node: Node) -> None:
        """Note that a node is assigned to."""
        if node[0] == "name":
            self.variable(node[1])
