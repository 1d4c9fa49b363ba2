"""Scripts that a command runs: bashkit does not heed their first lines, and takes their words as they are.

A shell function (``FUNCTION``) stands where a script is called. The program behind it looks at the script when its turn
comes and writes the call to make: of the program that the first line asks for, or of a shell with the script in the
words that bashkit runs as bash does.
"""

from __future__ import annotations

import functools
import posixpath
import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

from echo_terminal.terminal.programs import xargs
from echo_terminal.terminal.programs.call import NO_ENTRY, Call
from echo_terminal.terminal.wording import piping
from echo_terminal.terminal.wording.calling import LONGEST, PROGRAM, RUN
from echo_terminal.terminal.wording.dash_scripts import in_dash
from echo_terminal.terminal.wording.grammar import syntax_error, unclosed
from echo_terminal.terminal.wording.inner import with_functions
from echo_terminal.terminal.wording.outputs import grouped
from echo_terminal.terminal.wording.rewording import reworded
from echo_terminal.terminal.wording.texts import unended
from echo_terminal.terminal.wording.tracing import TRACED, traced

FUNCTION = f'{RUN}() {{ eval "$({PROGRAM} "$@")"; }}'
FUNCTIONS = {
    RUN: FUNCTION,
    xargs.RUN: xargs.FUNCTION,
    **piping.FUNCTIONS,
}  # that stand in the place of programs
AS_TYPED = '"${@:2}"'  # the words behind the line of the call
_UNREADY = "cannot execute: required file not found"
_SHELLS = ("bash", "sh", "dash")
_INSTALLED = re.compile(r"(?:/usr)?/bin/(?:env[ \t]+(?:-S[ \t]+)?)?([\w.-]+)(?:[ \t]+(.*))?")
_SOURCE = re.compile(r"\$(?:(\{)BASH_SOURCE(?:\[0\])?|BASH_SOURCE\b)")
_PLACES = re.compile(r"\b(?:FUNCNAME|BASH_LINENO|BASH_SOURCE|caller)\b")  # of functions, from the file down
_AS_TEXT = re.compile(r"^(?!bash: |sh: )([^\s:]+: )-c: (?=line )", re.M)
_PARSED = re.compile(
    r"^((\S+): line (\d+): )syntax error: (expected .*|unterminated .*|parser fuel exhausted)$", re.M
)
_ENDLESS = re.compile(r"^(\S+): (syntax error: parser fuel exhausted).*$", re.M)
_UNOPENED = re.compile(r"^(\S+): line (\d+): (.*: (?:No such file or directory|Permission denied))$", re.M)
_DONE = re.compile(r"\bdone\s*(?:<|>)")
_AROUND = re.compile(r"\s*(?:(?:for|select|case|function)\b|\w+\s*\(\))")
_END = re.compile(r"(?:done|fi|esac|\})")
_CLAUSE = re.compile(r"\s*\(?[^\s()$`|]+(?:\s*\|\s*[^\s()$`|]+)*\)")
_HELPERS = "; ".join((FUNCTION, ""))


class Ran(NamedTuple):
    """A script that was run."""

    name: str
    text: str
    dash: bool


Rewording = Callable[[str], tuple[str, str]]  # a script -> functions for its head, and the script


def script(call: Call, change: Rewording, ran: list[Ran]) -> None:
    """Write the call for the words behind the number of its line: a script and its arguments, where the name of a
    shell may stand before. ``ran`` gets the text of the script."""
    _, *words = call.argv
    shell = words.pop(0).replace("dash", "sh") if words[0] in _SHELLS else ""
    flags = ""
    while shell and words[0][:1] == "-":
        flags += f"{words.pop(0)} "
    meta, path = call.stat(call.path(words[0])), words[0]
    if meta is None or meta.kind != "file":
        missing = meta is None and not shell and call.is_folder(posixpath.dirname(call.path(path)))
        call.out.append(_failed(f"{path}: {NO_ENTRY}") if missing else AS_TYPED)
        return
    if not (meta.mode & 0o100 or shell) or not meta.readable:
        call.out.append(_failed(f"{path}: Permission denied", 126))
        return
    content = call.fs.read_file(call.path(path))
    first = content[:200].partition(b"\n")[0].decode("utf-8", "replace")
    asked = re.match(r"#![ \t]*(.*[^ \t])", first, re.S)
    wanted = shell or "bash"
    if not shell and asked is not None:
        found = _INSTALLED.fullmatch(asked[1])
        if found is None:
            call.out.append(_failed(f"{path}: {_UNREADY}"))
            return
        wanted, option = found[1], found[2]
        flags = f"{option} " if option else ""
        if wanted not in _SHELLS:
            call.out.append(_other(wanted, option, path, env="env" in asked[1].split()[0]))
            return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        call.out.append(AS_TYPED)
        return
    dash = wanted != "bash"
    ran.append(Ran(path, text, dash))
    for last, before in unended(text) if "<<" in text else ():
        where = f"line {text.count(chr(10))}: warning: here-document at line {before + 1}"
        call.err.append(f"{path}: {where} delimited by end-of-file (wanted `{last}')\n")
    head, changed = _as_text(text, change, traces="x" in flags, dash=dash)
    if head or changed != text:
        given = f'"${{@:{len(call.argv) - len(words) + 1}}}"'
        call.out.append(f"{wanted} {flags}-c {_quoted(head + changed)} {given}")
    else:
        call.out.append(AS_TYPED if shell or asked is None else f"{wanted} {flags}{AS_TYPED}")


