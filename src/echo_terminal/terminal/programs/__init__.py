"""Programs of the virtual engine that bashkit lacks or does not match: which, and how they are called.

bashkit runs a call on its own thread, where every look at a file costs a hand-over; so programs that use files
run on a helper thread, at one hand-over a call.
"""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Callable, Mapping

from bashkit import Bash, BuiltinContext, BuiltinResult, ExecutionProfile

from echo_terminal.terminal.programs import dates, expressions, getopt, people, small, xargs
from echo_terminal.terminal.programs.archive import bzip2, xz
from echo_terminal.terminal.programs.archive import gzip as compressing
from echo_terminal.terminal.programs.archive import tar as archives
from echo_terminal.terminal.programs.archive import zip as zipping
from echo_terminal.terminal.programs.awk import command as awk
from echo_terminal.terminal.programs.bc import command as bc
from echo_terminal.terminal.programs.call import TOO_LONG, Call, Clock, Typed, UsageError
from echo_terminal.terminal.programs.drawing import Draw
from echo_terminal.terminal.programs.files import (
    copying,
    describing,
    finding,
    kinds,
    listing,
    masking,
    modes,
    naming,
    teeing,
)
from echo_terminal.terminal.programs.files import making as files
from echo_terminal.terminal.programs.files.masking import Modes
from echo_terminal.terminal.programs.limits import DEEPEST, ROOM, TIME, Limits, Stopped
from echo_terminal.terminal.programs.patch import command as patching
from echo_terminal.terminal.programs.sqlite import command as database
from echo_terminal.terminal.programs.text import (
    coding,
    columns,
    devices,
    diffing,
    ending,
    filling,
    hashing,
    hexdump,
    joining,
    numbering,
    openssl,
    recoding,
    repeating,
    splitting,
    tabling,
    translating,
    xxd,
)
from echo_terminal.terminal.programs.versions import USES, VERSIONS
from echo_terminal.terminal.programs.watching import watched
from echo_terminal.terminal.wording import dash, opening, permissions, refusing, sed_scripts
from echo_terminal.terminal.wording.piping import NUMBERS, OWN

Program = Callable[[Call], None]

