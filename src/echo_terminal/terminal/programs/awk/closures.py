"""Closures for the expressions of an awk program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from echo_terminal.terminal.programs.awk import functions as awk_functions
from echo_terminal.terminal.programs.awk.regex import regex
from echo_terminal.terminal.programs.awk.values import Array, AwkError, compare, num, true
from echo_terminal.terminal.programs.awk.words import Function, Node

if TYPE_CHECKING:
    from echo_terminal.terminal.programs.awk.machine import Machine

Do = Callable[[], Any]


def compared(op: str, left: Do, right: Do, V: dict[str, Any]) -> Do:
    """A comparison."""
    if op == "==":
        return lambda: 1.0 if compare(left(), right(), V["CONVFMT"]) == 0 else 0.0
    if op == "!=":
        return lambda: 1.0 if compare(left(), right(), V["CONVFMT"]) != 0 else 0.0
    if op == "<":
        return lambda: 1.0 if compare(left(), right(), V["CONVFMT"]) < 0 else 0.0
    if op == "<=":
        return lambda: 1.0 if compare(left(), right(), V["CONVFMT"]) <= 0 else 0.0
    if op == ">":
        return lambda: 1.0 if compare(left(), right(), V["CONVFMT"]) > 0 else 0.0
    return lambda: 1.0 if compare(left(), right(), V["CONVFMT"]) >= 0 else 0.0


def divided(a: float, b: float) -> float:
    """C's quotient."""
    if b != 0:
        return a / b
    if a == 0 or a != a:
        return -math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def rest(a: float, b: float) -> float:
    """C's ``fmod``."""
    try:
        return math.fmod(a, b)
    except ValueError:
        return -math.nan


