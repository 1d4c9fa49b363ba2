"""Error texts of bashkit's jq in the words of jq 1.6, where the command shows what jq was given."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bashkit import FileSystem

from echo_terminal.terminal.wording.jq_errors import compile_error, undefined
from echo_terminal.terminal.wording.json_errors import parse_error
from echo_terminal.terminal.wording.words import PLACE, value, word_spans

_WORDS = r"((?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^;&\n|)<>`'\"\\])*)"
_JQ = re.compile(rf"{PLACE}jq(?=\s){_WORDS}(<<<|<(?![<(]))?{_WORDS}", re.S)
_BEFORE = re.compile(rf"{PLACE}(cat|echo)\s{_WORDS}\|\s*$", re.S)
_TAKES = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--indent": 1, "-L": 1}
_UNREAD = re.compile(r"^(?:jq: invalid JSON: .*|parse error: .*)$", re.M)
_UNCOMPILED = re.compile(r"^jq: error: (?:expected .*|unexpected .*|(\S+) is not defined)$", re.M)
_UNPARSED = re.compile(r'cannot parse "(.*)" as JSON: .*$', re.M)


@dataclass(frozen=True)
class Given:
    """What one call got: the program and the text to read; None where that is not known."""

    program: str | None
    text: str | None


def of_jq(text: str, command: str, cwd: str, fs: FileSystem) -> str:
    """Errors as jq 1.6 words them."""
    text = _UNPARSED.sub(_while_parsing, text)
    if _UNREAD.search(text) is None and _UNCOMPILED.search(text) is None:
        return text
    place = 0  # behind the last that is told
    for given in _calls(command, cwd, fs):
        if given.text is not None and (real := parse_error(given.text)) is not None:
            unread = _UNREAD.search(text, place)
            if unread is not None:
                text = text[: unread.start()] + real + text[unread.end() :]
                place = unread.start() + len(real)
        if (program := given.program) is not None:
            text = _UNCOMPILED.sub(lambda m, p=program: _compiled(m, p), text, count=1)  # type: ignore[misc]
    return text


def _compiled(match: re.Match[str], program: str) -> str:
    if match[1]:
        return undefined(program, match[1]) if match[1].partition("/")[0] in program else match[0]
    return compile_error(program) or match[0]


def _while_parsing(match: re.Match[str]) -> str:
    wrong = parse_error(match[1])
    return (
        match[0] if wrong is None else f"{wrong.removeprefix('parse error: ')} (while parsing '{match[1]}')"
    )


def _calls(command: str, cwd: str, fs: FileSystem) -> Iterator[Given]:
    for match in _JQ.finditer(command):
        words: list[str | None] = [value(match[1][a:b]) for a, b in word_spans(match[1])]
        program, place = None, 0
        files: list[str | None] = []
        while place < len(words):
            word = words[place]
            place += 1
            if word is not None and word.startswith("-") and word != "-":
                place += _TAKES.get(word, 0)
                if re.fullmatch(r"-\w*[fn]\w*|--from-file|--null-input|-\w*R\w*|--raw-input|--args", word):
                    files = [None]
            elif program is None and files != [None]:
                program = word if word is not None else ""
            else:
                program, files = (word, files) if program is None else (program, [*files, word])
        yield Given(program, _text(command, match, files, cwd, fs))


def _text(
    command: str, match: re.Match[str], files: list[str | None], cwd: str, fs: FileSystem
) -> str | None:
    """What the call reads: the first of its files, a document, a file redirected, or what echo or cat gives."""
    given = [value(match[3][a:b]) for a, b in word_spans(match[3])][:1] if match[2] else []
    if files:
        return _content(files[0], cwd, fs)
    if match[2] and given:
        return (
            _content(given[0], cwd, fs) if match[2] == "<" else None if given[0] is None else f"{given[0]}\n"
        )
    source = _BEFORE.search(command[: match.start() + 1])
    if source is not None:
        words = [value(source[2][a:b]) for a, b in word_spans(source[2])]
        if source[1] == "cat":
            return _content(words[0], cwd, fs) if len(words) == 1 else None
        known = [word for word in words if word is not None and word[:1] != "-"]
        return " ".join(known) + "\n" if known and len(known) == len(words) else None
    return None


def _content(word: str | None, cwd: str, fs: FileSystem) -> str | None:
    path = posixpath.normpath(posixpath.join(cwd, word)) if word else ""
    if not path or not fs.exists(path) or fs.stat(path)["file_type"] != "file":
        return None
    return fs.read_file(path).decode("utf-8", "surrogateescape")
