"""Numbers as jq 1.6 writes them: all are doubles, so ``10.00`` is ``10``. bashkit's jq repeats them as they came."""

from __future__ import annotations

import posixpath
import re

from bashkit import FileSystem

from echo_terminal.terminal.wording.piping import JQ, RAW_JQ
from echo_terminal.terminal.wording.texts import outside_texts
from echo_terminal.terminal.wording.tracing import TRACED
from echo_terminal.terminal.wording.words import PLACE

LARGEST = 1 << 16  # bytes of a file that is looked through
_JQ = re.compile(rf"({PLACE})((?:__like_)?jq)(?=\s)")  # it, or the function that looks at permissions first
_FILE = re.compile(r"[\w./-]+\.(?:jsonl?|ndjson)\b")
_ODD = re.compile(r"(?<![\w.])(?:\d+\.\d*0(?![\d.])|\d+(?:\.\d+)?[eE][-+]?\d|\d{18})")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LIKE = re.compile(r"\d[.eE]\d|\d{18}")
_RAW = re.compile(r"\s(?:-\w*[rj]\w*|--raw-output|--join-output)\b")


def with_numbers(command: str, cwd: str, fs: FileSystem) -> str:
    """The command with jq called by the function that mends numbers, where what it reads has such."""
    if "jq" not in command or TRACED.search(command) is not None:
        return command
    texts = [command]
    for name in _FILE.findall(command):
        path = posixpath.normpath(posixpath.join(cwd, name))
        if fs.exists(path) and (about := fs.stat(path))["file_type"] == "file" and about["size"] <= LARGEST:
            texts.append(fs.read_file(path).decode("utf-8", "replace"))
    if not any(_ODD.search(text) for text in texts):
        return command
    if _RAW.search(command) is None:
        return outside_texts(command, lambda text: _JQ.sub(rf"\1{JQ} \2", text))
    strings = (string for text in texts for string in _STRING.findall(text))
    if any(map(_LIKE.search, strings)):
        return command
    return outside_texts(command, lambda text: _JQ.sub(rf"\1{RAW_JQ} \2", text))