# bashkit has these, a small Debian has not.
ABSENT = (
    "assert bat busybox csv dotenv gawk glob http json log man nano nc parallel retry rg semver sudo template "
    "tomlq tree uuidgen verify vi watch yq"
).split()
ON_FILES: Mapping[str, Program] = {
    "ls": listing.ls,
    f"{OWN}ls": listing.merged,
    "mkdir": files.mkdir,
    "rmdir": files.rmdir,
    "rm": files.rm,
    "ln": files.ln,
    "cp": copying.cp,
    "mv": copying.mv,
    "chmod": modes.chmod,
    "stat": describing.stat,
    "du": describing.du,
    "date": dates.date,
    "comm": naming.comm,
    "realpath": naming.realpath,
    "chown": naming.owner,
    "chgrp": naming.owner,
    "diff": diffing.diff,
    "sdiff": diffing.sdiff,
    "patch": patching.patch,
    "zcat": compressing.gzip,
    f"{OWN}zcat": compressing.gzip,
    f"{OWN}sed": sed_scripts.sed,
    f"{OWN}find": finding.find,
    f"{OWN}tee": teeing.tee,
    xargs.PROGRAM: xargs.xargs,
    f"{OWN}tar": archives.tar,
    f"{OWN}gzip": compressing.gzip,
    f"{OWN}gunzip": compressing.gzip,
    "file": kinds.file,
    "zip": zipping.zip_,
    "unzip": zipping.unzip,
    **dict.fromkeys(
        (f"{mark}{name}" for mark in ("", OWN) for name in ("bzip2", "bunzip2", "bzcat")), bzip2.bzip2
    ),
    **dict.fromkeys(("xz", "unxz", "xzcat", f"{OWN}xz", f"{OWN}unxz", f"{OWN}xzcat"), xz.xz),
    "dir": listing.columns_of,
    "vdir": listing.columns_of,
    ending.HEAD: ending.head,
    ending.TAIL: ending.tail,
    opening.OPEN: opening.open_,
    opening.TOUCH: opening.touch,
    permissions.READ: permissions.to_read,
    permissions.WRITE: permissions.to_write,
    permissions.OVERWRITE: permissions.to_overwrite,
    permissions.ENTER: permissions.to_enter,
}
SUMS = "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum".split()
ON_NAMED_FILES: Mapping[str, Program] = {
    "more": small.more,
    "less": small.more,
    "wc": columns.wc,
    f"{OWN}wc": columns.wc,
    "cut": columns.cut,
    f"{OWN}cut": columns.cut,
    "bc": bc.bc,
    "uniq": repeating.uniq,
    "cmp": repeating.cmp,
    f"{OWN}cmp": repeating.cmp,
    "join": joining.join,
    "split": splitting.split,
    "fmt": filling.fmt,
    "column": tabling.column,
    "hexdump": hexdump.hexdump,
    "hd": hexdump.hexdump,
    f"{OWN}hexdump": hexdump.hexdump,
    f"{OWN}hd": hexdump.hexdump,
    f"{OWN}xxd": xxd.xxd,
    f"{OWN}base64": coding.basenc,
    f"{OWN}base32": coding.basenc,
    "basenc": coding.basenc,
    f"{OWN}basenc": coding.basenc,
    f"{OWN}iconv": recoding.iconv,
}
PLAIN: Mapping[str, Program] = {
    "seq": small.seq,
    f"{OWN}tr": translating.tr,
    f"{OWN}grep": small.two_matchers,
    f"{OWN}signals": small.signals,
    f"{OWN}fc": small.fc,
    "yes": small.yes,
    "clear": small.clear,
    "stty": small.stty,
    "uptime": small.uptime,
    "getopt": getopt.getopt,
    "curl": small.curl,
    "wget": small.wget,
    f"{OWN}history": small.history,
    "logout": small.no_login_shell,
    "suspend": small.no_login_shell,
    "id": people.identity,
    "expr": expressions.expr,
    dash.ECHO: dash.echo,
    refusing.REFUSE: refusing.refuse,
    NUMBERS: numbering.numbers,
    devices.ZEROS: devices.zeros,
    "whoami": people.whoami,
    "logname": people.logname,
    "groups": people.groups,
    "hostname": people.hostname,
    f"{OWN}env": people.environment,
    f"{OWN}printenv": people.environment,
}


_REASONS = (("read-only", "Read-only file system"), ("too long", TOO_LONG))
Callback = Callable[[BuiltinContext | Typed], BuiltinResult]


class _Helper:
    """A thread that runs one job at a time for whoever took it from ``_idle``; two bare locks are all that a
    hand-over costs."""

    def __init__(self) -> None:
        self._begin, self._over = threading.Lock(), threading.Lock()
        self._begin.acquire()
        self._over.acquire()
        threading.Thread(target=self._serve, name="files", daemon=True).start()

    def run(self, program: Program, call: Call) -> None:
        """Run a program to its end, here what it raises."""
        self._program, self._call = program, call
        self._error: BaseException | None = None
        self._begin.release()
        self._over.acquire()
        error = self._error
        del self._program, self._call, self._error
        _idle.append(self)
        if error is not None:
            raise error

    def _serve(self) -> None:
        while True:
            self._begin.acquire()
            try:
                _run(self._program, self._call)
            except BaseException as error:
                self._error = error
            self._over.release()


_idle: list[_Helper] = []  # no more of them come into being than calls run at once
os.register_at_fork(after_in_child=_idle.clear)  # threads are not forked


def _with_files(program: Program, call: Call) -> None:
    try:
        helper = _idle.pop()
    except IndexError:
        helper = _Helper()
    helper.run(program, call)


