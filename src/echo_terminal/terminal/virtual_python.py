"""The bridge between ``python3`` on the virtual file system and the sandbox that runs it."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping

from bashkit import FileSystem

from echo_terminal.terminal import virtual_tree
from echo_terminal.terminal.python_sandbox import Outcome, PythonSandbox
from echo_terminal.terminal.shell_session import WRITABLE
from echo_terminal.terminal.shims.call import Call
from echo_terminal.terminal.terminal import CLOCK, EngineUnavailable, Entry, File


@functools.cache
def shared_sandbox() -> PythonSandbox:
    """The sandbox of this process, started at its first use."""
    return PythonSandbox()


class PythonProgram:
    """``python3`` for one episode; ``fixed`` are the files that no command can change.

    ``deadline`` is the host's ``time.monotonic`` at which the running command must be over. ``unavailable`` and
    ``last`` tell the terminal what happened: no sandbox here, or the outcome of the last run.
    """

    def __init__(self, fixed: Mapping[str, File]) -> None:
        self.fixed = {p: (Entry("file" if f.link is None else "link", f.mode, len(f.content), f.link), f)
                      for p, f in fixed.items()}  # fmt: skip
        self.deadline = 0.0
        self.unavailable: EngineUnavailable | None = None
        self.last: Outcome | None = None

    def __call__(self, call: Call) -> None:
        """Run CPython on the episode's files and take over what it changed."""
        try:
            sandbox = shared_sandbox()
        except EngineUnavailable as error:
            self.unavailable = error
            call.fail(str(error), 126)
            return
        seconds = max(0.05, self.deadline - time.monotonic())
        files = {**self.fixed, **_files(call)}
        outcome = sandbox.run(call.argv, call.stdin.encode(), call.cwd, call.env, files, seconds)
        self.last = outcome
        _apply(call.fs, outcome)
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
