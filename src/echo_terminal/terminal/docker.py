"""Real bash in a container, through the Docker SDK: for images of imported tasks, and for our own tasks on an image.

Our own tasks run as an unprivileged user, without capabilities or network, their writable folders (HOME, /tmp,
/var/site) in size-limited memory, as in bubblewrap. With ``as_image`` the image's user, folder and environment stand:
what an imported task expects. The image needs bash, setpriv (util-linux) and GNU coreutils, tar and find.

One rule differs from bubblewrap: a shell loop that writes too much ends with its time-out, not with 137.
"""

from __future__ import annotations

import base64
import contextlib
import io
import posixpath
import select
import shlex
import socket
import tarfile
import time
from collections.abc import Mapping
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from pydantic import Field

from echo_terminal.config import StrictModel
from echo_terminal.terminal import shell_session as shell
from echo_terminal.terminal.persistent_shell import PersistentShell
from echo_terminal.terminal.rooted import READ_LIMIT
from echo_terminal.terminal.state import digest
from echo_terminal.terminal.terminal import (
    CLOCK,
    ENVIRONMENT,
    HOME,
    HOSTNAME,
    EngineUnavailable,
    Entry,
    File,
    Observation,
)

IMAGE = "echo-terminal/tasks:trixie"
CONTROL, OUTPUT = "/run/control", "/run/output"
END, TRIES = "\n+whole+", 3  # put behind an output, which the daemon loses now and then: it is asked again
ANSWER = 5.0  # seconds that it may take to answer where it is not
PATIENCE = 0.5  # seconds after which we look whether a silent shell is being starved
KINDS = {"f": "file", "d": "directory", "l": "link"}


class DockerParams(StrictModel):
    """The image and the limits of one episode."""

    image: str = IMAGE
    network: bool = False
    as_image: bool = False  # keep the image's user, working directory, environment and /etc/passwd
    workdir: str = ""  # with as_image: another working directory
    variables: dict[str, str] = {}  # with as_image: more of the environment
    processes: int = Field(default=64, ge=8)
    memory_mb: int = Field(default=1024, ge=64)
    disk_mb: int = Field(default=64, ge=1)  # of HOME; /tmp gets half, /var/site a quarter; not with as_image
    output_bytes: int = Field(default=1 << 20, ge=1024)  # of each stream of a command
    cpus: float = Field(default=2.0, gt=0)  # at most as many as the daemon has


def connect() -> docker.DockerClient:
    """A client of the daemon that ``DOCKER_HOST`` names.

    Raises:
        EngineUnavailable: none answers.
    """
    try:
        client = docker.from_env()
        client.ping()
    except DockerException as error:
        reason = f"no Docker daemon answers ({str(error).splitlines()[0]})"
        raise EngineUnavailable(f"{reason}: start one, or point DOCKER_HOST to it") from error
    return client


def check_available(image: str = IMAGE) -> None:
    """Raise ``EngineUnavailable`` where no daemon answers or the image is not there."""
    client = connect()
    try:
        client.images.get(image)
    except ImageNotFound as error:
        hint = "build or pull it, or choose another"
        raise EngineUnavailable(f"Docker has no image {image}: {hint}") from error
    finally:
        client.close()


