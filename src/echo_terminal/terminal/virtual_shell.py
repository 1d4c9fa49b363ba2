"""The shells of bashkit: how one is made, what of it lasts from command to command, and what goes with its end."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping

from bashkit import Bash, BuiltinContext, BuiltinResult, ExecutionProfile, FileSystem

from echo_terminal.terminal.state import SHELL_VARIABLES
from echo_terminal.terminal.terminal import CLOCK, ENVIRONMENT, HOME, HOSTNAME, USER
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

OF_CHILDREN = {  # in a command that starts children, which bashkit has run to their ends: as if they still ran
    "sleep": "sleep() { :; }",
    "kill": "kill() { local a end=143 code=0; for a; do case $a in -9|-KILL|-SIGKILL) end=137;; -2|-INT) end=130;; "
    '-l*|-0|$$) builtin kill "$@"; return;; -*) ;; %*|1???) __ended="$__ended $a=$end ";; '
    '*) builtin kill "$a" || code=$?;; esac; done; return $code; }',
    "wait": 'wait() { local e; for e in $__ended; do [ "$#${e%=*}" = "1${1-}" ] && return ${e#*=}; done; '
    'builtin wait "$@"; }; unset -v __ended',
}
_OPTIONS = {  # how bashkit remembers `set -o`
    "SHOPT_a": "-a", "SHOPT_e": "-e", "SHOPT_f": "-f", "SHOPT_n": "", "SHOPT_u": "-u", "SHOPT_v": "-v",
    "SHOPT_x": "-x", "SHOPT_C": "-C", "SHOPT_pipefail": "-o pipefail",
}  # fmt: skip

_OF_LIMITS = re.compile(
    r"^.*(?:resource limit exceeded|execution cancelled|printf: format \w+ \d+ exceeds limit"
    r"|file too large: \d+ bytes exceeds).*\n?",
    re.M,
)
_ABORTS = re.compile(r"unbound variable|readonly variable|division by 0|bad substitution|syntax error")
_OTHER_LINES = re.compile(r"\(\)|\bfunction\b|>|sh\b|\bsource\b")  # LINENO counts those of a function or file
_SPLIT = r"IFS=$' \t\n'"
_LINE = re.compile(r"\$\(\(LINENO\+\d+\)\)")
_BARE = re.compile(r"\bexit\b[ \t]*(?:[;&|)}\n'\"]|\Z)")
_UPWARDS = re.compile(rf"({PLACE})cd \.\./?(?=[ \t]*(?:[;&|)\n]|\Z))")
_FIRST_CODE = re.compile(r"\A([^;&|\n]*?)\$\?")


def new_shell(
    programs: Mapping[str, Callable[[BuiltinContext], BuiltinResult]],
    timeout: float,
    commands: int,
    loop: int,
    memory: int,
) -> Bash:
    """A shell in the environment of every engine, with programs of our own and limits: seconds of a call, simple
    commands a call, turns of a loop, bytes of files."""
    return Bash(
        username=USER,
        hostname=HOSTNAME,
        cwd=HOME,
        env={**ENVIRONMENT, "SHLVL": "1", "_": "/usr/bin/env"},
        max_commands=commands,
        max_loop_iterations=loop,
        max_memory=memory,
        timeout_seconds=timeout,
        profile=ExecutionProfile.Interactive,
        custom_builtins=programs,
    )


def settle(shell: Bash, seed: int) -> None:
    """Give a pristine shell the random numbers of ``seed``, and the times that bash would look up."""
    shell.execute_sync(
        f"unset OLDPWD; shopt -s expand_aliases; RANDOM={seed % 32768} SECONDS=0 "
        f"EPOCHSECONDS={CLOCK} EPOCHREALTIME={CLOCK}.000000; {_SPLIT}; hash -r"
    )


def options(variables: Mapping[str, str]) -> str:
    """The words for ``set`` that give a shell the options of the one whose variables these are (bashkit's)."""
    return " ".join(flag for name, flag in _OPTIONS.items() if variables.get(name) == "1")


def carried(flags: str, traps: Mapping[str, str], *, at_exit: bool) -> list[str]:
    """The lines that give a command the options and traps of the one before; of the trap ``EXIT`` only ``at_exit``:
    bashkit runs it at the end of every call."""
    kept = [name for name in sorted(traps, key="DEBUG".__eq__) if at_exit or name != "EXIT"]
    lines = [f"trap -- {shlex.quote(traps[name])} {name}" for name in kept]
    return [f"set {flags}", *lines] if flags else lines


def with_code(command: str, code: int) -> str:
    """The command with an exit code in place of ``$?`` in its first simple command: no trap runs for that."""
    return _FIRST_CODE.sub(rf"\g<1>{code}", command)


def of_children(command: str) -> list[str]:
    """The names of ``OF_CHILDREN`` that a command with children calls."""
    found = [name for name in OF_CHILDREN if name in command]
    return [name for name in found if name != "wait" or "kill" in found]


def left(shell: Bash, word: str, code: int) -> str:
    """What leaves ``$_`` and PIPESTATUS as the command before, with this exit code, left them: those that run between
    commands change both. ``word``: its last one, where the shell does not know it."""
    if word:
        return f": {word}; (exit {code})"
    said = shell.execute_sync('printf "%s " "${PIPESTATUS[@]}" : "$_"').stdout
    codes, _, last = said.partition(": ")
    if codes.split()[-1:] != [str(code)]:
        codes = str(code)
    last = last[:-1].removeprefix(OWN)
    return f": {shlex.quote(last)}; {' | '.join(f'(exit {code})' for code in codes.split())}"


def bare(command: str) -> bool:
    """Does the command end the shell with the exit code of the one before?"""
    return _BARE.search(command) is not None


def with_line(command: str, line: int) -> str:
    """The command with the numbers of its lines in place of ``$LINENO``: its first has this one."""
    if "LINENO" not in command or _OTHER_LINES.search(command) is not None:
        return command
    return command.replace("$LINENO", f"$((LINENO+{line - 1}))")


def numbered(text: str, line: int) -> str:
    """A command whose first line has this number, with traps that were set at others."""
    return _LINE.sub(f"$((LINENO+{line - 1}))", text) if "LINENO" in text else text


def upwards(command: str, cwd: str, fs: FileSystem) -> str:
    """The command, where it leaves a working directory that is gone for the folder above it by ``cd ..``."""
    above = posixpath.dirname(cwd)
    if fs.exists(cwd) or not fs.exists(above):
        return command
    return _UPWARDS.sub(lambda match: f"{match[1]}cd {shlex.quote(above)}", command, count=1)


def without_limits(text: str) -> str:
    """Standard error without what bashkit says of its limits."""
    return _OF_LIMITS.sub("", text)


def aborted(text: str) -> bool:
    """Does standard error tell of a mistake at which a shell drops its command, and lives on?"""
    return _ABORTS.search(text) is not None


def exit_trap(listing: str) -> dict[str, str]:
    """The trap that ``trap -p EXIT`` lists."""
    return {"EXIT": shlex.split(listing)[2]} if listing else {}


def held(shell: Bash) -> tuple[str, dict[str, object]]:
    """Working directory and variables of a shell, those left out in which bashkit keeps its options."""
    now = shell.shell_state()
    found = {**now.variables, **now.env, **now.arrays, **now.assoc_arrays}
    return now.cwd, {name: value for name, value in found.items() if not name.startswith("SHOPT_")}


def forget(shell: Bash) -> None:
    """Take from a shell what a new one would not have: variables that are not exported, functions, aliases."""
    now = shell.shell_state()
    shell.execute_sync(f"umask 022; {_SPLIT}; trap - EXIT " + " ".join(now.traps))
    names = {*now.variables, *now.arrays, *now.assoc_arrays} - {*now.env} - SHELL_VARIABLES
    functions = [line.split()[-1] for line in shell.execute_sync("declare -F").stdout.splitlines()]
    own = " ".join(name for name in names if not name.startswith("SHOPT_"))
    shell.execute_sync(f"unset -v {own} 2>&1; unset -f {' '.join(functions)} 2>&1; unalias -a 2>&1")
