"""What jq 1.6 says of text that is no JSON."""

from __future__ import annotations

import re


def parse_error(text: str) -> str | None:
    """The line that jq prints for text that is no JSON; None where it is."""
    reader = _Json()
    for letter in text:
        if (wrong := reader.read(letter)) is not None:
            return f"parse error: {wrong} at line {reader.line}, column {reader.column}"
    if (wrong := reader.finish()) is not None:
        return f"parse error: {wrong} at EOF at line {reader.line}, column {reader.column}"
    return None


class _Json:
    """jq's reader of JSON; ``stack`` holds open arrays ``[``, objects ``{`` and keys ``k``, each with a count."""

    def __init__(self) -> None:
        self.line, self.column = 1, 0
        self.stack: list[list[object]] = []
        self.next = ""  # what stands complete: a string "s", another value "v"
        self.token, self.inside, self.escaped = "", False, False

    def read(self, letter: str) -> str | None:
        """Take one letter; what is wrong."""
        self.column += len(letter.encode("utf-8", "surrogateescape"))
        if letter == "\n":
            self.line, self.column = self.line + 1, 0
        if self.inside:
            return self._string(letter)
        if letter not in ' \t\r\n"[,]{:}':
            self.token += letter
            return None
        wrong = self._literal()
        if wrong is None and letter in "[,]{:}":
            self._emit()
            wrong = self._structure(letter)
        self._emit()
        self.inside = letter == '"'
        return wrong

    def finish(self) -> str | None:
        """What is wrong at the end."""
        if self.inside:
            return "Unfinished string"
        return self._literal() or ("Unfinished JSON term" if self.stack else None)

    def _emit(self) -> None:
        if not self.stack and self.next:
            self.next = ""

    def _value(self, kind: str) -> str | None:
        if self.next:
            return "Expected separator between values"
        self.next = kind
        return None

    def _string(self, letter: str) -> str | None:
        if letter != '"' or self.escaped:
            self.token, self.escaped = self.token + letter, letter == "\\" and not self.escaped
            return None
        text, self.token, self.inside = self.token, "", False
        for escape in re.findall(r"\\(u[0-9A-Fa-f]{0,4}|.)", text, re.S):
            if escape[0] == "u" and len(escape) < 5:
                return "Invalid \\uXXXX escape"
            if escape[0] not in '"\\/bfnrtu':
                return "Invalid escape"
        wrong = self._value("s")
        self._emit()
        return wrong

    def _literal(self) -> str | None:
        token, self.token = self.token, ""
        if not token:
            return None
        if token[0] in "tfn":
            return self._value("v") if token in ("true", "false", "null") else "Invalid literal"
        number = re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:nan|infinity|inf)", token)
        return self._value("v") if number else "Invalid numeric literal"

    def _structure(self, letter: str) -> str | None:
        top = self.stack[-1] if self.stack else [""]
        if letter in "[{":
            if self.next:
                return "Expected separator between values"
            self.stack.append([letter, 0])
        elif letter == ":":
            if top[0] != "{" and not self.next:
                return "Expected string key before ':'"
            if top[0] != "{":
                return "':' not as part of an object"
            if self.next != "s":
                return "Object keys must be strings" if self.next else "Expected string key before ':'"
            self.stack.append(["k", 0])
            self.next = ""
        elif letter == ",":
            if not self.next:
                return "Expected value before ','"
            if top[0] == "{":
                return "Objects must consist of key:value pairs"
            self._store()
        elif letter == "]":
            if top[0] != "[":
                return "Unmatched ']'"
            if not self.next and top[1]:
                return "Expected another array element"
            self.stack.pop()
            self.next = "v"
        else:
            if not self.stack:
                return "Unmatched '}'"
            if self.next:
                if top[0] != "k":
                    return "Objects must consist of key:value pairs"
                self._store()
            elif top[0] != "{":
                return "Unmatched '}'"
            elif top[1]:
                return "Expected another key-value pair"
            self.stack.pop()
            self.next = "v"
        return None

    def _store(self) -> None:
        if self.stack[-1][0] == "k":
            self.stack.pop()
        self.stack[-1][1] = 1
        self.next = ""
