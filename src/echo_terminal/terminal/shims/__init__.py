"""Programs of the virtual engine that bashkit lacks or does not match: which, and how they are called.

bashkit runs a call on its own thread, where every look at a file costs a hand-over; so programs that use files
run on a helper thread, at one hand-over a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from bashkit import BuiltinContext, BuiltinResult

from echo_terminal.terminal.shims import (
    archives,
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
    finding,
    hashing,
    kinds,
    listing,
    modes,
    naming,
    people,
    permissions,
    small,
    teeing,
    xz,
    zipping,
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
    "sqlite3": database.sqlite,
    "zcat": small.zcat,
    f"{OWN}find": finding.find,
    f"{OWN}cksum": hashing.cksum,
    f"{OWN}tee": teeing.tee,
    f"{OWN}tar": archives.tar,
    f"{OWN}gzip": compressing.gzip,
    f"{OWN}gunzip": compressing.gzip,
    "file": kinds.file,
    "zip": zipping.zip_,
    "unzip": zipping.unzip,
    "xz": xz.xz,
    "unxz": xz.xz,
    "xzcat": xz.xz,
    "dir": listing.columns_of,
    "vdir": listing.columns_of,
    permissions.READ: permissions.to_read,
    permissions.WRITE: permissions.to_write,
}
SUMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "b2")
ON_NAMED_FILES: Mapping[str, Program] = {"wc": columns.wc, "cut": columns.cut, "bc": bc.bc}
PLAIN: Mapping[str, Program] = {
    "seq": small.seq,
    f"{OWN}xargs_code": small.xargs_code,
    f"{OWN}signals": small.signals,
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
    table = {name: callback(program, clock, files=True) for name, program in on_files.items()}
    table |= {name: callback(program, clock, files=None) for name, program in ON_NAMED_FILES.items()}
    table |= {name: callback(program, clock, files=False) for name, program in PLAIN.items()}
    table |= {f"{OWN}{name}sum": callback(hashing.sums, clock, files=True) for name in SUMS}
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
            prefix = "diff: " if call.name == "diff" else ""
            call.err.append(f"{prefix}Try '{call.name} --help' for more information.\n")
    except RuntimeError as error:  # of the file system: full, or mounted read-only
        reason = "Read-only file system" if "read-only" in str(error) else "No space left on device"
        call.fail(f"cannot write: {reason}")
