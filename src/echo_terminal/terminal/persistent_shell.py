"""What the real-bash engines share: one command after another in a shell that is restarted when it must be."""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections import deque

from echo_terminal.terminal import shell_session as shell
from echo_terminal.terminal.normalise import normal_form
from echo_terminal.terminal.shell_session import Event
from echo_terminal.terminal.terminal import HOME, KILLED_EXIT, TIMEOUT_EXIT, Observation, Status

TICK = 0.1  # seconds between looks at memory and output while a command runs
GRACE = 0.25  # seconds from SIGINT to SIGKILL, and from there to a new shell
START = 20.0  # seconds that a shell may take to start
SETTLE = 0.03  # seconds between two looks at background children
CALM = 4  # looks in a row at which they must not multiply: a bomb that waits for the processor rests too
WATCHES = 20  # looks in all


class PersistentShell(ABC):
    """The rules of ``shell_session`` over some channel to a supervised shell."""

    output_bytes: int  # of each stream of a command; more ends it with 137
    max_processes: int
    state_file: str  # in the episode; where the shell saves its exported variables
    events: str  # number of the descriptor that carries events, in the episode

    def begin(self, seed: int) -> Event:
        """Settle a new episode's first shell; the event says whether it answers."""
        self._seed, self._count, self._nonce = seed, 0, secrets.token_hex(8)
        self._cwd, self._code, self._buffer = HOME, 0, b""
        self._queue: deque[bytes] = deque()
        event = self._open_shell("")
        self._cwd = event.text or HOME
        return event

    # -- what an engine supplies -----------------------------------------------------------------------------------

    @abstractmethod
    def send(self, lines: str) -> None:
        """Write to the shell's input; silent where the session is gone."""

    @abstractmethod
    def receive(self, seconds: float) -> bytes | None:
        """Bytes of the event channel: b"" once it is closed, None where ``seconds`` passed without any."""

    @abstractmethod
    def submit(self, command: str, code: int) -> None:
        """Send the step line of a command; ``code`` is the exit code before."""

    @abstractmethod
    def collect(self) -> tuple[bytes, bytes, int] | None:
        """Both streams of the last command, each at most one byte longer than ``output_bytes``, and the processes.

        None where the shell, which answered before, cannot.
        """

    @abstractmethod
    def over_limit(self) -> bool:
        """Whether the running command has used up memory or output."""

    @abstractmethod
    def count_processes(self) -> int:
        """Processes of the episode without its supervisor."""

    def starved(self) -> bool:
        """Whether processes have multiplied since the last command, where an engine can tell at no cost."""
        return False

    @abstractmethod
    def interrupt(self) -> None:
        """SIGINT to every process but the supervisor."""

    @abstractmethod
    def kill_children(self) -> None:
        """SIGKILL to every process but the supervisor and the shell."""

    @abstractmethod
    def kill_shell(self) -> None:
        """SIGKILL to the shell."""

    # -- steps -----------------------------------------------------------------------------------------------------

    def step(self, command: str, timeout: float) -> Observation:
        """Run one command; returns within ``timeout`` + 1 seconds."""
        started = time.monotonic()
        if self.starved():
            self._end_shell()
            self._reopen()
        elif self._died_since():
            self._reopen()
        self._count += 1
        self.submit(command.replace("\0", ""), self._code)
        status, event = Status.OK, self.finish(started + timeout, watch=True)
        if event.kind in ("timeout", "limit"):
            status = Status.TIMEOUT if event.kind == "timeout" else Status.KILLED
            event = self._stop()
        found = self.collect() if event.kind == "done" else None
        # One SIGKILL for all may leave some of a bomb, which would multiply under the next command.
        survived = status is Status.KILLED and found is not None and found[2] > 1
        if event.kind == "done" and (found is None or survived or self._crowded(found[2])):
            status, event = Status.KILLED, self._end_shell()
        code, left = event.code, event.kind == "died"
        if left:
            event = self._reopen()
            found = found or self.collect()
        stdout, stderr = found[:2] if found is not None else (b"", b"")
        if event.kind != "done":
            status = Status.LOST
        elif status is Status.OK and max(len(stdout), len(stderr)) > self.output_bytes:
            status = Status.KILLED
        elif status is Status.OK and (code == KILLED_EXIT or (left and code in shell.SIGNALLED)):
            status = Status.KILLED
        self._cwd = event.text or self._cwd
        self._code = {Status.OK: code, Status.TIMEOUT: TIMEOUT_EXIT}.get(status, KILLED_EXIT)
        return Observation(
            normal_form(stdout[: self.output_bytes]),
            normal_form(shell.clean_stderr(stderr[: self.output_bytes], left)),
            self._code,
            self._cwd,
            status,
            time.monotonic() - started,
        )

    def finish(self, deadline: float, watch: bool = False) -> Event:
        """Ask for this step's event and await it."""
        self.send(shell.sentinel(self.tag, self.events))
        return self.expect(deadline, watch)

    @property
    def tag(self) -> str:
        """What marks the events of the current step."""
        return f"{self._count}.{self._nonce}"

    def expect(self, deadline: float, watch: bool = False, kind: str = "done") -> Event:
        """Await the current step's event of this kind, or the shell's death."""
        while True:
            while self._queue:
                event = shell.parse_event(self._queue.popleft(), self.tag)
                if event is not None and event.kind in (kind, "died"):
                    return event
            left = deadline - time.monotonic()
            if left <= 0:
                return Event("timeout")
            if not self._listen(min(left, TICK)):
                return Event("lost")
            if watch and not self._queue and self.over_limit():
                return Event("limit")

    def aside(self, lines: str) -> Event:
        """Run harness lines between two commands.

        Raises:
            RuntimeError: the shell does not answer.
        """
        self._count += 1
        self.send(lines)
        event = self.finish(time.monotonic() + START)
        if event.kind != "done":
            raise RuntimeError(f"the shell of the episode does not answer ({event.kind})")
        return event

    def _listen(self, seconds: float) -> bool:
        data = self.receive(seconds)
        if data:
            *messages, self._buffer = (self._buffer + data).split(b"\0")
            self._queue.extend(messages)
        return data != b""

    def _died_since(self) -> bool:
        """Whether the shell ended after it had answered, by a background child's hand."""
        self._listen(0)
        died = any(message.startswith(b"!") for message in self._queue)
        self._queue.clear()
        return died

    def _crowded(self, count: int) -> bool:
        """Whether background processes would starve the next command; they are watched while they multiply."""
        calm = 0
        for _ in range(WATCHES):
            if count <= 1:
                return False
            time.sleep(SETTLE)
            before, count = count, self.count_processes()
            if count > self.max_processes // 2:
                return True
            calm = calm + 1 if count <= before else 0
            if calm == CALM:
                return False
        return True

    def _stop(self) -> Event:
        """End the running command: SIGINT for all, SIGKILL for the children, then the shell itself."""
        for act in (self.interrupt, self.kill_children):
            act()
            event = self.finish(time.monotonic() + GRACE)
            if event.kind == "done":
                self.kill_children()
            if event.kind != "timeout":
                return event
        return self._end_shell()

    def _end_shell(self) -> Event:
        self.kill_shell()
        deadline = (
            time.monotonic() + START
        )  # a machine that is busy elsewhere takes long, and loses no episode
        event = self.finish(deadline)
        while event.kind == "done" and time.monotonic() < deadline:  # the old shell's last word
            event = self.finish(deadline)
        return event

    def _reopen(self) -> Event:
        return self._open_shell(shell.reopening(self.state_file))

    def _open_shell(self, more: str) -> Event:
        self._count += 1
        self.send(shell.opening(self._seed, self.state_file) + more)
        return self.finish(time.monotonic() + START)
