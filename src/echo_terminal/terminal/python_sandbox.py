"""``python3`` of the virtual engine: this machine's CPython behind bubblewrap, fed with the episode's files.

One sandbox serves one process, call after call; each call is a fresh CPython (PYTHONHASHSEED and the other
variables are the episode's) on the episode's files, without a network or any file of the host but /usr, and of that
without the machine's own packages. What it would ask the machine, it asks the episode: see ``still_python``. What the
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

from bashkit import Bash

from echo_terminal.config import StrictModel
from echo_terminal.terminal import sandbox, shell_session
from echo_terminal.terminal.shell_session import unpacking_order
from echo_terminal.terminal.terminal import CLOCK, HOSTNAME, USER, EngineUnavailable, Entry, File
from echo_terminal.terminal.virtual_tree import UPTIME

INTERPRETER = "/usr/bin/python3"
MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/proc/version")  # as ``cat`` shows them
HIDDEN = tuple(
    ("/dev/random /dev/urandom /proc/sys/kernel/random/uuid /proc/stat /proc/vmstat /proc/interrupts /proc/softirqs "
     "/proc/diskstats /proc/zoneinfo /proc/buddyinfo /proc/partitions /proc/swaps /proc/cmdline").split()
)  # fmt: skip
COMPILE = """
import ast, importlib.util, marshal, os, site, sys
print(next(path for path in site.getsitepackages() if os.path.isdir(path) and "local" not in path))
tree = ast.parse(sys.stdin.buffer.read())
tree.body = [node for node in tree.body if getattr(node, "module", "") != "__future__"]
for node in ast.walk(tree):
    if isinstance(node, ast.arg):
        node.annotation = None
    elif isinstance(node, ast.FunctionDef):
        node.returns = None
code = compile(tree, f"<{sys.argv[1]}>", "exec", dont_inherit=True, optimize=2)
sys.stdout.flush()
sys.stdout.buffer.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""
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
        EngineUnavailable: no user namespaces here, or no usable /usr/bin/python3; the message says what to do.
    """

    def __init__(self, params: PythonParams | None = None) -> None:
        check_available()
        self._contents, self._packages = _contents()
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
        seed: int,
    ) -> Outcome:
        """Run ``python3 words`` on ``files`` (absolute path -> what and its content) for at most ``seconds``; what it
        leaves to chance is drawn from ``seed``."""
        rows, contents = [], []
        for path, (entry, file) in sorted(files.items(), key=lambda item: unpacking_order(item[0])):
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
            "RLIMIT_STACK": 8 << 20,  # decides where memory begins
        }
        request = {
            "argv": ["python3", *words], "cwd": cwd, "env": dict(env), "files": rows, "limits": limits,
            "seconds": seconds, "stdin": len(stdin), "seed": seed, "clock": CLOCK,
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
            descriptors = {path: _readable(content) for path, content in self._contents.items()}
            self._process = subprocess.Popen(
                _command(descriptors, self._packages),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=tuple(descriptors.values()),
            )
            for descriptor in descriptors.values():
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


def _contents() -> tuple[dict[str, bytes], str]:
    """Files of the sandbox by path, and the folder of the machine's own packages, which it does not get."""
    fs = Bash(username=USER, hostname=HOSTNAME).fs()
    contents = {path: fs.read_file(path) for path in MACHINE} | {"/proc/uptime": UPTIME}
    contents |= {"/etc/passwd": shell_session.PASSWD.encode(), "/etc/group": shell_session.GROUP.encode()}
    contents |= dict.fromkeys((path for path in HIDDEN if os.path.exists(path)), b"")
    for name, known_as in (("still_python", "sitecustomize"), ("still_modules", "still_modules")):
        command = [INTERPRETER, "-I", "-S", "-c", COMPILE, known_as]
        compiled = subprocess.run(command, input=_source(name), capture_output=True, check=False)
        if compiled.returncode != 0:
            raise EngineUnavailable(
                f"python3 of the virtual engine needs {INTERPRETER} with a folder for packages below /usr/lib"
            )
        place, _, code = compiled.stdout.partition(b"\n")
        contents[f"{place.decode()}/{known_as}.pyc"] = code
    return contents, place.decode()


def _source(name: str) -> bytes:
    return resources.files("echo_terminal.terminal").joinpath(f"{name}.py").read_bytes()


def _command(descriptors: Mapping[str, int], packages: str) -> list[str]:
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
    out += ["--perms", "0755", "--size", str(1 << 18), "--tmpfs", packages]
    for path, descriptor in descriptors.items():
        how = "--bind-data" if "random" in path else "--ro-bind-data"
        out += ["--file" if path.startswith("/etc/") else how, str(descriptor), path]
    for path in (packages, "/dev", "/"):
        out += ["--remount-ro", path]
    return [*out, INTERPRETER, "-I", "-S", "-c", _source("zygote").decode()]


def _readable(text: bytes) -> int:
    """A descriptor from which a short text can be read once."""
    reader, writer = os.pipe()
    with open(writer, "wb") as pipe:
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
