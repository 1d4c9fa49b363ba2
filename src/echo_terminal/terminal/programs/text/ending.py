"""``head`` and ``tail`` of several files, of those that are followed, or whose lines end in NUL."""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.programs.limits import TIME, Stopped
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.wording.piping import BYTEWISE, OWN, bytewise
from echo_terminal.terminal.wording.words import PLACE

HEAD, TAIL = f"{OWN}head", f"{OWN}tail"
_CALL = re.compile(
    rf"({PLACE})(head|tail)(?=(?:[ \t]+[^\s;&|<>()]+)*?[ \t]+"
    r"(?:-\w*z\w*|-\d*[a-eg-zA-EG-Z]*[fF]|--follow|--retry|--zero-terminated)(?=[\s=;&|<>)]|\Z))"
)
_SEVERAL = re.compile(
    rf"({PLACE})(head|tail)(?=(?:[ \t]+(?:-[nc][ \t]+[-+]?\w+|-(?![nc][ \t])[\w=+-]+))*[ \t]+"
    r"(?:[^\s;&|<>()$`*+-][^\s;&|<>()$`*]*[ \t]+[^\s;&|<>()$`*-]|[^\s;&|<>()$`-][^\s;&|<>()$`*]*\*))"
)
_LATE = re.compile(  # what is followed till a time is up
    rf"({PLACE})timeout[ \t]+(?:-k[ \t]*\S+[ \t]+|-s[ \t]*\w+[ \t]+|--?\w[\w=-]*[ \t]+)*[\d.]+[smh]?[ \t]+tail"
    r"(?=(?:[ \t]+[^\s;&|<>()]+)*?[ \t]+(?:-\w*[fF]|--follow)(?=[\s=;&|<>)]|\Z))"
)
_TIMED = "--till-its-time-is-up"
_LONG = "bytes= lines= quiet silent verbose zero-terminated".split()
_FOLLOW = "follow=? max-unchanged-stats= pid= retry sleep-interval=".split()
_UNITS = {
    "": 1, "b": 512, "K": 1024, "k": 1024, "kB": 1000, "KB": 1000, "M": 1 << 20, "MB": 10**6, "G": 1 << 30,
}  # fmt: skip


def own_ends(command: str) -> str:
    """The command with our ``head`` and ``tail`` where bashkit's do something else."""
    if "timeout" in command:
        command = _LATE.sub(rf"\1{TAIL} {_TIMED}", command)
    name = rf"\1{BYTEWISE} {OWN}\2" if bytewise(command) and "|" in command else rf"\1{OWN}\2"
    return _SEVERAL.sub(name, _CALL.sub(name, command))


def head(call: Call) -> None:
    """The first lines or bytes of files."""
    _ends(call, "head")


def tail(call: Call) -> None:
    """The last lines or bytes of files; what is followed never ends."""
    _ends(call, "tail")


def _ends(call: Call, name: str) -> None:
    call.name = name
    timed = call.argv[:1] == [_TIMED]
    call.argv = call.argv[timed:]
    argv, old = [], ""
    for word in call.argv:
        match = re.fullmatch(r"-(\d+)([a-zA-Z]*)", word)
        old = match[1][:1] if match else old
        argv += [f"-n{match[1]}", *([f"-{match[2]}"] if match[2] else [])] if match else [word]
    call.argv = argv
    last = name == "tail"
    found, words = options(call, "c:fFn:qs:vz" if last else "c:n:qvz", _LONG + (_FOLLOW if last else []))
    names = {option for option, _ in found}
    if last and len(words) > 1 and old:
        raise UsageError(f"option used in invalid context -- {old}", hint=False)
    wanted, unit = "10", "n"
    for option, value in found:
        if option in ("-n", "--lines", "-c", "--bytes"):
            wanted, unit = value, "c" if option in ("-c", "--bytes") else "n"
    match = re.fullmatch(r"([-+]?)(\d+)(\w*)", wanted)
    if match is None or match[3] not in _UNITS:
        what = "bytes" if unit == "c" else "lines"
        raise UsageError(f"invalid number of {what}: {quote(wanted)}", hint=False)
    sign, count = match[1], int(match[2]) * _UNITS[match[3]]
    end = b"\0" if names & {"-z", "--zero-terminated"} else b"\n"
    opened = shown = False
    follows = bool(names & {"-f", "-F", "--follow"})
    for word in words or ["-"]:
        data = content(call, word)
        label = "standard input" if word == "-" else word
        if isinstance(data, str) and data != "Is a directory":
            call.fail(f"cannot open {quote(label)} for reading: {data}")
            continue
        opened = opened or not isinstance(data, str)
        if (len(words) > 1 and not names & {"-q", "--quiet", "--silent"}) or names & {"-v", "--verbose"}:
            call.out.append(f"{chr(10) if shown else ''}==> {label} <==\n")
            shown = True
        if isinstance(data, str):
            call.fail(f"error reading {quote(label)}: {data}")
            if follows:
                call.fail(f"{word}: cannot follow end of this type of file; giving up on this name")
            continue
        parts = [data[n : n + 1] for n in range(len(data))] if unit == "c" else _lines(data, end)
        if last:
            kept = parts[max(count - 1, 0) :] if sign == "+" else parts[len(parts) - count :] if count else []
            kept = parts if sign != "+" and count >= len(parts) else kept
        else:
            kept = (
                parts[: len(parts) - count]
                if sign == "-" and count
                else parts[:count]
                if sign != "-"
                else parts
            )
        call.write(b"".join(kept))
    if follows:
        if not opened and "-F" not in names and "--retry" not in names:
            call.err.append("tail: no files remaining\n")
        elif timed:
            call.code = TIME
        elif words:
            raise Stopped(TIME)


def _lines(data: bytes, end: bytes) -> list[bytes]:
    lines = [line + end for line in data.split(end)]
    lines[-1] = lines[-1][: -len(end)]
    return lines if lines[-1] else lines[:-1]
