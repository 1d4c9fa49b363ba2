"""``patch`` after GNU patch 2.7.6, for unified, context and normal diffs. Nobody answers its questions: each is
followed by an empty line and takes its default, as without a terminal. Scripts for ``ed`` are not applied."""

from __future__ import annotations

import posixpath
import re

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, Meta, UsageError, options
from echo_terminal.terminal.programs.files.making import refusal
from echo_terminal.terminal.programs.patch.choice import Choice, Job, Style, quoted
from echo_terminal.terminal.programs.patch.hunks import Hunk, Target, rejected_context, rejected_unified
from echo_terminal.terminal.programs.patch.reading import INDEX, NEW, OLD, PatchError, Reader

_LONG = {
    "strip=": "p", "reverse": "R", "dry-run": "dry", "input=": "i", "output=": "o", "backup": "b", "suffix=": "z",
    "prefix=": "B", "batch": "t", "force": "f", "forward": "N", "quiet": "s", "silent": "s", "fuzz=": "F",
    "directory=": "d", "remove-empty-files": "E", "ignore-whitespace": "l", "reject-file=": "r", "unified": "u",
    "context": "c", "normal": "n", "verbose": "verbose", "no-backup-if-mismatch": "tidy", "posix": "posix",
    "backup-if-mismatch": "untidy", "binary": "binary",
}  # fmt: skip
_NUMBERS = {"p": "strip count", "F": "fuzz factor"}


def patch(call: Call) -> None:
    """Apply the diffs of a patch to files; code 1 where hunks fail, 2 on trouble."""
    found, words = options(call, "p:Ri:o:bz:B:tfNsF:d:Elr:ucnx:", list(_LONG), code=2)
    names = {f"--{name.rstrip('=')}": letter for name, letter in _LONG.items()}
    style = Style({})
    try:
        for option, value in found:
            letter = names.get(option, option.lstrip("-"))
            if letter in _NUMBERS and not value.isdigit():
                raise PatchError(f"{_NUMBERS[letter]} {value} is not a number")
            if letter == "d":
                if not call.is_folder(call.path(value)):
                    reason = NO_ENTRY if call.stat(call.path(value)) is None else "Not a directory"
                    raise PatchError(f"Can't change to directory {quoted(value)} : {reason}")
                call.cwd = call.path(value)
            style.values[letter] = value
        if len(words) > 2:
            call.fail(f"{quoted(words[2])}: extra operand", 2)
            raise UsageError("", 2)
        style.name, style.reverse = words[0] if words else "", style.on("R")
        style.fuzz = int(style.values.get("F", "2"))
        source = words[1] if len(words) > 1 else style.values.get("i", "-")
        _Patching(call, style).run(_read(call, source, "patch file") if source != "-" else call.stdin)
    except PatchError as error:
        call.fail(f"**** {error}", 2)


def _read(call: Call, word: str, what: str) -> str:
    meta = call.stat(call.path(word))
    if meta is None or not meta.readable:
        reason = NO_ENTRY if meta is None else "Permission denied"
        raise PatchError(f"Can't open {what} {quoted(word)} : {reason}")
    return call.fs.read_file(call.path(word)).decode("utf-8", "surrogateescape")


