"""The virtual engine: bash and its tools in process, over a file system in memory (bashkit).

A command costs some hundred microseconds. Nothing reaches the host: files, processes and network are the engine's own;
``python3`` runs in ``python_sandbox``. Rules of its own, beside the differences listed in ``differences.yaml``:

- A command that starts background children waits for them, and in it ``sleep`` takes no time.
- A shell that ends (``exit``, ``set -e``) goes on where it was with the exported variables that it had.
- Options of ``set`` and aliases last from command to command; traps do not.
- A program written here runs beside the shell where plain words call it, till a command may change their meaning.
"""

from __future__ import annotations

import re
import shlex
import time
import weakref
from collections.abc import Iterable, Mapping

from bashkit import Bash, BuiltinContext, BuiltinResult, ExecResult, ShellState

from echo_terminal.config import StrictModel
from echo_terminal.terminal import scripts, state, virtual_tree
from echo_terminal.terminal.deep_stack import on_deep_stack
from echo_terminal.terminal.normalise import normal_form
from echo_terminal.terminal.programs import callback, programs
from echo_terminal.terminal.programs.call import Clock, Typed
from echo_terminal.terminal.programs.drawing import Draw
from echo_terminal.terminal.programs.limits import TIME, Limits
from echo_terminal.terminal.programs.versions import real_versions
from echo_terminal.terminal.reading import Reading, read
from echo_terminal.terminal.shell_session import SIGNALLED
from echo_terminal.terminal.terminal import HOME, KILLED_EXIT, TIMEOUT_EXIT, Entry, File, Observation, Status
from echo_terminal.terminal.virtual_python import PythonProgram
from echo_terminal.terminal.virtual_shell import forget, new_shell, options, settle
from echo_terminal.terminal.wording.context import in_context
from echo_terminal.terminal.wording.grammar import open_ended, syntax_error, warnings
from echo_terminal.terminal.wording.jq_numbers import with_numbers
from echo_terminal.terminal.wording.jq_words import of_jq
from echo_terminal.terminal.wording.messages import exit_code, real_messages
from echo_terminal.terminal.wording.permissions import Rights
from echo_terminal.terminal.wording.tracing import real_trace

