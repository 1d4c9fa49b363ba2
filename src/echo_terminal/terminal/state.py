"""What counts as the state of an episode, and its digest: the same on every engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from echo_terminal.terminal.terminal import Entry

# Set by the shell itself, or by asking it; no trace of what the agent did.
SHELL_VARIABLES = frozenset(
    "_ BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_EXECUTION_STRING"
    " BASH_LINENO BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO BASH_VERSION COLUMNS DIRSTACK EPOCHREALTIME"
    " EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD HOME HOSTNAME HOSTTYPE IFS LINENO LINES LOGNAME MACHTYPE OLDPWD OPTERR"
    " OPTIND OSTYPE PATH PIPESTATUS PPID PS1 PS2 PS4 PWD RANDOM SECONDS SHELL SHELLOPTS SHLVL SRANDOM TERM TZ UID USER"
    " _UMASK PYTHONHASHSEED PYTHONDONTWRITEBYTECODE LANG LC_ALL"
    " BASHKIT_ALLOW_INPROCESS_SQLITE BASH_LOADABLES_PATH HISTFILESIZE HISTSIZE MAILCHECK TIME_STYLE".split()
)


def digest(
    cwd: str, variables: Mapping[str, object], tree: Mapping[str, Entry], contents: Mapping[str, bytes]
) -> str:
    """Hex SHA-256 of an episode's state.

    ``variables`` maps names to text, or to a mapping of keys to text for arrays; those of ``SHELL_VARIABLES`` are
    left out. ``tree`` is ``Terminal.list()``; ``contents`` holds the bytes of its regular files.
    """
    state = {
        "cwd": cwd,
        "variables": {n: _plain(v) for n, v in sorted(variables.items()) if n not in SHELL_VARIABLES},
        "tree": {
            path: [entry.kind, entry.mode, entry.target, hashlib.sha256(contents[path]).hexdigest()]
            if entry.kind == "file"
            else [entry.kind, entry.mode, entry.target]
            for path, entry in sorted(tree.items())
        },
    }
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _plain(value: object) -> object:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else str(value)
