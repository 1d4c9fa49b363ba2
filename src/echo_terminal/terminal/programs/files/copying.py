"""``cp`` and ``mv`` after GNU coreutils 9.1."""

from __future__ import annotations

import posixpath
import re

from echo_terminal.terminal.programs.call import NO_ENTRY, TOO_LONG, Call, Meta, options, quote, too_long
from echo_terminal.terminal.programs.choosing import BACKUP, choose
from echo_terminal.terminal.programs.files.making import DENIED, inside, join, refusal, split_target

CP_LONG = (
    "archive attributes-only backup=? copy-contents force interactive dereference link no-clobber no-dereference "
    "preserve= no-preserve= parents recursive reflink= remove-destination sparse= strip-trailing-slashes "
    "symbolic-link suffix= target-directory= no-target-directory update verbose one-file-system"
).split()
MV_LONG = (
    "backup=? force interactive no-clobber strip-trailing-slashes suffix= target-directory= no-target-directory "
    "update verbose"
).split()


_FOLLOWS = {"-a": "P", "--archive": "P", "-P": "P", "-d": "P", "--no-dereference": "P", "-H": "H", "-L": "L",
            "--dereference": "L"}  # fmt: skip


def cp(call: Call) -> None:
    """Copy files and trees."""
    found, words = options(call, "abdfHilLnprRst:TuvxPS:", CP_LONG)
    names = {option for option, _ in found}
    names |= _backup(found)
    if "-a" in names or "--archive" in names:
        names |= {"-R", "-P", "-p"}
    if any(o == "--preserve" and ("timestamps" in v or "all" in v) for o, v in found):
        names.add("-p")
    target = next((v for o, v in found if o in ("-t", "--target-directory")), None)
    plain = bool(names & {"-T", "--no-target-directory"})
    sources, place, folder = split_target(call, words, target, plain)
    tree = bool(names & {"-r", "-R", "--recursive"})
    follow = "P" if tree else "L"  # no link, those named, or all
    for option, _ in found:
        follow = _FOLLOWS.get(option, follow)
    names = names | {"-L"} if follow == "L" else names - {"-L"}
    for source in sources:
        meta = call.exists(source)
        if meta is not None and meta.kind == "symlink" and follow != "P":
            meta = call.stat(call.path(source))
        if meta is None:
            call.fail(f"cannot stat {quote(source)}: {call.why_missing(source)}")
        elif meta.kind == "directory" and not tree:
            call.fail(f"-r not specified; omitting directory {quote(source)}")
        else:
            name = join(place, source) if folder else place
            if "--parents" in names:
                name = f"{place.rstrip('/')}/{source.strip('/')}"
                call.fs.mkdir(posixpath.dirname(call.path(name)), recursive=True)
            _copy(call, source, meta, name, names)


def _copy(call: Call, source: str, meta: Meta, name: str, names: set[str]) -> None:
    path, start = call.path(name), call.path(source)
    old = call.stat(path)
    if path == start or (old is not None and _end(call, path) == _end(call, start)):
        call.fail(f"{quote(source)} and {quote(name)} are the same file")
    elif meta.kind == "directory":
        _copy_tree(call, source, meta, name, old, names)
    elif old is not None and old.kind == "directory":
        call.fail(f"cannot overwrite directory {quote(name)} with non-directory")
    elif old is not None and (_skip(call, meta, old, names) or _declined(call, name, names)):
        return
    elif name.endswith("/"):
        call.fail(f"cannot create regular file {quote(name)}: Not a directory")
    elif old is None and (reason := call.why_missing(name)) in ("Not a directory", TOO_LONG):
        call.fail(f"cannot stat {quote(name)}: {reason}")
    elif not call.is_folder(posixpath.dirname(path)):
        call.fail(f"cannot create regular file {quote(name)}: {call.why_missing(name)}")
    elif names & {"-s", "--symbolic-link"}:
        if old is None:
            call.fs.symlink(source, path)
        else:
            call.fail(f"cannot create symbolic link {quote(name)} to {quote(source)}: File exists")
    elif not meta.readable:
        call.fail(f"cannot open {quote(source)} for reading: {DENIED}")
    elif old is None and refusal(call, path):
        call.fail(f"cannot create regular file {quote(name)}: {refusal(call, path)}")
    elif old is not None and not old.writable and not names & {"-f", "--force"}:
        call.fail(f"cannot create regular file {quote(name)}: {DENIED}")
    else:
        _back_up(call, path, names)
        old = old if call.lstat(path) is not None else None
        _copy_file(call, start, meta, path, old, names)
        if names & {"-v", "--verbose"}:
            call.line(f"{quote(source)} -> {quote(name)}")


def _end(call: Call, path: str) -> str:
    """Where a chain of at most ten links ends."""
    for _ in range(10):
        try:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), call.fs.read_link(path)))
        except RuntimeError:
            break
    return path


def _skip(call: Call, new: Meta, old: Meta, names: set[str]) -> bool:
    if names & {"-n", "--no-clobber"}:
        return True
    return bool(names & {"-u", "--update"}) and call.shown_time(new.modified) <= call.shown_time(old.modified)


def _declined(call: Call, name: str, names: set[str]) -> bool:
    """Ask before a file is overwritten, where that was asked for; the answer is a line of standard input."""
    if not names & {"-i", "--interactive"}:
        return False
    call.err.append(f"{call.name}: overwrite {quote(name)}? ")
    answer, _, call.stdin = call.stdin.partition("\n")
    return answer[:1] not in ("y", "Y")


