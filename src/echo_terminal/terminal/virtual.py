"""The virtual engine: bash and its tools in process, over a file system in memory (bashkit).

A command costs tens of microseconds. Nothing reaches the host: files, processes and network are the engine's own;
``python3`` runs in ``python_sandbox``. Rules of its own, beside the differences listed in ``differences.yaml``:

- A command that starts background children waits for them, and in it ``sleep`` takes no time.
- A shell that ends (``exit``, ``set -e``) goes on where it was with the exported variables that it had.
- Options of ``set`` and aliases last from command to command; traps do not.
"""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Mapping

from bashkit import Bash, BuiltinContext, BuiltinResult, ExecResult, ExecutionProfile

from echo_terminal.config import StrictModel
from echo_terminal.terminal import state, virtual_tree
from echo_terminal.terminal.deep_stack import NESTS, on_deep_stack
from echo_terminal.terminal.normalise import normal_form
from echo_terminal.terminal.shell_session import SIGNALLED
from echo_terminal.terminal.shims import callback, programs
from echo_terminal.terminal.shims.call import Clock
from echo_terminal.terminal.shims.jq_words import of_jq
from echo_terminal.terminal.shims.limits import TIME, Limits
from echo_terminal.terminal.shims.messages import (
    dangling,
    exit_code,
    open_ended,
    real_messages,
    syntax_error,
    through_files,
    unclosed,
)
from echo_terminal.terminal.shims.permissions import Rights
from echo_terminal.terminal.shims.rewording import reworded
from echo_terminal.terminal.shims.small import Draw
from echo_terminal.terminal.shims.versions import real_versions
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
from echo_terminal.terminal.virtual_python import PythonProgram

END = "__end_of_command"  # a builtin put behind commands that may end the shell: reached, it did not
LONGEST = 1 << 16  # characters of output that may hold error texts; a flood holds none that anybody reads
OPTIONS = {  # how bashkit remembers `set -o`
    "SHOPT_a": "-a", "SHOPT_e": "-e", "SHOPT_f": "-f", "SHOPT_n": "", "SHOPT_u": "-u", "SHOPT_v": "-v",
    "SHOPT_x": "-x", "SHOPT_C": "-C", "SHOPT_pipefail": "-o pipefail",
}  # fmt: skip
_SPECIAL = re.compile(r"&|\$\?|\b(?:exit|logout|exec|kill|set|trap)\b|\.{0,2}/")
_LEAVES = re.compile(r"\b(?:exit|logout|exec|kill|set|trap)\b")
_CHILD = re.compile(r"(?<![&><|\\])&(?![&>])")
_SCRIPT = re.compile(r"(?:^|(?<=[;&|(\n]))(\s*)((?:\.{1,2}/|/|[\w.-]+/)[\w./-]*)")
_FRESH = re.compile(r"\b(?:ba)?sh -c ['\"]")  # bashkit hands the status of the command before to a new shell
_STORES = re.compile(r"\b(?:tar|zip|make)\b|%T|%t")  # puts times of files into its output
_TIMES = re.compile(rf"{_STORES.pattern}|-(?:a|c)?newer|-[mac](?:time|min)\b|-[no]t\b")
_REDIRECTS = re.compile(r"[|>]|\$\(|`")


class VirtualParams(StrictModel):
    """Limits of one episode: bytes of files and of a stream of output, simple commands a call, turns of a loop."""

    max_bytes: int = 64 << 20
    max_output: int = 4 << 20
    max_commands: int = 1_000_000
    max_loop: int = 1_000_000


