"""``xargs`` after GNU findutils 4.9: it writes the script that runs its commands, one after another.

The shell runs that script where ``xargs`` stands (``FUNCTION``), so the commands are bashkit's or ours as everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options, quote, shown
from echo_terminal.terminal.programs.limits import LONGEST, ROOM, Stopped
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

PROGRAM, RUN = f"{OWN}xargs", f"{OWN}run_xargs"
FUNCTION = f'{RUN}() ( eval "$({PROGRAM} "$@")" )'
AT_ONCE = 200
ROOM_OF_LINE = 128 << 10  # bytes of one command's words
_PLACE = re.compile(
    rf"({PLACE})xargs(?=[ \t\n;&|)<>]|$)"
    r"(?![^|;&\n]{0,500}(?:\s-p\b|--interactive|--help))"
)
_NO_PROGRAMS = frozenset(
    "alias bg bind break builtin cd command compgen complete continue declare dirs disown enable eval exec exit export "
    "fc fg getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly return set shift "
    "shopt source suspend times trap type typeset ulimit umask unalias unset wait .".split()
)
BUILTINS = _NO_PROGRAMS | {*"[ echo false kill printf pwd test true : . time".split()}
_OPTIONAL = {"i": "replace", "l": "max-lines", "e": "eof"}
_SPECIAL = {
    "n": "\n",
    "t": "\t",
    "0": "\0",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
}
_LONG = (
    "null arg-file= delimiter= eof=? replace=? max-lines=? max-args= no-run-if-empty max-chars= show-limits open-tty "
    "verbose exit max-procs= process-slot-var="
).split()
_NAMES = {"null": "0", "arg-file": "a", "delimiter": "d", "eof": "E", "replace": "I", "max-lines": "L", "max-args": "n",
          "no-run-if-empty": "r", "max-chars": "s", "verbose": "t", "exit": "x", "max-procs": "P"}  # fmt: skip


@dataclass
class _Plan:
    """How items become commands."""

    command: list[str]
    delimiter: str | None = None
    end: str | None = None
    replace: str | None = None
    lines: int = 0
    words: int = 0
    empty: bool = True  # run a command without items too?
    trace: bool = False
    size: int = ROOM_OF_LINE


def own_xargs(command: str) -> str:
    """The command with the function that runs our ``xargs`` in place of bashkit's."""
    return _PLACE.sub(rf"\1{RUN}", command)


def xargs(call: Call) -> None:
    """Write the script for the words and the input of ``xargs``; mistakes in them become a script that tells them."""
    call.name = "xargs"
    try:
        plan, source = _plan(call)
        text = call.stdin if source is None else _file(call, source)
        _script(call, plan, text)
    except UsageError as error:
        hint = "Try 'xargs --help' for more information.\n" if error.hint else ""
        call.out.append(
            f"printf %s {_quoted(f'xargs: {error.message}{chr(10)}{hint}')} >&2; exit {error.code}\n"
        )


def program(shell: Callable[[Call, str, str], tuple[str, int]]) -> Callable[[Call], None]:
    """``xargs`` where a shell does not have the function: in one that a script or another program starts."""

    def run(call: Call) -> None:
        xargs(call)
        printed, call.code = shell(call, "".join(call.out), "")
        call.out[:] = [printed]

    return run


def _file(call: Call, word: str) -> str:
    data = content(call, word)
    if data == "Is a directory":
        return ""
    if isinstance(data, str):
        raise UsageError(f"Cannot open input file {quote(word)}: {data}", hint=False)
    return data.decode("utf-8", "replace")


