"""``head`` and ``tail`` of several files, of those that are followed, or whose lines end in NUL."""

from __future__ import annotations

import re
from typing import NoReturn

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.programs.limits import FLOOD, ROOM, TIME, Stopped
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.programs.text.devices import ZERO, amount_of, as_many
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
_MANY = re.compile(  # bashkit takes the square of the lines of a pipe
    rf"({PLACE})(head|tail)(?=(?:[ \t]+-[qv])*[ \t]+(?:(?:-n?|--lines=)[ \t]*[\"']?[-+]?(?:\d{{4}}|\$)|"
    r"(?:-c|--bytes=)[ \t]*(?:\d{7}|\d+[MG])))"
)
_OF_ZEROS = re.compile(rf"({PLACE})(head|tail)(?=[^;&|<>()\n]*[ \t]{ZERO}(?:[\s;&|<>)]|\Z))")
_LONG = "bytes= lines= quiet silent verbose zero-terminated".split()
_FOLLOW = "follow=? max-unchanged-stats= pid= retry sleep-interval=".split()


def own_ends(command: str) -> str:
    """The command with our ``head`` and ``tail`` where bashkit's do something else."""
    if "timeout" in command:
        command = _LATE.sub(rf"\1{TAIL} {_TIMED}", command)
    if ZERO in command:
        command = _OF_ZEROS.sub(rf"\1{OWN}\2", command)
    name = rf"\1{BYTEWISE} {OWN}\2" if bytewise(command) and "|" in command else rf"\1{OWN}\2"
    return _SEVERAL.sub(name, _CALL.sub(name, _MANY.sub(name, command)))


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
    for before, word in zip(["", *call.argv], call.argv, strict=False):
        match = None if before in ("-n", "-c") else re.fullmatch(r"-(\d+)([a-zA-Z]*)", word)
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
    sign, amount = wanted[: wanted[:1] in ("-", "+")], amount_of(wanted.lstrip("-+"))
    if amount is None:
        what = "bytes" if unit == "c" else "lines"
        raise UsageError(f"invalid number of {what}: {quote(wanted)}", hint=False)
    end = b"\0" if names & {"-z", "--zero-terminated"} else b"\n"
    opened = shown = False
    follows = bool(names & {"-f", "-F", "--follow"})
    for word in words or ["-"]:
        if call.path(word) == ZERO:
            data: bytes | str = (
                as_many(amount).encode() if unit == "c" and not sign and not last else _endless()
            )
        else:
            data = content(call, word)
        count = amount
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
        units = len(data) if unit == "c" else data.count(end) + (data[-1:] not in (b"", end))
        if sign == ("+" if last else "-"):
            count = max(count - 1 if last else units - count, 0)
        elif last:
            count = max(units - count, 0)
        if word == "-" and not last and units < count and len(data) >= FLOOD:
            raise Stopped(ROOM)  # more than the program behind it wrote
        place = len(data) if count >= units else count if unit == "c" else _after(data, end, count)
        call.write(data[place:] if last else data[:place])
    if follows:
        if not opened and "-F" not in names and "--retry" not in names:
            call.err.append("tail: no files remaining\n")
        elif timed:
            call.code = TIME
        elif words:
            raise Stopped(TIME)


def _endless() -> NoReturn:
    raise Stopped(TIME)


def _after(data: bytes, end: bytes, count: int) -> int:
    """Bytes in the first ``count`` lines of the many in ``data``."""
    return len(data) - len(data.split(end, count)[count])
