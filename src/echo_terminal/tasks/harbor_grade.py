"""The verifier of an exported task: runs in a container of its own, beside ``verify.py``, with the standard library.

It sees the agent's machine as a tar archive that was taken when the agent had ended, and never unpacks it to look at
it. Only where a check runs what the agent wrote are the agent's files unpacked, and run as an unprivileged user.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(__file__))
from verify import HOME, Rerun, judge  # noqa: E402 - the copy that stands beside this file

LIMIT = 64 << 20  # bytes; a larger file reads as absent
TIMEOUT = 60  # seconds for a command of a check


class Entry(NamedTuple):
    kind: str
    mode: int
    size: int = 0
    target: str | None = None


class TarState:
    """The final state as an archive holds it."""

    def __init__(self, path: str) -> None:
        self.tar = tarfile.open(path)
        self.members = {"/" + m.name.strip("/"): m for m in self.tar}

    def read(self, path: str) -> bytes | None:
        """Content of a regular file that no link leads to."""
        member = self.members.get(path)
        if member is None or not member.isreg() or member.size > LIMIT:
            return None
        return _content(self.tar, member)

    def list(self, root: str) -> dict[str, Entry]:
        """Every path below ``root``."""
        below = root.rstrip("/") + "/"
        return {p: _entry(m) for p, m in sorted(self.members.items()) if p.startswith(below)}


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""


def _entry(member: tarfile.TarInfo) -> Entry:
    mode = stat.S_IMODE(member.mode)
    if member.issym():
        return Entry("link", mode, target=member.linkname)
    if member.isdir():
        return Entry("directory", mode)
    return Entry("file", mode, member.size) if member.isreg() else Entry("other", mode)


def rerun_in(state_path: str, environment: Mapping[str, str]) -> Rerun:
    """A function that puts files beside what the agent left and runs a command there, as ``user``."""
    unpacked: list[bool] = []

    def rerun(files: Mapping[str, bytes], command: str) -> tuple[int, bytes]:
        if not unpacked:
            subprocess.run(["tar", "-xpf", state_path, "-C", "/", HOME.strip("/")], check=True)
            unpacked.append(True)
        for path, content in files.items():
            subprocess.run(["tee", path], input=content, stdout=subprocess.DEVNULL, check=True, user="user")
        try:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=HOME,
                env=environment,
                user="user",
                group="user",
                extra_groups=[],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=TIMEOUT,
            )
            return done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            return 124, error.stdout or b""
        finally:  # nothing that the agent wrote outlives its check
            subprocess.run(["kill", "-KILL", "-1"], user="user", stderr=subprocess.DEVNULL)

    return rerun


def main(tests: str, state_path: str, reward_path: str) -> None:
    """Write 1 or 0 to ``reward_path`` and say why."""
    with open(os.path.join(tests, "task.json")) as file:
        task = json.load(file)
    with tarfile.open(os.path.join(tests, "files.tar")) as tar:
        pristine = {"/" + m.name: _content(tar, m) for m in tar if m.isreg()}
    reward = 0
    if os.path.exists(state_path):
        verdict = judge(
            task["checks"], pristine, TarState(state_path), rerun_in(state_path, task["environment"])
        )
        reward = verdict.reward
        for finding in (*verdict.failed, *verdict.tampering):
            print("does not hold:", finding)
    else:
        print("no state of the agent's machine was collected")
    with open(reward_path, "w") as file:
        file.write(f"{reward}\n")
    print("reward", reward)


if __name__ == "__main__":
    main(*sys.argv[1:])
