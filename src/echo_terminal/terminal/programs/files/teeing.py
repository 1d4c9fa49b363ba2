"""``tee`` after GNU coreutils 9.1."""

from __future__ import annotations

import posixpath

from echo_terminal.terminal.programs.call import Call, options
from echo_terminal.terminal.programs.files.making import DENIED, refusal


def tee(call: Call) -> None:
    """Copy standard input to standard output and to files."""
    call.name = "tee"
    found, words = options(call, "aip", ["append", "ignore-interrupts", "output-error=?"])
    add = any(option in ("-a", "--append") for option, _ in found)
    call.out.append(call.stdin)
    data = call.given
    for word in words:
        path = call.path(word)
        old = call.stat(path) if word else None
        reason = ""
        if path.startswith("/dev/"):
            pass
        elif old is not None and old.kind == "directory":
            reason = "Is a directory"
        elif old is not None and not old.writable:
            reason = DENIED
        elif not word or (old is None and not call.is_folder(posixpath.dirname(path))):
            reason = call.why_missing(word)
        elif old is None:
            reason = refusal(call, path)
        if reason:
            call.fail(f"{word}: {reason}" if word else f"'': {reason}")
        elif path not in ("/dev/null", "/dev/stdout"):
            (call.fs.append_file if add and old is not None else call.fs.write_file)(path, data)
            if old is not None and not add and not path.startswith("/dev/"):
                call.fs.chmod(path, old.mode)