def _plan(call: Call) -> tuple[_Plan, str | None]:
    """The plan, and the file that is read in place of standard input."""
    call.argv = _with_arguments(call.argv)
    found, command = options(call, "0a:d:E:I:L:n:P:rs:tx", _LONG, permute=False)
    plan, source = _Plan(command or ["echo"]), None
    for option, value in found:
        letter = _NAMES.get(option[2:], "") if option.startswith("--") else option[1]
        if letter == "0":
            plan.delimiter = "\0"
        elif letter == "a":
            source = value
        elif letter == "d":
            plan.delimiter = _delimiter(value)
        elif letter == "E":
            plan.end = value or None
        elif letter == "I":
            for name, mine in (("max-args", plan.words), ("max-lines", plan.lines)):
                if mine:
                    _warn(call, f"--{name}", "--replace/-I/-i")
            plan.replace, plan.words, plan.lines = value or "{}", 0, 0
        elif letter == "L":
            plan.lines = _number(value or "1", "L")
            if plan.words or plan.replace is not None:
                now = "-L" if option == "-L" else "--max-lines/-l"
                _warn(call, "--max-args" if plan.words else "--replace", now)
            plan.words, plan.replace = 0, None
        elif letter == "n":
            plan.words = _number(value, "n")
            if plan.replace is not None and plan.words == 1:
                plan.words = 0
            elif plan.lines or plan.replace is not None:
                _warn(call, "--max-lines" if plan.lines else "--replace", "--max-args/-n")
                plan.lines, plan.replace = 0, None
        elif letter == "s":
            plan.size = min(_number(value, "s"), ROOM_OF_LINE)
        elif letter == "P":
            _number(value, "P", least=0)
        elif letter == "r":
            plan.empty = False
        elif letter == "t":
            plan.trace = True
    return plan, source


def _with_arguments(words: list[str]) -> list[str]:
    """The words with ``-i``, ``-l`` and ``-e``, which take an argument in the same word or none, in long form."""
    shown, place = list(words), 0
    while place < len(words) and re.match("-.", words[place]) and words[place] != "--":
        match = re.fullmatch("-([ile])(.*)", words[place])
        if match is not None:
            default = {"i": "{}", "l": "1", "e": ""}[match[1]]
            shown[place] = f"--{_OPTIONAL[match[1]]}={match[2] or default}"
        place += 2 if re.fullmatch("-[0rtx]*[adEILnPs]", words[place]) else 1
    return shown


def _warn(call: Call, before: str, now: str) -> None:
    what = f"options {before} and {now} are mutually exclusive, ignoring previous {before} value"
    call.err.append(f"xargs: warning: {what}\n")


def _number(text: str, letter: str, least: int = 1) -> int:
    if not re.fullmatch(r"-?\d+", text):
        raise UsageError(f'invalid number "{text}" for -{letter} option')
    if int(text) < least:
        raise UsageError(f"value {text} for -{letter} option should be >= {least}")
    return int(text)


def _delimiter(text: str) -> str:
    if len(text) == 1:
        return text
    if text[:1] == "\\" and len(text) == 2 and text[1] in _SPECIAL:
        return _SPECIAL[text[1]]
    if m := re.fullmatch(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3}))", text):
        return chr(int(m[1], 16) if m[1] else int(m[2], 8))
    raise UsageError(
        f"Invalid input delimiter specification {text}: the delimiter must be either a single character or an escape "
        "sequence starting with \\.",
        hint=False,
    )


def _items(plan: _Plan, text: str) -> tuple[list[list[str]], str]:
    """Lines of items, and what is wrong with the line behind them."""
    if plan.delimiter is not None:
        parts = text.split(plan.delimiter)
        return [[part] for part in (parts[:-1] if parts[-1] == "" else parts)], ""
    lines: list[list[str]] = []
    joined = False
    for line in text.split("\n"):
        whole = plan.replace is not None
        items, wrong = _unquoted(line.lstrip(" \t") if whole else line, whole=whole)
        if items and joined:
            lines[-1] += items
        elif items:
            lines.append(items)
        if wrong:
            return lines, wrong
        joined = bool(items) and plan.lines > 0 and line[-1:] in (" ", "\t")
        if plan.end is not None and plan.end in items:
            lines[-1] = lines[-1][: lines[-1].index(plan.end)]
            break
    return lines, ""


