"""``bc`` after GNU bc 1.07: numbers of any length with a scale, its library, its functions and its messages."""

from __future__ import annotations

from echo_terminal.terminal.programs.bc.grammar import Parser
from echo_terminal.terminal.programs.bc.machine import Fault, Leave, Machine
from echo_terminal.terminal.programs.bc.words import SyntaxFault
from echo_terminal.terminal.programs.call import Call, UsageError, options
from echo_terminal.terminal.programs.limits import ROOM, Stopped

USAGE = """usage: bc [options] [file ...]
  -h  --help         print this usage and exit
  -i  --interactive  force interactive mode
  -l  --mathlib      use the predefined math routines
  -q  --quiet        don't print initial banner
  -s  --standard     non-standard bc constructs are errors
  -w  --warn         warn about non-standard bc constructs
  -v  --version      print version information and exit
"""


def bc(call: Call) -> None:
    """Calculate."""
    try:
        found, words = options(
            call, "hilqsvw", ["mathlib", "quiet", "standard", "warn", "interactive"], code=1
        )
    except UsageError as error:
        call.err.append(f"bc: {error.message}\n{USAGE}")
        call.code = 1
        return
    names = {option for option, _ in found}
    if names & {"-v", "--version"}:
        call.line("bc 1.07.1\nCopyright 1991-1994, 1997, 1998, 2000, 2004, 2006, 2008, 2012-2017 Free Software "
                  "Foundation, Inc.")  # fmt: skip
        return
    if names & {"-h", "--help"}:
        call.out.append(USAGE)
        return
    sources = []
    for word in words:
        if not call.readable(word):
            call.err.append(f"File {word} is unavailable.\n")
            call.code = 1
            return
        sources.append((word, call.fs.read_file(call.path(word)).decode("utf-8", "replace")))
    machine = Machine(call.out, call.err, library=bool(names & {"-l", "--mathlib"}))
    for name, text in [*sources, ("(standard_in)", call.stdin)]:
        if not _run(call, machine, name, text):
            return


def _run(call: Call, machine: Machine, name: str, text: str) -> bool:
    """Run one source; False where it says ``quit``."""
    parser = Parser(text)
    for found in parser.lines():
        for line, complaint in parser.complaints:
            machine.err.append(f"{name} {line}: {complaint}\n")
        faulty = bool(parser.complaints)
        parser.complaints.clear()
        if found is None:
            return False
        if isinstance(found, SyntaxFault):
            machine.err.append(f"{name} {found.line}: {found.text}\n")
        if isinstance(found, SyntaxFault) or faulty:
            continue
        try:
            machine.run_block(found)
        except Fault:
            continue
        except Leave as leave:
            if leave.kind == "endless":
                raise Stopped(ROOM) from None
            if leave.kind == "quit":
                return False
    return True
