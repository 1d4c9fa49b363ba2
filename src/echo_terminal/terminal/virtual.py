"""The virtual engine: bash and its tools in process, over a file system in memory (bashkit).

A command costs some hundred microseconds. Nothing reaches the host: files, processes and network are the engine's own;
``python3`` runs in ``python_sandbox``. Rules of its own, beside the differences listed in ``differences.yaml``:

- A command that starts background children waits for them, and in it ``sleep`` takes no time and ``kill`` finds them.
- A shell that ends (``exit``, ``set -e``) goes on where it was with the exported variables that it had.
- Options of ``set``, aliases and traps last from command to command; what ``exec`` did to the outputs does not.
- A program written here runs beside the shell where plain words call it, till a command may change their meaning.
"""

from __future__ import annotations

import re
import shlex
import time
import weakref
from collections.abc import Mapping

from bashkit import Bash, BuiltinContext, BuiltinResult, ExecResult, ShellState

from echo_terminal.config import StrictModel
from echo_terminal.terminal import scripts, state, virtual_shell, virtual_tree
from echo_terminal.terminal import virtual_ends as ends
from echo_terminal.terminal.deep_stack import on_deep_stack
from echo_terminal.terminal.normalise import normal_form
from echo_terminal.terminal.programs import callback, programs
from echo_terminal.terminal.programs.call import Clock, Typed
from echo_terminal.terminal.programs.drawing import Draw
from echo_terminal.terminal.programs.files.masking import Modes
from echo_terminal.terminal.programs.limits import Limits
from echo_terminal.terminal.reading import Reading, may_stop, read
from echo_terminal.terminal.shell_session import SIGNALLED
from echo_terminal.terminal.terminal import HOME, KILLED_EXIT, Entry, File, Observation, Status
from echo_terminal.terminal.virtual_ends import Ended
from echo_terminal.terminal.virtual_python import PythonProgram
from echo_terminal.terminal.wording import lost
from echo_terminal.terminal.wording.context import in_context
from echo_terminal.terminal.wording.grammar import open_ended, warnings
from echo_terminal.terminal.wording.inner import with_functions
from echo_terminal.terminal.wording.jq_numbers import with_numbers
from echo_terminal.terminal.wording.jq_words import of_jq
from echo_terminal.terminal.wording.listings import LONGEST, real_output
from echo_terminal.terminal.wording.messages import exit_code, real_messages
from echo_terminal.terminal.wording.permissions import Rights
from echo_terminal.terminal.wording.tracing import real_trace

END = "__end_of_command"  # a builtin put behind commands that may end the shell: reached, it did not
FIRST_LINE, LINES = 3, 2  # as the shells of the other engines count: of a new one, and of each command
_FRESH = re.compile(r"\b(?:ba)?sh -c ['\"]")  # bashkit hands the status of the command before to a new shell
_CARRIED = re.compile(r"\$\{?_\b|PIPESTATUS")  # what the command before leaves, beside its exit code


class VirtualParams(StrictModel):
    """Limits of one episode: bytes of files (of each at most ``virtual_tree.LARGEST``) and of a stream of output,
    simple commands a call, turns of a loop. Functions call each other 16 deep. More ends with 137."""

    max_bytes: int = 64 << 20
    max_output: int = 4 << 20
    max_commands: int = 1_000_000
    max_loop: int = 1_000_000