def _back_up(call: Call, path: str, names: set[str]) -> None:
    """Keep the file that will be overwritten, under its name and a tilde, or a number between two."""
    how = next((name for name in ("none", "simple", "numbered") if name in names), "existing")
    if not names & {"-b", "--backup"} or how == "none" or call.lstat(path) is None:
        return
    beside = call.children(posixpath.dirname(path))
    numbers = re.compile(rf"{re.escape(posixpath.basename(path))}\.~(\d+)~")
    taken = [int(m[1]) for name in beside if (m := numbers.fullmatch(name))]
    numbered = how == "numbered" or (how == "existing" and taken)
    kept = f"{path}.~{max(taken, default=0) + 1}~" if numbered else f"{path}~"
    if call.lstat(kept) is not None:
        call.fs.remove(kept)
    call.fs.rename(path, kept)


def _backup(found: list[tuple[str, str]]) -> set[str]:
    """How files are kept that will be overwritten, as the options say."""
    return {choose("backup", value, BACKUP) for option, value in found if option == "--backup" and value}


def _copy_file(call: Call, start: str, meta: Meta, path: str, old: Meta | None, names: set[str]) -> None:
    if meta.kind == "symlink":
        if old is not None or call.lstat(path) is not None:
            call.fs.remove(path)
        call.fs.symlink(call.fs.read_link(start), path)
        return
    call.fs.write_file(path, call.fs.read_file(start))
    call.fs.chmod(path, meta.mode if old is None or "-p" in names else old.mode)
    if "-p" in names or "--preserve" in names:
        call.keep_time(path, meta)


def _copy_tree(call: Call, source: str, meta: Meta, name: str, old: Meta | None, names: set[str]) -> None:
    path, start = call.path(name), call.path(source)
    if inside(start, path):
        call.fail(f"cannot copy a directory, {quote(source)}, into itself, {quote(name)}")
        return
    if old is not None and old.kind != "directory":
        call.fail(f"cannot overwrite non-directory {quote(name)} with directory {quote(source)}")
        return
    if old is None:
        if not call.is_folder(posixpath.dirname(path)):
            call.fail(f"cannot create directory {quote(name)}: {NO_ENTRY}")
            return
        if refusal(call, path):
            call.fail(f"cannot create directory {quote(name)}: {refusal(call, path)}")
            return
        call.fs.mkdir(path)
        call.fs.chmod(path, meta.mode)
        if names & {"-v", "--verbose"}:
            call.line(f"{quote(source)} -> {quote(name)}")
    for child, inner in call.children(start).items():
        below = posixpath.join(source, child)
        if inner.kind == "symlink" and "-L" in names:
            end = call.stat(call.path(below))
            if end is None:
                call.fail(f"cannot stat {quote(below)}: {NO_ENTRY}")
                continue
            inner = end
        _copy(call, below, inner, posixpath.join(name, child), names)


def mv(call: Call) -> None:
    """Move files and trees."""
    found, words = options(call, "bfinS:t:TuvZ", MV_LONG)
    names = {option for option, _ in found} | _backup(found)
    target = next((v for o, v in found if o in ("-t", "--target-directory")), None)
    plain = bool(names & {"-T", "--no-target-directory"})
    sources, place, folder = split_target(call, words, target, plain)
    for source in sources:
        meta = call.exists(source)
        if meta is None:
            call.fail(f"cannot stat {quote(source)}: {call.why_missing(source)}")
        else:
            _move(call, source, meta, join(place, source) if folder else place, names)


def _move(call: Call, source: str, meta: Meta, name: str, names: set[str]) -> None:
    path, start = call.path(name), call.path(source)
    old, below = call.lstat(path), meta.kind == "directory"
    if path == start:
        call.fail(f"{quote(source)} and {quote(name)} are the same file")
    elif below and inside(start, path):
        call.fail(f"cannot move {quote(source)} to a subdirectory of itself, {quote(name)}")
    elif old is not None and (_skip(call, meta, old, names) or _declined(call, name, names)):
        return
    elif old is not None and old.kind == "directory" and not below:
        call.fail(f"cannot overwrite directory {quote(name)} with non-directory")
    elif old is not None and old.kind != "directory" and below:
        call.fail(f"cannot overwrite non-directory {quote(name)} with directory {quote(source)}")
    elif old is not None and old.kind == "directory" and call.children(path):
        call.fail(f"cannot move {quote(source)} to {quote(name)}: Directory not empty")
    elif old is None and name.endswith("/") and not below:
        call.fail(f"cannot move {quote(source)} to {quote(name)}: Not a directory")
    elif not call.is_folder(posixpath.dirname(path)):
        call.fail(f"cannot move {quote(source)} to {quote(name)}: {call.why_missing(name)}")
    elif refusal(call, path) == "Read-only file system":
        what = f"inter-device move failed: {quote(source)} to {quote(name)}"
        call.fail(f"{what}; unable to remove target: Read-only file system")
    elif old is None and too_long(path):
        call.fail(f"cannot stat {quote(name)}: {TOO_LONG}")
    elif reason := refusal(call, path) or refusal(call, start):
        call.fail(f"cannot move {quote(source)} to {quote(name)}: {reason}")
    else:
        _back_up(call, path, names)
        if call.lstat(path) is not None:
            call.fs.remove(path)
        call.fs.rename(start, path)
        if names & {"-v", "--verbose"}:
            call.line(f"renamed {quote(source)} -> {quote(name)}")
