"""Modes that bashkit does not heed: it knows the mask of a shell, but makes every file with 644 and every folder with
755, and a file that is written anew gets 644 again.

So both are mended afterwards: before the mask changes, before a program of ours that looks at modes, and at the end of
a command. With the usual mask, and where every file has the usual mode or nothing is written, nothing is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bashkit import Bash, BuiltinContext, BuiltinResult, FileSystem

from echo_terminal.terminal.programs.call import Typed
from echo_terminal.terminal.programs.files.modes import UMASK
from echo_terminal.terminal.shell_session import WRITABLE
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

MASK = f"{OWN}mask"
_WORDS = r"(?:[ \t]+(?!-[Sp]*(?:[\s;&|)]|\Z))[^\s;&|()<>]+)+"
_CHANGES = re.compile(rf"({PLACE})((?:builtin[ \t]+|command[ \t]+)?umask{_WORDS})(?=[ \t]*(?:[;&|)\n]|\Z))")
_FILE = 0o644
_SETS = frozenset(f"chmod mktemp unzip {OWN}tar {OWN}gzip {OWN}gunzip xz unxz patch".split())  # set modes
_MOVES = frozenset("mv cp ln rm".split())  # files take their modes with them
_LOOKS = _SETS | _MOVES | {"ls", f"{OWN}ls", "stat", f"{OWN}find", "du", "zip"}
_SPREADS = re.compile(r"[$*?`\[{]|\bxargs\b|-exec|-o\b|-files")  # to files that the command does not name
_GIVES = re.compile(r"\b(?:chmod|mktemp|tar|unzip|gunzip|gzip|unxz|xz|patch|install|python3?)\b")
_AT_FIRST = {
    False: (0o644, 0o666),
    True: (0o755, 0o777),
}  # folder? -> modes that bashkit and Linux begin with


def told(command: str) -> str:
    """The command, but ``Modes`` is told of every new mask."""
    return _CHANGES.sub(_told, command)


def _told(match: re.Match[str]) -> str:
    before, change = match.groups()
    restored = f'trap "{MASK} $(umask)" EXIT; ' if "(" in before else ""  # as the subshell ends
    return f'{before}{restored}{{ {change} && {MASK} "$(umask)"; }}'


class Modes:
    """The mask of a session, and the modes of its files."""

    def __init__(self) -> None:
        self.restart({})

    def restart(self, unusual: Mapping[str, int]) -> None:
        """Another episode begins, with files of unusual modes."""
        self.mask, self._known = UMASK, frozenset[str]()
        self._unusual, self._stale, self._writes = dict(unusual), False, False
        self._risked = list(unusual)  # those that the command may write anew

    def __call__(self, context: BuiltinContext | Typed) -> BuiltinResult:
        """A command changes the mask, to the one that its only word tells."""
        self.settle(context.fs)
        self.change(int(context.argv[0], 8), context.fs)
        return BuiltinResult()

    def change(self, mask: int, fs: FileSystem) -> None:
        """Another mask holds from here on."""
        if mask != UMASK and self.mask == UMASK:
            self._known = frozenset(path for path, _, _ in _paths(fs))
        self.mask, self._writes = mask, True

    def before(self, command: str, shell: Bash, *, writes: bool, shows: bool) -> None:
        """A command begins; may it write a file anew, and does it then show the name of that?"""
        self._writes = writes or self.mask != UMASK
        if not self._writes:
            return
        if self._stale:
            self.learn(shell.fs())
        shows = shows and _SPREADS.search(command) is None
        self._risked = [path for path in self._unusual if not shows or path.rpartition("/")[2] in command]
        self._writes = bool(self._risked) or self.mask != UMASK or _GIVES.search(command) is not None

    def done(self, shell: Bash) -> None:
        """A command is over that has not changed the mask."""
        if self._writes:
            self.settle(shell.fs())

    def after(self, command: str, shell: Bash, variables: Mapping[str, str]) -> None:
        """A command is over, and bashkit's variables tell the mask, where it may be another."""
        if not self._writes and "install" not in command and "umask" not in command:
            return
        fs = shell.fs()
        if "install" in command:
            self.learn(fs)
        self.settle(fs)
        if "umask" in command or self.mask != UMASK:
            self.change(int(variables.get("_UMASK", "22"), 8), fs)

    def runs(self, name: str, fs: FileSystem) -> None:
        """A program of ours begins."""
        if self._writes and name in _LOOKS:
            self.settle(fs)

    def ran(self, name: str, words: Sequence[str], fs: FileSystem) -> None:
        """A program of ours is over."""
        if name in _SETS or (name in _MOVES and (self._stale or self._meets(words))):
            if self._writes:
                self.learn(fs)
                self.settle(fs)
            else:
                self._stale = True
        elif self._writes and name not in _LOOKS:
            self.settle(fs)

    def _meets(self, words: Sequence[str]) -> bool:
        """May the words of a program mean a file of an unusual mode?"""
        named = {word.rstrip("/").rpartition("/")[2] for word in words}
        return any(not named.isdisjoint((".", "..", *path.split("/"))) for path in self._unusual)

    def learn(self, fs: FileSystem) -> None:
        """The modes that files have now are those that they should have."""
        self._unusual = {path: mode for path, folder, mode in _paths(fs) if not folder and mode != _FILE}
        self._stale, self._risked = False, list(self._unusual)

    def settle(self, fs: FileSystem) -> None:
        """Give what is new its mode, and what was written anew the one that it had."""
        if not self._writes and self.mask == UMASK:
            return
        for path in self._risked:
            try:
                found = fs.stat(path)["mode"]
            except RuntimeError:
                self._unusual.pop(path, None)
                continue
            if found == _FILE and path in self._unusual:
                fs.chmod(path, self._unusual[path])
        if self.mask != UMASK:
            found_now = list(_paths(fs))
            for path, folder, mode in found_now:
                usual, first = _AT_FIRST[folder]
                wanted = (first if mode == usual else mode) & ~self.mask
                if path not in self._known and wanted != mode:
                    fs.chmod(path, wanted)
            self._known = frozenset(path for path, _, _ in found_now)
            self.learn(fs)


def _paths(fs: FileSystem) -> Iterator[tuple[str, bool, int]]:
    """Every path that commands may change, but links: is it a folder, and its mode."""
    pending = [root for root in WRITABLE if fs.exists(root)]
    while pending:
        above = pending.pop()
        for entry in fs.read_dir(above):
            path, meta = f"{above}/{entry['name']}", entry["metadata"]
            folder = meta["file_type"] == "directory"
            if folder:
                pending.append(path)
            if meta["file_type"] != "symlink":
                yield path, folder, meta["mode"]