def words(command: str, ran: list[Ran]) -> str:
    """A command and the scripts that it ran: all that may have said something."""
    return "\n".join((command, *(f"sh {name}\n{text}" if dash else text for name, text, dash in ran)))


def real_texts(text: str, ran: list[Ran]) -> str:
    """Error texts of scripts that were handed over as texts, with what bash says of a wrong syntax."""
    text = _AS_TEXT.sub(r"\1", text.replace(_HELPERS, ""))
    lines = {name: script.split("\n") for name, script, _ in ran}
    bash = {name: script.split("\n") for name, script, dash in ran if not dash}
    text = _UNOPENED.sub(lambda found: _of_loop(found, bash.get(found[1], [])), text)
    text = _ENDLESS.sub(
        lambda found: f"{found[1]}: line {_unclosed_clause(lines.get(found[1], []))}: {found[2]}", text
    )
    return _PARSED.sub(lambda found: _syntax(found, lines.get(found[2], [])), text)


def _of_loop(found: re.Match[str], lines: list[str]) -> str:
    """Where a file for a loop inside a command cannot be opened, bash names the line of the function, ``for`` or
    ``case`` around it, or else the last of the command."""
    place = int(found[2]) - 1
    if place >= len(lines) or _DONE.search(lines[place]) is None or lines[place][:1] not in (" ", "\t"):
        return found[0]
    deep = len(lines[place]) - len(lines[place].lstrip())
    for number in range(place - 1, -1, -1):
        line, inside = lines[number], len(lines[number]) - len(lines[number].lstrip())
        if line.strip() and inside < deep:
            deep = inside
            if _AROUND.match(line) is not None:
                return f"{found[1]}: line {number + 1}: {found[3]}"
    end = next((n for n in range(place, len(lines)) if _END.match(lines[n])), place)
    return f"{found[1]}: line {end + 1}: {found[3]}"


def _unclosed_clause(lines: list[str]) -> int:
    """The number of the line with a pattern of ``case`` that no ``;;`` goes before."""
    begins = False
    for number, line in enumerate(lines, 1):
        if _CLAUSE.match(line) is not None and not begins:
            return number
        if line.strip():
            begins = line.rstrip().endswith((" in", ";;", ";&"))
    return len(lines)


def _syntax(match: re.Match[str], lines: list[str]) -> str:
    place, _, number, error = match.groups()
    if error.startswith("unterminated command"):  # bash looks for its end to the end
        place = place.replace(f" {number}: ", f" {len(lines)}: ")
    if int(number) > len(lines):
        return match[0]
    line = lines[int(number) - 1]
    said = syntax_error(f"parse error: {error}", line)[0].removeprefix("bash: ").rstrip("\n")
    return f"{place}{said}\n{place}`{line}'" if " near " in said else f"{place}{said}"


def _other(name: str, option: str | None, path: str, *, env: bool) -> str:
    program = "python3" if name.startswith("python") else name
    words = f"{program} {shlex.quote(option)}" if option else program
    missing = _failed(f"{path}: {_UNREADY}")
    if env:
        missing = f"{_say(f'/usr/bin/env: {chr(39)}{name}{chr(39)}: {NO_ENTRY}')}; (exit 127)"
    return f"if command -v {program} > /dev/null; then {words} {AS_TYPED}; else {missing}; fi"


def _failed(text: str, code: int = 127) -> str:
    where = 'case $0 in bash) printf "bash: ";; *) printf "%s: line $1: " "$0";; esac >&2'
    return f"{where}; {_say(text)}; (exit {code})"


def _say(text: str) -> str:
    return f"printf '%s\\n' {_quoted(text)} >&2"


def _as_text(text: str, change: Rewording, *, traces: bool, dash: bool) -> tuple[str, str]:
    """Functions for the head of a script, and the script in the words that bashkit runs as bash does."""
    text = _SOURCE.sub(lambda m: "${0" if m[1] else "$0", text) if "BASH_SOURCE" in text else text
    if len(text) > LONGEST:
        return "", text
    text = grouped(text) if "exec " in text else text
    if traces or TRACED.search(text) is not None:  # functions would be seen
        return "", traced(text)
    if _PLACES.search(text) is not None:
        return "", text
    before, plain = in_dash(text) if dash else ("", unclosed(text))
    head, changed = change(plain)
    head, changed = before + head, _reworded(changed)
    if changed.count("\n") != text.count("\n"):  # errors would name other lines
        return "", text
    called = {name: function for name, function in FUNCTIONS.items() if name in changed}
    head += "".join(f"{function}; " for function in called.values())
    return head, with_functions(changed, called) if called else changed


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_reworded = functools.lru_cache(maxsize=256)(reworded)
