"""``zip`` after Info-ZIP 3.0 and ``unzip`` after UnZip 6.00, for archives in files."""

from __future__ import annotations

import fnmatch
import io
import posixpath
import zipfile
import zlib

from echo_terminal.terminal.programs.archive.packing import fits
from echo_terminal.terminal.programs.call import Call, Meta
from echo_terminal.terminal.programs.files.making import refusal
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.wording.usage import UNZIP

INCLUDED = "\0"  # in front of a pattern that names must fit
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date of the format
NO_ZIP = (
    "  End-of-central-directory signature not found.  Either this file is not\n"
    "  a zipfile, or it constitutes one disk of a multi-part archive.  In the\n"
    "  latter case the central directory and zipfile comment will be found on\n"
    "  the last disk(s) of this archive.\n"
)


def _stamp(seconds: float) -> tuple[int, int, int, int, int, int]:
    year, month, day, hour, minute, second = map(int, format_time(seconds, "%Y %m %d %H %M %S").split())
    return (year, month, day, hour, minute, second) if year >= 1980 else EPOCH


def _letters(words: list[str]) -> tuple[set[str], list[str], list[str], str]:
    """Option letters, names, patterns behind ``-x`` (and ``-i``, with a mark in front), and the folder of ``-d``."""
    flags: set[str] = set()
    names: list[str] = []
    left_out: list[str] = []
    folder, place, listed = "", 0, ""
    while place < len(words):
        word = words[place]
        if word in ("-x", "-i") and names:
            listed = word
        elif listed and not word.startswith("-"):
            left_out.append(word if listed == "-x" else INCLUDED + word)
        elif word == "-d" and place + 1 < len(words) and names:
            folder, place = words[place + 1], place + 1
        elif word.startswith("-") and len(word) > 1:
            flags |= set(word.lstrip("-"))
        else:
            names.append(word)
        place += 1
    return flags, names, left_out, folder


def zip_(call: Call) -> None:
    """Put files into an archive."""
    flags, names, left_out, _ = _letters(call.argv)
    if not names:
        call.fail("error: Nothing to do!", 16)
        return
    if "e" in flags:
        call.out.append("\nzip error: Invalid command arguments (stderr is not a tty)\n")
        call.code = 16
        return
    target, *sources = names
    if "@" in flags:
        sources += [line for line in call.stdin.split("\n") if line]
    target += "" if "." in posixpath.basename(target) else ".zip"
    path = call.path(target)
    entries: dict[str, tuple[zipfile.ZipInfo, bytes]] = {}
    if call.readable(target) and zipfile.is_zipfile(io.BytesIO(call.fs.read_file(path))):
        with zipfile.ZipFile(io.BytesIO(call.fs.read_file(path))) as old:
            fits(sum(info.file_size for info in old.infolist()))
            entries = {info.filename: (info, old.read(info)) for info in old.infolist()}
    before, lost = set(entries), []
    if not entries and flags & {"u", "f"}:
        call.line(f"\tzip warning: {target} not found or empty")
    if "d" in flags:
        _delete(call, target, sources, entries)
        return
    for source in sources:
        meta = call.stat(call.path(source))
        if meta is None:
            lost.append(source)
        else:
            _add(call, source, meta, flags, left_out, entries)
    for name in lost:
        call.out.append("" if "q" in flags else f"\tzip warning: name not matched: {name}\n")
    if set(entries) == before and not any(call.stat(call.path(source)) for source in sources):
        call.out.append(f"\nzip error: Nothing to do! ({target})\n")
        call.code = 12
        return
    if reason := refusal(call, path):
        call.out.append(f"zip I/O error: {reason}\nzip error: Could not create output file ({target})\n")
        call.code = 15
        return
    buffer, lines = io.BytesIO(), []
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, (info, data) in entries.items():
            archive.writestr(info, data)
            verb = "updating" if name in before else "  adding"
            lines.append(f"{verb}: {name} ({_ratio(info, data)})\n")
    call.fs.write_file(path, buffer.getvalue())
    call.out += [] if "q" in flags else lines
    if "m" in flags:
        for source in sources:
            meta = call.lstat(call.path(source))
            if meta is not None:
                call.fs.remove(call.path(source), recursive=meta.kind == "directory")


