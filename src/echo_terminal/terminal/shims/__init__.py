"""Programs of the virtual engine that bashkit lacks or does not match: which, and how they are called.

bashkit runs a call on its own thread, where every look at a file costs a hand-over; so programs that use files
run on a helper thread, at one hand-over a call.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from bashkit import Bash, BuiltinContext, BuiltinResult

from echo_terminal.terminal.shims import (
    archives,
    awk,
    bc,
    columns,
    compressing,
    copying,
    database,
    dates,
    describing,
    diffing,
    expressions,
    files,
    kinds,
    listing,
    modes,
    naming,
    people,
    repeating,
    small,
    translating,
)
from echo_terminal.terminal.shims.call import Call, Clock, UsageError
from echo_terminal.terminal.shims.piping import OWN

Program = Callable[[Call], None]

# bashkit has these, a small Debian has not.
ABSENT = (
    "assert bat busybox csv dotenv gawk glob http json log man nano nc parallel retry rg semver sudo template tomlq "
    "tree uuidgen verify vi watch yq"
).split()
ON_FILES: Mapping[str, Program] = {
    "ls": listing.ls,
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
    "sqlite3": database.sqlite,
    "zcat": small.zcat,
    f"{OWN}tar": archives.tar,
    f"{OWN}gzip": compressing.gzip,
    f"{OWN}gunzip": compressing.gzip,
    "file": kinds.file,
}
ON_NAMED_FILES: Mapping[str, Program] = {
    "wc": columns.wc,
    "cut": columns.cut,
    "bc": bc.bc,
    "uniq": repeating.uniq,
    "cmp": repeating.cmp,
}
PLAIN: Mapping[str, Program] = {
    "seq": small.seq,
    f"{OWN}tr": translating.tr,
    "yes": small.yes,
    "curl": small.curl,
    "wget": small.wget,
    "logout": small.no_login_shell,
    "suspend": small.no_login_shell,
    "id": people.identity,
    "expr": expressions.expr,
    "whoami": people.whoami,
    "logname": people.logname,
    "groups": people.groups,
    "hostname": people.hostname,
}

_helper = ThreadPoolExecutor(max_workers=8, thread_name_prefix="files")


def programs(clock: Clock, seed: int) -> dict[str, Callable[[BuiltinContext], BuiltinResult]]:
    """Name -> callback for bashkit, for one episode."""
    draw = small.Draw(seed)
    on_files = {**ON_FILES, "mktemp": draw.mktemp, "shuf": draw.shuf}

    def shell(call: Call, command: str, given: str) -> tuple[str, int]:
        """Run a command for a program, over the same files; its errors go where the program's go."""
        inner = Bash(cwd=call.cwd, env=call.env, custom_builtins=table)
        inner.mount("/", call.fs)
        inner.execute_sync(f"cd {shlex.quote(call.cwd)}")
        done = inner.execute_sync(
            f"{{ {command}\n}} <<< {shlex.quote(given.removesuffix(chr(10)))}" if given else command
        )
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
    table = {name: callback(program, clock, files=True) for name, program in on_files.items()}
    table |= {name: callback(program, clock, files=None) for name, program in ON_NAMED_FILES.items()}
    table |= {name: callback(program, clock, files=False) for name, program in PLAIN.items()}
    return table | {name: callback(small.absent, clock, files=False) for name in ABSENT}


def callback(
    program: Program, clock: Clock, *, files: bool | None
) -> Callable[[BuiltinContext], BuiltinResult]:
    """What bashkit calls for a program; ``files``: does it look at files (None: at those that its words name)?"""

    def run(context: BuiltinContext) -> BuiltinResult:
        call = Call.of(context, clock)
        if files or (files is None and any(word[:1] != "-" for word in call.argv)):
            _helper.submit(_run, program, call).result()
        else:
            _run(program, call)
        return BuiltinResult("".join(call.out), "".join(call.err), call.code)

    return run


def _run(program: Program, call: Call) -> None:
    try:
        program(call)
    except UsageError as error:
        call.fail(error.message, error.code)
        if error.hint:
            prefix = f"{call.name}: " if call.name in ("diff", "cmp", "patch") else ""
            call.err.append(f"{prefix}Try '{call.name} --help' for more information.\n")
    except RuntimeError as error:  # of the file system: full, or mounted read-only
        reason = "Read-only file system" if "read-only" in str(error) else "No space left on device"
        call.fail(f"cannot write: {reason}")