class DockerTerminal(PersistentShell):
    """See ``terminal.Terminal`` for the protocol."""

    name = "docker"
    state_file = f"{OUTPUT}/state"
    events = "3"

    def __init__(self, params: DockerParams | None = None) -> None:
        self.params = params or DockerParams()
        check_available(self.params.image)
        self._client = connect()
        self.output_bytes, self.max_processes = self.params.output_bytes, self.params.processes
        self._container: Container | None = None
        self._socket: socket.socket | None = None
        self._looked_at: dict[str, dict[str, bytes]] = {}

    # -- episode ---------------------------------------------------------------------------------------------------

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        """See ``Terminal.reset``.

        Raises:
            RuntimeError: the container did not start.
        """
        self._remove()
        self._looked_at = {}
        params, memory = self.params, f"{self.params.memory_mb}m"
        own = not params.as_image
        container = self._client.containers.create(
            params.image,
            [f"{CONTROL}/supervisor"],
            entrypoint=["bash"],
            stdin_open=True,
            hostname=HOSTNAME,
            network_mode="bridge" if params.network else "none",
            pids_limit=params.processes + 8,  # the harness's own look-ups need a few
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=nano_cpus(self._client, params.cpus),
            shm_size=16 << 20,
            tmpfs=self._memory_folders(),
            security_opt=["no-new-privileges"],
            labels={"echo-terminal": "episode"},
            **(_own_episode() if own else {"environment": params.variables, "working_dir": params.workdir}),
        )
        self._container = container
        inside = {
            p: f for p, f in files.items() if own and p.startswith(tuple(f"{w}/" for w in shell.WRITABLE))
        }
        fixed = {p: f for p, f in files.items() if p not in inside}
        if own:
            fixed["/etc/passwd"] = File(shell.PASSWD.encode())
            fixed["/etc/group"] = File(shell.GROUP.encode())
        fixed[f"{CONTROL}/supervisor"] = File(self._supervisor().encode(), 0o755)
        fixed[f"{CONTROL}/files.tar"] = File(shell.archive(inside, existing=("/home", "/tmp", "/var")))
        container.put_archive("/", shell.archive(fixed, uid=0))
        channel = self._client.api.attach_socket(container.id, params={"stdin": 1, "stdout": 1, "stream": 1})
        self._socket = channel._sock
        self._frames = b""
        container.start()
        if self.begin(seed).kind != "done":
            reason = container.logs(stdout=False).decode("utf-8", "replace").strip().replace("\n", "; ")
            self._remove()
            raise RuntimeError(
                f"image {params.image} did not start an episode: {reason or 'no reason given'}"
            )

    def _memory_folders(self) -> dict[str, str]:
        folders = {OUTPUT: f"size={2 * self.params.output_bytes + (1 << 20)},mode=1777"}
        if not self.params.as_image:
            size = self.params.disk_mb << 20
            folders[HOME] = f"size={size},mode=0755,uid=1000,gid=1000,exec"
            folders["/tmp"] = f"size={size // 2},mode=1777,exec"  # noqa: S108
            folders["/var/site"] = f"size={size // 4},mode=0755,uid=1000,gid=1000,exec"
        return folders

    def _supervisor(self) -> str:
        if self.params.as_image:
            return shell.supervisor("exec 3>&1; ulimit -c 0", self.events)
        unpack = f"tar -xpf {CONTROL}/files.tar -C / && touch -d @{CLOCK} {HOME} || exit"
        variables = " ".join(f"{name}={value}" for name, value in {**ENVIRONMENT, "SHLVL": "0"}.items())
        become = f"env -i {variables} setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs "
        return shell.supervisor(f"exec 3>&1; {unpack}; ulimit -c 0", self.events, become)

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        """See ``Terminal.run``. NUL bytes of ``command`` are dropped, as bash drops them."""
        if self._container is None:
            raise RuntimeError("no episode: call reset first")
        self._looked_at = {}
        return self.step(command, timeout)

    # -- the channel -----------------------------------------------------------------------------------------------

    def send(self, lines: str) -> None:
        assert self._socket is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # then ``receive`` reports the end
            self._socket.sendall(lines.encode("utf-8", "surrogateescape"))

    def receive(self, seconds: float) -> bytes | None:
        assert self._socket is not None
        if not select.select([self._socket], [], [], seconds)[0]:
            return None
        data = self._socket.recv(65536)
        self._frames += data
        found = b""
        while len(self._frames) >= 8:
            size = int.from_bytes(self._frames[4:8], "big")  # of 8 bytes of header: stream, 0 0 0, size
            if len(self._frames) < 8 + size:
                break
            found += self._frames[8 : 8 + size]
            self._frames = self._frames[8 + size :]
        return found or (None if data else b"")

    def submit(self, command: str, code: int) -> None:
        self._streams = (f"{OUTPUT}/out.{self._count}", f"{OUTPUT}/err.{self._count}")
        self.send(shell.step(shlex.quote(command), self.state_file, *self._streams, self.events, code))

    def _report(self, *streams: str) -> list[str] | None:
        """Ask the shell; None where it has no room to answer, which is not the same as taking its time."""
        self._count += 1
        self.send(shell.report(self.tag, self.output_bytes + 1, streams, self.events))
        event = self.expect(time.monotonic() + PATIENCE, kind="report")
        if event.kind == "timeout" and not self._full():
            event = self.expect(time.monotonic() + ANSWER, kind="report")
        return event.text.split(" ") if event.kind == "report" else None

    def _full(self) -> bool:
        assert self._container is not None
        return len(self._container.top()["Processes"]) > self.max_processes // 2

    def collect(self) -> tuple[bytes, bytes, int] | None:
        count = self.count_processes()
        found = self._report(*self._streams) if count < self.max_processes else None
        if found is None or len(found) != 3:
            return None
        self.send(f"command -p rm -f {' '.join(self._streams)}\n")
        return base64.b64decode(found[1]), base64.b64decode(found[2]), count

    def over_limit(self) -> bool:
        return False  # memory and processes are the container's own limits; of output see ``outputs``

    def count_processes(self) -> int:
        """As the shell sees them; one that cannot even answer is crowded out."""
        found = self._report()
        return int(found[0]) - 2 if found else self.max_processes  # without the supervisor and the reporter

    def interrupt(self) -> None:
        self._signal("SIGUSR1")

    def kill_children(self) -> None:
        self._signal("SIGUSR2")

    def kill_shell(self) -> None:
        self._signal("SIGHUP")

    def _signal(self, name: str) -> None:
        assert self._container is not None
        with contextlib.suppress(APIError):  # a container that has ended; ``receive`` reports it
            self._container.kill(signal=name)

    # -- inspection ------------------------------------------------------------------------------------------------

    def _inside(self, *command: str) -> bytes:
        """Output of a program of the image, as root: users of our own tasks cannot have tampered with it.

        Raises:
            RuntimeError: it could not be started, or its output did not come whole.
        """
        if self._container is None:
            raise RuntimeError("no episode: call reset first")
        marked, data = ["bash", "-c", '"$@"; printf %s "$0"', END, *command], b""
        for _ in range(TRIES):
            data = self._container.exec_run(marked, user="0", stderr=False, workdir="/").output or b""
            if data.endswith(END.encode()):
                return data[: -len(END)]
        said = data[:200].decode("utf-8", "replace").strip()
        raise RuntimeError(f"cannot look into the container: {said or 'no answer'}")

    def _files(self, start: str, *tests: str) -> dict[str, bytes]:
        """Content of regular files that ``find start tests`` meets, at most ``READ_LIMIT`` bytes each."""
        find = '{ [[ $(realpath -e -- "$1") = "$1" ]] && find "$1" "${@:3}" -type f -size "-$2c" -print0; }'
        pack = "tar -c --sparse --hard-dereference -P --null -T -"
        data = self._inside("bash", "-c", f"{find} | {pack}", "files", start, str(READ_LIMIT + 1), *tests)
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            found = {member.name: tar.extractfile(member) for member in tar}
            return {path: file.read() for path, file in found.items() if file is not None}

    def read(self, path: str) -> bytes | None:
        """See ``Terminal.read``; no symbolic link is followed. Between two commands a folder is looked at once."""
        if self.params.as_image:  # whose folders may be large
            return self._files(path, "-maxdepth", "0").get(path)
        folder = posixpath.dirname(path)
        if folder not in self._looked_at:
            self._looked_at[folder] = self._files(folder, "-mindepth", "1", "-maxdepth", "1")
        return self._looked_at[folder].get(path)

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """See ``Terminal.list``."""
        data = self._inside("find", "-P", root, "-mindepth", "1", "-printf", r"%y\0%m\0%s\0%p\0%l\0")
        words = data.decode("utf-8", "surrogateescape").split("\0")[:-1]
        found = {}
        for kind, mode, size, path, to in zip(*(words[i::5] for i in range(5)), strict=True):
            name, length = KINDS.get(kind, "other"), int(size) if kind == "f" else 0
            found[path] = Entry(name, int(mode, 8), length, to if kind == "l" else None)
        return dict(sorted(found.items()))

    def fingerprint(self) -> str:
        """See ``Terminal.fingerprint``."""
        event = self.aside(f"builtin declare -p >|{OUTPUT}/declared\n")
        written = self._files(f"{OUTPUT}/declared", "-maxdepth", "0").get(f"{OUTPUT}/declared", b"")
        declared = written.decode("utf-8", "surrogateescape")
        tree = self.list(HOME)
        contents = {path: b"" for path, entry in tree.items() if entry.kind == "file"}
        contents |= {p: c for p, c in self._files(HOME, "-mindepth", "1").items() if p in contents}
        return digest(event.text, shell.variables(declared), tree, contents)

    def commit(self) -> str:
        """Freeze what the episode has left, as an image of its own; returns its id. The episode goes on.

        Raises:
            RuntimeError: no episode.
        """
        if self._container is None:
            raise RuntimeError("no episode: call reset first")
        return str(self._container.commit().id)

    def _remove(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._container is not None:
            with contextlib.suppress(NotFound):
                self._container.remove(force=True)
            self._container = None

    def close(self) -> None:
        """See ``Terminal.close``."""
        self._remove()
        self._client.close()


def nano_cpus(client: docker.DockerClient, cpus: float) -> int:
    """A limit of processors as the daemon takes it, which refuses more than it has."""
    return int(min(cpus, client.info()["NCPU"]) * 1e9)


def _own_episode() -> dict[str, Any]:
    """The supervisor is root with what it takes to start, stop and read the episode of somebody without any right."""
    rights = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"]
    return {
        "user": "0",
        "working_dir": HOME,
        "environment": ENVIRONMENT,
        "cap_drop": ["ALL"],
        "cap_add": rights,
    }
