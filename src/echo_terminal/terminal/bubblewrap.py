"""Real bash, GNU tools and CPython of this machine in a bubblewrap sandbox: the reference that others are held to.

The episode's own files live in size-limited tmpfs mounts (HOME, /tmp, /var/site) inside private namespaces and
vanish with them; other paths of ``files`` (/usr/local, /etc, /opt ...) are read-only. No network, no capability, no
file of the host but /usr. Process 1 is a supervisor that nothing inside can signal; it restarts the shell by the
rules of ``shell_session``.

The processes die with the Python thread that called ``reset`` (``--die-with-parent``): keep that thread alive.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from echo_terminal.terminal import sandbox
from echo_terminal.terminal import shell_session as shell
from echo_terminal.terminal.persistent_shell import PersistentShell
from echo_terminal.terminal.rooted import RootedTree
from echo_terminal.terminal.sandbox import CONTROL, OUTPUT, STATE, BubblewrapParams, check_available
from echo_terminal.terminal.state import digest
from echo_terminal.terminal.terminal import (
    HOME,
    Entry,
    File,
    Observation,
)

__all__ = ["BubblewrapParams", "BubblewrapTerminal", "check_available"]


class BubblewrapTerminal(PersistentShell):
    """See ``terminal.Terminal`` for the protocol."""

    name = "bubblewrap"

    def __init__(self, params: BubblewrapParams | None = None) -> None:
        self.params = params or BubblewrapParams()
        self.output_bytes, self.max_processes = self.params.output_bytes, self.params.processes
        self.state_file = STATE
        check_available()
        self._bwrap: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    # -- episode ---------------------------------------------------------------------------------------------------

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        """See ``Terminal.reset``.

        Raises:
            ValueError: a path that no sandbox can offer (under /proc, /dev, /run or the host's /usr).
            RuntimeError: the sandbox did not start.
        """
        self.close()
        self._folder = Path(tempfile.mkdtemp(prefix="echo-terminal-"))
        self._folder.chmod(0o711)
        self._control = self._folder / "control"
        arguments = sandbox.lay_out(files, self._folder, self.params)
        self._channel, low = os.pipe()
        events = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 10)  # the supervisor uses the numbers below
        os.close(low)
        info, info_in = os.pipe()
        self.events = str(events)
        self._control.joinpath("supervisor").write_text(sandbox.supervisor(self.params, self.events))
        with open(self._folder / "complaint", "wb") as complaint:
            self._bwrap = subprocess.Popen(
                [*sandbox.launcher(), "--info-fd", str(info_in), *arguments, "bash", f"{CONTROL}/supervisor"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaint,
                pass_fds=(events, info_in),
            )
        os.close(events)
        os.close(info_in)
        with open(info, "rb") as report:
            described = report.read()
        if not described or self.begin(seed).kind != "done":
            reason = (self._folder / "complaint").read_text("utf-8", "replace").strip()
            self.close()
            raise RuntimeError(f"bubblewrap did not start an episode: {reason or 'no reason given'}")
        self._first = int(json.loads(described)["child-pid"])
        self._tree = RootedTree(f"/proc/{self._first}/root")

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        """See ``Terminal.run``. NUL bytes of ``command`` are dropped, as bash drops them."""
        if self._bwrap is None:
            raise RuntimeError("no episode: call reset first")
        return self.step(command, timeout)

    # -- the channel -----------------------------------------------------------------------------------------------

    def send(self, lines: str) -> None:
        assert self._bwrap is not None and self._bwrap.stdin is not None
        try:
            self._bwrap.stdin.write(lines.encode())
            self._bwrap.stdin.flush()
        except BrokenPipeError:
            pass  # the sandbox is gone: the event channel, read next, is closed too

    def receive(self, seconds: float) -> bytes | None:
        ready = select.select([self._channel], [], [], seconds)[0]
        return os.read(self._channel, 65536) if ready else None

    def submit(self, command: str, code: int) -> None:
        (self._control / "command").write_bytes(command.encode("utf-8", "surrogateescape"))
        self._streams = (f"{OUTPUT}/out.{self._count}", f"{OUTPUT}/err.{self._count}")
        self.send(shell.step(f'"$(<{CONTROL}/command)"', STATE, *self._streams, self.events, code))

    def collect(self) -> tuple[bytes, bytes, int]:
        out, err = (self._output(path) for path in self._streams)
        return out, err, self.count_processes()

    def _output(self, path: str) -> bytes:
        data = self._tree.read(path) or b""
        if data:
            os.unlink(self._path(path))
        return data[: self.output_bytes + 1]

    def over_limit(self) -> bool:
        if any(self._size(path) > self.output_bytes for path in self._streams):
            return True
        resident = sum(_resident(pid) for pid in [self._first, *self._processes()])
        return resident > self.params.memory_mb << 20

    def _path(self, path: str) -> str:
        return f"/proc/{self._first}/root{path}"

    def _size(self, path: str) -> int:
        try:
            return os.stat(self._path(path), follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0

    # -- processes -------------------------------------------------------------------------------------------------

    def _processes(self) -> list[int]:
        """Host ids of the episode's processes without the supervisor, the shell first."""
        found: list[int] = []
        todo = [self._first]
        while todo:
            pid = todo.pop()
            try:
                text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            children = [int(word) for word in text.split()]
            found += children
            todo += children
        return found

    def count_processes(self) -> int:
        return len(self._processes())

    def starved(self) -> bool:
        return self.count_processes() > self.max_processes // 2

    def interrupt(self) -> None:
        _signal(self._processes(), signal.SIGINT)

    def kill_children(self) -> None:
        _signal(self._processes()[1:], signal.SIGKILL)

    def kill_shell(self) -> None:
        _signal(self._processes()[:1], signal.SIGKILL)

    # -- inspection ------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes | None:
        """See ``Terminal.read``; links are resolved inside the episode."""
        return self._tree.read(path)

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """See ``Terminal.list``."""
        return self._tree.list(root)

    def fingerprint(self) -> str:
        """See ``Terminal.fingerprint``."""
        event = self.aside(f"builtin declare -p >|{OUTPUT}/declared\n")
        declared = (self._tree.read(f"{OUTPUT}/declared") or b"").decode("utf-8", "surrogateescape")
        tree = self.list(HOME)
        contents = {path: self.read(path) or b"" for path, entry in tree.items() if entry.kind == "file"}
        return digest(event.text, shell.variables(declared), tree, contents)

    def close(self) -> None:
        """See ``Terminal.close``."""
        if self._bwrap is not None:
            self._bwrap.kill()
            self._bwrap.wait()
            assert self._bwrap.stdin is not None
            try:
                self._bwrap.stdin.close()
            except BrokenPipeError:
                pass
            os.close(self._channel)
            self._bwrap = None
        if self._folder is not None:
            shutil.rmtree(self._folder)
            self._folder = None


def _resident(pid: int) -> int:
    """Resident bytes of a process that are its own; 0 once it is gone."""
    try:
        words = Path(f"/proc/{pid}/statm").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(words[1]) - int(words[2])) * os.sysconf("SC_PAGE_SIZE")


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
