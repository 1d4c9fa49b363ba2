"""Reads scripts of sed: what GNU sed 4.9 refuses, in its words, and which texts have escapes."""

from __future__ import annotations

import re

from echo_terminal.terminal.wording import regex_errors

_TEXT = "expected \\ after `a', `c' or `i'"
_FILENAME = "missing filename in r/R/w/W commands"
_UNCHECKED = re.compile(r"\\[cdox]|\[\[[.=]")  # in a regular expression: letters by number, collation
_PIECES = re.compile(r"\\.|\[\^?\]?(?:\[:\w*:\]|[^\]])*\]|.", re.S)
_INSIDE = re.compile(r"\^?\]?(?:\[:[^\]\n]*:\]|[^\]\n])*\]")
_STEPS = re.compile(r"\\(?:x[0-9A-Fa-f]{1,2}|o[0-7]{1,3}|d\d{1,3}|c.|.)", re.S)
_ESCAPES = re.compile(r"\\(?:[afnrtv]|[xod]..?)")
_LETTERS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Refused(Exception):
    """What is wrong in a script."""


def _meant(step: re.Match[str]) -> str:
    """The letter that a backslash and what follows stand for in a text."""
    letter, digits = step[0][1], step[0][2:]
    if digits and letter in "xod":
        return chr(int(digits, {"x": 16, "o": 8, "d": 10}[letter]))
    return chr(ord(digits.upper()) ^ 64) if digits else _LETTERS.get(letter, letter)


