"""Real bash, GNU tools and CPython of this machine in a bubblewrap sandbox: the reference that others are held to.

The episode's own files live in size-limited tmpfs mounts (HOME, /tmp, /var/site) inside private namespaces and
vanish with them; other paths of ``files`` (/usr/local, /etc, /opt ...) are read-only. No network, no capability, no
file of the host but /usr. Process 1 is a supervisor that nothing inside can signal; it restarts the shell by the
rules of ``shell_session``.

The processes die with the Python thread that called ``reset`` (``--die-with-parent``): keep that thread alive.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from echo_terminal.terminal import sandbox
from echo_terminal.terminal import shell_session as shell
from echo_terminal.terminal.normalise import normal_form
from echo_terminal.terminal.rooted import RootedTree
from echo_terminal.terminal.sandbox import CONTROL, OUTPUT, START, STATE, BubblewrapParams, check_available
from echo_terminal.terminal.state import digest
from echo_terminal.terminal.terminal import (
    HOME,
    KILLED_EXIT,
    TIMEOUT_EXIT,
    Entry,
    File,
    Observation,
    Status,
)

TICK = 0.1  # seconds between looks at memory and output while a command runs
SETTLE, WATCHES = (
    0.03,
    15,
)  # background children are watched for this many seconds, so often while they multiply
GRACE = 0.25  # seconds from SIGINT to SIGKILL, and from there to a new shell


__all__ = ["BubblewrapParams", "BubblewrapTerminal", "check_available"]


class BubblewrapTerminal:
    """See ``terminal.Terminal`` for the protocol."""

    name = "bubblewrap"

    def __init__(self, params: BubblewrapParams | None = None) -> None:
        self.params = params or BubblewrapParams()
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
        self._seed, self._count, self._nonce = seed, 0, secrets.token_hex(8)
        self._cwd, self._code = HOME, 0
        self._folder = Path(tempfile.mkdtemp(prefix="echo-terminal-"))
        self._folder.chmod(0o711)
        self._control = self._folder / "control"
        arguments = sandbox.lay_out(files, self._folder, self.params)
        self._events, events = os.pipe()
        info, info_in = os.pipe()
        self._buffer, self._fd = b"", str(events)
        self._control.joinpath("supervisor").write_text(sandbox.supervisor(self.params, self._fd))
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
        self._send(shell.opening(seed, STATE))
        if not described or self._finish(time.monotonic() + START).kind != "done":
            reason = (self._folder / "complaint").read_text("utf-8", "replace").strip()
            self.close()
            raise RuntimeError(f"bubblewrap did not start an episode: {reason or 'no reason given'}")
        self._first = int(json.loads(described)["child-pid"])
        self._tree = RootedTree(f"/proc/{self._first}/root")

    # -- commands --------------------------------------------------------------------------------------------------

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        """See ``Terminal.run``. NUL bytes of ``command`` are dropped, as bash drops them."""
        if self._bwrap is None or self._folder is None:
            raise RuntimeError("no episode: call reset first")
        started = time.monotonic()
        if len(self._processes()) > self.params.processes // 2:  # multiplied since the last command
            self._end_shell()
            self._reopen()
        self._count += 1
        out, err = f"{OUTPUT}/out.{self._count}", f"{OUTPUT}/err.{self._count}"
        text = command.replace("\0", "").encode("utf-8", "surrogateescape")
        self._control.joinpath("command").write_bytes(text)
        self._control.joinpath("status").write_text(f"return {self._code}\n")
        self._send(shell.step(CONTROL, STATE, out, err, self._fd, self._code))
        status, event = Status.OK, self._finish(started + timeout, out, err)
        if event.kind in ("timeout", "limit"):
            status = Status.TIMEOUT if event.kind == "timeout" else Status.KILLED
            event = self._stop()
        if event.kind == "done" and self._crowded():
            status, event = Status.KILLED, self._end_shell()
        code, left = event.code, event.kind == "died"
        stdout, stderr = self._output(out), self._output(err)
        if max(len(stdout), len(stderr)) > self.params.output_bytes and status is Status.OK:
            status = Status.KILLED
        if event.kind == "done":
            self._cwd = event.cwd
        elif left:
            event = self._reopen()
            self._cwd = event.cwd or self._cwd
        if event.kind != "done":
            status = Status.LOST
        elif status is Status.OK and (code == KILLED_EXIT or (left and code in shell.SIGNALLED)):
            status = Status.KILLED
        self._code = {Status.OK: code, Status.TIMEOUT: TIMEOUT_EXIT}.get(status, KILLED_EXIT)
        limit = self.params.output_bytes
        return Observation(
            normal_form(stdout[:limit]),
            normal_form(shell.clean_stderr(stderr[:limit], left)),
            self._code,
            self._cwd,
            status,
            time.monotonic() - started,
        )

    def _send(self, line: str) -> None:
        assert self._bwrap is not None and self._bwrap.stdin is not None
        try:
            self._bwrap.stdin.write(line.encode("utf-8", "surrogateescape"))
            self._bwrap.stdin.flush()
        except BrokenPipeError:
            pass  # the sandbox is gone: the event channel, read next, reports it as lost

    def _finish(self, deadline: float, *outputs: str) -> shell.Event:
        """Ask for this step's event and await it; kinds ``timeout`` and ``limit`` besides those of ``Event``."""
        tag = f"{self._count}.{self._nonce}"
        self._send(shell.sentinel(tag, self._fd))
        while True:
            *messages, self._buffer = self._buffer.split(b"\0")
            for message in messages:
                event = shell.parse_event(message, tag)
                if event is not None:
                    return event
            left = deadline - time.monotonic()
            if left <= 0:
                return shell.Event("timeout")
            if select.select([self._events], [], [], min(left, TICK))[0]:
                data = os.read(self._events, 65536)
                if not data:
                    return shell.Event("lost")
                self._buffer += data
            elif outputs and self._over_limit(outputs):
                return shell.Event("limit")

    def _over_limit(self, outputs: tuple[str, ...]) -> bool:
        if any(self._size(path) > self.params.output_bytes for path in outputs):
            return True
        resident = sum(_resident(pid) for pid in [self._first, *self._processes()])
        return resident > self.params.memory_mb << 20

    def _crowded(self) -> bool:
        """Whether background processes would starve the next command; they are watched while they multiply."""
        count = len(self._processes())
        for _ in range(WATCHES):
            if count <= 1:
                return False
            time.sleep(SETTLE)
            before, count = count, len(self._processes())
            if count > self.params.processes // 2:
                return True
            if count <= before:
                return False
        return True

    def _stop(self) -> shell.Event:
        """End the running command: SIGINT for all, SIGKILL for the children, then the shell itself."""
        for sig, spare in ((signal.SIGINT, 0), (signal.SIGKILL, 1)):
            _signal(self._processes()[spare:], sig)
            event = self._finish(time.monotonic() + GRACE)
            if event.kind == "done":
                _signal(self._processes()[1:], signal.SIGKILL)
            if event.kind != "timeout":
                return event
        return self._end_shell()

    def _end_shell(self) -> shell.Event:
        _signal(self._processes()[:1], signal.SIGKILL)
        deadline = time.monotonic() + 4 * GRACE
        event = self._finish(deadline)
        while event.kind == "done" and time.monotonic() < deadline:  # the old shell's last word
            event = self._finish(deadline)
        return event

    def _reopen(self) -> shell.Event:
        self._count += 1
        self._send(shell.opening(self._seed, STATE) + shell.reopening(STATE))
        return self._finish(time.monotonic() + START)

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

    def _path(self, path: str) -> str:
        return f"/proc/{self._first}/root{path}"

    def _size(self, path: str) -> int:
        try:
            return os.stat(self._path(path)).st_size
        except FileNotFoundError:
            return 0

    def _output(self, path: str) -> bytes:
        """At most one byte more than the limit; the file itself is removed."""
        data = self._tree.read(path) or b""
        try:
            os.unlink(self._path(path))
        except OSError:
            pass
        return data[: self.params.output_bytes + 1]

    # -- inspection ------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes | None:
        """See ``Terminal.read``; links are resolved inside the episode."""
        return self._tree.read(path)

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """See ``Terminal.list``."""
        return self._tree.list(root)

    def fingerprint(self) -> str:
        """See ``Terminal.fingerprint``."""
        self._count += 1
        self._send(f"builtin declare -p >|{OUTPUT}/declared\n")
        event = self._finish(time.monotonic() + START)
        if event.kind != "done":
            raise RuntimeError(f"the shell does not answer ({event.kind})")
        declared = (self._tree.read(f"{OUTPUT}/declared") or b"").decode("utf-8", "surrogateescape")
        tree = self.list(HOME)
        contents = {path: self.read(path) or b"" for path, entry in tree.items() if entry.kind == "file"}
        return digest(event.cwd, shell.variables(declared), tree, contents)

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
            os.close(self._events)
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