def _delete(
    call: Call, target: str, patterns: list[str], entries: dict[str, tuple[zipfile.ZipInfo, bytes]]
) -> None:
    """Take members out of an archive; one that is left without any goes too."""
    gone = [name for name in entries if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in entries):
            call.line(f"\tzip warning: name not matched: {pattern}")
    if not gone:
        call.out.append(f"\nzip error: Nothing to do! ({target})\n")
        call.code = 12
        return
    call.out += [f"deleting: {name}\n" for name in gone]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, (info, data) in entries.items():
            if name not in gone:
                archive.writestr(info, data)
    if len(gone) == len(entries):
        call.line("\tzip warning: zip file empty")
        call.fs.remove(call.path(target))
    else:
        call.fs.write_file(call.path(target), buffer.getvalue())


def _ratio(info: zipfile.ZipInfo, data: bytes) -> str:
    if info.compress_type == zipfile.ZIP_STORED:
        return "stored 0%"
    return f"deflated {(100 * (len(data) - info.compress_size) + len(data) // 2) // len(data)}%"


def _add(
    call: Call,
    name: str,
    meta: Meta,
    flags: set[str],
    left_out: list[str],
    entries: dict[str, tuple[zipfile.ZipInfo, bytes]],
) -> None:
    folder, path = meta.kind == "directory", call.path(name)
    stored = posixpath.basename(name) if "j" in flags else name.strip("/").removeprefix("./")
    stored += "/" if folder else ""
    if stored not in ("./", "/") and _wanted(stored, left_out):
        info = zipfile.ZipInfo(stored, _stamp(call.shown_time(meta.modified)))
        data = b"" if folder else call.fs.read_file(path)
        info.external_attr = ((0o040000 if folder else 0o100000) | meta.mode) << 16 | (0x10 if folder else 0)
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        small = not folder and len(deflate.compress(data) + deflate.flush()) < len(data)
        info.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
        if not folder or "j" not in flags:
            entries[stored] = (info, data)
            fits(sum(len(inner) for _, inner in entries.values()))
    if folder and "r" in flags:
        for child, inner in call.children(path).items():
            below = call.stat(posixpath.join(path, child)) if inner.kind == "symlink" else inner
            if below is not None:
                _add(call, posixpath.join(name, child), below, flags, left_out, entries)


def _wanted(name: str, left_out: list[str]) -> bool:
    only = [pattern[1:] for pattern in left_out if pattern[:1] == INCLUDED]
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in left_out):
        return False
    return not only or any(fnmatch.fnmatchcase(name, pattern) for pattern in only)


def unzip(call: Call) -> None:
    """List or unpack an archive."""
    flags, names, left_out, folder = _letters(call.argv)
    if not names:
        call.out.append(UNZIP)
        return
    name, *wanted = names
    found = next((word for word in (name, f"{name}.zip", f"{name}.ZIP") if call.readable(word)), None)
    if found is None:
        said = f"unzip:  cannot find or open {name}, {name}.zip or {name}.ZIP.\n"
        (call.out if "t" in flags else call.err).append(said)
        call.code = 9
        return
    data = io.BytesIO(call.fs.read_file(call.path(found)))
    if "p" not in flags and not ("q" in flags and "l" not in flags) and not flags & {"Z", "1"}:
        call.line(f"Archive:  {found}")
    if not zipfile.is_zipfile(data):
        call.err.append(f"{NO_ZIP}unzip:  cannot find zipfile directory in one of {name} or\n"
                        f"        {name}.zip, and cannot find {name}.ZIP, period.\n")  # fmt: skip
        call.code = 9
        return
    with zipfile.ZipFile(data) as archive:
        members = [
            info
            for info in archive.infolist()
            if (not wanted or any(fnmatch.fnmatchcase(info.filename, pattern) for pattern in wanted))
            and not any(fnmatch.fnmatchcase(info.filename, pattern) for pattern in left_out)
        ]
        call.code = 11 if wanted and not members else 0
        lost = [w for w in wanted if not any(fnmatch.fnmatchcase(i.filename, w) for i in archive.infolist())]
        if not flags & {"Z", "1", "l"}:
            call.err += [f"caution: filename not matched:  {word}\n" for word in lost]
        if "Z" in flags or "1" in flags:
            call.out += [info.filename + "\n" for info in members]
        elif "v" in flags:
            _describe(call, members)
        elif "l" in flags:
            _list(call, members)
        elif flags & {"p", "c"}:
            fits(sum(info.file_size for info in members))
            for info in members:
                if "c" in flags:
                    call.line(f"{_verb(info)}: {info.filename:<22}  ")
                call.write(archive.read(info) + (b"\n" if "c" in flags else b""))
        elif "t" in flags:
            call.out += [f"    testing: {info.filename:<22}   OK\n" for info in members]
            call.line(f"No errors detected in compressed data of {found}.")
        else:
            _unpack(call, archive, members, folder, flags)


