"""Error texts that depend on what the session holds: its files, its folders, the values of its variables."""

from __future__ import annotations

import posixpath
import re

from bashkit import FileSystem, ShellState

from echo_terminal.terminal.programs.call import LONGEST_NAME, LONGEST_PATH, NO_ENTRY, TOO_LONG
from echo_terminal.terminal.wording.words import PLACE

_BELOW = re.compile(rf"(?<=[ '`])([^\s:'`]+/[^\s:'`]+)('?(?: for reading)?): {NO_ENTRY}")
_LONG = re.compile(  # a name or a path that no file system takes
    rf"(?<=[ '`])(?=[^\s:'`]*[^\s:'`/]{{{LONGEST_NAME + 1}}}|[^\s:'`]{{{LONGEST_PATH + 1}}})"
    rf"([^\s:'`]+'?(?: for reading)?): {NO_ENTRY}"
)
_MISSING = re.compile(rf"^bash: (\S+): {NO_ENTRY}$", re.M)
_VALUE = re.compile(
    r"^((?:\S+: line \d+: |bash: )(?:\(\(: |let: )?)(.*)(: (?:syntax error: invalid arithmetic operator|"
    r"syntax error in expression|value too great for base) \(error token is \"(.*)\"\))$", re.M
)  # fmt: skip
_READS = re.compile(rf"{PLACE}(\w+)\b[^|;&\n<>]*<[ \t]*([^\s;&|<>()]+)")
_SOURCED = re.compile(rf"{PLACE}(\.|source)\s+([^\s;&|<>()]+)")
_INPUT = re.compile(r"^bash: (.+): Is a directory$", re.M)
_OF_INPUT = {  # program -> what it says where its standard input is a directory
    "cat": "cat: -: Is a directory",
    "grep": "grep: (standard input): Is a directory",
    "sort": "sort: read failed: -: Is a directory",
    "wc": "wc: 'standard input': Is a directory",
    "head": "head: error reading 'standard input': Is a directory",
    "tail": "tail: error reading 'standard input': Is a directory",
    "tr": "tr: read error: Is a directory",
    "read": "bash: read: read error: 0: Is a directory",
    "sed": "sed: read error on stdin: Is a directory",
    "cut": "cut: -: Is a directory",
    "nl": "nl: -: Is a directory",
    "tac": "tac: standard input: read error: Is a directory",
    "base64": "base64: read error: Is a directory",
    "gzip": "\ngzip: stdin: Is a directory",
    "od": "od: 'standard input': Is a directory",
    "patch": "patch: **** read error : Is a directory",
    "tar": "tar: -: Cannot read: Is a directory\ntar: At beginning of tape, quitting now\n"
    "tar: Error is not recoverable: exiting now",
    "xxd": "xxd: Is a directory",
    **{f"{kind}sum": f"{kind}sum: -: Is a directory" for kind in ("md5", "sha1", "sha256", "sha512", "b2")},
}


def in_context(text: str, command: str, state: ShellState, fs: FileSystem) -> str:
    """Error texts with what bash knows of files and values, after a command that left the session in ``state``."""
    if len(text) > LONGEST_NAME and NO_ENTRY in text:
        text = _LONG.sub(rf"\1: {TOO_LONG}", text)
    if "/" in text:
        text = _through_files(text, state.cwd, fs)
    if NO_ENTRY in text:
        text = _folders(text, command, state.cwd, fs)
    if "error token is" in text:
        text = _VALUE.sub(lambda match: _valued(match, state), text)
    if "<" in command and "Is a directory" in text:
        starts = list(_READS.finditer(command))
        text = _INPUT.sub(lambda match: _of_input(match, starts), text)
    return text


def _through_files(text: str, cwd: str, fs: FileSystem) -> str:
    """A path that leads through a file is no directory: bashkit says that it is missing."""

    def reason(match: re.Match[str]) -> str:
        path = posixpath.join(cwd, match[1])
        while (path := posixpath.dirname(path)) != "/" and not fs.exists(path):
            pass
        kind = fs.stat(path)["file_type"] if path != "/" else "directory"
        return f"{match[1]}{match[2]}: Not a directory" if kind == "file" else match[0]

    return _BELOW.sub(reason, text)


def _folders(text: str, command: str, cwd: str, fs: FileSystem) -> str:
    """A folder is no script."""
    sourced = _SOURCED.findall(command)

    def reason(match: re.Match[str]) -> str:
        name, path = match[1], posixpath.join(cwd, match[1])
        if not fs.exists(path) or fs.stat(path)["file_type"] != "directory":
            return match[0]
        if sources := [word for word in sourced if word[1] == name]:
            if len(sources) > 1:
                sourced.remove(sources[0])
            return f"bash: {sources[0][0]}: {name}: is a directory"
        if re.search(rf"\bbash\s+{re.escape(name)}(?![\w/.-])", command):
            return f"{name}: {name}: Is a directory"
        return match[0]

    return _MISSING.sub(reason, text)


def _valued(match: re.Match[str], state: ShellState) -> str:
    """bash names the value in which it found a wrong sign, bashkit the expression in which the variable stands."""
    before, expression, after, token = match.groups()
    if token in expression:
        return match[0]
    variables = {**state.env, **state.variables}
    values = (str(variables.get(name, "")) for name in re.findall(r"[A-Za-z_]\w*", expression))
    value = next((value for value in values if value.endswith(token)), expression)
    return f"{before}{value}{after}"


def _of_input(match: re.Match[str], starts: list[re.Match[str]]) -> str:
    """What the first program says that reads this folder; it is taken out of ``starts`` if others read it too."""
    found = [start for start in starts if start[2].strip("'\"") == match[1]]
    if len(found) > 1:
        starts.remove(found[0])
    return _OF_INPUT.get(found[0][1], match[0]) if found else match[0]
