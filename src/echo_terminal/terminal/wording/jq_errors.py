"""What jq 1.6 says of programs that it cannot compile."""

from __future__ import annotations

import re

_WORDS = frozenset(
    "as def if then else elif end and or reduce foreach try catch label import include __loc__".split()
)
_TOKEN = re.compile(
    r"(?P<space>[ \t\n\r]+|#[^\n]*)|(?P<field>\.[A-Za-z_]\w*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<format>@\w+)|(?P<name>[A-Za-z_]\w*(?:::\w+)*)"
    r"|(?P<sign>\?//|//=|\.\.|[!=<>|+*/%-]=|//|[.?=;,:|+*/%$<>\[\]{}()-])|(?P<quote>\")|(?P<other>.)",
    re.S,
)
_CLOSED = {")": "(", "]": "[", "}": "{"}
_OPERATORS = frozenset("| , + - * / % = |= += -= *= /= %= //= // == != < <= > >= and or".split())
_PRINTED = {
    "field": "FIELD",
    "number": "LITERAL",
    "format": "FORMAT",
    "quote": "QQSTRING_START",
    "name": "IDENT",
}
_UNIX = "(Unix shell quoting issues?)"
_ACCESS = "FORMAT or QQSTRING_START"


class _Wrong(Exception):
    """A token that cannot stand at ``place``, and those that could, where they are few."""

    def __init__(self, token: str, place: int, expected: str = "", *more: str) -> None:
        super().__init__(token)
        self.token, self.place, self.expected, self.more = token, place, expected, more


def compile_error(program: str) -> str | None:
    """The lines that jq prints for a program with a syntax error; None where the program seems to have none."""
    try:
        _Program(program).run()
    except _Unread:
        return None
    except _Wrong as wrong:
        lines = [
            _located(program, f"syntax error, unexpected {wrong.token}{wrong.expected} {_UNIX}", wrong.place)
        ]
        lines += [
            _located(program, text, 0 if text.startswith("Poss") else wrong.place) for text in wrong.more
        ]
        return "\n".join([*lines, _count(len(lines))])
    return None


def undefined(program: str, name: str) -> str:
    """The lines for a name (``f/1`` or ``$x``) that the program does not define."""
    word = re.escape(name.partition("/")[0])
    found = re.search(rf"(?<![\w.$]){word}(?!\w)", program)
    return f"{_located(program, f'{name} is not defined', found.start() if found else 0)}\n{_count(1)}"


def divided_by_zero(program: str) -> str:
    """The lines for a constant that is divided by the constant zero."""
    return f"{_located(program, 'Division by zero?', 0)}\n{_count(1)}"


def _located(program: str, text: str, place: int) -> str:
    start = program.rfind("\n", 0, place) + 1
    line = program[start:].partition("\n")[0]
    number = program.count("\n", 0, place) + 1
    return f"jq: error: {text} at <top-level>, line {number}:\n{line}{' ' * (place - start)}"


def _count(number: int) -> str:
    return f"jq: {number} compile error{'s' * (number != 1)}"