def programs(clock: Clock, draw: Draw, limits: Limits, kept: Modes) -> dict[str, Callback]:
    """Name -> callback for bashkit, by the clock, the random numbers, the limits and the modes of one terminal."""
    on_files = {
        **ON_FILES,
        "mktemp": draw.mktemp,
        "shuf": draw.shuf,
        f"{OWN}sort": draw.sort,
        "sqlite3": database.program(limits, draw.random),
    }
    on_files["openssl"] = on_files[f"{OWN}openssl"] = openssl.program(draw.random)

    def shell(call: Call, command: str, given: str) -> tuple[str, int]:
        """Run a command for a program, over the same files; its errors go where the program's go.

        Raises:
            Stopped: it reached a limit, or the shells inside each other are too many.
        """
        if limits.depth == DEEPEST:
            raise Stopped(ROOM)
        limits.depth += 1
        inner = Bash(
            cwd=call.cwd,
            env=call.env,
            max_commands=limits.max_commands,
            max_memory=limits.max_bytes,
            timeout_seconds=limits.left(),
            profile=ExecutionProfile.Interactive,
            custom_builtins=table,
        )
        inner.mount("/", call.fs)
        inner.execute_sync(f"cd {shlex.quote(call.cwd)}; RANDOM={draw.random.randrange(1 << 15)}")
        done = inner.execute_sync(
            f"{{ {command}\n}} <<< {shlex.quote(given.removesuffix(chr(10)))}" if given else command
        )
        limits.depth -= 1
        if done.error is not None and not done.error.startswith("parse error"):
            raise Stopped(TIME if "execution timeout" in done.error else ROOM)
        call.err.append(
            re.sub(
                r"^bash: (?:line \d+: )?(.*): command not found.*$",
                r"/bin/sh: 1: \1: not found",
                done.stderr,
                flags=re.M,
            )
        )
        return done.stdout, done.exit_code

    on_files["awk"] = awk.program(shell)
    on_files[xargs.RUN] = xargs.program(shell)
    on_files["zgrep"] = compressing.zgrep(shell)
    plain = {**PLAIN, **dict.fromkeys(ABSENT, small.absent)}
    on_files |= dict.fromkeys((f"{OWN}{name}" for name in SUMS), hashing.sums)
    table: dict[str, Callback] = {}
    for uses, group in ((True, on_files), (None, ON_NAMED_FILES), (False, plain)):
        table |= {
            name: callback(within(limits, program, kept), clock, files=uses)
            for name, program in group.items()
        }
    table[masking.MASK] = kept
    return table


def within(limits: Limits, program: Program, kept: Modes) -> Program:
    """The program, ended where it reaches a limit: the time of the command, or more than it may make."""

    def run(call: Call) -> None:
        name, words = call.name, call.argv
        kept.runs(name, call.fs)
        try:
            with watched(limits):
                program(call)
        except Stopped as stopped:
            limits.reached = call.code = stopped.code
        except RecursionError:
            limits.reached = call.code = ROOM
        except RuntimeError as error:  # of the file system
            if "file too large" not in str(error):
                raise
            limits.reached = call.code = ROOM
        kept.ran(name, words, call.fs)
        limits.cut = limits.cut or call.cut

    return run


def callback(program: Program, clock: Clock, *, files: bool | None) -> Callback:
    """What bashkit calls for a program; ``files``: does it look at files (None: at those that its words name)?"""

    def run(context: BuiltinContext | Typed) -> BuiltinResult:
        call = Call.of(context, clock)
        looks = files or (files is None and any(word[:1] != "-" for word in call.argv))
        if looks and not isinstance(context, Typed):
            _with_files(program, call)
        else:
            _run(program, call)
        return BuiltinResult(call.written, "".join(call.err), call.code)

    return run


def _run(program: Program, call: Call) -> None:
    asked = {"--version": VERSIONS, "--help": USES}.get(call.argv[0], {}) if call.argv else {}
    if call.name in asked:
        call.out.append(asked[call.name])
        return
    if call.clock.modes:
        call.clock.restore_modes(call.fs)
    try:
        program(call)
    except UsageError as error:
        if error.message:
            call.fail(error.message, error.code)
        if error.hint:
            prefix = f"{call.name}: " if call.name in ("diff", "sdiff", "cmp", "patch") else ""
            call.err.append(f"{prefix}Try '{call.name} --help' for more information.\n")
    except RuntimeError as error:  # of the file system: full, or mounted read-only
        reason = next((said for sign, said in _REASONS if sign in str(error)), "No space left on device")
        call.fail(f"cannot write: {reason}")
