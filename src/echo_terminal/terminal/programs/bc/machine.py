"""What runs the statements of GNU bc 1.07: variables, arrays, functions, and the messages of errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt

from echo_terminal.terminal.programs.bc.grammar import Node
from echo_terminal.terminal.programs.bc.numbers import (
    LIBRARY,
    ONE,
    ZERO,
    Number,
    cut,
    digits_of,
    shown,
    wrapped,
)

STEPS = 20_000  # statements that one run may take; a number may have four times as many bits

DIGITS = (
    100_000  # behind the point that a result may have; in the library a tenth, of ``e`` and ``l`` a fortieth
)


class Fault(Exception):
    """An error at run time: the rest of the line is dropped."""


class Leave(Exception):
    """``break``, ``continue``, ``quit`` or ``return``; ``endless``: more work than a run may do."""

    def __init__(self, kind: str, value: Number = ZERO) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


@dataclass
class Machine:
    """Variables, arrays, functions and the texts written so far."""

    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    values: dict[str, Number] = field(default_factory=dict)
    arrays: dict[str, dict[int, Number]] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    library: bool = False
    where: str = "(main)"
    steps: int = 0

    def __post_init__(self) -> None:
        self.values |= {"scale": Number(20 if self.library else 0), "ibase": Number(10), "obase": Number(10)}

    @property
    def scale(self) -> int:
        """Digits behind the point that a division gives."""
        return self.values["scale"].value

    def fine(self, most: int) -> None:
        """The scale is about to be used.

        Raises:
            Leave: it asks for more digits than ``most``.
        """
        if self.scale > most:
            raise Leave("endless")

    def fail(self, adr: int, text: str) -> Fault:
        """The error to raise; its message is written."""
        self.err.append(f"Runtime error (func={self.where}, adr={adr}): {text}\n")
        return Fault()

    # -- statements ------------------------------------------------------------------------------------------------

    def run(self, node: Node) -> None:
        """Run one statement."""
        self.steps += 1
        if self.steps > STEPS:
            raise Leave("endless")
        getattr(self, f"run_{node[0]}")(*node[1:])

    def run_text(self, text: str) -> None:
        """A string stands for its output."""
        self.out.append(text)

    def run_show(self, node: Node) -> None:
        """A value is printed on a line."""
        value = self.value(node)
        self.values["last"] = value
        self.out.append(wrapped(shown(value, self.values["obase"].value)) + "\n")

    def run_drop(self, node: Node) -> None:
        """An assignment prints nothing."""
        self.value(node)

    def run_print(self, nodes: list[Node]) -> None:
        """Strings with escapes, and values without an end of line."""
        for node in nodes:
            if node[0] == "text":
                for escape, plain in (("\\n", "\n"), ("\\t", "\t"), ("\\q", '"'), ("\\\\", "\\")):
                    node = ("text", node[1].replace(escape, plain))
                self.out.append(node[1])
            else:
                self.values["last"] = self.value(node)
                self.out.append(shown(self.values["last"], self.values["obase"].value))

    def run_signal(self, kind: str) -> None:
        """Leave what is running."""
        raise Leave(kind)

    def run_return(self, node: Node | None) -> None:
        """Leave a function with a value."""
        raise Leave("return", ZERO if node is None else self.value(node))

    def run_block(self, nodes: list[Node]) -> None:
        """One after another."""
        for node in nodes:
            self.run(node)

    def run_if(self, test: Node, first: Node, second: Node | None) -> None:
        """A choice."""
        if self.value(test).value:
            self.run(first)
        elif second is not None:
            self.run(second)

    def run_loop(self, start: Node | None, test: Node | None, step: Node | None, body: Node) -> None:
        """``for`` and ``while``."""
        if start is not None:
            self.value(start)
        while test is None or self.value(test).value:
            try:
                self.run(body)
            except Leave as leave:
                if leave.kind == "break":
                    return
                if leave.kind != "continue":
                    raise
            if step is not None:
                self.value(step)

    def run_define(self, name: str, parameters: list[str], autos: list[str], body: list[Node]) -> None:
        """Remember a function."""
        self.functions[name] = (parameters, autos, body)

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> Number:
        """The value of an expression."""
        found: Number = getattr(self, f"value_{node[0]}")(*node[1:])
        return found

    def value_number(self, text: str) -> Number:
        """A constant, read in the input base."""
        base = self.values["ibase"].value
        whole, _, rest = text.partition(".")
        digits = [int(c, 16) for c in whole]
        if len(digits) + len(rest) > 1:
            digits = [min(d, base - 1) for d in digits]
        value = 0
        for digit in digits:
            value = value * base + digit
        if not rest:
            return Number(value)
        part = 0
        for letter in rest:
            part = part * base + min(int(letter, 16), base - 1)
        scale = len(rest)
        return Number(value * int(10**scale) + part * int(10**scale) // int(base**scale), scale)

    def value_group(self, node: Node) -> Number:
        """Parentheses."""
        return self.value(node)

    def value_negative(self, node: Node) -> Number:
        """The opposite."""
        inner = self.value(node)
        return Number(-inner.value, inner.scale)

    def value_not(self, node: Node) -> Number:
        """1 for zero."""
        return ZERO if self.value(node).value else ONE

    def value_and(self, left: Node, right: Node) -> Number:
        """Both are looked at."""
        a, b = self.value(left), self.value(right)
        return ONE if a.value and b.value else ZERO

    def value_or(self, left: Node, right: Node) -> Number:
        """Both are looked at."""
        a, b = self.value(left), self.value(right)
        return ONE if a.value or b.value else ZERO

    def value_compare(self, sign: str, left: Node, right: Node) -> Number:
        """1 where it holds."""
        one, two = self.value(left), self.value(right)
        scale = max(one.scale, two.scale)
        a, b = one.at(scale), two.at(scale)
        holds = {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b, "!=": a != b}[sign]
        return ONE if holds else ZERO

    def value_binary(self, sign: str, left: Node, right: Node, adr: int) -> Number:
        """Arithmetic of two values."""
        a, b = self.value(left), self.value(right)
        return self.calculate(sign, a, b, adr)

    def calculate(self, sign: str, a: Number, b: Number, adr: int) -> Number:
        """``a sign b`` with the scale that POSIX gives the result."""
        scale = max(a.scale, b.scale)
        if sign in "+-":
            return Number(a.at(scale) + (b.at(scale) if sign == "+" else -b.at(scale)), scale)
        if sign == "*":
            if a.value.bit_length() + b.value.bit_length() > 4 * STEPS:
                raise Leave("endless")
            kept = min(a.scale + b.scale, max(self.scale, scale))
            return Number(Number(a.value * b.value, a.scale + b.scale).at(kept), kept)
        if sign == "^":
            return self.power(a, b, adr)
        self.fine(DIGITS)
        if b.value == 0:
            raise self.fail(adr, "Divide by zero" if sign == "/" else "Modulo by zero")
        quotient = Number(
            cut(a.value * int(10 ** (self.scale + b.scale)), b.value * int(10**a.scale)), self.scale
        )
        if sign == "/":
            return quotient
        kept = max(self.scale + b.scale, a.scale)
        return Number(a.at(kept) - Number(quotient.value * b.value, quotient.scale + b.scale).at(kept), kept)

    def power(self, a: Number, b: Number, adr: int) -> Number:
        """A power with a whole exponent."""
        if b.scale and b.value % int(10**b.scale):
            self.err.append(f"Runtime warning (func={self.where}, adr={adr}): non-zero scale in exponent\n")
        times = b.at(0)
        if abs(times) * a.value.bit_length() > 4 * STEPS:
            raise self.fail(adr, "exponent too large in raise")
        if times == 0:
            return ONE
        whole = Number(a.value ** abs(times), a.scale * abs(times))
        if times > 0:
            kept = min(a.scale * times, max(self.scale, a.scale))
            return Number(whole.at(kept), kept)
        self.fine(DIGITS)
        if a.value == 0:
            raise self.fail(adr, "Divide by zero")
        return Number(cut(int(10 ** (self.scale + whole.scale)), whole.value), self.scale)

    def value_function(self, name: str, node: Node, adr: int) -> Number:
        """``sqrt``, ``length`` and ``scale``."""
        inner = self.value(node)
        if name == "scale":
            return Number(inner.scale)
        if name == "length":
            return Number(max(len(digits_of(abs(inner.value))), inner.scale))
        if inner.value < 0:
            raise self.fail(adr, "Square root of a negative number")
        self.fine(DIGITS)
        kept = max(self.scale, inner.scale)
        return Number(isqrt(inner.at(2 * kept)), kept)

    def value_place(self, name: str, index: Node | None) -> Number:
        """What a variable or an array's item holds."""
        if index is not None:
            return self.arrays.get(name, {}).get(self.value(index).at(0), ZERO)
        return self.values.get(name, ZERO)

    def value_array(self, name: str) -> Number:
        """An array has no value of its own."""
        return ZERO

    def store(self, place: Node, value: Number) -> None:
        """Set a variable or an array's item."""
        _, name, index = place
        if index is not None:
            self.arrays.setdefault(name, {})[self.value(index).at(0)] = value
            return
        if name in ("ibase", "obase", "scale"):
            least, most = {"ibase": (2, 16), "obase": (2, 1 << 31), "scale": (0, 1 << 31)}[name]
            value = Number(min(max(value.at(0), least), most))
        self.values[name] = value

    def value_assign(self, sign: str, place: Node, node: Node, adr: int) -> Number:
        """The value that a place gets."""
        value = self.value(node)
        if sign:
            value = self.calculate(sign, self.value(place), value, adr)
        self.store(place, value)
        return value

    def value_before(self, sign: str, place: Node) -> Number:
        """``++x``: the new value."""
        self.store(place, self.calculate(sign, self.value(place), ONE, 0))
        return self.value(place)

    def value_after(self, sign: str, place: Node) -> Number:
        """``x++``: the old value."""
        old = self.value(place)
        self.store(place, self.calculate(sign, old, ONE, 0))
        return old

    def value_call(self, name: str, given: list[Node], adr: int) -> Number:
        """The value that a function returns."""
        if name not in self.functions:
            if self.library and name in LIBRARY and len(given) == 1:
                self.fine(DIGITS // (40 if name in "el" else 10))
                return LIBRARY[name](self.value(given[0]), self.scale)
            raise self.fail(adr, f"Function {name} not defined.")
        parameters, autos, body = self.functions[name]
        if len(parameters) != len(given):
            raise self.fail(adr, "Parameter number mismatch")
        inputs = [self.value(node) for node in given]
        names = [*parameters, *autos]
        kept = {n: self.values.get(n) for n in names}
        self.values |= {n: ZERO for n in autos} | dict(zip(parameters, inputs, strict=True))
        outer, self.where = self.where, name
        try:
            self.run_block(body)
        except Leave as leave:
            if leave.kind != "return":
                raise
            return leave.value
        except RecursionError:
            raise self.fail(adr, "Stack error") from None
        finally:
            self.where = outer
            for n, old in kept.items():
                self.values.pop(n, None)
                if old is not None:
                    self.values[n] = old
        return ZERO
