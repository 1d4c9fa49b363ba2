"""The virtual engine: bash and its tools in process, over a file system in memory (bashkit).

A command costs tens of microseconds. Nothing reaches the host: files, processes and network are the engine's own.
Differs from real bash as listed in ``differences.yaml``; a background child lives as long as the command that
started it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from bashkit import Bash, ExecutionProfile

from echo_terminal.config import StrictModel
from echo_terminal.terminal import state
from echo_terminal.terminal.normalise import normal_form
from echo_terminal.terminal.terminal import (
    ENVIRONMENT,
    HOME,
    HOSTNAME,
    KILLED_EXIT,
    TIMEOUT_EXIT,
    USER,
    Entry,
    File,
    Observation,
    Status,
)

SYSTEM_FILES = {
    "/etc/passwd": f"root:x:0:0:root:/root:/bin/bash\n{USER}:x:1000:1000::{HOME}:/bin/bash\n",
    "/etc/group": f"root:x:0:\n{USER}:x:1000:\n",
}


class VirtualParams(StrictModel):
    """Limits of one episode: bytes of all files together, simple commands per call, turns of one loop."""

    max_bytes: int = 64 << 20
    max_commands: int = 1_000_000
    max_loop: int = 1_000_000


class VirtualTerminal:
    """A ``Terminal`` over bashkit."""

    name = "virtual"

    def __init__(self, params: VirtualParams | None = None) -> None:
        self._params = params or VirtualParams()
        self._timeout = 10.0
        self._shell: Bash | None = None

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        """See ``Terminal.reset``."""
        text, other = {}, {}
        for path, file in files.items():
            try:
                text[path] = file.content.decode()
            except UnicodeDecodeError:
                other[path] = file.content
        links = {path: file.link for path, file in files.items() if file.link is not None}
        self._shell = self._build({path: body for path, body in text.items() if path not in links})
        fs = self._shell.fs()
        for path in (*other, *links):
            fs.mkdir(path.rpartition("/")[0] or "/", recursive=True)
        for path, content in other.items():
            fs.write_file(path, content)
        for path, target in links.items():
            fs.symlink(target, path)
        for path, file in files.items():
            if file.mode != 0o644 and path not in links:
                fs.chmod(path, file.mode)
        self._cwd = HOME
        self._shell.execute_sync(f"RANDOM={seed & 0x7FFF}")

    def _build(self, files: Mapping[str, str]) -> Bash:
        return Bash(
            username=USER,
            hostname=HOSTNAME,
            cwd=HOME,
            env=ENVIRONMENT,
            files={**SYSTEM_FILES, **files},
            max_commands=self._params.max_commands,
            max_loop_iterations=self._params.max_loop,
            max_memory=self._params.max_bytes,
            timeout_seconds=self._timeout,
            profile=ExecutionProfile.Interactive,
            sqlite=True,
        )

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        """See ``Terminal.run``."""
        if timeout != self._timeout:
            self._timeout = timeout
            self._rebuild()
        chunks: list[tuple[str, str]] = []
        start = time.perf_counter()
        result = self._open.execute_sync(command, lambda out, err: chunks.append((out, err)))
        stdout, stderr, exit_code, status = result.stdout, result.stderr, result.exit_code, Status.OK
        if result.error is not None and "limit exceeded" in result.error:
            stdout, stderr = "".join(out for out, _ in chunks), "".join(err for _, err in chunks)
            stderr = "".join(
                line for line in stderr.splitlines(True) if "resource limit exceeded" not in line
            )
            if "timeout" in result.error:
                exit_code, status = TIMEOUT_EXIT, Status.TIMEOUT
            else:
                exit_code, status = KILLED_EXIT, Status.KILLED
            self._rebuild()
        self._cwd = self._open.shell_state().cwd
        seconds = time.perf_counter() - start
        return Observation(normal_form(stdout), normal_form(stderr), exit_code, self._cwd, status, seconds)

    def _rebuild(self) -> None:
        """Move the session to a new instance: one that a background child has blocked stays blocked for ever."""
        snapshot = self._open.snapshot()
        self._shell = self._build({})
        self._shell.restore_snapshot(snapshot)

    @property
    def _open(self) -> Bash:
        if self._shell is None:
            raise RuntimeError("call reset before using the terminal")
        return self._shell

    def read(self, path: str) -> bytes | None:
        """See ``Terminal.read``; no symbolic link is followed, in the middle of the path neither."""
        entry = self._entry(path)
        return self._open.fs().read_file(path) if entry is not None and entry.kind == "file" else None

    def _entry(self, path: str) -> Entry | None:
        """The entry at an absolute path, None where a part of it is missing or a link on the way."""
        parent, _, name = path.rpartition("/")
        for part in _prefixes(parent):
            if not self._open.exists(part) or self._is_link(part):
                return None
            if self._open.fs().stat(part)["file_type"] != "directory":
                return None
        for item in self._open.fs().read_dir(parent or "/"):
            if item["name"] == name:
                return _entry_of(item["metadata"], path, self._open)
        return None

    def _is_link(self, path: str) -> bool:
        parent, _, name = path.rpartition("/")
        items = self._open.fs().read_dir(parent or "/")
        return any(i["name"] == name and i["metadata"]["file_type"] == "symlink" for i in items)

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """See ``Terminal.list``; empty where ``root`` is not a directory."""
        fs = self._open.fs()
        found: dict[str, Entry] = {}
        pending = [root.rstrip("/")] if fs.exists(root) and fs.stat(root)["file_type"] == "directory" else []
        while pending:
            folder = pending.pop()
            for item in fs.read_dir(folder or "/"):
                path = f"{folder}/{item['name']}"
                found[path] = _entry_of(item["metadata"], path, self._open)
                if found[path].kind == "directory":
                    pending.append(path)
        return dict(sorted(found.items()))

    def fingerprint(self) -> str:
        """See ``Terminal.fingerprint``."""
        shell = self._open.shell_state()
        variables = {**shell.variables, **shell.env, **shell.arrays, **shell.assoc_arrays}
        tree = self.list()
        fs = self._open.fs()
        contents = {path: fs.read_file(path) for path, entry in tree.items() if entry.kind == "file"}
        return state.digest(shell.cwd, variables, tree, contents)

    def close(self) -> None:
        """See ``Terminal.close``."""
        self._shell = None


def _prefixes(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    return ["/" + "/".join(parts[: n + 1]) for n in range(len(parts))]


def _entry_of(metadata: Mapping[str, object], path: str, shell: Bash) -> Entry:
    kind = str(metadata["file_type"])
    mode = int(str(metadata["mode"]))
    if kind == "symlink":
        return Entry("link", 0o777, 0, shell.fs().read_link(path))
    return Entry(kind, mode, int(str(metadata["size"])) if kind == "file" else 0)
