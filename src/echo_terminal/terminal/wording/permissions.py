"""Permissions of files and folders, which bashkit does not enforce.

A name that must not be read or written is handed to bashkit's programs and redirections as a path that cannot be
opened (below ``DENIED``), so that each fails in its own words; ``real_messages`` puts the name and the reason back.
Commands that can meet no such name run as they are.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from bashkit import Bash

from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.shell_session import WRITABLE
from echo_terminal.terminal.terminal import File
from echo_terminal.terminal.wording.texts import inside, to_keep
from echo_terminal.terminal.wording.words import PLACE

DENIED = "/usr/.denied/"
_LIKE = "__like_"  # in front of the name of a program: a function that does the same
READ, WRITE, ENTER, OVERWRITE = (
    "__to_read",
    "__to_write",
    "__to_enter",
    "__to_overwrite",
)  # the programs that turn words into paths
_READERS = (
    "cat head tail grep egrep fgrep sort sed awk uniq tac nl rev od xxd hexdump base64 md5sum sha1sum sha256sum "
    "sha512sum cksum jq paste join fold fmt expand strings column"
).split()
_WRITERS = ("touch", "truncate")
_PROGRAM = re.compile(rf"(?<![\w./-])(?:/(?:usr/)?bin/)?({'|'.join((*_READERS, *_WRITERS))})(?![\w./-])")
_BEHIND = re.compile(  # bashkit gives a function of a program's own name no input there
    rf"((?<!\|)\|&?[ \t]*)({'|'.join(_READERS)})(?![\w./-])"
)
_PAST = re.compile(rf"(?<![\w./-])command\s+(?={_PROGRAM.pattern})")  # a function would not be called
_SCRIPTED = ("grep", "egrep", "fgrep", "sed", "awk", "jq")  # their first operand is no file
_WORD = r"""(?:"\$\{?\w+\}?"|\$\{?\w+\}?(?![\w/.$\[])|"[^"$`\n]+"|'[^'\n]+'|[\w./~+-]+)"""
_REDIRECTION = re.compile(rf"(?<![<>&=-])([12]?>>?|<)\s*(?![&(])({_WORD})(?![\w$*?])")
_OVERWRITES = re.compile(rf"(?<![<>&=-])(1?>\|?)[ \t]*({_WORD})(?![\w$*?])")
_TEST = re.compile(rf"((?:\[|\btest|!|-a|-o)\s+)-([rw])\s+({_WORD})")
_CD = re.compile(rf"({PLACE})cd[ \t]+({_WORD})(?=[\s;&|)]|\Z)")
_CHMOD = re.compile(r"\bchmod\s+([^;&|\n]+)")
_GRANTS = re.compile(r"[ugoa]*\+[rwxX]+|0?[67]\d\d")
_MOVES = re.compile(r"\b(?:mv|cp|ln)\s+([^;&|\n]+)")
_SPREADS = re.compile(r"(?<!\$)[*?]|\bfind\b|\bxargs\b|(?<!read)\s-\w*[rR]")
_SHOWS = re.compile(
    rf"\bset -\w*x|\bsh -\w*x|{PLACE}(?:type\s|declare\s+-[fF]|command\s+-[vV])"
)  # the functions would be seen


class Rights:
    """What of an episode may lack a permission, and how its commands are run for that.

    ``own``: the files of its start that commands may change.
    """

    def __init__(self, own: Mapping[str, File]) -> None:
        self._names = {
            posixpath.basename(path)
            for path, file in own.items()
            if file.mode & 0o600 != 0o600 and file.link is None
        }
        self._odd = {posixpath.basename(path) for path, file in own.items() if file.mode != 0o644}
        self._functions = ""

    @property
    def wraps(self) -> bool:
        """Has the shell functions around programs, for the command that runs?"""
        return self._functions != ""

    def applied(self, shell: Bash, command: str) -> str:
        """What to run for a command; functions around the programs that it names are defined in the shell."""
        if self._functions:
            shell.execute_sync(f"unset -f {self._functions}")
            self._functions = ""
        functions, text = self._wrapped(command)
        if self._odd and ">" in command:
            text = _changed(_OVERWRITES, self._overwritten, text)
        if functions:
            self._functions = " ".join(functions)
            shell.execute_sync("\n".join(_function(*both) for both in functions.items()))
        return text

    def for_script(self, text: str) -> tuple[str, str]:
        """The functions for the head of a script, and what to run for it."""
        functions, text = self._wrapped(text)
        return "".join(f"{_function(*both)}; " for both in functions.items()), text

    def _wrapped(self, command: str) -> tuple[dict[str, str], str]:
        """The functions that a command needs (name -> program), and what to run for it."""
        functions: dict[str, str] = {}
        if not self._names and "chmod" not in command:
            return functions, command
        self._learn(command)
        named = self._named(command)
        if not self._names or not (named or _spreads(command)) or _SHOWS.search(command):
            return functions, command
        programs = dict.fromkeys(_PROGRAM.findall(command))
        if programs:
            behind = {f"{_LIKE}{m[2]}": m[2] for m in _BEHIND.finditer(command)}
            functions = {**{name: name for name in programs}, **behind}
            command = _changed(_BEHIND, lambda m: f"{m[1]}{_LIKE}{m[2]}", command) if behind else command
        text = (
            _changed(_CD, self._entered, _PAST.sub("", command))
            if "cd " in command
            else _PAST.sub("", command)
        )
        text = _changed(_REDIRECTION, self._redirected, text)
        return functions, _changed(_TEST, self._tested, text)

    def define(self, shell: Bash, name: str, text: str) -> None:
        """Define another function for the command that runs next."""
        self._functions = f"{self._functions} {name}"
        shell.execute_sync(text)

    def _learn(self, command: str) -> None:
        for match in _CHMOD.finditer(command):
            words = [word for word in match[1].split() if word not in ("-R", "-v", "-c", "-f")]
            self._odd |= {posixpath.basename(word.strip("'\"")) for word in words[1:]}
            if words and _GRANTS.fullmatch(words[0]) is None:
                self._names |= {posixpath.basename(word.strip("'\"/")) or word for word in words[1:]}
        for match in _MOVES.finditer(command):
            words = match[1].split()
            if words and any(posixpath.basename(word) in self._names for word in words):
                self._names.add(posixpath.basename(words[-1].strip("/")))

    def _named(self, text: str) -> bool:
        return any(
            name in text and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in self._names
        )

    def _meant(self, word: str) -> bool:
        return word.startswith(('"$', "$")) or self._named(word)

    def _entered(self, match: re.Match[str]) -> str:
        return f'{match[1]}cd "$({ENTER} {match[2]})"' if self._named(match[2]) else match[0]

    def _redirected(self, match: re.Match[str]) -> str:
        sign, word = match[1], match[2]
        if not self._meant(word) or (word.startswith(('"$', "$")) and sign != "<"):
            return match[0]
        return f'{sign} "$({READ if sign == "<" else WRITE} {word})"'

    def _overwritten(self, match: re.Match[str]) -> str:
        name = posixpath.basename(match[2].strip("'\""))
        return f'{match[1]} "$({OVERWRITE} {match[2]})"' if name in self._odd else match[0]

    def _tested(self, match: re.Match[str]) -> str:
        program = READ if match[2] == "r" else WRITE
        return f'{match[1]}-{match[2]} "$({program} {match[3]})"' if self._meant(match[3]) else match[0]


def _spreads(command: str) -> bool:
    """May words of the command stand for files that it does not name?"""
    if _SPREADS.search(command) is None:
        return False
    spans = to_keep(command)
    return any(not inside(spans, m.start()) for m in _SPREADS.finditer(command))


def _changed(
    pattern: re.Pattern[str],
    change: Callable[[re.Match[str]], str],
    command: str,
    kept: Sequence[tuple[int, int]] | None = None,
) -> str:
    """``pattern.sub``, but nothing begins inside what is kept: by default, inside a text that is no command."""
    if pattern.search(command) is None:
        return command
    spans = to_keep(command) if kept is None else kept
    return pattern.sub(lambda m: m[0] if inside(spans, m.start()) else change(m), command)


def _function(called: str, name: str) -> str:
    program = WRITE if name in _WRITERS else READ
    return f'{called}() {{ eval "command {name} $({program} {name} -- "$@")"; }}'


def to_read(call: Call) -> None:
    """Words with those that name a file without permission to read replaced (``PROGRAM -- WORDS``, or one word)."""
    _replace(call, 0o400)


def to_enter(call: Call) -> None:
    """The same for a folder that is to be the working directory."""
    word = call.argv[0]
    meta = call.stat(call.path(word))
    closed = meta is not None and meta.kind == "directory" and not meta.mode & 0o100
    call.out.append(f"{DENIED}{_masked(word)}" if closed else word)


def to_write(call: Call) -> None:
    """The same for writing."""
    _replace(call, 0o200)


def to_overwrite(call: Call) -> None:
    """One word, the name of a file that keeps its mode when it is written anew."""
    path = call.path(call.argv[0])
    meta = call.stat(path)
    if meta is not None and meta.kind == "file":
        call.clock.modes.setdefault(path, meta.mode)
    call.out.append(call.argv[0])


def _replace(call: Call, bit: int) -> None:
    if call.argv[1:2] != ["--"]:
        call.out.append("".join(f"{DENIED}{_masked(w)}" if denied(call, w, bit) else w for w in call.argv))
        return
    name, words = call.argv[0], call.argv[2:]
    given = any(word in ("-e", "-f") or word[:2] == "--" for word in words)
    script = next((n for n, w in enumerate(words) if not w.startswith("-")), -1)
    skipped = script if name in _SCRIPTED and not given else -1
    found = []
    for place, word in enumerate(words):
        if word in ("", "-") or word.startswith("-") or place == skipped:
            found.append(word)
        elif denied(call, word, bit, owner=name == "touch"):
            found.append(DENIED + _masked(word))
        else:
            found.append(word)
    if name.endswith("grep") and any(re.fullmatch(r"-\w*[rR]\w*|--recursive", word) for word in words):
        roots = [w for n, w in enumerate(words) if n != skipped and not w.startswith("-")]
        below = [(word, name) for word, name in _below(call, roots) if _included(name, words)]
        if below and not roots:  # what is named now is all that is searched
            inside = call.children(call.cwd).items()
            files = [n for n, m in inside if m.kind == "file" and m.readable and _included(n, words)]
            found += [*files, *(n for n, m in inside if m.kind == "directory")]
        found += [word for word, _ in below]
    call.out.append(" ".join("'" + word.replace("'", "'\\''") + "'" for word in found))


def _masked(word: str) -> str:
    return word.replace("..", "%2e%2e")


def denied(call: Call, word: str, bit: int, *, owner: bool = False) -> bool:
    """Is ``bit`` of the mode missing at a word, or the way there closed? The owner may set times without it."""
    path = call.path(word)
    if not path.startswith(tuple(f"{folder}/" for folder in WRITABLE)):
        return False
    above = posixpath.dirname(path)
    folder = above
    while folder not in ("/", *WRITABLE):
        meta = call.stat(folder)
        if meta is not None and meta.kind == "directory" and not meta.mode & 0o100:
            return True
        folder = posixpath.dirname(folder)
    meta = call.stat(path)
    if meta is None:
        parent = call.stat(above)
        return bit == 0o200 and parent is not None and parent.kind == "directory" and not parent.mode & bit
    return not owner and meta.kind == "file" and not meta.mode & bit


def _included(name: str, words: Sequence[str]) -> bool:
    wanted = [word.partition("=")[2] for word in words if word.startswith("--include=")]
    return not wanted or any(fnmatch.fnmatch(name, pattern) for pattern in wanted)


def _below(call: Call, roots: list[str]) -> list[tuple[str, str]]:
    """For a search through folders: the closed files in them as words, options that leave them out, and their names."""
    found = []
    pending = [(root, call.path(root)) for root in roots or [""]]
    while pending:
        shown, path = pending.pop()
        if not call.is_folder(path):
            continue
        for name, meta in call.children(path).items():
            inner = posixpath.join(shown, name)
            if meta.kind == "directory":
                pending.append((inner, posixpath.join(path, name)))
            elif not meta.readable:
                found += [(f"--exclude={name}", name), (DENIED + _masked(inner), name)]
    return found
