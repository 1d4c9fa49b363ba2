"""``umask``: bashkit knows the mask of a shell, but makes every file with 644 and every folder with 755.

So what is new gets its mode afterwards: before the mask changes, before a program of ours looks, and at the end of a
command. While the mask is the usual one, nothing is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bashkit import BuiltinContext, BuiltinResult, FileSystem

from echo_terminal.terminal.programs.call import Typed
from echo_terminal.terminal.programs.files.modes import UMASK
from echo_terminal.terminal.shell_session import WRITABLE
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

MASK = f"{OWN}mask"
_WORDS = r"(?:[ \t]+(?!-[Sp]*(?:[\s;&|)]|\Z))[^\s;&|()<>]+)+"
_CHANGES = re.compile(rf"({PLACE})((?:builtin[ \t]+|command[ \t]+)?umask{_WORDS})(?=[ \t]*(?:[;&|)\n]|\Z))")
_AT_FIRST = {
    False: (0o644, 0o666),
    True: (0o755, 0o777),
}  # folder? -> modes that bashkit and Linux begin with


def told(command: str) -> str:
    """The command, but ``Mask`` is told of every new mask."""
    return _CHANGES.sub(_told, command)


def _told(match: re.Match[str]) -> str:
    before, change = match.groups()
    restored = f'trap "{MASK} $(umask)" EXIT; ' if "(" in before else ""  # as the subshell ends
    return f'{before}{restored}{{ {change} && {MASK} "$(umask)"; }}'


class Mask:
    """The mask of a session, and which paths have their modes."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Another episode begins."""
        self.now, self._known = UMASK, frozenset[str]()

    def __call__(self, context: BuiltinContext | Typed) -> BuiltinResult:
        """A command changes the mask, to the one that its only word tells."""
        self.settle(context.fs)
        self.change(int(context.argv[0], 8), context.fs)
        return BuiltinResult()

    def change(self, mask: int, fs: FileSystem) -> None:
        """Another mask holds from here on."""
        if mask != UMASK and self.now == UMASK:
            self._known = frozenset(path for path, _, _ in _paths(fs))
        self.now = mask

    def after(self, command: str, variables: Mapping[str, str], fs: FileSystem) -> None:
        """A command is over, and bashkit's variables tell the mask."""
        if "umask" in command or self.now != UMASK:
            self.settle(fs)
            self.change(int(variables.get("_UMASK", "22"), 8), fs)

    def settle(self, fs: FileSystem) -> None:
        """Give what is new its mode."""
        if self.now == UMASK:
            return
        found = list(_paths(fs))
        for path, folder, mode in found:
            if path not in self._known:
                usual, first = _AT_FIRST[folder]
                wanted = (first if mode == usual else mode) & ~self.now
                if wanted != mode:
                    fs.chmod(path, wanted)
        self._known = frozenset(path for path, _, _ in found)


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