def power(a: float, b: float) -> float:
    """C's ``pow``."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf if a > 0 or b % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if a == 0 else -math.nan


MATH: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": divided, "%": rest, "^": power,
}  # fmt: skip


class Exited(Exception):
    """``exit`` in a function."""


class Closures:
    """Makes the closures of expressions for one machine."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self.function: Function | None = None
        self.bodies: dict[str, Do] = {}

    def expression(self, node: Node) -> Do:
        """An expression."""
        kind, m = node[0], self.m
        if kind == "constant":
            value = node[1]
            return lambda: value
        if kind == "field":
            return self.field(node[1])
        if kind == "name":
            return self.name(node[1])
        if kind == "held":
            return self.expression(node[1])
        if kind == "item":
            return self.item(node[1], node[2])
        if kind == "cat":
            text, a, b = m.text, self.expression(node[1]), self.expression(node[2])
            fits = m.budget.fits

            def joined() -> str:
                left, right = text(a()), text(b())
                fits(len(left) + len(right))
                return left + right

            return joined
        if kind == "math":
            op, a, b = MATH[node[1]], self.expression(node[2]), self.expression(node[3])
            return lambda: op(num(a()), num(b()))
        if kind == "compare":
            return compared(node[1], self.expression(node[2]), self.expression(node[3]), m.V)
        if kind == "regex":
            search = regex(node[1]).search
            return lambda: 1.0 if search(m.whole()) else 0.0
        if kind in ("~", "!~"):
            return self.matched(node)
        if kind in ("&&", "||", "?", "not", "sign"):
            return self.logic(node)
        if kind in ("set", "before", "after"):
            return self.changed(node)
        if kind == "in":
            key, array = self.key(node[1]), self.array(node[2])
            return lambda: 1.0 if array().touch(*key(), False) else 0.0
        if kind == "call":
            return self.call(node[1], node[2])
        if kind == "builtin":
            return awk_functions.builtin(self, node[1], node[2])
        if kind == "group":
            key = self.key(node[1])
            return lambda: key()[0]
        return awk_functions.getline(self, node)

    def field(self, node: Node) -> Do:
        """``$`` of something."""
        m = self.m
        if node[0] == "constant" and type(node[1]) is float:
            number = int(node[1])
            return lambda: m.get_field(number)
        where = self.expression(node)
        return lambda: m.get_field(int(num(where())))

    def local(self, name: str) -> bool:
        """Is it a parameter of the function at hand?"""
        return self.function is not None and name in self.function.names

    def name(self, name: str) -> Do:
        """A variable."""
        m = self.m
        if self.local(name):
            return lambda: m.frame[name]
        if name in m.program.arrays:
            raise AwkError(f"awk: line 1: illegal reference to array {name}\n")
        if name in ("NF", "NR", "FNR"):
            return lambda: m.get(name)
        get = m.V.get
        return lambda: get(name)

    def array(self, name: str) -> Callable[[], Array]:
        """An array."""
        m = self.m
        if self.local(name):
            return lambda: m.frame[name]
        array = m.A.setdefault(name, Array(m.budget))
        return lambda: array

    def key(self, nodes: list[Node]) -> Callable[[], tuple[str, bool]]:
        """A subscript as text, and whether it is a whole number."""
        m, V = self.m, self.m.V
        if len(nodes) == 1:
            value = self.expression(nodes[0])

            def one() -> tuple[str, bool]:
                v = value()
                if type(v) is float:
                    whole = v == v and abs(v) <= 2147483647 and v == int(v)
                    return (str(int(v)), True) if whole else (m.text(v), False)
                return v or "", False

            return one
        values = [self.expression(n) for n in nodes]
        return lambda: (V["SUBSEP"].join([m.text(v()) for v in values]), False)

    def item(self, name: str, nodes: list[Node]) -> Do:
        """An element."""
        array, key = self.array(name), self.key(nodes)

        def get() -> Any:
            text, number = key()
            found = array()
            found.touch(text, number, True)
            return found.values[text]

        return get

    def matched(self, node: Node) -> Do:
        """``~`` and ``!~``."""
        m, value = self.m, self.expression(node[1])
        yes, no = (1.0, 0.0) if node[0] == "~" else (0.0, 1.0)
        pattern = self.pattern(node[2])
        return lambda: yes if pattern().search(m.text(value())) else no

    def pattern(self, node: Node) -> Callable[[], Any]:
        """What is used as a regular expression."""
        m = self.m
        if node[0] == "regex" or (node[0] == "constant" and type(node[1]) is str):
            fixed = regex(node[1])
            return lambda: fixed
        value = self.expression(node)
        return lambda: regex(m.text(value()))

    def logic(self, node: Node) -> Do:
        """Operators on truth, and signs."""
        kind = node[0]
        if kind == "sign":
            a = self.expression(node[2])
            return (lambda: -num(a())) if node[1] == "-" else (lambda: num(a()))
        a = self.expression(node[1])
        if kind == "not":
            return lambda: 0.0 if true(a()) else 1.0
        b = self.expression(node[2])
        if kind == "&&":
            return lambda: 1.0 if true(a()) and true(b()) else 0.0
        if kind == "||":
            return lambda: 1.0 if true(a()) or true(b()) else 0.0
        c = self.expression(node[3])
        return lambda: b() if true(a()) else c()

    def assign(self, node: Node) -> Callable[[Any], None]:
        """How a value is put into a variable, an element or a field."""
        m = self.m
        if node[0] == "field":
            where = self.expression(node[1])
            return lambda value: m.set_field(int(num(where())), value)
        if node[0] == "item":
            array, key = self.array(node[1]), self.key(node[2])

            def put(value: Any) -> None:
                text, number = key()
                found = array()
                found.touch(text, number, True)
                found.values[text] = value

            return put
        name = node[1]
        if self.local(name):

            def store(value: Any) -> None:
                m.frame[name] = value

            return store
        if name in m.program.arrays:
            raise AwkError(f"awk: line 1: illegal reference to array {name}\n")
        return lambda value: m.set(name, value)

    def changed(self, node: Node) -> Do:
        """Assignments, ``++`` and ``--``; a subscript is worked out once."""
        kind, op = node[0], node[1]
        target = node[2]
        if target[0] == "item":
            return self.changed_item(node)
        get, put = self.expression(target), self.assign(target)
        if kind == "set":
            value = self.expression(node[3])
            if not op:

                def assign() -> Any:
                    v = value()
                    put(v)
                    return v

                return assign
            work = MATH[op]

            def update() -> float:
                v = num(value())
                new = work(num(get()), v)
                put(new)
                return new

            return update
        step = 1.0 if op == "++" else -1.0

        def count() -> float:
            old = num(get())
            put(old + step)
            return old if kind == "after" else old + step

        return count

    def changed_item(self, node: Node) -> Do:
        """The same for an element."""
        kind, op, (_, name, nodes) = node[0], node[1], node[2]
        array, key = self.array(name), self.key(nodes)
        value = self.expression(node[3]) if kind == "set" else None
        work = MATH[op[0]] if op else None
        after = kind == "after"

        def change() -> Any:
            text, number = key()
            found = array()
            found.touch(text, number, True)
            if work is None:
                assert value is not None
                new = value()
            else:
                v = num(value()) if value is not None else 1.0
                old = num(found.values.get(text))
                new = work(old, v)
                if after:
                    found.values[text] = new
                    return old
            found.values[text] = new
            return new

        return change

    def call(self, name: str, nodes: list[Node]) -> Do:
        """A call of a function of the program."""
        m, function, bodies = self.m, self.m.program.functions[name], self.bodies
        given: list[Do] = []
        for parameter, node in zip(function.names, nodes, strict=False):
            given.append(self.array(node[1]) if parameter in function.arrays else self.expression(node))
        rest_ = function.names[len(nodes) :]

        def run() -> Any:
            values = [g() for g in given]
            frame: dict[str, Any] = dict(zip(function.names, values, strict=False))
            for parameter in rest_:
                frame[parameter] = Array(m.budget) if parameter in function.arrays else None
            outer, m.frame = m.frame, frame
            m.result = None
            try:
                signal = bodies[name]()
            finally:
                m.frame = outer
            if signal == "exit":
                raise Exited
            result, m.result = m.result, None
            return result

        return run
