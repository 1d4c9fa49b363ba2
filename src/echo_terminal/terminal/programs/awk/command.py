"""``awk`` after mawk 1.3.4, which Debian has: its numbers, its order of arrays, its bytes and its messages."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from echo_terminal.terminal.programs.awk.closures import Exited
from echo_terminal.terminal.programs.awk.files import Files, Shell, to_bytes, to_text
from echo_terminal.terminal.programs.awk.grammar import Parser
from echo_terminal.terminal.programs.awk.machine import Machine
from echo_terminal.terminal.programs.awk.values import AwkError, Field, unescape
from echo_terminal.terminal.programs.awk.words import Program
from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.programs.limits import Budget, Stopped
from echo_terminal.terminal.programs.text.columns import content

USAGE = """Usage: mawk [Options] [Program] [file ...]

Program:
    The -f option value is the name of a file containing program text.
    If no -f option is given, a "--" ends option processing; the following
    parameters are the program text.

Options:
    -f program-file  Program  text is read from file instead of from the
                     command-line.  Multiple -f options are accepted.
    -F value         sets the field separator, FS, to value.
    -v var=value     assigns value to program variable var.
    --               unambiguous end of options.

    Implementation-specific options are prefixed with "-W".  They can be
    abbreviated:

    -W version       show version information and exit.
    -W dump          show assembler-like listing of program and exit.
    -W help          show this message and exit.
    -W interactive   set unbuffered output, line-buffered input.
    -W exec file     use file as program as well as last option.
    -W random=number set initial random seed.
    -W sprintf=number adjust size of sprintf buffer.
    -W posix_space   do not consider "\\n" a space.
    -W usage         show this message and exit.
"""
VERSION = """mawk 1.3.4 20200120
Copyright 2008-2019,2020, Thomas E. Dickey
Copyright 1991-1996,2014, Michael D. Brennan

"""
LIMITS = """random-funcs:       srandom/random
regex-funcs:        internal
compiled limits:
sprintf buffer      8192
maximum-integer     2147483647
"""
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S | re.A)


@functools.lru_cache(256)
def parsed(source: str) -> Program:
    """A program; runs do not change it."""
    return Parser(source).parse()


def program(shell: Shell) -> Callable[[Call], None]:
    """The program ``awk``; ``shell`` runs what it pipes to and from.

    Raises (the program): Stopped, at a limit.
    """

    def awk(call: Call) -> None:
        try:
            _awk(call, shell, Budget())
        except AwkError as error:
            call.err.append(to_text(str(error)))
            call.code = 2
        except TimeoutError:
            call.err.append("awk: program limit exceeded: a regular expression takes too long\n")
            call.code = 2

    return awk


def _awk(call: Call, shell: Shell, budget: Budget) -> None:
    """Raises AwkError: wrong options, a wrong program, or one that cannot go on."""
    words = [to_bytes(word) for word in call.argv]
    given: list[tuple[str, str]] = []
    sources: list[str] = []
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        letter = word[1]
        if letter == "-" or letter not in "FvfW":
            raise AwkError(f"awk: not an option: {word}\n")
        value = word[2:]
        if not value:
            if not words:
                raise AwkError(f"awk: option {word} lacks argument\n")
            value = words.pop(0)
        if letter == "W":
            if _implementation(call, value):
                return
        elif letter == "f":
            sources.append(_source(call, value))
        elif letter == "F":
            given.append(("FS", value))
        else:
            m = _ASSIGNMENT.fullmatch(value)
            if m is None:
                raise AwkError(f"awk: improper assignment: -v {value}\n")
            given.append((m[1], m[2]))
    if not sources:
        if not words:
            call.err.append(USAGE)
            return
        sources.append(words.pop(0))
    files = Files(call, shell, budget)
    machine = Machine(parsed("\n".join(sources)), files, ["awk", *words], call.env, budget)
    for name, value in given:
        machine.set(name, Field(unescape(value)))
    try:
        call.code = machine.run()
    except Exited:
        call.code = machine.code
    except RecursionError:
        raise AwkError("awk: function call nesting too deep\n") from None
    except Stopped:
        files.written.clear()  # what it would still start does not begin
        raise
    finally:
        files.end()


def _implementation(call: Call, value: str) -> bool:
    """An option of mawk alone; is that all?"""
    name = value.partition("=")[0]
    if name and "version".startswith(name):
        call.out.append(VERSION)
        call.err.append(LIMITS)
    elif name and ("help".startswith(name) or "usage".startswith(name)):
        call.err.append(USAGE)
    elif not any(
        o.startswith(name) for o in ("dump", "interactive", "exec", "random", "sprintf", "posix_space")
    ):
        call.err.append(f"awk: vacuous option: -W {value}\n")
        return False
    else:
        return False
    return True


def _source(call: Call, word: str) -> str:
    data = content(call, to_text(word))
    if isinstance(data, str):
        raise AwkError(f"awk: cannot open {to_text(word)} ({data})\n")
    return data.decode("latin-1").removesuffix("\n")