class VirtualTerminal:
    """A ``Terminal`` over bashkit."""

    name = "virtual"

    def __init__(self, params: VirtualParams | None = None) -> None:
        self.params = params or VirtualParams()
        self._timeout, self._line = 10.0, FIRST_LINE
        self._shell: Bash | None = None
        self._sound = False  # did every command of the shell come to an end of its own?
        self._points: list[str] = []  # where files are that are only read
        self._end: int | None = None  # the exit code at ``END``
        self._clock, self._draw, self._modes = Clock(), Draw(0), Modes()
        self._python = PythonProgram(self._draw.random)
        self._limits = Limits(self.params.max_bytes, self.params.max_commands)
        self._own = programs(self._clock, self._draw, self._limits, self._modes)
        self._programs = {**self._own, "python3": callback(self._python, self._clock, files=True)}
        self._python.applied = self._modes.learn
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
            ValueError: a path that is not absolute, or a file that is too large.
        """
        own, self._fixed = virtual_tree.split(files)
        self._code, self._options, self._deep, self._cwd, self._lost = 0, "", False, HOME, lost.FOUND
        self._traps: dict[str, str] = {}
        self._altered = False  # may the shell have functions, aliases, options or outputs of its own?
        self._state: ShellState | None = None  # of the shell, where it was looked at
        self._env: dict[str, str] | None = None  # its exported variables, where they were asked for
        self._line, self._last = (
            FIRST_LINE,
            "''",
        )  # the last word of a command, where the shell does not know it
        self._clock.restart()
        self._modes.restart({p: f.mode for p, f in own.items() if f.mode != 0o644 and f.link is None})
        self._seed, self._runs = seed, 0  # what RANDOM starts from in a new instance
        self._draw.random.seed(seed)
        self._python.fixed, self._rights = self._fixed, Rights(own)
        self._mounts = virtual_tree.mounts(self._fixed)
        self._shell = self._pristine([point for point, _ in self._mounts])
        self._tree = virtual_tree.lay_out(own, self._mounts, self._shell, self._clock)
        texts = b"\0".join([file.content for file in files.values()])
        self._draw_devices(texts)
        virtual_shell.settle(self._shell, seed)
        self._timed, self._seconds = b"SECONDS" in texts, 0
        self._clock.ready = time.time()

    def _pristine(self, points: list[str]) -> Bash:
        """A shell without a past: the one before with all that it held dropped (a tenth of the cost), or a new one
        where that one was cut short or has files in other places."""
        usable, self._points = self._sound and points == self._points, points
        if self._shell is None or not usable:
            return self._build()
        self._shell.reset()
        return self._shell

    def _draw_devices(self, text: bytes) -> None:
        """Give the shell devices of random bytes where a text may name them; no other episode uses it then."""
        if virtual_tree.draw_devices(self._open, self._draw, text):
            self._sound = False

    def _build(self) -> Bash:
        self._sound = True
        most = self.params
        return virtual_shell.new_shell(
            self._programs, self._timeout, most.max_commands, most.max_loop, most.max_bytes
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
        asks = _CARRIED.search(command) is not None
        self._left = virtual_shell.left(shell, self._last, self._code) if asks else ""
        self._altered, self._deep = self._altered or reading.alters, self._deep or "eval" in command
        self._draw_devices(command.encode("utf-8", "replace"))
        self._limits.start(timeout)
        self._modes.before(command, shell, writes=reading.writes or self._altered, shows=not self._altered)
        before, traces = self._cwd, "x" in self._options
        known = self._rights.applied(shell, command)
        known = known if traces else with_numbers(known, before, shell.fs())
        known = virtual_shell.with_line(known, line)
        known = lost.hidden(known, self._lost, shell.fs()) if self._lost or "PATH" in known else known
        known = virtual_shell.upwards(known, self._cwd, shell.fs()) if "cd .." in known else known
        if known != command or traces:
            reading = read(known, traces=traces)
        usual = not (self._altered or self._rights.wraps or self._lost)
        if usual and reading.words and reading.words[0] in self._own:
            stdout, stderr, code, status = self._beside(reading.words)
        else:
            stdout, stderr, code, status = self._inside(command, known, reading, lone=usual and reading.lone)
        if self._limits.cut and status is Status.OK and not may_stop(command):
            code, status = KILLED_EXIT, Status.KILLED
        if stderr and len(stderr) <= LONGEST:
            if stderr[:1] == "+" or "\n+" in stderr:
                stderr = real_trace(stderr, command, on=traces)
            stderr = scripts.real_texts(stderr, self._ran) if self._ran else stderr
            stderr = real_messages(stderr, scripts.words(command, self._ran), (before, self._cwd))
            stderr = in_context(stderr, command, self._state or self._open.shell_state(), self._open.fs())
            stderr = of_jq(stderr, command, self._cwd, self._open.fs()) if "jq" in command else stderr
            code = exit_code(stderr, command, code)
        stderr, self._code = warnings(command, line) + stderr, code
        stdout = real_output(stdout, command, (before, self._cwd))
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
        ended = result.stdout, result.stderr, result.exit_code, Status.OK
        return ends.limited(ended, self.params.max_output, self._limits)

    def _inside(self, command: str, known: str, reading: Reading, *, lone: bool) -> Ended:
        """How a command did in bashkit; ``known``: it, with what must not be opened replaced; ``lone``: it needs no
        look at what it says on its way, nor at the shell after it."""
        shell, chunks = self._open, []
        text, watched = self._prepare(known, reading)
        self._last = ""
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
        if lone:
            self._modes.done(shell)
            return stdout, stderr, code, status
        self._state, self._env = self._open.shell_state(), None
        self._cwd = self._state.cwd
        self._lost = lost.of(self._state.env.get("PATH", self._state.variables.get("PATH")))
        self._modes.after(command, self._open, self._state.variables)
        if self._altered:
            self._options = virtual_shell.options(self._state.variables)
            self._traps = {**self._state.traps, **self._exit}
            if reading.streams:
                self._rebuild()
        return stdout, stderr, code, status

    def _prepare(self, command: str, reading: Reading) -> tuple[str, bool]:
        """What bashkit is given for a command, and whether to watch for the end of the shell."""
        self._end, self._exit = None, {n: text for n, text in self._traps.items() if n == "EXIT"}
        self._debug = "DEBUG" in self._traps or "DEBUG" in command
        self._timed = self._timed or "SECONDS" in command
        may_end = reading.leaves or "-e" in self._options
        text, after = reading.text, []
        before = virtual_shell.carried(self._options, self._traps, at_exit=may_end)
        before += [f"SECONDS={self._seconds}"] if self._timed else []  # no time passes between commands
        called = {name: function for name, function in scripts.FUNCTIONS.items() if name in text}
        for name, function in called.items():
            self._rights.define(self._open, name, function)
        text = with_functions(text, called) if called and "sh" in text else text
        asks = "$?" in command or (reading.leaves and virtual_shell.bare(command))
        if self._left and not (self._code and ("ERR" in self._traps or "-e" in self._options)):
            before.append(self._left)
        elif asks and self._code and "ERR" in self._traps:
            text = virtual_shell.with_code(text, self._code)
        elif asks and self._code and "-e" not in self._options:
            before.append(f"(exit {self._code})")
        if not (before or asks or reading.child or reading.leaves):
            return text, False
        if asks:
            text = _FRESH.sub(r"\g<0>:;", text)
        watched = (reading.child or may_end or self._timed) and not (open_ended(reading.text) or self._debug)
        if watched:
            traps = "trap" in command or "EXIT" in self._traps
            ends = f'{END} $? $SECONDS "$_"'
            after += [f'{ends} "$(trap -p EXIT)"', "trap - EXIT"] if traps else [ends]
            if reading.child and (names := virtual_shell.of_children(command)):
                before[:0] = [virtual_shell.OF_CHILDREN[name] for name in names]
                after.append(f"unset -f {' '.join(names)}; unset -v __ended")
        # The lines before stand on that of the command, which LINENO counts.
        text = "; ".join([*before, "\n".join([text, *after])])
        return virtual_shell.numbered(text, self._line - LINES) if before else text, watched

    def _reached(self, context: BuiltinContext) -> BuiltinResult:
        code, seconds, last, *at_exit = context.argv
        self._end, self._seconds, self._last = int(code), int(seconds), shlex.quote(last)
        self._exit = virtual_shell.exit_trap(at_exit[0]) if at_exit else self._exit
        return BuiltinResult()

    def _judge(self, command: str, result: ExecResult, chunks: list[tuple[str, str]]) -> Ended:
        """How a command did, by what bashkit reports."""
        python = self._python.last if self._python.last is not None and self._python.last.over else None
        if python is not None:
            self._open.clear_cancel()
        ended = ends.reported(command, result, chunks, python, traps=self._debug)
        if python is not None or (result.error or "").startswith("parse error"):
            return ends.shown(ended, self.params.max_output)
        return ends.limited(ended, self.params.max_output, self._limits)

    def _after(self, code: int, stderr: str) -> int:
        """The exit code of a watched command; a shell that it ended is made anew."""
        if self._end is not None:
            return self._end
        if "-e" in self._options or not virtual_shell.aborted(stderr):
            self._line, self._exit, self._last = FIRST_LINE, {}, "''"
            virtual_shell.forget(self._open)
        return code

    def _rebuild(self) -> None:
        """Move the session to a new instance: a time limit is fixed when one is built, and one that a sleeping
        child blocks stays blocked for ever."""
        snapshot = self._open.snapshot(exclude_filesystem=True)
        self._shell = self._build()
        self._shell.restore_snapshot(snapshot)
        virtual_tree.mount(self._shell, self._tree, self._mounts)
        self._shell.execute_sync(f"RANDOM={(self._seed + 7919 * self._runs) % 32768}")

    # -- inspection ------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes | None:
        """See ``Terminal.read``; no symbolic link is followed, in the middle of the path neither."""
        fs = self._open.fs()
        return fs.read_file(path) if virtual_tree.is_file(fs, path) else None

    def list(self, root: str = HOME) -> dict[str, Entry]:
        """See ``Terminal.list``; empty where ``root`` is no directory."""
        return dict(sorted((path, entry) for path, entry, _ in virtual_tree.walk(self._open.fs(), root)))

    def fingerprint(self) -> str:
        """See ``Terminal.fingerprint``."""
        cwd, variables = virtual_shell.held(self._open)
        tree, fs = self.list(), self._open.fs()
        contents = {path: fs.read_file(path) for path, entry in tree.items() if entry.kind == "file"}
        return state.digest(cwd, variables, tree, contents)
