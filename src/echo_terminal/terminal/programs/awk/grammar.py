"""The grammar of awk as mawk 1.3.4 has it: a program becomes nested tuples ``(kind, ...)``."""

from __future__ import annotations

from echo_terminal.terminal.programs.awk.expressions import Expressions
from echo_terminal.terminal.programs.awk.values import AwkError
from echo_terminal.terminal.programs.awk.words import BUILTINS, CAT, KEYWORDS, Function, Node, Program


class Parser(Expressions):
    """One pass over the tokens of a program."""

    # -- program ---------------------------------------------------------------------------------------------------

    def parse(self) -> Program:
        """The whole program.

        Raises:
            AwkError: it is none.
        """
        while True:
            while self.at("\n", ";"):
                self.take()
            if self.tokens[self.place].kind == "end":
                break
            self.rule()
        self.resolve()
        return self.program

    def rule(self) -> None:
        """A pattern with its action, or a function."""
        if self.at("}"):
            raise AwkError(
                f"awk: line {self.tokens[self.place].line}: extra '}}'\n"
                f"awk: line {self.tokens[self.place].line}: syntax error at or near end of line\n"
            )
        if self.at("function"):
            self.define()
            return
        if self.at("BEGIN", "END"):
            self.scope = self.take().text
            if not self.at("{"):
                raise self.error()
            (self.program.begin if self.scope == "BEGIN" else self.program.end).append(self.block())
            return
        self.scope = "main"
        first = last = None
        if not self.at("{"):
            first = self.expression()
            if self.at(","):
                self.take()
                self.lines()
                last = self.expression()
        body = self.block() if self.at("{") else None
        if body is None and not self.at("\n", ";"):
            raise self.error()
        self.program.main.append((first, last, body))

    def define(self) -> None:
        """A function."""
        self.take()
        name = self.tokens[self.place]
        if name.kind not in ("word", "call") or name.text in KEYWORDS or name.text in BUILTINS:
            raise self.error()
        self.take()
        self.want("(")
        names: list[str] = []
        while not self.at(")"):
            if names:
                self.want(",")
                self.lines()
            token = self.tokens[self.place]
            if token.kind != "word" or token.text in KEYWORDS or token.text == name.text:
                raise self.error()
            names.append(self.take().text)
        self.take()
        self.lines()
        self.function = self.program.functions[name.text] = Function(name.text, names)
        self.scope = "function"
        if not self.at("{"):
            raise self.error()
        self.function.body = self.block()
        self.function = None

    def resolve(self) -> None:
        """Which names are arrays: those used so, and those passed where an array is wanted."""
        functions, last = self.program.functions, self.tokens[-1].line
        for _, name, given, line in self.calls:
            if name not in functions:
                raise self.complain(f"function {name} never defined", last)
            if len(given) > len(functions[name].names):
                raise self.complain(f"too many arguments in call to {name}", line)
        changed = True
        while changed:
            changed = False
            for caller, name, given, line in self.calls:
                callee = functions[name]
                for number, (parameter, node) in enumerate(zip(callee.names, given, strict=False), 1):
                    bare = node[0] == "name"
                    inner = functions[caller] if caller else None
                    own = (
                        inner.arrays
                        if inner is not None and bare and node[1] in inner.names
                        else self.program.arrays
                    )
                    if parameter in callee.arrays:
                        if not bare or self.used.get(node[1]) == "variable" and own is self.program.arrays:
                            raise self.complain(f"type error in arg({number}) in call to {name}", line)
                        if node[1] not in own:
                            own.add(node[1])
                            changed = True
                    elif bare and node[1] in own:
                        callee.arrays.add(parameter)
                        changed = True

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self) -> Node:
        """Statements in braces."""
        self.want("{")
        found = []
        self.lines()
        while not self.at("}"):
            found.append(self.statement())
            self.lines()
        self.take()
        return ("block", found)

    def ended(self) -> None:
        """The end of a simple statement."""
        if self.at(";", "\n"):
            self.take()
        elif not self.at("}"):
            raise self.error()

    def body(self) -> Node:
        """What a condition governs."""
        self.lines()
        if self.at(";"):
            self.take()
            return ("block", [])
        return self.statement()

    def statement(self) -> Node:
        """One statement."""
        kind, text, line = self.tokens[self.place]
        if kind == "sign" and text == "{":
            return self.block()
        if kind == "sign" and text == ";":
            self.take()
            return ("block", [])
        if kind == "word" and text in KEYWORDS:
            special = getattr(self, f"on_{text}", None)
            if special is not None:
                self.take()
                return special(line)
        node = self.simple()
        self.ended()
        return node

    def simple(self) -> Node:
        """A statement without its end: an expression."""
        return ("do", self.expression())

    def condition(self) -> Node:
        """An expression in parentheses."""
        self.want("(")
        node = self.expression()
        self.want(")")
        return node

    def on_if(self, _: int) -> Node:
        """``if``."""
        test = self.condition()
        yes = self.body()
        place = self.place
        while self.at("\n", ";"):
            self.place += 1
        if self.at("else"):
            self.take()
            return ("if", test, yes, self.body())
        self.place = place
        return ("if", test, yes, None)

    def on_while(self, _: int) -> Node:
        """``while``."""
        test = self.condition()
        if self.at(";"):
            self.take()
            return ("while", test, ("block", []))
        return ("while", test, self.looped())

    def looped(self) -> Node:
        """The body of a loop."""
        self.loops += 1
        node = self.body()
        self.loops -= 1
        return node

    def on_do(self, _: int) -> Node:
        """``do ... while``."""
        node = self.looped()
        while self.at("\n", ";"):
            self.place += 1
        self.want("while")
        test = self.condition()
        self.ended()
        return ("do while", node, test)

    def on_for(self, _: int) -> Node:
        """``for``."""
        self.want("(")
        texts = [t.text for t in self.tokens[self.place : self.place + 4]]
        if texts[1:2] == ["in"] and texts[3:4] == [")"]:
            name = self.variable(self.take().text)
            self.take()
            array = self.array(self.take().text)
            self.take()
            return ("for in", name, array, self.looped())
        first = None if self.at(";") else self.simple()
        self.want(";")
        self.lines()
        test = None if self.at(";") else self.expression()
        self.want(";")
        self.lines()
        then = None if self.at(")") else self.simple()
        self.want(")")
        return ("for", first, test, then, self.looped())

    def _jump(self, kind: str, line: int) -> Node:
        if self.loops == 0:
            raise self.complain(f"{kind} statement outside of loop", line)
        self.ended()
        return (kind,)

    def on_break(self, line: int) -> Node:
        """``break``."""
        return self._jump("break", line)

    def on_continue(self, line: int) -> Node:
        """``continue``."""
        return self._jump("continue", line)

    def _next(self, kind: str, line: int) -> Node:
        if self.scope != "main":
            raise self.complain(f"improper use of {kind}", line)
        self.ended()
        return (kind,)

    def on_next(self, line: int) -> Node:
        """``next``."""
        return self._next("next", line)

    def on_nextfile(self, line: int) -> Node:
        """``nextfile``."""
        return self._next("nextfile", line)

    def _optional(self) -> Node | None:
        node = None if self.at(";", "\n", "}") else self.expression()
        self.ended()
        return node

    def on_exit(self, _: int) -> Node:
        """``exit``."""
        return ("exit", self._optional())

    def on_return(self, line: int) -> Node:
        """``return``."""
        if self.scope != "function":
            raise self.complain("return outside function body", line)
        return ("return", self._optional())

    def on_delete(self, _: int) -> Node:
        """``delete``."""
        if self.tokens[self.place].kind != "word":
            raise self.error()
        array = self.array(self.take().text)
        keys = self.subscript() if self.at("[") else None
        self.ended()
        return ("delete", array, keys)

    def on_print(self, line: int) -> Node:
        """``print``."""
        return self._print("print", line)

    def on_printf(self, line: int) -> Node:
        """``printf``."""
        return self._print("printf", line)

    def _print(self, kind: str, line: int) -> Node:
        self.printing, outer = True, self.parens
        self.level = outer
        nodes: list[Node] = []
        if not self.at(";", "\n", "}", ">", ">>", "|"):
            nodes = self.arguments()
        self.printing = False
        if len(nodes) == 1 and nodes[0][0] == "group":
            nodes = nodes[0][1]
        if kind == "printf" and not nodes:
            raise self.complain("no arguments in call to printf", line)
        way = target = None
        if self.at(">", "|"):
            way = self.take().text
            if way == ">" and self.at(">"):
                self.take()
                way = ">>"
            target = self.expression(CAT if way == "|" else 0)
        self.ended()
        return (kind, nodes, way, target)

    def arguments(self) -> list[Node]:
        """Expressions between commas."""
        nodes = [self.expression()]
        while self.at(","):
            self.take()
            self.lines()
            nodes.append(self.expression())
        return nodes