class Script:
    """Reads the scripts of a call as sed's compiler does.

    ``place``: where it stands in the last one; ``texts``: start and end of each text of ``a i c`` in that, with the
    backslash before it, and what sed makes of it where bashkit's makes something else.
    """

    def __init__(self, extended: bool) -> None:
        self.extended = extended
        self.blocks = 0
        self.open_text = False  # does the text of a, i or c go on in the next script?

    def run(self, script: str) -> None:
        """Read one more script.

        Raises:
            Refused: its error text.
        """
        self.script, self.place = script, 0
        self.texts: list[tuple[int, int, str]] = []
        if self.open_text:
            self._text()
        while True:
            letter = self._next()
            while letter and (letter == ";" or letter.isspace()):
                letter = self._next()
            if not letter:
                return
            self._command(letter)

    def _next(self) -> str:
        letter = self.script[self.place : self.place + 1]
        self.place += len(letter)
        return letter

    def _nonblank(self) -> str:
        letter = self._next()
        while letter in (" ", "\t"):
            letter = self._next()
        return letter

    def _back(self, letter: str) -> None:
        self.place -= len(letter)

    def _command(self, letter: str) -> None:
        first, second = self._address(letter), ""
        if first:
            if first in "+~":
                raise Refused("invalid usage of +N or ~N as first address")
            letter = self._nonblank()
            if letter == ",":
                second = self._address(self._nonblank())
                if not second:
                    raise Refused("unexpected `,'")
                letter = self._nonblank()
            if first == "0" and second != "/":
                raise Refused("invalid usage of line address 0")
        if letter == "!":
            letter = self._nonblank()
            if letter == "!":
                raise Refused("multiple `!'s")
        self._named(letter, first, second)

    def _address(self, letter: str) -> str:
        """``/`` for a pattern, ``0``, ``1`` for another number, ``$``, ``+`` or ``~``; empty without one."""
        if letter and letter in "/\\":
            pattern = self._until(self._next() if letter == "\\" else letter)
            if pattern is None:
                raise Refused("unterminated address regex")
            while (letter := self._nonblank()) in ("I", "M"):
                pass
            self._back(letter)
            self._regex(pattern)
            return "/"
        if letter.isdigit():
            number = self._number(letter)
            letter = self._nonblank()
            if letter != "~":
                self._back(letter)
                return "0" if number == 0 else "1"
            return "1" if self._number(self._nonblank()) or number else "0"
        if letter in ("+", "~"):
            self._number(self._nonblank())
            return letter
        return "$" if letter == "$" else ""

    def _number(self, letter: str) -> int:
        text = ""
        while letter and letter in "0123456789":
            text, letter = text + letter, self._next()
        self._back(letter)
        return int(text or 0)

    def _until(self, slash: str, *, regex: bool = True) -> str | None:
        """The text up to the delimiter; None where it does not come."""
        out = ""
        while (letter := self._next()) not in ("", "\n"):
            if letter == slash:
                return out
            if letter == "[" and regex and slash != "[":
                inside = _INSIDE.match(self.script, self.place)
                if inside is None:  # it does not close: no delimiter follows
                    self.place = len(self.script.split("\n", 1 + self.script.count("\n", 0, self.place))[0])
                    return None
                out, self.place = out + "[" + inside[0], inside.end()
                continue
            if letter == "\\":
                letter = self._next()
                if not letter:
                    return None
                if letter == "n" and regex:
                    letter = "\n"
                elif letter != "\n" and (letter != slash or (not regex and letter == "&")):
                    out += "\\"
            out += letter
        self._back(letter)
        return None

    def _regex(self, pattern: str) -> None:
        if _UNCHECKED.search(pattern) is None and pattern.isascii():
            wrong = regex_errors.complaint(pattern, extended=self.extended)
            if wrong is not None:
                raise Refused(wrong)

    def _end(self) -> None:
        letter = self._nonblank()
        if letter in ("}", "#"):
            self._back(letter)
        elif letter not in ("", "\n", ";"):
            raise Refused("extra characters after command")

    def _word(self) -> str:
        rest = re.compile(r"[ \t]*([^\s;]*)").match(self.script, self.place)
        assert rest is not None
        self.place = rest.end()
        return rest[1]

    def _line(self) -> str:
        end = self.script.find("\n", self.place)
        end = len(self.script) if end < 0 else end
        line, self.place = self.script[self.place : end], min(end + 1, len(self.script))
        return line

    def _text(self) -> None:
        """The text of a, i or c: to the end of a line that does not end in a backslash."""
        rest = re.compile(r"(?:[^\n\\]|\\.|\\\Z)*\n?", re.S).match(self.script, self.place)
        assert rest is not None
        self.place = rest.end()
        self.open_text = (
            rest.end() == len(self.script) and re.search(r"(?<!\\)(?:\\\\)*\\\n?\Z", rest[0]) is not None
        )

    def rewritten(self) -> str:
        """The last script with its texts in a form without escapes."""
        script = self.script
        for start, end, plain in reversed(self.texts):
            text = plain.replace("\\", "\\\\").replace("\n", "\\\n")
            script = f"{script[:start]}\\\n{text}{script[end:]}"
        return script

    def _named(self, letter: str, first: str, second: str) -> None:
        if letter == "":
            raise Refused("missing command")
        if letter == "#":
            if first:
                raise Refused("comments don't accept any addresses")
            self._line()
        elif letter == "{":
            self.blocks += 1
        elif letter == "}":
            if not self.blocks:
                raise Refused("unexpected `}'")
            if first:
                raise Refused("} doesn't want any addresses")
            self.blocks -= 1
            self._end()
        elif letter in "aic":
            after = self._nonblank()
            if after == "":
                raise Refused(_TEXT)
            start = self.place - 1
            if after != "\\":
                self._back(after)
            elif (newline := re.compile(r"[ \t]*\n").match(self.script, self.place)) is not None:
                self.place = newline.end()
            begin = self.place
            self._text()
            self.open_text |= after == "\\" and begin == len(self.script)
            text = self.script[begin : self.place]
            if not self.open_text and any(_ESCAPES.match(step) for step in _STEPS.findall(text)):
                plain = _STEPS.sub(_meant, text.removesuffix("\n"))
                end = self.place - text.endswith("\n")
                self.texts.append((start, end, plain))
        elif letter == ":":
            if first:
                raise Refused(": doesn't want any addresses")
            if not self._word():
                raise Refused('":" lacks a label')
        elif letter in "btT":
            self._word()
        elif letter == "v":
            if re.match(r"(?:[5-9]|\d\d|4\.[1-9]\d)", self._word()):
                raise Refused("expected newer version of sed")
        elif letter in "qQlL":
            if letter in "qQ" and second:
                raise Refused("command only uses one address")
            self._back(after) if not (after := self._nonblank()).isdigit() else self._number(after)
            self._end()
        elif letter in "=dDFgGhHnNpPzx":
            self._end()
        elif letter in "rRwW":
            if not self._line().lstrip(" \t"):
                raise Refused(_FILENAME)
        elif letter == "s":
            self._substitution()
        elif letter == "y":
            slash = self._next()
            if self._until(slash, regex=False) is None or self._until(slash, regex=False) is None:
                raise Refused("unterminated `y' command")
            self._end()
        elif letter == "e":
            self._line()
        else:
            raise Refused(f"unknown command: `{letter}'")

    def _substitution(self) -> None:
        slash = self._next()
        pattern = self._until(slash)
        new = None if pattern is None else self._until(slash, regex=False)
        if pattern is None or new is None:
            raise Refused("unterminated `s' command")
        seen = ""
        while (letter := self._next()) not in ("", "\n", ";"):
            if letter in "pg" and letter in seen:
                raise Refused(f"multiple `{letter}' options to `s' command")
            if letter in "0123456789":
                if "0" in seen:
                    raise Refused("multiple number options to `s' command")
                if not self._number(letter):
                    raise Refused("number option to `s' command may not be zero")
                letter = "0"
            elif letter == "w":
                if not self._line().lstrip(" \t"):
                    raise Refused(_FILENAME)
                break
            elif letter in "}#":
                self._back(letter)
                break
            elif letter not in "iImMepg ":
                raise Refused("unknown option to `s'")
            seen += letter
        self._regex(pattern)
        groups = _PIECES.findall(pattern).count("(" if self.extended else "\\(")
        for number in re.findall(r"\\\\|\\([1-9])", new):
            if pattern and number and int(number) > groups:
                raise Refused(f"invalid reference \\{number} on `s' command's RHS")
