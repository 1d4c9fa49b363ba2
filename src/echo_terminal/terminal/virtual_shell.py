"""The shells of bashkit: how one is made, what of it lasts from command to command, and what goes with its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bashkit import Bash, BuiltinContext, BuiltinResult, ExecutionProfile

from echo_terminal.terminal.state import SHELL_VARIABLES
from echo_terminal.terminal.terminal import ENVIRONMENT, HOME, HOSTNAME, USER

_OPTIONS = {  # how bashkit remembers `set -o`
    "SHOPT_a": "-a", "SHOPT_e": "-e", "SHOPT_f": "-f", "SHOPT_n": "", "SHOPT_u": "-u", "SHOPT_v": "-v",
    "SHOPT_x": "-x", "SHOPT_C": "-C", "SHOPT_pipefail": "-o pipefail",
}  # fmt: skip


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
        files={"/usr/bin/python3": "#!/bin/sh\n"},
        max_commands=commands,
        max_loop_iterations=loop,
        max_memory=memory,
        timeout_seconds=timeout,
        profile=ExecutionProfile.Interactive,
        custom_builtins=programs,
    )


def options(variables: Mapping[str, str]) -> str:
    """The words for ``set`` that give a shell the options of the one whose variables these are (bashkit's)."""
    return " ".join(flag for name, flag in _OPTIONS.items() if variables.get(name) == "1")


def forget(shell: Bash) -> None:
    """Take from a shell what a new one would not have: variables that are not exported, functions, aliases."""
    now = shell.shell_state()
    names = {*now.variables, *now.arrays, *now.assoc_arrays} - {*now.env} - SHELL_VARIABLES
    functions = [line.split()[-1] for line in shell.execute_sync("declare -F").stdout.splitlines()]
    own = " ".join(name for name in names if not name.startswith("SHOPT_"))
    shell.execute_sync(f"unset -v {own} 2>&1; unset -f {' '.join(functions)} 2>&1; unalias -a 2>&1")
