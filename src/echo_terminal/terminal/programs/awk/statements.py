"""Closures for the rules and statements of an awk program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from echo_terminal.terminal.programs.awk.closures import Closures, Do
from echo_terminal.terminal.programs.awk.values import form_text, num, show, true
from echo_terminal.terminal.programs.awk.words import Node


class Compiler(Closures):
    """Makes the closures of one program for one machine."""

    def program(self) -> tuple[list[Do], list[Do], list[Do]]:
        """What to do at the start, for every record and at the end."""
        p = self.m.program
        for function in p.functions.values():
            self.function = function
            self.bodies[function.name] = self.statement(function.body)
        self.function = None
        rules = [self.rule(*rule) for rule in p.main]
        return [self.statement(b) for b in p.begin], rules, [self.statement(b) for b in p.end]

    def rule(self, first: Node | None, last: Node | None, body: Node | None) -> Do:
        """A rule of the main input."""
        do = self.statement(body if body is not None else ("print", [], None, None))
        if first is None:
            return do
        test = self.expression(first)
        if last is None:
            return lambda: do() if true(test()) else None
        until, inside = self.expression(last), [False]

        def ranged() -> Any:
            if not inside[0]:
                if not true(test()):
                    return None
                inside[0] = True
            if true(until()):
                inside[0] = False
            return do()

        return ranged

    def statement(self, node: Node) -> Do:
        """A statement: it returns None, or why the ones behind it are left out."""
        kind = node[0]
        if kind == "do":
            value = self.expression(node[1])

            def plain() -> None:
                value()

            return plain
        if kind == "block":
            steps = [self.statement(n) for n in node[1]]
            if len(steps) == 1:
                return steps[0]

            def block() -> Any:
                for step in steps:
                    signal = step()
                    if signal is not None:
                        return signal
                return None

            return block
        if kind == "if":
            test, yes = self.expression(node[1]), self.statement(node[2])
            no = self.statement(node[3]) if node[3] is not None else None
            if no is None:
                return lambda: yes() if true(test()) else None
            return lambda: yes() if true(test()) else no()
        if kind in ("while", "for", "do while", "for in"):
            return self.loop(node)
        if kind in ("print", "printf"):
            return self.printed(*node)
        if kind in ("exit", "return"):
            return self.left(node)
        if kind == "delete":
            return self.deleted(node[1], node[2])
        return lambda: kind  # break, continue, next, nextfile

    def left(self, node: Node) -> Do:
        """``exit`` and ``return``."""
        kind, m = node[0], self.m
        value = self.expression(node[1]) if node[1] is not None else None

        def leave() -> str:
            if kind == "return":
                m.result = value() if value is not None else None
            elif value is not None:
                m.code = int(num(value())) & 255
            return str(kind)

        return leave

    def loop(self, node: Node) -> Do:
        """Loops."""
        kind = node[0]
        if kind == "for in":
            assign, array, body = self.assign(("name", node[1])), self.array(node[2]), self.statement(node[3])

            def each() -> Any:
                for key in array().keys():
                    assign(key)
                    signal = body()
                    if signal is not None and signal != "continue":
                        return None if signal == "break" else signal
                return None

            return each
        first = then = None
        if kind == "for":
            first = self.statement(node[1]) if node[1] is not None else None
            test = self.expression(node[2]) if node[2] is not None else lambda: 1.0
            then = self.statement(node[3]) if node[3] is not None else None
            body = self.statement(node[4])
        elif kind == "while":
            test, body = self.expression(node[1]), self.statement(node[2])
        else:
            test, body = self.expression(node[2]), self.statement(node[1])
        late = kind == "do while"

        def repeat() -> Any:
            if first is not None:
                first()
            skip = late
            while skip or true(test()):
                skip = False
                signal = body()
                if signal is not None and signal != "continue":
                    return None if signal == "break" else signal
                if then is not None:
                    then()
            return None

        return repeat

    def deleted(self, name: str, keys: list[Node] | None) -> Do:
        """``delete``."""
        array = self.array(name)
        if keys is None:
            return lambda: array().clear()
        key = self.key(keys)
        return lambda: array().delete(*key())

    def printed(self, kind: str, nodes: list[Node], way: str | None, target: Node | None) -> Do:
        """``print`` and ``printf``."""
        m, files, V = self.m, self.m.files, self.m.V
        values = [self.expression(n) for n in nodes]

        def shown(value: Any) -> str:
            return show(value, V["OFMT"]) if type(value) is float else value or ""

        put: Callable[[str], None] = files.write
        if target is not None:
            name = self.expression(target)

            def put(text: str) -> None:
                files.send(text, way or ">", m.text(name()), m.where)

        if kind == "printf":
            form, rest_ = values[0], values[1:]

            def formatted() -> None:
                text = m.text(form())
                put(form_text(text, [v() for v in rest_], "printf", m.where(), m.budget.fits, put))

            return formatted
        if not values:

            def print_record() -> None:
                put(m.whole() + V["ORS"])

            return print_record
        if len(values) == 1:
            only = values[0]

            def print_one() -> None:
                put(shown(only()) + V["ORS"])

            return print_one

        def print_all() -> None:
            put(V["OFS"].join([shown(v()) for v in values]) + V["ORS"])

        return print_all