class _Patching(Choice):
    def __init__(self, call: Call, style: Style) -> None:
        super().__init__(call, style)
        self.kept: set[str] = set()  # files whose first state has been saved

    def run(self, text: str) -> None:
        strip = self.style.values.get("p")
        reader = Reader(text, None if strip is None else int(strip))
        kind = next((letter for letter in "ucn" if self.style.on(letter)), "")
        while True:
            first = not reader.begun
            if reader.ended:
                self.say("done\n" if self.verbose and not first else "")
                return
            self.say("Hmm..." if self.verbose else "")
            header = reader.header(kind, named=bool(self.style.name))
            if header is None:
                if first:
                    raise PatchError("Only garbage was found in the patch input.")
                self.say("  Ignoring the trailing garbage.\ndone\n" if self.verbose else "")
                return
            job = Job(header, self.style.reverse)
            self.choose(job)
            self.describe(job)
            self._one(job, reader)

    # -- one diff --------------------------------------------------------------------------------------------------

    def _one(self, job: Job, reader: Reader) -> None:
        header = job.header
        to = header.git.get("rename to", header.git.get("copy to"))
        job.output = "" if job.skipped else self.style.values.get("o", job.source)
        if to is not None and not self.style.on("o") and job.output:
            job.output = reader.named(to)
        if job.source and not job.skipped and job.meta is not None and job.meta.kind != "file":
            self.say(f"File {quoted(job.source)} is not a regular file -- refusing to patch\n")
            job.skipped = True
        target = Target([], blind=self.style.on("l"))
        if not job.skipped:
            target.lines = self._lines(job)
            self._announce(job)
        notes = len(reader.notes)
        for hunk in reader.hunks(header.kind):
            self.say("".join(reader.notes[notes:]))
            notes = len(reader.notes)
            self._hunk(job, target, hunk)
        if not job.skipped and not self.style.on("o"):
            self._store(job, target)
        elif not job.skipped:
            target.finish()
            if job.output == "-":
                self.call.out.append(
                    "".join(target.out).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                )
            elif not self.style.on("dry"):
                self._write(job.output, "".join(target.out), job.meta)
        if job.rejects:
            self._reject(job)

    def _lines(self, job: Job) -> list[str]:
        if job.meta is None:
            return []
        if not job.meta.writable:
            self.say(f"File {quoted(job.source)} is read-only; trying to patch anyway\n")
        text = _read(self.call, job.source, "file")
        return re.findall(r"[^\n]*\n|[^\n]+", text)

    def _announce(self, job: Job) -> None:
        if self.silent:
            return
        other = posixpath.normpath(job.output) != posixpath.normpath(job.source)
        how = (
            "copied"
            if "copy to" in job.header.git
            else "renamed"
            if "rename to" in job.header.git
            else "read"
        )
        verb = "checking" if self.style.on("dry") else "patching"
        self.say(f"{verb} file {quoted(job.output)}" + (f" ({how} from {job.source})\n" if other else "\n"))
        self.say("Using Plan A...\n" if self.verbose else "")

    def _hunk(self, job: Job, target: Target, read: Hunk) -> None:
        hunk = read.reversed() if job.reverse else read
        job.hunks += 1
        where = fuzz = 0
        most = min(self.style.fuzz, hunk.context)
        while not job.skipped:
            where = target.locate(hunk, fuzz)
            job.mismatch |= not where or bool(fuzz or target.in_offset)
            tries = job.hunks == 1 and not where and not (self.style.on("f") or job.anyway)
            if tries and job.reverse == self.style.reverse:
                before = target.in_offset
                there = target.locate(hunk.reversed(), fuzz)
                state = "Unreversed" if job.reverse else "Reversed (or previously applied)"
                if there and self.may_reverse(job, f"{state} patch detected!"):
                    job.reverse, hunk, where = not job.reverse, hunk.reversed(), there
                elif there:
                    job.anyway, target.in_offset = True, before
                    continue
            fuzz += 1
            if where or fuzz > most:
                fuzz -= bool(where)
                break
        at = (where or hunk.first) + target.out_offset
        exists = (
            where == 1 and job.header.missing[job.reverse] == 2 and job.meta is not None and job.meta.size
        )
        offset = target.out_offset
        if job.skipped or exists or not where or not target.apply(hunk, where):
            self._rejected(job, hunk, offset)
            if self.verbose or not (job.skipped or self.silent):
                self.say(f"Hunk #{job.hunks} {'ignored' if job.skipped else 'FAILED'} at {at}.\n")
        elif self.verbose or (not self.silent and (fuzz or target.in_offset)):
            moved = target.in_offset
            text = f"Hunk #{job.hunks} succeeded at {at}" + (f" with fuzz {fuzz}" if fuzz else "")
            self.say(text + (f" (offset {moved} line{'s' * (moved != 1)}).\n" if moved else ".\n"))

    # -- what is written -------------------------------------------------------------------------------------------

    def _rejected(self, job: Job, hunk: Hunk, offset: int) -> None:
        header, unified = job.header, job.header.kind == "u"
        if not job.rejects:
            marks = ("---", "+++") if unified else ("***", "---")
            sides = (NEW, OLD) if job.reverse else (OLD, NEW)
            text = f"Index: {header.names[INDEX]}\n" if header.names[INDEX] else ""
            for mark, side in zip(marks, sides, strict=True):
                text += f"{mark} {header.names[side] or '/dev/null'}{header.times[side]}\n"
            job.rejects.append(text)
        job.rejects.append(
            rejected_unified(hunk, offset)
            if unified
            else rejected_context(hunk, offset, normal=header.kind == "n")
        )

    def _store(self, job: Job, target: Target) -> None:
        failed = max(0, len(job.rejects) - 1)
        if failed == job.hunks and job.meta is None and failed:
            self._keep(job, force=True)
            raise PatchError(f"Can't reopen file {quoted(job.output)} : {NO_ENTRY}")
        target.finish()
        gone = job.header.missing[not job.reverse] == 2
        backup = self.style.on("b") or (not self.style.on("tidy") and (job.mismatch or failed > 0))
        dry = self.style.on("dry")
        if not target.out and (self.style.on("E") or gone):
            if not dry:
                self._keep(job, force=backup)
                self.call.fs.remove(self.call.path(job.output))
                self._remove_empty(posixpath.dirname(self.call.path(job.output)))
            return
        if gone and target.out:
            self.say(
                ""
                if self.silent
                else f"Not deleting file {quoted(job.output)} as content differs from patch\n"
            )
            self.call.code = 1
        if dry:
            return
        self._keep(job, force=backup)
        if failed < job.hunks or "rename to" in job.header.git:
            self._write(job.output, "".join(target.out), job.meta, job.header.git.get("new file mode", ""))
            if "rename to" in job.header.git:
                self.call.fs.remove(self.call.path(job.source))

    def _keep(self, job: Job, *, force: bool) -> None:
        """Save the file as it was, once."""
        path = self.call.path(job.output)
        if path in self.kept or not force:
            self.kept.add(path)
            return
        self.kept.add(path)
        head, name = posixpath.split(job.output)
        prefix, suffix = (
            self.style.values.get("B", ""),
            self.style.values.get("z", "" if self.style.on("B") else ".orig"),
        )
        content = self.call.fs.read_file(path) if self.call.stat(path) is not None else b""
        self._write(
            posixpath.join(head, f"{prefix}{name}{suffix}"),
            content.decode("utf-8", "surrogateescape"),
            job.meta,
        )

    def _write(self, name: str, text: str, meta: Meta | None, mode: str = "") -> None:
        path = self.call.path(name)
        if reason := refusal(self.call, path):
            raise PatchError(f"Can't create file {quoted(name)} : {reason}")
        folder = posixpath.dirname(path)
        if not self.call.is_folder(folder):
            self.call.fs.mkdir(folder, recursive=True)
        self.call.fs.write_file(path, text.encode("utf-8", "surrogateescape"))
        self.call.fs.chmod(path, int(mode[-3:], 8) if mode else meta.mode if meta is not None else 0o644)

    def _remove_empty(self, folder: str) -> None:
        while folder.startswith(f"{self.call.cwd}/") and not self.call.children(folder):
            self.call.fs.remove(folder)
            folder = posixpath.dirname(folder)

    def _reject(self, job: Job) -> None:
        self.call.code = max(self.call.code, 1)
        failed = len(job.rejects) - 1
        text = f"{failed} out of {job.hunks} hunk{'s' * (job.hunks != 1)} {'ignored' if job.skipped else 'FAILED'}"
        name = self.style.values.get("r", f"{job.output}.rej")
        saved = bool(job.output) and name != "-" and not self.style.on("dry")
        self.say(f"{text} -- saving rejects to file {quoted(name)}\n" if saved else f"{text}\n")
        if saved:
            self._write(name, "".join(job.rejects), None)
