"""``python3`` of the virtual engine: this machine's CPython behind bubblewrap, fed with the episode's files.

One sandbox serves one process, call after call; each call is a fresh CPython (PYTHONHASHSEED and the other
variables are the episode's) on the episode's files, without a network or any file of the host but /usr. What the
call changed comes back; nothing stays behind.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import IO

from echo_terminal.config import StrictModel
from echo_terminal.terminal import sandbox, shell_session
from echo_terminal.terminal.terminal import HOSTNAME, EngineUnavailable, Entry, File

INTERPRETER = "/usr/bin/python3"
ROOTS = ("/home/user", "/tmp", "/var/site", "/usr/local", "/opt", "/srv")  # noqa: S108 - inside the sandbox


class PythonParams(StrictModel):
    """Limits of one run of CPython."""

    memory_mb: int = 1024  # address space
    processes: int = 64
    file_mb: int = 64
    cpu_seconds: int = 60


@dataclass(frozen=True)
class Outcome:
    """What one run did. ``over`` is "" or the limit that ended it: time, output, disk."""

    stdout: bytes
    stderr: bytes
    exit_code: int
    over: str
    changed: dict[str, tuple[Entry, bytes]]
    gone: tuple[str, ...]


class PythonSandbox:
    """A sandbox that runs ``python3``.

    Raises:
        EngineUnavailable: no user namespaces here, or no /usr/bin/python3; the message says what to do.
    """

    def __init__(self, params: PythonParams | None = None) -> None:
        check_available()
        self._params = params or PythonParams()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self,
        words: list[str],
        stdin: bytes,
        cwd: str,
        env: Mapping[str, str],
        files: Mapping[str, tuple[Entry, File]],
        seconds: float,
    ) -> Outcome:
        """Run ``python3 words`` on ``files`` (absolute path -> what and its content) for at most ``seconds``."""
        rows, contents = [], []
        for path, (entry, file) in sorted(files.items()):
            last = entry.target if entry.kind == "link" else len(file.content)
            rows.append((path, entry.kind, entry.mode, file.mtime, last))
            if entry.kind == "file":
                contents.append(file.content)
        limits = {
            "RLIMIT_AS": self._params.memory_mb << 20,
            "RLIMIT_NPROC": self._params.processes,
            "RLIMIT_FSIZE": self._params.file_mb << 20,
            "RLIMIT_CPU": self._params.cpu_seconds,
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": 256,
        }
        request = {
            "argv": ["python3", *words], "cwd": cwd, "env": dict(env), "files": rows, "limits": limits,
            "seconds": seconds, "stdin": len(stdin),
        }  # fmt: skip
        with self._lock:
            try:
                process = self._started()
                _send(process.stdin, request, stdin + b"".join(contents))
                header, body = _receive(process.stdout)
            except (BrokenPipeError, EOFError):
                self.close()
                raise RuntimeError("the Python sandbox ended while it was running a program") from None
        return _outcome(header, body)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            descriptors = (_readable(shell_session.PASSWD), _readable(shell_session.GROUP))
            self._process = subprocess.Popen(
                _command(descriptors),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
            )
            for descriptor in descriptors:
                os.close(descriptor)
            _receive(self._process.stdout)
        return self._process

    def close(self) -> None:
        """End the sandbox; idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
            self._process = None


def check_available() -> None:
    """Raise ``EngineUnavailable``, saying how to allow it, where ``python3`` cannot be sandboxed."""
    sandbox.check_available()
    if not os.access(INTERPRETER, os.X_OK):
        raise EngineUnavailable(
            f"python3 of the virtual engine needs {INTERPRETER}: install the package python3"
        )


def _command(descriptors: tuple[int, int]) -> list[str]:
    source = resources.files("echo_terminal.terminal").joinpath("zygote.py").read_text("utf-8")
    out = [*sandbox.launcher(), "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
    out += ["--new-session", "--as-pid-1", "--uid", "1000", "--gid", "1000", "--hostname", HOSTNAME]
    out += ["--cap-drop", "ALL", "--clearenv", "--ro-bind", "/usr", "/usr"]
    for name in sandbox.USR_LINKS:
        if os.path.isdir(f"/usr/{name}"):
            out += ["--symlink", f"usr/{name}", f"/{name}"]
    if os.path.isdir("/etc/alternatives"):
        out += ["--ro-bind", "/etc/alternatives", "/etc/alternatives"]
    out += ["--proc", "/proc", "--dev", "/dev"]
    for path in ROOTS:
        out += ["--perms", "0755", "--size", str(64 << 20), "--tmpfs", path]
    out += ["--perms", "1777", "--size", str(16 << 20), "--tmpfs", "/dev/shm"]  # noqa: S108
    out += ["--file", str(descriptors[0]), "/etc/passwd", "--file", str(descriptors[1]), "/etc/group"]
    return [*out, "--remount-ro", "/dev", "--remount-ro", "/", INTERPRETER, "-I", "-S", "-c", source]


def _readable(text: str) -> int:
    """A descriptor from which a short text can be read once."""
    reader, writer = os.pipe()
    with open(writer, "w") as pipe:
        pipe.write(text)
    return reader


def _send(pipe: IO[bytes] | None, header: Mapping[str, object], body: bytes) -> None:
    assert pipe is not None
    text = json.dumps(header).encode()
    pipe.write(struct.pack("<II", len(text), len(body)) + text + body)
    pipe.flush()


def _receive(pipe: IO[bytes] | None) -> tuple[dict[str, object], bytes]:
    assert pipe is not None
    sizes = pipe.read(8)
    if len(sizes) < 8:
        raise EOFError
    header, body = struct.unpack("<II", sizes)
    text, data = pipe.read(header), pipe.read(body)
    if len(text) < header or len(data) < body:
        raise EOFError
    return json.loads(text), data


def _outcome(header: Mapping[str, object], body: bytes) -> Outcome:
    out, err = int(str(header["out"])), int(str(header["err"]))
    place, changed = out + err, {}
    rows = header["changed"]
    assert isinstance(rows, list)
    for path, kind, mode, last in rows:
        content = b""
        if kind == "file":
            content, place = body[place : place + last], place + last
        size = len(content)
        changed[path] = (Entry(kind, mode, size, last if kind == "link" else None), content)
    gone = header["gone"]
    assert isinstance(gone, list)
    code = int(str(header["code"]))
    code = 128 - code if code < 0 else code
    return Outcome(body[:out], body[out : out + err], code, str(header["over"]), changed, tuple(gone))
