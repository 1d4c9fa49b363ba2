"""``mkdir rmdir rm mv cp ln`` after GNU coreutils 9.1: their options, messages and exit codes.

There are no hard links on the virtual file system: ``ln`` without ``-s`` makes a copy.
"""

from __future__ import annotations

import posixpath

from echo_terminal.terminal.programs.call import (
    NO_ENTRY,
    TOO_LONG,
    Call,
    Meta,
    UsageError,
    options,
    quote,
    too_long,
)
from echo_terminal.terminal.programs.files.modes import parse_mode
from echo_terminal.terminal.shell_session import WRITABLE

DENIED = "Permission denied"


def refusal(call: Call, path: str) -> str:
    """Why no entry ``path`` can be made or removed; empty where it can."""
    if not path.startswith(tuple(f"{root}/" for root in WRITABLE)):
        return "Read-only file system"
    if too_long(path):
        return TOO_LONG
    meta = call.stat(posixpath.dirname(path))
    return "" if meta is None or meta.mode & 0o200 else DENIED


def mkdir(call: Call) -> None:
    """Make directories."""
    found, words = options(call, "m:pvZ", ["mode=", "parents", "verbose"])
    letters = {option.lstrip("-")[0] for option, _ in found}
    mode = next((value for option, value in found if option in ("-m", "--mode")), None)
    if not words:
        raise UsageError("missing operand")
    bits = 0o755 if mode is None else parse_mode(mode, 0o777, folder=True)
    if bits is None:
        raise UsageError(f"invalid mode {quote(mode or '')}", hint=False)
    for word in words:
        made = _mkdir_parents(call, word) if "p" in letters else _mkdir_one(call, word)
        for name in made:
            if "v" in letters:
                call.line(f"mkdir: created directory {quote(name)}")
        if made and mode is not None:
            call.fs.chmod(call.path(word), bits)


def _mkdir_one(call: Call, word: str) -> list[str]:
    path = call.path(word)
    if not word:
        call.fail(f"cannot create directory {quote(word)}: {NO_ENTRY}")
    elif call.lstat(path) is not None:
        call.fail(f"cannot create directory {quote(word)}: File exists")
    elif not call.is_folder(posixpath.dirname(path)):
        call.fail(f"cannot create directory {quote(word)}: {call.why_missing(word.rstrip('/'))}")
    elif refusal(call, path):
        call.fail(f"cannot create directory {quote(word)}: {refusal(call, path)}")
    else:
        call.fs.mkdir(path)
        return [word]
    return []


def _mkdir_parents(call: Call, word: str) -> list[str]:
    made: list[str] = []
    name = "/" if word.startswith("/") else ""
    for part in [p for p in word.split("/") if p]:
        name = posixpath.join(name, part)
        path = call.path(name)
        meta = call.stat(path)
        if meta is None and call.lstat(path) is None:
            if refusal(call, path):
                call.fail(f"cannot create directory {quote(name)}: {refusal(call, path)}")
                return made
            call.fs.mkdir(path)
            made.append(name)
        elif meta is None or meta.kind != "directory":
            last = path == call.path(word)
            call.fail(
                f"cannot create directory {quote(name)}: {'File exists' if last else 'Not a directory'}"
            )
            return made
    return made


def rmdir(call: Call) -> None:
    """Remove empty directories."""
    found, words = options(call, "pv", ["ignore-fail-on-non-empty", "parents", "verbose"])
    names = {option for option, _ in found}
    if not words:
        raise UsageError("missing operand")
    for word in words:
        chain = [word]
        while names & {"-p", "--parents"} and "/" in chain[-1].strip("/"):
            chain.append(posixpath.dirname(chain[-1].rstrip("/")))
        for name in chain:
            if names & {"-v", "--verbose"}:
                call.line(f"rmdir: removing directory, {quote(name)}")
            meta = call.lstat(call.path(name))
            if meta is None:
                reason = call.why_missing(name)
            elif meta.kind != "directory":
                reason = "Not a directory"
            elif call.children(call.path(name)):
                reason = "Directory not empty"
            else:
                call.fs.remove(call.path(name))
                continue
            if not (reason == "Directory not empty" and "--ignore-fail-on-non-empty" in names):
                head = "failed to remove" if name == word else "failed to remove directory"
                call.fail(f"{head} {quote(name)}: {reason}")
            break


