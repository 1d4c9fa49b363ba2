"""What the GNU C library finds wrong in a regular expression, in its words."""

from __future__ import annotations

from dataclasses import dataclass

BRACKET = "Unmatched [, [^, [:, [., or [="
REPEAT = "Invalid preceding regular expression"
CONTENT = "Invalid content of \\{\\}"
OPEN_BRACE = "Unmatched \\{"
MOST_REPEATS = 32767
CLASSES = frozenset("alpha digit alnum upper lower space blank punct print graph cntrl xdigit".split())


class _Wrong(Exception):
    pass


def complaint(pattern: str, *, extended: bool) -> str | None:
    """The error text for a basic or extended regular expression; None where it is one."""
    try:
        _Parser(pattern, extended).run()
    except _Wrong as wrong:
        return str(wrong)
    return None


@dataclass
class _Parser:
    text: str
    extended: bool
    place: int = 0

    def run(self) -> None:
        open_groups: list[int] = []  # numbers of the groups that are not closed
        groups = 0
        closed: set[int] = set()
        repeatable = repeated = (
            False  # is there something that * could repeat, and is it a repetition itself?
        )
        while self.place < len(self.text):
            token, again = self._token(), repeated and not self.extended
            repeated = token in ("*", "+", "?", "{") and repeatable
            if again and token in ("*", "{"):
                raise _Wrong(REPEAT)
            if token == "[":
                self._bracket()
                repeatable = True
            elif token == "(":
                groups += 1
                open_groups.append(groups)
                repeatable = False
            elif token == ")":
                if not open_groups:
                    raise _Wrong("Unmatched ) or \\)")
                closed.add(open_groups.pop())
                repeatable = True
            elif token == "|":
                repeatable = False
            elif token == "{":
                if not repeatable:
                    raise _Wrong(REPEAT)
                self._interval()
            elif token in ("*", "+", "?"):
                if not repeatable and self.extended:
                    raise _Wrong(REPEAT)
                repeatable = True
            elif token == "^":
                repeatable = repeatable and not self.extended
            elif token[:1] == "\\" and token[1:].isdigit() and token != "\\0":
                if int(token[1:]) not in closed:
                    raise _Wrong("Invalid back reference")
                repeatable = True
            else:
                repeatable = True
        if open_groups:
            raise _Wrong("Unmatched ( or \\(")

    def _token(self) -> str:
        """The next sign: an operator in its extended form, or a letter, with its backslash where it is no operator."""
        sign = self.text[self.place]
        self.place += 1
        if sign == "\\":
            if self.place == len(self.text):
                raise _Wrong("Trailing backslash")
            letter = self.text[self.place]
            self.place += 1
            operator = letter in "(){}|+?" and not self.extended
            return letter if operator and letter != "}" else f"\\{letter}"
        if sign in "(){}|+?" and not self.extended:
            return f"\\{sign}"
        return sign if sign != "}" else "\\}"

    def _interval(self) -> None:
        text, close = self.text, "}" if self.extended else "\\}"
        end = text.find(close, self.place)
        inside = text[self.place :] if end < 0 else text[self.place : end]
        low, comma, high = inside.partition(",")
        if end < 0:
            raise _Wrong(OPEN_BRACE if inside else CONTENT)
        self.place = end + len(close)
        if not (low.isdigit() or (comma and not low)) or not (high.isdigit() or not high):
            raise _Wrong(CONTENT)
        if high and int(low or 0) > int(high):
            raise _Wrong(CONTENT)
        if max(int(low or 0), int(high or 0)) > MOST_REPEATS:
            raise _Wrong("Regular expression too big")

    def _bracket(self) -> None:
        text, place = self.text, self.place
        if text[place : place + 1] == "^":
            place += 1
        first, start = (
            True,
            "",
        )  # is it the first element; the start of a range, if the last element may be one
        while True:
            if place >= len(text):
                raise _Wrong(BRACKET)
            if text[place] == "]" and not first:
                self.place = place + 1
                return
            first = False
            kind = text[place + 1 : place + 2]
            if text[place] == "[" and kind in (":", ".", "=") and kind:
                end = text.find(f"{kind}]", place + 2)
                if end < 0:
                    raise _Wrong(BRACKET)
                if kind == ":" and text[place + 2 : end] not in CLASSES:
                    raise _Wrong("Invalid character class name")
                place, start = end + 2, ""
            elif text[place] == "-" and start and text[place + 1 : place + 2] not in ("]", ""):
                if text[place + 1] != "[" and start > text[place + 1]:
                    raise _Wrong("Invalid range end")
                place, start = place + 2, ""
            else:
                place, start = place + 1, text[place]
