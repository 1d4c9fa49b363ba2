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

from echo_terminal.terminal.programs import xargs
from echo_terminal.terminal.programs.call import NO_ENTRY, Call
from echo_terminal.terminal.wording.calling import PROGRAM, RUN
from echo_terminal.terminal.wording.grammar import syntax_error
from echo_terminal.terminal.wording.rewording import reworded
from echo_terminal.terminal.wording.tracing import TRACED

FUNCTION = f'{RUN}() {{ eval "$({PROGRAM} "$@")"; }}'
FUNCTIONS = {RUN: FUNCTION, xargs.RUN: xargs.FUNCTION}  # that stand in the place of programs
AS_TYPED, ARGUMENTS = '"${@:2}"', '"${@:3}"'  # behind the line of the call
_UNREADY = "cannot execute: required file not found"
_SHELLS = ("bash", "sh", "dash")
_INSTALLED = re.compile(r"(?:/usr)?/bin/(?:env[ \t]+(?:-S[ \t]+)?)?([\w.-]+)(?:[ \t]+(.*))?")
_SOURCE = re.compile(r"\$(?:(\{)BASH_SOURCE(?:\[0\])?|BASH_SOURCE\b)")
_PLACES = re.compile(r"\b(?:FUNCNAME|BASH_LINENO|BASH_SOURCE|caller)\b")  # of functions, from the file down
_AS_TEXT = re.compile(r"^(?!bash: |sh: )([^\s:]+: )-c: (?=line )", re.M)
_PARSED = re.compile(r"^(\S+: line (\d+): )syntax error: (expected .*)$", re.M)
_HELPERS = "; ".join((FUNCTION, ""))

Rewording = Callable[[str], tuple[str, str]]  # a script -> functions for its head, and the script


def script(call: Call, change: Rewording, ran: list[str]) -> None:
    """Write the call for the words behind the number of its line: a script and its arguments, where the name of a
    shell may stand before. ``ran`` gets the text of the script."""
    _, *words = call.argv
    shell = words.pop(0) if words[0] in _SHELLS else ""
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
    wanted = shell
    if not shell and asked is not None:
        found = _INSTALLED.fullmatch(asked[1])
        if found is None:
            call.out.append(_failed(f"{path}: {_UNREADY}"))
            return
        wanted, option = found[1], found[2]
        if wanted not in _SHELLS:
            call.out.append(_other(wanted, option, path, env="env" in asked[1].split()[0]))
            return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        call.out.append(AS_TYPED)
        return
    ran.append(text)
    head, changed = _as_text(text, change)
    if "" not in (head, changed) or changed != text:
        given = ARGUMENTS if shell else AS_TYPED
        call.out.append(f"{wanted or 'bash'} -c {_quoted(head + changed)} {given}")
    else:
        call.out.append("bash " + AS_TYPED if wanted == "bash" and not shell else AS_TYPED)


def real_texts(text: str, ran: list[str]) -> str:
    """Error texts of scripts that were handed over as texts (``ran``), with what bash says of a wrong syntax."""
    text = _AS_TEXT.sub(r"\1", text.replace(_HELPERS, ""))
    return _PARSED.sub(lambda match: _syntax(match, ran[-1].split("\n")), text)


def _syntax(match: re.Match[str], lines: list[str]) -> str:
    place, number, error = match.groups()
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


def _as_text(text: str, change: Rewording) -> tuple[str, str]:
    """Functions for the head of a script, and the script in the words that bashkit runs as bash does."""
    text = _SOURCE.sub(lambda m: "${0" if m[1] else "$0", text) if "BASH_SOURCE" in text else text
    if TRACED.search(text) is not None or _PLACES.search(text) is not None:
        return "", text
    head, changed = change(text)
    changed = _reworded(changed)
    if changed.count("\n") != text.count("\n"):  # errors would name other lines
        return "", text
    for name, function in FUNCTIONS.items():
        head += f"{function}; " if name in changed else ""
    return head, changed


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_reworded = functools.lru_cache(maxsize=256)(reworded)
