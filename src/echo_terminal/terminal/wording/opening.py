"""Files that a redirection opens: bash makes and empties them before the command runs, bashkit afterwards; and places
where nothing can be written."""

from __future__ import annotations

import functools
import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, quote
from echo_terminal.terminal.shell_session import WRITABLE
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

OPEN, TOUCH = f"{OWN}open", f"{OWN}touch"
FIXED = "/etc/.fixed"  # a name there cannot be written: the folder is mounted read-only
SAME = "/etc/.same"  # what is read there is the file that is written to
_HOW = {">": "w$-", ">>": "ww", "<": "r"}
LONGEST = 4096  # characters of a simple command before its redirection
_WORD = r"(?:\"[^\"$`\\\n]+\"|'[^'\n]+'|[\w./~+@%:,-]+)"
_BETWEEN = ";&|\n(){}<>`"  # simple commands
_COMMAND = re.compile(rf"[^{_BETWEEN}]+")
_REDIRECTION = re.compile(rf"(?<![<>&=\d-])(>>?)[ \t]*({_WORD})(?=[\s;&|)]|\Z)")
_OUTPUT = re.compile(rf"(?<![<>&=\w-])1?(>>?)[ \t]*({_WORD})")
_INPUT = re.compile(rf"(?<![<>&=\w-])0?(<)[ \t]*({_WORD})")
_SEVERAL_OUTPUTS, _SEVERAL_INPUTS = (  # of one command: all are opened, the last is used
    re.compile(rf"{one}(?:(?:[ \t]+(?:2>>?[ \t]*)?{_WORD})*[ \t]*{one})+(?=[\s;&|)]|\Z)")
    for one in (_OUTPUT.pattern, _INPUT.pattern)
)
_LOOKS = re.compile(rf"(?:^|[\s;&|({{])(?:{OWN})?(?:ls|find|du|tar|zip)\b|[*?]|\bgrep\b.{{0,200}} -\w*[rR]")
_ITSELF = re.compile(
    rf"({PLACE}[ef]?grep)((?:[ \t]+(?:\"[^\"$`\\\n]+\"|'[^'\n]+'|[^\s;&|<>()'\"`$]+))+)[ \t]*>>?[ \t]*({_WORD})"
)
_CAT = re.compile(rf"({PLACE}cat)((?:[ \t]+{_WORD})+)(?=[ \t]*>>[ \t]*({_WORD}))")
_TOUCH = re.compile(rf"({PLACE})touch((?:[ \t]+[\w./+@%:,-]+)+)(?=[ \t]*(?:[;&|)\n]|\Z|\d?>))")
_DENIED = re.compile(rf"{re.escape(FIXED)}([^\s:']+)")
_SAME = re.compile(rf"(?m)(^cat: )?{re.escape(SAME)}([^\s:']+): {NO_ENTRY}")


def openings(command: str) -> str:
    """The command with its redirections opened first where it could see that, or could not write there."""
    if command.count(">") > 1:
        command = _SEVERAL_OUTPUTS.sub(_last_of(_OUTPUT), command)
    if command.count("<") > 1:
        command = _SEVERAL_INPUTS.sub(_last_of(_INPUT), command)
    if ">" in command:
        if "grep" in command:
            command = _ITSELF.sub(_found_itself, command)
        if ">>" in command and "cat " in command:
            command = _CAT.sub(_grown, command)
        command = _REDIRECTION.sub(_opened, command)
    if "touch" in command:
        command = _TOUCH.sub(_touched, command)
    return command


