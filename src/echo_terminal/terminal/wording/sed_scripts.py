"""Scripts of sed on the command line: those that GNU sed refuses are refused here, in its words; bashkit's sed runs
the others, with texts in the form that it reads as GNU sed does."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator

from echo_terminal.terminal.programs.call import Call, UsageError, options
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.sed_reading import Refused, Script
from echo_terminal.terminal.wording.texts import inside, to_keep
from echo_terminal.terminal.wording.usage import SED
from echo_terminal.terminal.wording.words import PLACE, value, word_spans

_LONG = (
    "quiet silent debug expression= file= follow-symlinks in-place=? line-length= null-data zero-terminated posix "
    "regexp-extended separate sandbox unbuffered binary"
).split()
_SHORT = "isnrzuEe:f:l:"
_SED = re.compile(
    rf"({PLACE})sed(?=\s)"
    r"((?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^;&\n|)<>`'\"\\])*)",
    re.S,
)
_MOST = 1000  # words of a call that is looked at
_ENDS = "$a\\"  # the script that gives a last line its newline
_HIDDEN = "\0"  # stands for a word that is not known yet


def sed(call: Call) -> None:
    """Say what is wrong in the script of a call that ``by_gnu_rules`` found, or help; or do what ``$a\\`` does."""
    text = _judged(tuple(call.argv))[0]
    if text is not None:
        call.err.append(f"sed: {text}\n")
        call.code = 1
    elif call.argv == ["--help"]:
        call.out.append(SED)
    else:
        _end_lines(call)


def _end_lines(call: Call) -> None:
    call.name, places = "sed", [word for word in call.argv if re.fullmatch(r"-i\S*", word)]
    call.argv = [word for word in call.argv if word not in places]
    found, words = options(call, _SHORT, _LONG)
    words = words if any(name in ("-e", "--expression") for name, _ in found) else words[1:]
    shown = []
    for word in words or ["-"]:
        data = content(call, word)
        if isinstance(data, str):
            reason = f"can't read {word}: {data}"
            if data == "Is a directory":
                reason = (
                    f"couldn't edit {word}: not a regular file" if places else f"read error on {word}: {data}"
                )
            call.fail(reason, 4 if places and data == "Is a directory" else 2)
        elif not places:
            shown.append(data)
        elif data and not data.endswith(b"\n"):
            meta = call.stat(call.path(word))
            for name, text in ((f"{word}{places[0][2:]}", data), (word, data + b"\n")):
                call.fs.write_file(call.path(name), text)
                call.fs.chmod(call.path(name), meta.mode if meta is not None else 0o644)
    lines = b"".join(d if not d or d.endswith(b"\n") else d + b"\n" for d in shown)
    call.out.append(lines.decode("utf-8", "replace"))


def by_gnu_rules(command: str) -> str:
    """The command with our ``sed`` for scripts that GNU sed refuses, and with others in bashkit's form."""
    found = list(_found(command))
    spans = to_keep(command) if found else []
    out, place = "", 0
    for match, words in found:
        start = match.end(1)
        if not inside(spans, start):
            out += command[place:start] + (f"{OWN}sed{match[2]}" if words is None else f"sed{words}")
            place = match.end(2)
    return out + command[place:]


def refuses(command: str) -> bool:
    """Is there a script in the command for which ``by_gnu_rules`` takes our ``sed``?"""
    return any(words is None for _, words in _found(command))


def _found(command: str) -> Iterator[tuple[re.Match[str], str | None]]:
    """Calls whose words change: with the new ones, or None for our ``sed``."""
    for match in _SED.finditer(command):
        words = match[2]
        if command[match.end() : match.end() + 1] in ("<", ">"):
            words = re.sub(r"\s\d$", "  ", words)
        new = _changed(words)
        if new != words:
            yield match, new


@functools.lru_cache(1024)
def _changed(words: str) -> str | None:
    """The words with the texts of scripts rewritten; None where sed would refuse them, or help."""
    spans = word_spans(words)
    if len(spans) > _MOST:
        return words
    known = [value(words[a:b]) or _HIDDEN for a, b in spans]
    complaint, changes = _judged(tuple(known))
    if complaint is not None or known == ["--help"] or (_ENDS in changes and "-n" not in known):
        return None
    for (a, b), word in reversed(list(zip(spans, known, strict=True))):
        for old, new in changes.items():
            if word.endswith(old) and word[: -len(old)] in ("", "-e", "--expression="):
                words = words[:a] + shlex.quote(word.removesuffix(old) + new) + words[b:]
    return words


def _judged(argv: tuple[str, ...]) -> tuple[str | None, dict[str, str]]:
    """What is wrong in the scripts of a call, and the scripts to change."""
    call = Call("sed", [w for w in argv if not re.fullmatch(r"-i\S*", w)], "", {}, "/", None, None)  # type: ignore[arg-type]
    try:
        found, words = options(call, _SHORT, _LONG)
    except UsageError:
        return None, {}
    names = [name for name, _ in found]
    scripts = [value for name, value in found if name in ("-e", "--expression")] or words[:1]
    if "-f" in names or "--file" in names or any(_HIDDEN in script for script in scripts):
        return None, {}
    reader = Script(any(name in ("-E", "-r", "--regexp-extended") for name in names))
    changes = {}
    for number, script in enumerate(scripts, 1):
        try:
            reader.run(script)
        except Refused as refused:
            return f"-e expression #{number}, char {reader.place}: {refused}", {}
        if reader.texts or scripts == [_ENDS]:
            changes[script] = reader.rewritten()
    return None, changes
