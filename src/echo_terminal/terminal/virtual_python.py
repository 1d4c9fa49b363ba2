"""The bridge between ``python3`` on the virtual file system and the sandbox that runs it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from random import Random

from bashkit import FileSystem

from echo_terminal.terminal import virtual_tree
from echo_terminal.terminal.programs.call import Call
from echo_terminal.terminal.python_sandbox import Outcome, PythonSandbox
from echo_terminal.terminal.shell_session import WRITABLE
from echo_terminal.terminal.terminal import CLOCK, EngineUnavailable, Entry, File

MARGIN = 0.2  # seconds before the limit of the command at which Python must be over, to be reported in time


@functools.cache
def shared_sandbox() -> PythonSandbox:
    """The sandbox of this process, started at its first use."""
    return PythonSandbox()


class PythonProgram:
    """``python3`` of a terminal; ``fixed`` are the files of its episode that no command can change.

    ``chance`` gives the seed of each run. ``applied`` is called with a file system that a run has changed. ``start``
    says until when (the host's ``time.monotonic``) the coming command may run and how to stop it where a limit ends
    Python. ``unavailable`` and ``last`` tell what happened: no sandbox here, or the outcome of the last run.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.fixed: Mapping[str, File] = {}
        self.applied: Callable[[FileSystem], None] = lambda fs: None
        self.unavailable: EngineUnavailable | None = None
        self.last: Outcome | None = None

    def start(self, deadline: float, stop: Callable[[], None]) -> None:
        """A command begins."""
        self._deadline, self._stop = deadline, stop
        self.unavailable, self.last = None, None

    def end(self) -> None:
        """The command is over. Its ``stop`` is let go: it holds the interpreter, which holds this program, and a ring
        through native code is never collected."""
        del self._stop

    def __call__(self, call: Call) -> None:
        """Run CPython on the episode's files and take over what it changed."""
        try:
            sandbox = shared_sandbox()
        except EngineUnavailable as error:
            self.unavailable = error
            call.fail(str(error), 126)
            return
        seconds = max(0.05, self._deadline - MARGIN - time.monotonic())
        fixed = {p: (Entry("file" if f.link is None else "link", f.mode, len(f.content), f.link), f)
                 for p, f in self.fixed.items()}  # fmt: skip
        files = {**fixed, **_files(call)}
        seed, env = self._chance.getrandbits(48), dict(sorted(call.env.items()))
        outcome = sandbox.run(call.argv, call.stdin.encode(), call.cwd, env, files, seconds, seed)
        self.last = outcome
        if outcome.over:
            self._stop()
        _apply(call.fs, outcome)
        self.applied(call.fs)
        call.out.append(outcome.stdout.decode("utf-8", "replace"))
        call.err.append(outcome.stderr.decode("utf-8", "replace"))
        call.code = outcome.exit_code


def _files(call: Call) -> dict[str, tuple[Entry, File]]:
    found = {}
    for root in WRITABLE:
        for path, entry, stamp in virtual_tree.walk(call.fs, root):
            content = call.fs.read_file(path) if entry.kind == "file" else b""
            shown = int(call.shown_time(stamp)) if entry.kind != "directory" else CLOCK
            found[path] = (entry, File(content, entry.mode, shown, entry.target))
    return found


def _apply(fs: FileSystem, outcome: Outcome) -> None:
    for path in outcome.gone:
        if virtual_tree.entry(fs, path) is not None:
            fs.remove(path, recursive=True)
    for path, (entry, content) in outcome.changed.items():
        old = virtual_tree.entry(fs, path)
        if old is not None and (old.kind != entry.kind or entry.kind == "link"):
            fs.remove(path, recursive=True)
        if entry.kind == "link":
            fs.symlink(entry.target or "", path)
            continue
        if entry.kind == "directory":
            fs.mkdir(path, recursive=True)
        else:
            fs.write_file(path, content)
        fs.chmod(path, entry.mode)