class VirtualTerminal:
    """A ``Terminal`` over bashkit."""

    name = "virtual"

    def __init__(self, params: VirtualParams | None = None) -> None:
        self.params = params or VirtualParams()
        self._timeout = 10.0
        self._shell: Bash | None = None
        self._sound = False  # did every command of the shell come to an end of its own?
        self._end: int | None = None  # the exit code at ``END``
        self._clock, self._draw, self._python = Clock(), Draw(0), PythonProgram()
        self._limits = Limits(self.params.max_bytes, self.params.max_commands)
        self._programs = programs(self._clock, self._draw, self._limits)
        self._programs["python3"] = callback(self._python, self._clock, files=True)
        me = weakref.proxy(self)  # the shell would keep this object, and itself, for ever
        self._programs[END] = lambda context: me._reached(context)

    # -- episode ---------------------------------------------------------------------------------------------------

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        """See ``Terminal.reset``.

        Raises:
            ValueError: a path that is not absolute.
        """
        self._code, self._options, self._deep, self._cwd, self._files = 0, "", False, HOME, files
        self._clock.restart()
        self._seed, self._runs = seed, 0  # what RANDOM starts from in a new instance
        self._draw.random.seed(seed)
        self._python.fixed = {p: f for p, f in files.items() if not p.startswith(virtual_tree.INSIDE)}
        self._rights = Rights(files)
        self._shell = virtual_tree.lay_out(files, self._pristine, self._clock)
        self._shell.execute_sync(f"unset OLDPWD; shopt -s expand_aliases; RANDOM={seed % 32768}")
        self._clock.ready = time.time()

    def _pristine(self) -> Bash:
        """A shell without a past: the one before with all that it held dropped (a tenth of the cost), or a new one."""
        if self._shell is None or not self._sound:
            return self._build()
        self._shell.reset()
        return self._shell

    def _build(self) -> Bash:
        self._sound = True
        return Bash(
            username=USER,
            hostname=HOSTNAME,
            cwd=HOME,
            env={**ENVIRONMENT, "SHLVL": "1", "_": "/usr/bin/env"},
            files={"/usr/bin/python3": "#!/bin/sh\n"},
            max_commands=self.params.max_commands,
            max_loop_iterations=self.params.max_loop,
            max_memory=self.params.max_bytes,
            timeout_seconds=self._timeout,
            profile=ExecutionProfile.Interactive,
            custom_builtins=self._programs,
        )

    @property
    def _open(self) -> Bash:
        if self._shell is None:
            raise RuntimeError("no episode: call reset first")
        return self._shell

    def close(self) -> None:
        """See ``Terminal.close``."""
        self._shell = None

    # -- commands --------------------------------------------------------------------------------------------------

    def run(self, command: str, timeout: float = 10.0) -> Observation:
        """See ``Terminal.run``. NUL bytes of ``command`` are dropped, as bash drops them.

        Raises:
            EngineUnavailable: the command ran ``python3``, which this machine cannot sandbox.
        """
        started = time.perf_counter()
        if dangling(command):
            text, self._code = syntax_error("syntax error: unexpected end of file")
            return Observation("", text, self._code, self._cwd)
        if ("${" in command or "=(" in command) and (known := unclosed(command)):
            text, self._code = known
            return Observation("", text, self._code, self._cwd)
        if timeout != self._timeout:
            self._timeout = timeout
            self._rebuild()
        shell, chunks = self._open, []
        if _TIMES.search(command):
            virtual_tree.settle_times(shell, self._clock, new=_STORES.search(command) is not None)
        self._runs += 1
        self._limits.start(timeout)
        self._python.start(self._limits.until, shell.cancel)
        text, watched = self._prepare(command.replace("\0", ""))
        self._deep = self._deep or "eval" in command
        execute = on_deep_stack if self._deep or NESTS.search(command) else Bash.execute_sync
        sound, self._sound = self._sound, False
        try:
            result = execute(shell, text, lambda out, err: chunks.append((out, err)))
        finally:
            self._python.end()
        if self._python.unavailable is not None:
            raise self._python.unavailable
        stdout, stderr, code, status = self._judge(command, result, chunks)
        self._sound = sound and status is Status.OK
        if status is Status.TIMEOUT and self._child:
            self._rebuild()
        if watched and status is Status.OK:
            code = self._after(code, stderr)
            if code in SIGNALLED:
                code, status = KILLED_EXIT, Status.KILLED
        shell_state = self._open.shell_state()
        variables = shell_state.variables
        self._options = " ".join(flag for name, flag in OPTIONS.items() if variables.get(name) == "1")
        folders, self._cwd = (self._cwd, shell_state.cwd), shell_state.cwd
        if stderr and len(stderr) <= LONGEST:
            stderr = through_files(real_messages(stderr, command, folders), self._cwd, self._open.fs())
            if "jq" in command:
                stderr = of_jq(stderr, command, self._cwd, self._open.fs())
            code = exit_code(stderr, command, code)
        self._code = code
        if len(stdout) <= LONGEST and ("&1" in command or "|&" in command or "&>" in command):
            stdout = real_messages(stdout, command, folders)
        elif "--version" in command:
            stdout = real_versions(stdout)
        return Observation(
            normal_form(stdout),
            normal_form(stderr),
            code,
            self._cwd,
            status,
            time.perf_counter() - started,
        )

    def _prepare(self, command: str) -> tuple[str, bool]:
        """What bashkit is given for a command, and whether to watch for the end of the shell."""
        self._end = None
        self._child: bool = False
        command = self._rights.applied(self._open, command)
        if "x" not in self._options and "set -" not in command:
            command = reworded(command)
        if not self._options and _SPECIAL.search(command) is None:
            return command, False
        text = _SCRIPT.sub(self._interpreted, command)
        if "$?" in command:
            text = _FRESH.sub(r"\g<0>:;", text)
        before, after = [], []
        if self._options:
            before.append(f"set {self._options}")
        if "$?" in command and self._code and "-e" not in self._options:
            before.append(f"(exit {self._code})")
        self._child = _CHILD.search(command) is not None
        watched = self._child or "-e" in self._options or _LEAVES.search(command) is not None
        watched = watched and not open_ended(command)
        if watched:
            after.append(f"{END} $?")
            if "trap" in command:
                after.append("trap - EXIT")
            if self._child and "sleep" in command:
                before.insert(0, "sleep() { :; }")
                after.append("unset -f sleep")
        return "\n".join([*before, text, *after]), watched

    def _interpreted(self, match: re.Match[str]) -> str:
        """The path of a script at a command's place, after ``python3`` or ``bash`` if its first line asks for that."""
        fs = self._open.fs()
        path = match[2] if match[2].startswith("/") else f"{self._cwd}/{match[2]}"
        if not fs.exists(path):
            made = re.search(rf">\s*(?:\./)?{re.escape(match[2].removeprefix('./'))}\b", match.string)
            asks = re.search(r"#!\s*\S*(?:/|env )(python3|bash)\b", match.string)
            runs = made and asks and (asks[1] != "bash" or re.search(r"chmod (?:a|u)?(?:\+|7)", match.string))
            return f"{match[1]}{asks[1]} {match[2]}" if runs and asks else match[0]
        if fs.stat(path)["file_type"] != "file" or not fs.stat(path)["mode"] & 0o100:
            return match[0]
        first = fs.read_file(path)[:80].partition(b"\n")[0]
        program = first.split()[-1].rpartition(b"/")[2] if first.startswith(b"#!") else b""
        name = "python3" if program.startswith(b"python") else "bash" if program == b"bash" else ""
        if name == "bash" and "chmod" in match.string:  # the command may take the right to execute
            return match[0]
        return f"{match[1]}{name} {match[2]}" if name else match[0]  # bashkit does not count the first line

    def _reached(self, context: BuiltinContext) -> BuiltinResult:
        self._end = int(context.argv[0])
        return BuiltinResult()

    def _judge(
        self, command: str, result: ExecResult, chunks: list[tuple[str, str]]
    ) -> tuple[str, str, int, Status]:
        """Both outputs, exit code and status of what bashkit reports."""
        stdout, stderr, code, status = result.stdout, result.stderr, result.exit_code, Status.OK
        limit = self.params.max_output
        python = self._python.last if self._python.last is not None and self._python.last.over else None
        if python is not None:
            self._open.clear_cancel()
        if result.error is not None:
            if result.error.startswith("parse error"):
                stderr, code = syntax_error(result.error)
                return stdout, stderr, code, status
            stdout, stderr = "".join(out for out, _ in chunks), "".join(err for _, err in chunks)
            if python is not None and _REDIRECTS.search(command) is None:
                stdout += python.stdout.decode("utf-8", "replace")
                stderr += python.stderr.decode("utf-8", "replace")
            if "execution timeout" in result.error:
                code, status = TIMEOUT_EXIT, Status.TIMEOUT
            elif "limit" in result.error or "budget" in result.error:
                code, status = KILLED_EXIT, Status.KILLED
            elif python is None:
                stderr += result.error + "\n"
            stderr = _OF_LIMITS.sub("", stderr)
        if python is not None:
            late = python.over == "time"
            code, status = (TIMEOUT_EXIT, Status.TIMEOUT) if late else (KILLED_EXIT, Status.KILLED)
        elif self._limits.reached == TIME:
            code, status = TIMEOUT_EXIT, Status.TIMEOUT
        elif self._limits.reached is not None or max(len(stdout), len(stderr)) > limit:
            code, status = KILLED_EXIT, Status.KILLED
        return stdout[:limit], stderr[:limit], code, status

    def _after(self, code: int, stderr: str) -> int:
        """The exit code of a watched command; a shell that it ended is made anew."""
        if self._end is not None:
            return self._end
        if _ABORTS.search(stderr) is None:
            shell = self._open
            now = shell.shell_state()
            names = {*now.variables, *now.arrays, *now.assoc_arrays} - {*now.env} - state.SHELL_VARIABLES
            functions = [line.split()[-1] for line in shell.execute_sync("declare -F").stdout.splitlines()]
            own = " ".join(name for name in names if not name.startswith("SHOPT_"))
            shell.execute_sync(f"unset -v {own} 2>&1; unset -f {' '.join(functions)} 2>&1; unalias -a 2>&1")
        return code

    def _rebuild(self) -> None:
        """Move the session to a new instance: a time limit is fixed when one is built, and one that a sleeping
        child blocks stays blocked for ever."""
        old = self._open
        snapshot, times = old.snapshot(), virtual_tree.dated(old.fs(), self._clock)
        self._shell = self._build()
        self._shell.restore_snapshot(snapshot)
        self._shell.execute_sync(f"RANDOM={(self._seed + 7919 * self._runs) % 32768}")
        virtual_tree.restore(self._shell, self._files, times, self._clock)
        self._clock.ready = time.time()

    # -- inspection ------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes | None:
        """See ``Terminal.read``; no symbolic link is followed, in the middle of the path neither."""
        fs = self._open.fs()
        found = virtual_tree.entry(fs, path)
        return fs.read_file(path) if found is not None and found.kind == "file" else None

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """See ``Terminal.list``; empty where ``root`` is no directory."""
        return dict(sorted((path, entry) for path, entry, _ in virtual_tree.walk(self._open.fs(), root)))

    def fingerprint(self) -> str:
        """See ``Terminal.fingerprint``."""
        shell = self._open.shell_state()
        variables = {**shell.variables, **shell.env, **shell.arrays, **shell.assoc_arrays}
        variables = {n: v for n, v in variables.items() if not n.startswith("SHOPT_")}
        tree, fs = self.list(), self._open.fs()
        contents = {path: fs.read_file(path) for path, entry in tree.items() if entry.kind == "file"}
        return state.digest(shell.cwd, variables, tree, contents)


_OF_LIMITS = re.compile(r"^.*(?:resource limit exceeded|execution cancelled).*\n?", re.M)
_ABORTS = re.compile(r"unbound variable|readonly variable|division by 0|bad substitution|syntax error")
