"""An awk program at work: expressions become closures over one machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from echo_terminal.terminal.programs.awk import statements as awk_compile
from echo_terminal.terminal.programs.awk.files import Files, Records, operands, to_bytes, to_text
from echo_terminal.terminal.programs.awk.regex import regex
from echo_terminal.terminal.programs.awk.values import Array, AwkError, Field, num, randoms, show
from echo_terminal.terminal.programs.awk.words import Program
from echo_terminal.terminal.programs.limits import ELEMENT, Budget

Value = Any
Do = Callable[[], Value]
_ODD = re.compile(r"[\r\v\f\x1c-\x1f\x85\xa0]")
_BLANKS = re.compile(r"[^ \t\n]+")


class Machine:
    """Variables, fields and input of one run."""

    def __init__(
        self, program: Program, files: Files, argv: list[str], env: dict[str, str], budget: Budget
    ) -> None:
        self.program, self.files, self.budget = program, files, budget
        self.V: dict[str, Value] = {
            "FS": " ", "OFS": " ", "ORS": "\n", "RS": "\n", "SUBSEP": "\x1c", "CONVFMT": "%.6g", "OFMT": "%.6g",
            "RSTART": 0.0, "RLENGTH": -1.0, "FILENAME": None, "ARGC": float(len(argv)),
        }  # fmt: skip
        self.A = {name: Array(budget) for name in program.arrays | {"ARGV", "ENVIRON"}}
        for n, word in enumerate(argv):
            self.A["ARGV"].values[str(n)] = Field(word)
        if "ENVIRON" in program.arrays:
            for name, value in sorted(env.items()):  # bashkit's order is another in each process
                self.A["ENVIRON"].touch(to_bytes(name), False, True)
                self.A["ENVIRON"].values[to_bytes(name)] = Field(to_bytes(value))
        if "ARGV" in program.arrays:
            for n in range(len(argv)):
                self.A["ARGV"].touch(str(n), True, True)
        self.nr = self.fnr = 0
        self.record: str | None = ""
        self.fields: list[Value] | None = []
        self.frame: dict[str, Value] = {}
        self.result: Value = None
        self.code = 0
        self.seed, self.draws = 0.0, randoms(0)
        self.input: Iterator[tuple[str, Records]] | None = None
        self.records: Records | None = None

    # -- values ----------------------------------------------------------------------------------------------------

    def text(self, value: Value) -> str:
        """A value as text."""
        if type(value) is float:
            return show(value, self.V["CONVFMT"])
        return value or ""

    def where(self) -> str:
        """Where the input stands, for a message."""
        return f'\tFILENAME="{to_text(self.text(self.V["FILENAME"]))}" FNR={self.fnr} NR={self.nr}\n'

    def fail(self, text: str) -> AwkError:
        """A run time error."""
        return AwkError(f"awk: run time error: {text}\n{self.where()}")

    # -- fields ----------------------------------------------------------------------------------------------------

    def set_record(self, text: str) -> None:
        """A new ``$0``."""
        self.record, self.fields = text, None

    def whole(self) -> str:
        """``$0``."""
        if self.record is None:
            assert self.fields is not None
            self.record = self.text(self.V["OFS"]).join(map(self.text, self.fields))
        return self.record

    def parts(self) -> list[Value]:
        """``$1`` and so on."""
        if self.fields is None:
            assert self.record is not None
            self.fields = self.divide(self.record, self.V["FS"])
        return self.fields

    def divide(self, text: str, separator: Value) -> list[Value]:
        """The fields of a text."""
        separator = self.text(separator)
        self.budget.made(len(text) if separator else ELEMENT * len(text))
        if separator == " ":
            return list(map(Field, _BLANKS.findall(text) if _ODD.search(text) else text.split()))
        if not text:
            return []
        if len(separator) == 1:
            return list(map(Field, text.split(separator)))
        if not separator:
            return list(map(Field, text))
        found, place = [], 0
        for m in regex(separator).finditer(text):
            if m.end() > m.start():
                found.append(Field(text[place : m.start()]))
                place = m.end()
        return [*found, Field(text[place:])]

    def get_field(self, number: int) -> Value:
        """A field."""
        if number == 0:
            return Field(self.whole())
        if number < 0:
            raise self.fail(f"negative field index ${number}")
        parts = self.fields if self.fields is not None else self.parts()
        return parts[number - 1] if number <= len(parts) else None

    def set_field(self, number: int, value: Value) -> None:
        """Assign to a field."""
        if number == 0:
            self.set_record(self.text(value))
            return
        if number < 0:
            raise self.fail(f"negative field index ${number}")
        parts = self.parts()
        self.budget.fits(number)
        while len(parts) < number:
            parts.append("")
        parts[number - 1] = value
        self.record = None

    def get(self, name: str) -> Value:
        """A global variable."""
        if name == "NF":
            return float(len(self.parts()))
        if name == "NR":
            return float(self.nr)
        if name == "FNR":
            return float(self.fnr)
        return self.V.get(name)

    def set(self, name: str, value: Value) -> None:
        """Assign to a global variable."""
        if name == "NF":
            parts, count = self.parts(), int(num(value))
            self.budget.fits(count)
            self.fields = (parts + [""] * (count - len(parts)))[: max(0, count)]
            self.record = None
        elif name == "NR":
            self.nr = int(num(value))
        elif name == "FNR":
            self.fnr = int(num(value))
        elif name in ("FS", "RS", "OFS", "ORS", "SUBSEP", "CONVFMT", "OFMT"):
            if name == "FS":
                self.parts()
            self.V[name] = self.text(value)
        else:
            self.V[name] = value

    # -- input -----------------------------------------------------------------------------------------------------

    def next_record(self) -> str | None:
        """The next record of the main input."""
        if self.input is None:
            self.input = operands(self.files, self.argv, self.set)
        while True:
            if self.records is None:
                found = next(self.input, None)
                if found is None:
                    return None
                self.V["FILENAME"], self.records = found
                self.fnr = 0
            record = self.records.next(self.V["RS"])
            if record is not None:
                self.nr += 1
                self.fnr += 1
                return record
            self.records = None

    def argv(self) -> list[str]:
        """The words of ``ARGV``."""
        values, count = self.A["ARGV"].values, int(num(self.V["ARGC"]))
        return [self.text(values.get(str(n))) for n in range(count)]

    # -- the run ---------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Run the program; its exit code.

        Raises:
            AwkError: it cannot go on.
        """
        begin, rules, end = awk_compile.Compiler(self).program()
        over = any(do() == "exit" for do in begin)
        if not over and (rules or end):
            self.main(rules)
        for do in end:
            if do() == "exit":
                break
        return self.code

    def main(self, rules: list[Do]) -> None:
        """Apply the rules to every record."""
        while (record := self.next_record()) is not None:
            self.record, self.fields = record, None
            for rule in rules:
                signal = rule()
                if signal is not None:
                    if signal == "exit":
                        return
                    if signal == "nextfile":
                        self.records = None
                    break
