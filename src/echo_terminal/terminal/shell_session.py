"""The protocol that drives a persistent ``bash -i``: one line per step on stdin, one event between NULs per step back.

``bash -i`` returns to its next line of input after SIGINT, so directory, variables and functions survive a time-out.
Commands come in through a file and ``eval`` (heredocs stay verbatim, error texts read as at a prompt), with standard
input at end-of-file and both outputs in files of their own: a background child can hold nothing open.

Rules, the same on every real-bash engine:

- A shell that ends (``exit``, ``set -e``, a signal) is restarted in the directory and with the exported variables that
  it had as it left, or, where a signal ended it, after the command before; its other variables, its functions, options
  and background children are gone.
- A command that outlives its limit gets SIGINT, then its children SIGKILL, then the shell itself; no background child
  survives a time-out.
- What an interactive bash says for itself (``[1] 42`` for a job, ``exit`` as it leaves, that it has no tty) is
  no output.
"""

from __future__ import annotations

import io
import posixpath
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass

from echo_terminal.terminal.terminal import CLOCK, HOME, USER, File

WRITABLE = (HOME, "/tmp", "/var/site")  # noqa: S108 - paths inside the episode
INSIDE = tuple(f"{folder}/" for folder in WRITABLE)  # how the paths begin that commands may change
PASSWD = f"root:x:0:0:root:/root:/bin/bash\n{USER}:x:1000:1000::{HOME}:/bin/bash\n"
GROUP = f"root:x:0:\n{USER}:x:1000:\n"

# Exit codes of a shell that a signal ended (128 + ABRT, KILL, SEGV, TERM, XCPU, XFSZ): reported as 137.
SIGNALLED = frozenset({134, 137, 139, 143, 152, 153})

_NOTICE = re.compile(
    rb"^(\[\d+\] \d+|bash: \[\d+: \d+ \(\d+\)\] tcsetattr: Inappropriate ioctl for device)\n", re.M
)


@dataclass(frozen=True)
class Event:
    """What the session said: the step is ``done`` (its code; ``text`` is the directory), the shell ``died`` (its code).

    A ``report`` has what was asked for as its ``text``. Without a word
    from inside: ``timeout``, ``limit`` (of output or memory), ``lost`` (the session is gone).
    """

    kind: str
    code: int = 0
    text: str = ""


def supervisor(prepare: str, events: str, become: str = "") -> str:
    """Script of the episode's first process: prepares, then keeps one shell alive until it is killed from outside.

    ``prepare`` is shell code that runs once; ``events`` is the descriptor number that carries events;
    ``become`` is a command prefix that changes to the episode's user. Whatever else
    runs in the episode ends with the shell, so that nothing can read the lines meant for the next one. Signals work
    where nothing new can be started: USR1 interrupts all, USR2 kills all but the shell, HUP kills the shell.
    """
    return f"""trap : $(kill -l | grep -oE 'SIG[A-Z0-9+-]+' | grep -vE 'KILL|STOP|CHLD')
set -m
spare_shell() {{ for p in /proc/[0-9]*; do p=${{p#/proc/}}; ((p == 1 || p == shell)) || kill -KILL $p; done; }}
trap 'kill -INT -1' USR1
trap spare_shell USR2
trap 'kill -KILL $shell' HUP
exec 4<&0 5>/dev/null
{prepare}
exec 0<&5 1>&5 2>&5
quick=0
while ((quick < 1000)); do  # where nobody holds the input any more, every shell ends at once
  begun=$SECONDS
  SHLVL=0 {become}bash --noprofile --norc --noediting -i <&4 4<&- 5>&- &
  shell=$!
  while wait $shell; code=$?; kill -0 $shell; do :; done
  wait $shell; code=$?
  for ((i = 0; i < 3000; i++)); do  # a new shell needs room: wait until the dead are gone
    kill -KILL -1
    set -- /proc/[0-9]*
    (($# > 1)) || break
  done
  ((quick = SECONDS - begun < 2 ? quick + 1 : 0))
  printf '\\0!%d\\0' $code >&{events}
done
"""


def opening(seed: int, state: str) -> str:
    """Line that settles a new shell; ``state`` is where it writes its exported variables as it leaves."""
    return (
        "PS1=; PS2=; set +H +o history; unset HISTFILE; umask 022; "
        f"trap 'builtin export -p >|{state}' EXIT; RANDOM={seed % 32768}; history -c\n"
    )


def reopening(state: str) -> str:
    """Line that gives a restarted shell the exported variables, PWD among them, of the one before."""
    return f'builtin source {state}; builtin cd -- "$PWD" || builtin cd\n'


def step(command: str, state: str, out: str, err: str, events: str, code: int) -> str:
    """Line that runs ``command``, a shell word, with ``code`` as its ``$?``."""
    before = f"(exit {code}) && :; " if code else ""  # to the left of && it cannot trip ``set -e``
    return (
        f"builtin export -p >|{state} {events}>&-; "
        f"builtin eval '{before}'{command} >|{out} 2>|{err} </dev/null {events}>&-\n"
    )