END = "__end_of_command"  # a builtin put behind commands that may end the shell: reached, it did not
FIRST_LINE, LINES = 3, 2  # as the shells of the other engines count: of a new one, and of each command
LONGEST = 1 << 16  # characters of output that may hold error texts; a flood holds none that anybody reads
Ended = tuple[str, str, int, Status]  # how a command did: both outputs, exit code, status
_FRESH = re.compile(r"\b(?:ba)?sh -c ['\"]")  # bashkit hands the status of the command before to a new shell
_CARRIED = re.compile(r"\$\{?_\b|PIPESTATUS")  # what the command before leaves, beside its exit code
_OTHER_LINES = re.compile(r"\(\)|\bfunction\b|>|sh\b|\bsource\b")  # LINENO counts those of a function or file
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
        self._line = FIRST_LINE
        self._sound = False  # did every command of the shell come to an end of its own?
        self._points: list[str] = []  # where files are that are only read
        self._end: int | None = None  # the exit code at ``END``
        self._clock, self._draw = Clock(), Draw(0)
        self._python = PythonProgram(self._draw.random)
        self._limits = Limits(self.params.max_bytes, self.params.max_commands)
        self._own = programs(self._clock, self._draw, self._limits)
        self._programs = {**self._own, "python3": callback(self._python, self._clock, files=True)}
        me = weakref.proxy(self)  # the shell would keep this object, and itself, for ever
        self._programs[END] = lambda context: me._reached(context)
        self._ran: list[scripts.Ran] = []  # the scripts that the command runs
        self._programs[scripts.PROGRAM] = callback(
            lambda call: scripts.script(call, me._rights.for_script, me._ran), self._clock, files=True
        )

    # -- episode ---------------------------------------------------------------------------------------------------

    def reset(self, files: Mapping[str, File], seed: int) -> None:
        """See ``Terminal.reset``.

        Raises:
            ValueError: a path that is not absolute.
        """
        own, self._fixed = virtual_tree.split(files)
        self._code, self._line, self._options, self._deep, self._cwd = 0, FIRST_LINE, "", False, HOME
        self._altered = False  # may the shell have functions, aliases, options or outputs of its own?
        self._state: ShellState | None = None  # of the shell, where it was looked at
        self._env: dict[str, str] | None = None  # its exported variables, where they were asked for
        self._last = ""  # word of a command that ran beside the shell, and that it does not know
        self._clock.restart()
        self._seed, self._runs = seed, 0  # what RANDOM starts from in a new instance
        self._draw.random.seed(seed)
        self._python.fixed, self._rights = self._fixed, Rights(own)
        self._shell = self._pristine(virtual_tree.mount_points(self._fixed))
        self._tree = virtual_tree.lay_out(own, self._fixed, self._shell, self._clock)
        self._draw_devices(file.content for file in files.values())
        settle(self._shell, seed)
        self._timed, self._seconds = any(b"SECONDS" in file.content for file in files.values()), 0
        self._clock.ready = time.time()

    def _pristine(self, points: list[str]) -> Bash:
        """A shell without a past: the one before with all that it held dropped (a tenth of the cost), or a new one
        where that one was cut short or has files in other places."""
        usable, self._points = self._sound and points == self._points, points
        if self._shell is None or not usable:
            return self._build()
        self._shell.reset()
        return self._shell

    def _draw_devices(self, texts: Iterable[bytes]) -> None:
        """Give the shell devices of random bytes where texts may name them; it is not used for another episode then."""
        if virtual_tree.draw_devices(self._open, self._draw, texts):
            self._sound = False

    def _build(self) -> Bash:
        self._sound = True
        most = self.params
        return new_shell(self._programs, self._timeout, most.max_commands, most.max_loop, most.max_bytes)

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
        command = command.replace("\0", "")
        line, self._line = self._line, self._line + LINES
        reading = read(command)
        if reading.refused is not None:
            text, self._code = reading.refused
            return Observation("", text, self._code, self._cwd)
        if timeout != self._timeout:
            self._timeout = timeout
            self._rebuild()
        shell = self._open
        if reading.times:
            virtual_tree.settle_times(shell, self._clock, new=reading.stores)
        self._runs += 1
        self._ran.clear()
        self._altered = self._altered or reading.alters
        self._deep = self._deep or "eval" in command
        self._draw_devices((command.encode("utf-8", "replace"),))
        self._limits.start(timeout)
        before, traces = self._cwd, "x" in self._options
        known = with_numbers(self._rights.applied(shell, command), before, shell.fs())
        if "LINENO" in known and _OTHER_LINES.search(known) is None:
            known = known.replace("$LINENO", f"$((LINENO+{line - 1}))")
        if known != command or traces:
            reading = read(known, traces=traces)
        usual = not (self._altered or self._rights.wraps)
        if usual and reading.words and reading.words[0] in self._own:
            stdout, stderr, code, status = self._beside(reading.words)
        else:
            stdout, stderr, code, status = self._inside(command, known, reading, lone=usual and reading.lone)
        if stderr and len(stderr) <= LONGEST:
            if stderr[:1] == "+" or "\n+" in stderr:
                stderr = real_trace(stderr, command, on=traces)
            stderr = scripts.real_texts(stderr, self._ran) if self._ran else stderr
            stderr = real_messages(stderr, scripts.words(command, self._ran), (before, self._cwd))
            stderr = in_context(stderr, command, self._state or self._open.shell_state(), self._open.fs())
            stderr = of_jq(stderr, command, self._cwd, self._open.fs()) if "jq" in command else stderr
            code = exit_code(stderr, command, code)
        stderr = warnings(command, line) + stderr
        self._code = code
        if len(stdout) <= LONGEST and ("&1" in command or "|&" in command or "&>" in command):
            stdout = real_messages(stdout, command, (before, self._cwd))
        elif "--version" in command:
            stdout = real_versions(stdout)
        shown = normal_form(stdout), normal_form(stderr)
        return Observation(*shown, code, self._cwd, status, time.perf_counter() - started)

    def _beside(self, words: tuple[str, ...]) -> Ended:
        """How a program written here did, called as bashkit calls it: plain words need no shell."""
        shell, (name, *argv) = self._open, words
        if self._env is None:
            self._env = dict((self._state or shell.shell_state()).env)
        self._last = shlex.quote(words[-1])
        try:
            result = self._own[name](Typed(name, argv, None, dict(self._env), self._cwd, shell.fs()))
        except Exception as error:  # said as bashkit says it
            result = BuiltinResult("", f"{name}: {type(error).__name__}: {error}", 1)
        return self._limited(result.stdout, result.stderr, result.exit_code, Status.OK)

    def _inside(self, command: str, known: str, reading: Reading, *, lone: bool) -> Ended:
        """How a command did in bashkit; ``known``: it, with what must not be opened replaced; ``lone``: it needs no
        look at what it says on its way, nor at the shell after it."""
        shell, chunks = self._open, []
        text, watched = self._prepare(known, reading)
        execute = on_deep_stack if not lone and (self._deep or reading.nests) else Bash.execute_sync
        listen = None if lone else lambda out, err: chunks.append((out, err))
        sound, self._sound = self._sound, False
        self._python.start(self._limits.until, shell.cancel)
        try:
            result = execute(shell, text, listen)
        finally:
            self._python.end()
        if self._python.unavailable is not None:
            raise self._python.unavailable
        self._clock.restore_modes(shell.fs(), forget=True)
        stdout, stderr, code, status = self._judge(command, result, chunks)
        self._sound = sound and status is Status.OK
        if status is Status.TIMEOUT and reading.child:
            self._rebuild()
        if watched and status is Status.OK:
            code = self._after(code, stderr)
            if code in SIGNALLED:
                code, status = KILLED_EXIT, Status.KILLED
        self._last = ""
        if lone:
            return stdout, stderr, code, status
        self._state, self._env = self._open.shell_state(), None
        self._cwd = self._state.cwd
        if self._altered:
            self._options = options(self._state.variables)
        return stdout, stderr, code, status

    def _prepare(self, command: str, reading: Reading) -> tuple[str, bool]:
        """What bashkit is given for a command, and whether to watch for the end of the shell."""
        self._end = None
        self._timed = self._timed or "SECONDS" in command
        before = [f"SECONDS={self._seconds}"] if self._timed else []  # no time passes between commands
        text, after = reading.text, []
        for name, function in scripts.FUNCTIONS.items():
            if name in text:
                self._rights.define(self._open, name, function)
        if self._options:
            before.append(f"set {self._options}")
        asks = "$?" in command
        if self._last and _CARRIED.search(command) is not None:
            before.append(f": {self._last}; (exit {self._code})")
        elif asks and self._code and "-e" not in self._options:
            before.append(f"(exit {self._code})")
        if not (before or asks or reading.child or reading.leaves):
            return text, False
        if asks:
            text = _FRESH.sub(r"\g<0>:;", text)
        watched = reading.child or "-e" in self._options or reading.leaves or self._timed
        watched = watched and not open_ended(reading.text)
        if watched:
            after.append(f"{END} $? $SECONDS")
            if "trap" in command:
                after.append("trap - EXIT")
            if reading.child and "sleep" in command:
                before.insert(0, "sleep() { :; }")
                after.append("unset -f sleep")
        return "; ".join([*before, "\n".join([text, *after])]), watched  # on its line, which LINENO counts

    def _reached(self, context: BuiltinContext) -> BuiltinResult:
        self._end, self._seconds = map(int, context.argv)
        return BuiltinResult()

    def _judge(self, command: str, result: ExecResult, chunks: list[tuple[str, str]]) -> Ended:
        """Both outputs, exit code and status of what bashkit reports."""
        stdout, stderr, code, status = result.stdout, result.stderr, result.exit_code, Status.OK
        python = self._python.last if self._python.last is not None and self._python.last.over else None
        if python is not None:
            self._open.clear_cancel()
        if result.error is not None:
            if result.error.startswith("parse error"):
                stderr, code = syntax_error(result.error, command)
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
            return stdout[: self.params.max_output], stderr[: self.params.max_output], code, status
        return self._limited(stdout, stderr, code, status)

    def _limited(self, stdout: str, stderr: str, code: int, status: Status) -> Ended:
        """The same, but as one that ended at a limit where one of ours was reached."""
        limit = self.params.max_output
        if self._limits.reached == TIME:
            code, status = TIMEOUT_EXIT, Status.TIMEOUT
        elif self._limits.reached is not None or max(len(stdout), len(stderr)) > limit:
            code, status = KILLED_EXIT, Status.KILLED
        return stdout[:limit], stderr[:limit], code, status

    def _after(self, code: int, stderr: str) -> int:
        """The exit code of a watched command; a shell that it ended is made anew."""
        if self._end is not None:
            return self._end
        if _ABORTS.search(stderr) is None:
            self._line = FIRST_LINE
            forget(self._open)
        return code

    def _rebuild(self) -> None:
        """Move the session to a new instance: a time limit is fixed when one is built, and one that a sleeping
        child blocks stays blocked for ever."""
        snapshot = self._open.snapshot(exclude_filesystem=True)
        self._shell = self._build()
        self._shell.restore_snapshot(snapshot)
        virtual_tree.mount(self._shell, self._tree, self._fixed)
        self._shell.execute_sync(f"RANDOM={(self._seed + 7919 * self._runs) % 32768}")

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