def _unquoted(line: str, *, whole: bool) -> tuple[list[str], str]:
    """The items of a line (it is one, if ``whole``) without their quotes, and what is wrong with the quotes."""
    items: list[str] = []
    item: str | None = None
    place = 0
    while place < len(line):
        letter = line[place]
        place += 1
        if letter in "'\"":
            end = line.find(letter, place)
            if end < 0:
                kind = "single" if letter == "'" else "double"
                wrong = "by default quotes are special to xargs unless you use the -0 option"
                return items, f"unmatched {kind} quote; {wrong}"
            item = (item or "") + line[place:end]
            place = end + 1
        elif letter == "\\" and place < len(line):
            item = (item or "") + line[place]
            place += 1
        elif letter in " \t\v\f\r" and not whole:
            items += [item] if item is not None else []
            item = None
        else:
            item = (item or "") + letter
    return ([*items, item] if item is not None else items), ""


def _commands(plan: _Plan, lines: list[list[str]], *, cut: bool) -> list[list[str]]:
    """The words of each command; none without items, if those were ``cut``."""
    if (mark := plan.replace) is not None:
        items = [" ".join(line) for line in lines]
        program, *words = plan.command  # a program's name stands for itself
        return [[program, *(word.replace(mark, item) for word in words)] for item in items]
    groups: list[list[str]] = []
    if plan.lines:
        groups = [sum(lines[n : n + plan.lines], []) for n in range(0, len(lines), plan.lines)]
    else:
        base = sum(len(word.encode()) + 1 for word in plan.command)
        group: list[str] = []
        size = base
        for item in (item for line in lines for item in line):
            length = len(item.encode()) + 1
            if group and (size + length > plan.size or (plan.words and len(group) == plan.words)):
                groups.append(group)
                group, size = [], base
            if size + length > plan.size:
                raise UsageError("argument line too long", hint=False)
            group.append(item)
            size += length
        groups += [group] if group else []
    if not groups and plan.empty and not cut:
        groups = [[]]
    return [[*plan.command, *group] for group in groups]


def _script(call: Call, plan: _Plan, text: str) -> None:
    size = 0
    call.out.append("__status=0\n")
    start = 1  # of the commands that the shell reads at once: its parser has a limit
    lines, wrong = _items(plan, text)
    for words in _commands(plan, lines, cut=wrong != ""):
        name = _quoted(words[0])
        if words[0] in _NO_PROGRAMS:
            call.out.append(f"printf %s {_quoted(f'xargs: {words[0]}: {NO_ENTRY}{chr(10)}')} >&2; exit 127\n")
        line = " ".join(map(_quoted, words))
        if plan.trace:
            call.out.append(f"printf '%s\\n' {_quoted(' '.join(shown(word) for word in words))} >&2\n")
        aborting = _quoted(f"xargs: {words[0]}: exited with status 255; aborting")
        call.out.append(
            f"{line} </dev/null\ncase $? in 0) ;; 255) printf '%s\\n' {aborting} >&2; exit 124;; "
            f"12[67]) c=$?; type {name} >/dev/null 2>&1 || exit $c; __status=123;; *) __status=123;; esac\n"
        )
        if len(call.out) - start >= AT_ONCE:
            call.out[start:] = [f"eval {_quoted(''.join(call.out[start:]))}\n"]
            start = len(call.out)
        size += len(line) + 200
        if size > LONGEST:
            raise Stopped(ROOM)
    if wrong:
        call.out.append(f"printf %s {_quoted(f'xargs: {wrong}{chr(10)}')} >&2; exit 1\n")
    call.out.append("exit $__status\n")


def _quoted(word: str) -> str:
    if re.fullmatch(r"[\w./+:@%,-]+", word, re.A):
        return word
    return "'" + word.replace("'", "'\\''") + "'"
