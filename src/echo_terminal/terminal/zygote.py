"""First process of the Python sandbox: for each request lays out files, runs CPython once, reports what changed.

Runs inside bubblewrap as process 1 (nothing inside can signal it), from its source text, with the standard library
alone. A message is a length of four bytes, a JSON header, and the bytes of files that the header lists.
"""

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import stat
import struct
import sys
import time
import uuid
from random import Random
from typing import Any, BinaryIO

ROOTS = ("/home/user", "/tmp", "/var/site", "/usr/local", "/opt", "/srv")  # noqa: S108 - inside the sandbox
KEPT = ROOTS[:3]  # what a program may change for good
START = "/dev/shm/start"  # noqa: S108 - what ``still_python`` reads
DEVICES = ("/dev/random", "/dev/urandom")  # files here, of random bytes
UUID = "/proc/sys/kernel/random/uuid"  # a file too, where the kernel has it
RANDOM_BYTES = 1 << 12
NO_RANDOM_ADDRESSES = 0x0040000  # of ``personality``
OUTPUT_LIMIT = 4 << 20
TREE_LIMIT = 64 << 20
BORN = int(time.time())  # no file is older
State = dict[str, tuple[int, int, int, int, int]]


def receive(stream: BinaryIO) -> tuple[Any, bytes] | None:
    """One message: its header and its bytes; None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    header, body = struct.unpack("<II", head)
    return json.loads(stream.read(header)), stream.read(body)


def send(stream: BinaryIO, header: dict[str, Any], body: bytes = b"") -> None:
    """Write one message."""
    text = json.dumps(header).encode()
    stream.write(struct.pack("<II", len(text), len(body)) + text + body)
    stream.flush()


def clear() -> None:
    """Empty every root."""
    for root in (*ROOTS, os.path.dirname(START)):
        for name in os.listdir(root):
            path = os.path.join(root, name)
            if os.path.isdir(path) and not os.path.islink(path):
                for folder, names, _ in os.walk(path):
                    for inner in names:
                        below = os.path.join(folder, inner)
                        if not os.path.islink(below):
                            os.chmod(below, 0o700)
                os.chmod(path, 0o700)
                shutil.rmtree(path)
            else:
                os.unlink(path)


def lay_out(entries: list[Any], body: bytes) -> None:
    """Write files, folders and links: rows of path, kind, mode, time, size or target."""
    place = 0
    for path, kind, mode, _, last in entries:
        if kind == "directory":
            os.makedirs(path, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "link":
            os.symlink(last, path)
            continue
        with open(path, "wb") as file:
            file.write(body[place : place + last])
        os.chmod(path, mode)
        place += last
    for path, kind, mode, moment, _ in reversed(entries):
        if kind != "link":
            os.chmod(path, mode)
        os.utime(path, (moment, moment), follow_symlinks=False)


def tree() -> State:
    """Path -> what tells whether it changed."""
    found = {}
    for root in KEPT:
        for folder, names, files in os.walk(root):
            for name in names + files:
                path = os.path.join(folder, name)
                s = os.lstat(path)
                size = s.st_size if not stat.S_ISDIR(s.st_mode) else 0
                moment = s.st_mtime_ns if not stat.S_ISDIR(s.st_mode) else 0
                found[path] = (stat.S_IFMT(s.st_mode), stat.S_IMODE(s.st_mode), size, moment, s.st_ino)
    return found


def changes(before: State, after: State) -> tuple[list[Any], list[str], bytes] | None:
    """Rows of what is new or changed, paths that are gone, and the bytes of files; nothing where it is too much."""
    rows: list[Any] = []
    body: list[bytes] = []
    size = 0
    for path, state in sorted(after.items()):
        kind, mode, length, _, _ = state
        if before.get(path) == state:
            continue
        if kind == stat.S_IFDIR:
            rows.append((path, "directory", mode, 0))
        elif kind == stat.S_IFLNK:
            rows.append((path, "link", mode, os.readlink(path)))
        elif kind == stat.S_IFREG:
            size += length
            if size > TREE_LIMIT:
                return None
            os.chmod(path, 0o600)
            with open(path, "rb") as file:
                content = file.read()
            rows.append((path, "file", mode, len(content)))
            body.append(content)
    return rows, sorted(set(before) - set(after), reverse=True), b"".join(body)


def run(request: dict[str, Any], stdin: bytes) -> tuple[list[bytes], int, str]:
    """Run CPython with the words of the request until it ends or its time is over."""
    drawn = Random(request["seed"]).randbytes(RANDOM_BYTES)
    for device in DEVICES:
        with open(device, "wb") as file:
            file.write(drawn)
    if os.path.exists(UUID):
        with open(UUID, "w") as text:
            print(uuid.UUID(bytes=drawn[:16], version=4), file=text)
    outputs = [os.pipe(), os.pipe()]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        become(request, reader, [end for _, end in outputs])
    for descriptor in (reader, outputs[0][1], outputs[1][1]):
        os.close(descriptor)
    kept, over = exchange([outputs[0][0], outputs[1][0]], writer, stdin, request["seconds"], child)
    _, status = os.waitpid(child, 0)
    try:
        os.kill(-1, signal.SIGKILL)  # what the program left behind
    except ProcessLookupError:
        pass
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return kept, os.waitstatus_to_exitcode(status), over


def become(request: dict[str, Any], stdin: int, outputs: list[int]) -> None:
    """Turn this process into CPython."""
    try:
        os.setsid()
        for target, source in enumerate((stdin, *outputs)):
            os.dup2(source, target)
        os.closerange(3, 256)
        with open(START, "w") as file:
            print(request["seed"], request["clock"], BORN, os.getpid(), file=file)
        os.chdir(request["cwd"])
        for name, value in request["limits"].items():
            limit = getattr(resource, name)
            resource.setrlimit(limit, (value, value))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        env = request["env"]
        if env.get("PYTHONHASHSEED", "random") == "random":
            env["PYTHONHASHSEED"] = str(request["seed"] & 0xFFFF)
        os.execve("/usr/bin/python3", request["argv"], env)
    except BaseException as error:  # anything else would go on as a second zygote
        os.write(2, f"python3: {error}\n".encode())
        os._exit(126)


def exchange(
    readers: list[int], writer: int, stdin: bytes, seconds: float, child: int
) -> tuple[list[bytes], str]:
    """Feed standard input, collect both outputs; kills the child at its time or when it says too much."""
    end = time.monotonic() + seconds
    kept = {reader: b"" for reader in readers}
    ending = os.pidfd_open(child)
    waiting, over = {*readers, ending}, ""
    feeding = [writer]
    os.set_blocking(writer, False)
    while waiting and not over:
        wait = end - time.monotonic()
        if wait <= 0:
            over = "time" if ending in waiting else ""
            break  # the program is over, but something that it started holds its outputs open
        ready, free, _ = select.select(list(waiting), feeding, [], wait)
        for end_of_pipe in ready:
            if end_of_pipe == ending:
                waiting.discard(ending)
                end = min(end, time.monotonic() + 0.05)
                continue
            data = os.read(end_of_pipe, 65536)
            if not data:
                waiting.discard(end_of_pipe)
            kept[end_of_pipe] += data
            if len(kept[end_of_pipe]) > OUTPUT_LIMIT:
                over = "output"
        if free:
            try:
                stdin = stdin[os.write(writer, stdin[:65536]) :] if stdin else b""
            except BrokenPipeError:
                stdin = b""
            if not stdin:
                os.close(feeding.pop())
    if over:
        os.kill(child, signal.SIGKILL)
    for descriptor in (*readers, ending, *feeding):
        os.close(descriptor)
    return [kept[reader] for reader in readers], over


def serve() -> None:
    """Answer requests until the host hangs up."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    ctypes.CDLL(None).personality(
        NO_RANDOM_ADDRESSES
    )  # of programs started from here; refused in some containers
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    empty = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(empty, descriptor)
    send(sink, {"ready": sys.version.split()[0]})
    while (message := receive(source)) is not None:
        request, body = message
        clear()
        cut = request["stdin"]
        lay_out(request["files"], body[cut:])
        before = tree()
        (out, err), code, over = run(request, body[:cut])
        changed = changes(before, tree())
        rows, removed, content = ([], [], b"") if changed is None else changed
        over = over or ("disk" if changed is None else "")
        header = {
            "code": code,
            "over": over,
            "out": len(out),
            "err": len(err),
            "changed": rows,
            "gone": removed,
        }
        send(sink, header, out + err + content)


if __name__ == "__main__":
    serve()