def _last_of(one: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    """Redirections of one command as one to what ``open_`` says; in an expression these are comparisons."""
    seen, within = 0, [0, 0]  # characters of the command, and open expressions in them

    def last(match: re.Match[str]) -> str:
        nonlocal seen
        for index, (begin, end) in enumerate((("((", "))"), ("[[", "]]"))):
            place = seen, match.start()
            within[index] += match.string.count(begin, *place) - match.string.count(end, *place)
        seen = match.start()
        if max(within) > 0:
            return match[0]
        found = [redirection.groups() for redirection in one.finditer(match[0])]
        words = " ".join(f"{_HOW[sign]} {word}" for sign, word in found)
        return f'{one.sub("", match[0])} {found[-1][0]} "$({OPEN} {words})"'

    return last


def _opened(match: re.Match[str]) -> str:
    sign, word = match.groups()
    plain = word.strip("'\"")
    outside = plain.startswith("/") and _is_fixed(posixpath.normpath(plain))
    if not outside:
        command, first = match.string, max(0, match.start() - LONGEST)
        start = command[first : match.start()].rstrip()
        if start.endswith((")", "}", "done", "fi", "esac")):
            looks = _looks(command)
            if bisect_left(looks, first) == bisect_left(looks, match.start()):
                return match[0]
        else:
            start = start.rstrip(_BETWEEN)
            before = start[max(map(start.rfind, _BETWEEN)) + 1 :]
            behind = _COMMAND.match(command, match.end())
            named = word in before.split() or (behind is not None and word in behind[0].split())
            if _LOOKS.search(before) is None and (sign == ">>" or not named):
                return match[0]
    return f'{sign} "$({OPEN} {_HOW[sign]} {word})"'


@functools.lru_cache(maxsize=4)
def _looks(command: str) -> list[int]:
    """Where programs begin that look at more files than they name."""
    return [match.start() for match in _LOOKS.finditer(command)]


def _found_itself(match: re.Match[str]) -> str:
    """``grep`` that would read the file it writes to: the file is named as ``SAME``, and refused."""
    program, typed, target = match.groups()
    words = typed.split()
    if target in words:
        words = [SAME + target.replace("/", "%2f") if word == target else word for word in words]
    elif "'" in target or '"' in target or "/" == target[0]:
        return match[0]
    else:
        asked = [word for word in words if not word.startswith("-")][1:]
        deep = any(re.fullmatch(r"-\w*[rR]\w*", word) for word in words)
        root = next(
            (w for w in asked if f"{target}/".startswith(f"{w.rstrip('/')}/") or w in (".", "./")), None
        )
        if not deep or root is None:
            return match[0]
        shown = f"./{target}" if root in (".", "./") else target
        words += [f"--exclude={posixpath.basename(target)}", SAME + shown.replace("/", "%2f")]
    return f"{program} {' '.join(words)}{match[0][len(program) + len(typed) :]}"


def _grown(match: re.Match[str]) -> str:
    """``cat`` that would read the file it adds to."""
    program, typed, target = match.groups()
    words = typed.split()
    if target not in words or set("'\"") & set(typed):
        return match[0]
    return " ".join((program, *(SAME + w.replace("/", "%2f") if w == target else w for w in words)))


def _refused(match: re.Match[str]) -> str:
    said = "input file is output file" if match[1] else "input file is also the output"
    return f"{match[1] or ''}{match[2].replace('%2f', '/')}: {said}"


def _is_fixed(path: str) -> bool:
    return path not in WRITABLE and not path.startswith(("/dev/", *(f"{root}/" for root in WRITABLE)))


def _touched(match: re.Match[str]) -> str:
    words = match[2].split()
    outside = any(w.startswith("/") and _is_fixed(posixpath.normpath(w)) for w in words)
    plain = not any(w.startswith("-") for w in words)
    return f"{match[1]}{TOUCH}{match[2]}" if outside and plain else match[0]


def open_(call: Call) -> None:
    """Make or empty (``w`` and the options of the shell), make (``ww``), or only find (``r``) files, and write the name
    of the last, or of the first that cannot be opened. The last one a shell with ``noclobber`` makes itself."""
    for index, (how, word) in enumerate(zip(call.argv[::2], call.argv[1::2], strict=True)):
        path, careful = call.path(word), "C" in how
        meta, above = call.stat(path), call.stat(posixpath.dirname(path))
        call.out[:] = [word]
        if how == "r" and meta is None:
            return
        if how == "r":
            continue
        if _is_fixed(path):
            fixed = meta is not None or (above is not None and above.kind == "directory")
            call.out[:] = [FIXED + path.replace("/", "%2f") if fixed else word]
            return
        missing = above is None or above.kind != "directory" or not above.writable
        if missing or (meta is not None and (meta.kind == "directory" or careful)):
            return
        if meta is None and not (careful and index == len(call.argv) // 2 - 1):
            call.fs.write_file(path, b"")
        elif meta is not None and how != "ww" and meta.kind == "file" and meta.writable:
            call.fs.write_file(path, b"")


def touch(call: Call) -> None:
    """``touch`` of names some of which lie where nothing can be written."""
    for word in call.argv:
        path = call.path(word)
        meta, above = call.stat(path), call.stat(posixpath.dirname(path))
        if _is_fixed(path):
            there = meta is not None or above is not None
            call.err.append(
                f"touch: cannot touch {quote(word)}: {'Read-only file system' if there else NO_ENTRY}\n"
            )
            call.code = 1
        elif above is None:
            call.err.append(f"touch: cannot touch {quote(word)}: {NO_ENTRY}\n")
            call.code = 1
        elif meta is None:
            call.fs.write_file(path, b"")


def real_names(text: str) -> str:
    """Error texts with the names of files that cannot be written as they were typed."""
    text = _SAME.sub(_refused, text)
    return _DENIED.sub(lambda match: match[1].replace("%2f", "/"), text)