def _list(call: Call, members: list[zipfile.ZipInfo]) -> None:
    call.out.append("  Length      Date    Time    Name\n---------  ---------- -----   ----\n")
    for info in members:
        year, month, day, hour, minute, _ = info.date_time
        when = f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}"
        call.line(f"{info.file_size:9}  {when}   {info.filename}")
    total, count = sum(info.file_size for info in members), len(members)
    call.line("---------                     -------")
    call.line(f"{total:9}                     {count} file{'' if count == 1 else 's'}")


def _describe(call: Call, members: list[zipfile.ZipInfo]) -> None:
    call.line(" Length   Method    Size  Cmpr    Date    Time   CRC-32   Name")
    call.line("--------  ------  ------- ---- ---------- ----- --------  ----")
    for info in members:
        year, month, day, hour, minute, _ = info.date_time
        how = "Stored" if info.compress_type == zipfile.ZIP_STORED else "Defl:N"
        share, when = (
            _saved(info.file_size, info.compress_size),
            f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}",
        )
        sizes = f"{info.file_size:8}  {how} {info.compress_size:8} {share}"
        call.line(f"{sizes} {when} {info.CRC:08x}  {info.filename}")
    plain, packed, count = (
        sum(i.file_size for i in members),
        sum(i.compress_size for i in members),
        len(members),
    )
    call.line("--------          -------  ---                            -------")
    total = f"{plain:8}         {packed:8} {_saved(plain, packed)}"
    call.line(f"{total}                            {count} file{'' if count == 1 else 's'}")


def _saved(plain: int, packed: int) -> str:
    return f"{(100 * (plain - packed) + plain // 2) // plain if plain else 0:3}%"


def _unpack(
    call: Call, archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: str, flags: set[str]
) -> None:
    kept = "n" in flags
    if folder and (reason := refusal(call, posixpath.join(call.path(folder), "x"))):
        call.err.append(f"checkdir:  cannot create extraction directory: {folder}\n           {reason}\n")
        call.code = 2
        return
    for info in members:
        shown = posixpath.join(folder, posixpath.basename(info.filename) if "j" in flags else info.filename)
        path = call.path(shown)
        if info.is_dir():
            if not call.is_folder(path):
                call.fs.mkdir(path, recursive=True)
                call.out.append("" if "q" in flags else f"   creating: {shown}\n")
            continue
        if call.lstat(path) is not None and "o" not in flags:
            if not kept:
                call.err.append(f"replace {shown}? [y]es, [n]o, [A]ll, [N]one, [r]ename:  NULL\n"
                                '(EOF or read error, treating as "[N]one" ...)\n')  # fmt: skip
                call.code = 1
            kept = True
            continue
        call.fs.mkdir(posixpath.dirname(path), recursive=True)
        fits(info.file_size)
        call.fs.write_file(path, archive.read(info))
        call.fs.chmod(path, info.external_attr >> 16 & 0o777 or 0o644)
        call.out.append("" if "q" in flags else f"{_verb(info)}: {shown:<22}  \n")


def _verb(info: zipfile.ZipInfo) -> str:
    return " extracting" if info.compress_type == zipfile.ZIP_STORED else "  inflating"