def sentinel(tag: str, events: str) -> str:
    """Line that reports the exit code and the directory as the event of ``tag``."""
    return f"builtin printf '\\0@{tag} %d %s\\0' $? \"$PWD\" >&{events}\n"


def report(tag: str, limit: int, streams: tuple[str, ...], events: str) -> str:
    """Line that reports, as the event of ``tag``, the number of processes and ``limit`` bytes of files, in base64."""
    files = "".join(f"; builtin printf ' '; head -c {limit} {path} | base64 -w0" for path in streams)
    count = "set +f; shopt -u nullglob failglob; set -- /proc/[0-9]*"
    return (
        f"({count}; builtin printf '\\0={tag} %d' $#{files}; builtin printf '\\0') >&{events} 2>/dev/null\n"
    )


def parse_event(message: bytes, tag: str) -> Event | None:
    """What stands between two NULs; None for the echo of an earlier step and for what was cut off."""
    text = message.decode("utf-8", "replace")
    if text.startswith("!") and text[1:].isdigit():
        return Event("died", int(text[1:]))
    head, _, rest = text.partition(" ")
    if head == f"={tag}":
        return Event("report", 0, rest)
    code, _, cwd = rest.partition(" ")
    return Event("done", int(code), cwd) if head == f"@{tag}" and code.isdigit() else None


def clean_stderr(data: bytes, left: bool) -> bytes:
    """Standard error without job notices and, where the shell has ``left``, without its farewell."""
    data = _NOTICE.sub(b"", data)
    return data.removesuffix(b"exit\n") if left else data


def archive(
    files: Mapping[str, File], uid: int | None = 1000, existing: tuple[str, ...] = ("/tmp",)
) -> bytes:
    """Uncompressed tar of files and of the folders above them (mode 755, mtime ``CLOCK``) that are not ``existing``.

    ``uid`` owns all; if None, what the user may write is the user's (1000) and the rest root's.

    Raises:
        ValueError: a path that is not absolute or not in its shortest form.
    """
    folders: set[str] = set()
    for path in files:
        if not path.startswith("/") or posixpath.normpath(path) != path:
            raise ValueError(f"path of a file must be absolute and without . or ..: {path!r}")
        parent = posixpath.dirname(path)
        while parent != "/":
            folders.add(parent)
            parent = posixpath.dirname(parent)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(folders.difference(existing) | files.keys(), key=unpacking_order):
            file = files.get(name)
            own = any(name == w or name.startswith(f"{w}/") for w in WRITABLE)
            owner = (1000 if own else 0) if uid is None else uid
            if file is None:
                tar.addfile(_member(name, tarfile.DIRTYPE, 0o755, CLOCK, owner))
                continue
            kind = tarfile.REGTYPE if file.link is None else tarfile.SYMTYPE
            member = _member(name, kind, file.mode, file.mtime, owner)
            member.linkname = file.link or ""
            member.size = len(file.content) if file.link is None else 0
            tar.addfile(member, io.BytesIO(file.content) if file.link is None else None)
    return out.getvalue()


def unpacking_order(path: str) -> list[list[int]]:
    """Sort key: folders before what they hold, names backwards, since tmpfs lists what is newest first."""
    return [[*(-ord(letter) for letter in part), 1] for part in path.split("/")]


def _member(name: str, kind: bytes, mode: int, mtime: int, uid: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name.lstrip("/"))
    member.type, member.mode, member.mtime, member.uid, member.gid = kind, mode, mtime, uid, uid
    return member


def variables(declarations: str) -> dict[str, str | dict[str, str]]:
    """Name -> value of the output of ``declare -p``; arrays as key -> value; names without a value are left out."""
    found: dict[str, str | dict[str, str]] = {}
    for match in _DECLARATION.finditer(declarations):
        name, value = match["name"], match["value"]
        if value.startswith("("):
            found[name] = {_unquote(m["key"]): _unquote(m["item"]) for m in _ELEMENT.finditer(value)}
        else:
            found[name] = _unquote(value)
    return found


_QUOTED = r"""\$'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ELEMENT = re.compile(rf"\[(?P<key>{_QUOTED}|[^\]]*)\]=(?P<item>{_QUOTED})", re.S)
_DECLARATION = re.compile(
    rf"^declare -\S+ (?P<name>\w+)=(?P<value>{_QUOTED}|\((?:\[(?:{_QUOTED}|[^\]]*)\]=(?:{_QUOTED})\s*)*\))$",
    re.M | re.S,
)
_ANSI = re.compile(rb"\\([0-7]{1,3}|.)", re.S)
_LETTERS = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
    b"E": b"\x1b",
}


def _unquote(text: str) -> str:
    """Value of one quoted word as ``declare -p`` writes it."""
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.S)
    if not text.startswith("$'"):
        return text
    raw = text[2:-1].encode("utf-8", "surrogateescape")
    plain = _ANSI.sub(lambda m: bytes([int(m[1], 8)]) if m[1].isdigit() else _LETTERS.get(m[1], m[1]), raw)
    return plain.decode("utf-8", "surrogateescape")