def rm(call: Call) -> None:
    """Remove files and trees."""
    try:
        found, words = options(
            call,
            "dfiIrRv",
            ["force", "recursive", "verbose", "dir", "interactive=", "one-file-system", "no-preserve-root",
             "preserve-root"],
        )  # fmt: skip
    except UsageError as error:
        named = (
            word for word in call.argv if word[:1] == "-" != word and call.lstat(call.path(word)) is not None
        )
        tries = [f"\nTry 'rm ./{word}' to remove the file {quote(word)}." for word in named]
        raise UsageError(f"{error.message}{''.join(tries[:1])}", error.code) from None
    names = {option for option, _ in found}
    force = bool(names & {"-f", "--force"})
    tree = bool(names & {"-r", "-R", "--recursive"})
    if not words and not force:
        raise UsageError("missing operand")
    for word in words:
        base = posixpath.basename(word.rstrip("/"))
        meta = call.exists(word) if word.rstrip("/") or not word else call.stat("/")
        if meta is None:
            reason = call.why_missing(word)
            if not force or reason != NO_ENTRY:
                call.fail(f"cannot remove {quote(word)}: {reason}")
        elif call.path(word) == "/" and tree:
            call.err.append("rm: it is dangerous to operate recursively on '/'\n")
            call.fail("use --no-preserve-root to override this failsafe")
        elif base in (".", "..") and tree:
            call.fail(f"refusing to remove '.' or '..' directory: skipping {quote(word)}")
        elif meta.kind == "directory" and not tree and not names & {"-d", "--dir"}:
            call.fail(f"cannot remove {quote(word)}: Is a directory")
        elif meta.kind == "directory" and not tree and call.children(call.path(word)):
            call.fail(f"cannot remove {quote(word)}: Directory not empty")
        elif refusal(call, call.path(word)):
            call.fail(f"cannot remove {quote(word)}: {refusal(call, call.path(word))}")
        elif "-i" in names or (not force and not meta.writable and not _yes(call)):
            kind = "regular empty file" if meta.size == 0 else "regular file"
            kind = {"symlink": "symbolic link", "directory": "directory", "fifo": "fifo"}.get(meta.kind, kind)
            if "-i" in names:
                call.err.append(f"rm: remove {kind} {quote(word)}? ")
                answer, _, call.stdin = call.stdin.partition("\n")
            if "-i" not in names or answer[:1] in ("y", "Y"):
                _remove(call, word, meta, "-v" in names or "--verbose" in names)
        else:
            _remove(call, word, meta, "-v" in names or "--verbose" in names)


def _yes(call: Call) -> bool:
    """Standard input is no terminal: a write-protected file is removed without a question."""
    return not call.stdin


def _remove(call: Call, word: str, meta: Meta, verbose: bool) -> None:
    path = call.path(word)
    if verbose:
        for line in _removals(call, word, path, meta):
            call.line(line)
    call.fs.remove(path, recursive=meta.kind == "directory")


def _removals(call: Call, word: str, path: str, meta: Meta) -> list[str]:
    if meta.kind != "directory":
        return [f"removed {quote(word)}"]
    lines = []
    for name, child in call.children(path).items():
        lines += _removals(call, posixpath.join(word, name), posixpath.join(path, name), child)
    return [*lines, f"removed directory {quote(word)}"]