class _Program:
    """Reads a program far enough to see where a token cannot stand."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.open: list[str] = []  # brackets, "f" for that of a call, "if"
        self.end = 0  # where the last token starts

    def run(self) -> None:
        """Raises: _Wrong: at the first such token."""
        place, operand, before = 0, True, ""  # is an operand due, and what stood before?
        program = self.program
        while place < len(program):
            match = _TOKEN.match(program, place)
            assert match is not None
            kind, text, start = match.lastgroup or "", match[0], place
            place, self.end = match.end(), start
            if kind == "space":
                continue
            if kind == "quote":
                operand, place, before = self._quoted(operand, start), self._text(place), "quote"
                self.end = place - 1
                continue
            if before == "as" and text not in ("$", "[", "{"):
                raise _Wrong(self._shown(kind, text), start, ", expecting '$' or '[' or '{'")
            if before == "." and self._dotted and text != "[" and kind != "format":
                raise _Wrong(self._shown(kind, text), start, f", expecting {_ACCESS}")
            operand, before = self._step(kind, text, start, operand, before)
        if before == "." and self._dotted:
            raise _Wrong("$end", self.end, f", expecting {_ACCESS}")
        if before == "as":
            raise _Wrong("$end", self.end, ", expecting '$' or '[' or '{'")
        if before == "$":
            raise _Wrong("$end", self.end, ", expecting IDENT or __loc__")
        if self._pattern:
            raise _Wrong("$end", self.end, ", expecting '|'")
        if operand and (before or self.open):
            self._stop("$end", self.end, "")
        elif self.open:
            self._stop("$end", self.end, self._after())

    _dotted = False  # is the dot the second of a path, which needs a string behind it?
    _pattern = False  # did "as $x" just end?

    def _stop(self, token: str, place: int, expected: str) -> None:
        more = (
            ("Possibly unterminated 'if' statement",) if token == "$end" and self.open[-1:] == ["if"] else ()
        )
        raise _Wrong(token, place, expected, *more)

    def _after(self) -> str:
        """What may stand behind a whole term, where that is little."""
        top = self.open[-1] if self.open else ""
        return {"": ", expecting $end", "f": ", expecting ';' or ')'", "{": ", expecting '}'"}.get(top, "")

    @staticmethod
    def _shown(kind: str, text: str) -> str:
        if kind == "sign":
            return f"'{text}'" if len(text) == 1 else text
        if kind == "name" and text in _WORDS:
            return text
        return _PRINTED.get(kind, "INVALID_CHARACTER")

    def _quoted(self, operand: bool, place: int) -> bool:
        if not operand and not self._dotted:
            raise _Wrong("QQSTRING_START", place, self._after())
        return False

    def _text(self, place: int) -> int:
        """The end of a string, the programs in it read too."""
        program = self.program
        while place < len(program):
            if program.startswith("\\(", place):
                depth, start = 1, place + 2
                place = start
                while place < len(program) and depth:
                    depth += {"(": 1, ")": -1}.get(program[place], 0)
                    place += 1
                if depth:
                    last = [m.start() for m in _TOKEN.finditer(program, start)]
                    raise _Wrong("$end", last[-1] if last else start)
                continue
            if program[place] == '"':
                return place + 1
            place += 2 if program[place] == "\\" else 1
        texts = "QQSTRING_TEXT or QQSTRING_INTERP_START or QQSTRING_END"
        raise _Wrong("$end", self.end + (len(program) > self.end + 1), f", expecting {texts}")

    def _step(self, kind: str, text: str, start: int, operand: bool, before: str) -> tuple[bool, str]:
        if self._pattern and text not in ("|", "?//"):
            raise _Wrong(self._shown(kind, text), start, ", expecting '|'")
        self._pattern = False
        shown, first = self._shown(kind, text), not before
        if before == "$":
            self._pattern = self._binding
            self._binding = False
            return False, "name"
        if text in _CLOSED:
            top = self.open[-1] if self.open else ""
            if ("(" if top == "f" else top) != _CLOSED[text]:
                raise _Wrong(
                    "INVALID_CHARACTER" if top != "if" else shown, start, "" if operand else self._after()
                )
            empty = text in "]}" and before in ("[", "{", ",") and operand and (text == "}" or before != ",")
            if operand and not empty:
                raise _Wrong(shown, start)
            self.open.pop()
            return False, text
        if operand:
            return self._operand(kind, text, start, shown, first)
        return self._operator(kind, text, start, shown)

    _binding = False  # does the variable that comes follow "as"?

    def _operand(self, kind: str, text: str, start: int, shown: str, first: bool) -> tuple[bool, str]:
        if kind in ("number", "format", "field"):
            in_key = self.open[-1:] == ["{"] and not self._valued
            if in_key and kind != "format":
                raise _Wrong(shown, start, "", "May need parentheses around object key expression")
            return False, kind
        if text == "." or text == "..":
            self._dotted = False
            return False, text
        if kind == "name" and (text not in _WORDS or text == "__loc__" or self.open[-1:] == ["{"]):
            return False, "name"
        if text in ("if", "reduce", "foreach", "try", "def", "label"):
            if text == "if":
                self.open.append("if")
            if text in ("def", "label", "reduce", "foreach"):
                raise _Unread
            return True, text
        if text in ("[", "{", "("):
            self.open.append(text)
            self._valued = False
            return True, text
        if text in ("-", "$"):
            return text == "-", text
        raise _Wrong(shown, start, ", expecting $end" if first else "")

    _valued = False  # in an object: is this a value?

    def _operator(self, kind: str, text: str, start: int, shown: str) -> tuple[bool, str]:
        in_object = self.open[-1:] == ["{"]
        if in_object and text in (",", ":"):
            self._valued = text == ":"
            return True, text
        if text in _OPERATORS and not (in_object and text != "|"):
            return True, text
        if text == "as":
            self._binding = True
            return True, "as"
        if text == "?" or kind == "field":
            return False, kind
        if text == ".":
            self._dotted = True
            return False, "."
        if text == "[":
            self.open.append("[")
            return True, "["
        if text == "(" and self.program[:start].rstrip()[-1:].isalnum():
            self.open.append("f")
            return True, "("
        if text == ";" and self.open[-1:] == ["f"]:
            return True, ";"
        if text == ":" and self.open[-1:] == ["["]:
            return True, ":"
        if self.open[-1:] == ["if"] and text in ("then", "elif", "else", "end"):
            if text == "end":
                self.open.pop()
            return text != "end", text
        if text == "catch":
            return True, text
        raise _Wrong(shown, start, self._after())


class _Unread(Exception):
    """A construct that is not followed here."""