def split_target(
    call: Call, words: list[str], target: str | None, plain: bool
) -> tuple[list[str], str, bool]:
    """Sources, destination, and whether that is a folder to put them in; the rules of ``cp``, ``mv``, ``ln``.

    Raises:
        UsageError: too few words, or several sources and no folder.
    """
    if target is not None:
        if not call.is_folder(call.path(target)):
            reason = "Not a directory" if call.stat(call.path(target)) else NO_ENTRY
            raise UsageError(f"target directory {quote(target)}: {reason}", hint=False)
        if not words:
            raise UsageError("missing file operand")
        return words, target, True
    if not words:
        raise UsageError("missing file operand")
    if len(words) == 1:
        raise UsageError(f"missing destination file operand after {quote(words[0])}")
    *sources, last = words
    if plain:
        if len(sources) > 1:
            raise UsageError(f"extra operand {quote(words[2])}")
        return sources, last, False
    folder = call.is_folder(call.path(last))
    if len(sources) > 1 and not folder:
        reason = "Not a directory" if call.stat(call.path(last)) else NO_ENTRY
        raise UsageError(f"target {quote(last)}: {reason}", hint=False)
    return sources, last, folder


def inside(source: str, target: str) -> bool:
    """Is the absolute path ``target`` the same as ``source`` or below it?"""
    return target == source or target.startswith(source.rstrip("/") + "/")


def join(folder: str, source: str) -> str:
    """The name that ``source`` gets in ``folder``, as messages write it."""
    base = posixpath.basename(source.rstrip("/")) or source
    return folder + base if folder.endswith("/") else f"{folder}/{base}"


def ln(call: Call) -> None:
    """Make links."""
    found, words = options(
        call,
        "bfiLnPrsS:t:Tv",
        ["backup=?", "directory", "force", "interactive", "logical", "no-dereference", "physical", "relative",
         "symbolic", "suffix=", "target-directory=", "no-target-directory", "verbose"],
    )  # fmt: skip
    names = {option for option, _ in found}
    target = next((v for o, v in found if o in ("-t", "--target-directory")), None)
    symbolic = bool(names & {"-s", "--symbolic"})
    keep = bool(names & {"-n", "--no-dereference", "-T", "--no-target-directory"})
    if len(words) == 1 and target is None:
        sources, place, folder = words, ".", True
    else:
        if keep and words and (meta := call.lstat(call.path(words[-1]))) and meta.kind == "symlink":
            sources, place, folder = split_target(call, words, target, plain=True)
        else:
            plain = bool(names & {"-T", "--no-target-directory"})
            sources, place, folder = split_target(call, words, target, plain)
    for source in sources:
        name = join(place, source) if folder else place
        if place == "." and folder and len(words) == 1:
            name = "./" + posixpath.basename(source.rstrip("/"))
        _link(call, source, name, symbolic, names)


def _link(call: Call, source: str, name: str, symbolic: bool, names: set[str]) -> None:
    path, kind = call.path(name), "symbolic link" if symbolic else "hard link"
    meta = call.exists(source)
    if not symbolic and meta is None:
        call.fail(f"failed to access {quote(source)}: {call.why_missing(source)}")
        return
    if not symbolic and meta is not None and meta.kind == "directory":
        call.fail(f"{source}: hard link not allowed for directory")
        return
    old = call.lstat(path)
    arrow = "->" if symbolic else "=>"
    if old is not None:
        if not names & {"-f", "--force"}:
            call.fail(f"failed to create {kind} {quote(name)}: File exists")
            return
        if old.kind == "directory":
            call.fail(f"{name}: cannot overwrite directory")
            return
        call.fs.remove(path)
    elif refusal(call, path) or not call.is_folder(posixpath.dirname(path)):
        call.fail(f"failed to create {kind} {quote(name)}{'' if symbolic else f' => {quote(source)}'}: "
                  f"{call.why_missing(name)}")  # fmt: skip
        return
    if symbolic:
        to = source
        if names & {"-r", "--relative"}:
            to = posixpath.relpath(call.path(source), posixpath.dirname(path))
        call.fs.symlink(to, path)
    else:
        call.fs.copy(call.path(source), path)
        call.fs.chmod(path, meta.mode if meta is not None else 0o644)
    if names & {"-v", "--verbose"}:
        call.line(f"{quote(name)} {arrow} {quote(source)}")
