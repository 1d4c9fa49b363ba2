"""Which file a diff is for, and whether it seems to be applied already: the rules and words of GNU patch 2.7.6."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.call import Call, Meta
from echo_terminal.terminal.programs.patch.reading import INDEX, KINDS, NEW, OLD, Header


@dataclass
class Style:
    """The options of one call, the place of each by its letter."""

    values: dict[str, str]
    name: str = ""  # of the file to patch, where the command names it
    fuzz: int = 2
    reverse: bool = False

    def on(self, letter: str) -> bool:
        """Is an option given?"""
        return letter in self.values


@dataclass
class Job:
    """One diff on its way to its file: the names of what is read and written, and what became of the hunks."""

    header: Header
    reverse: bool
    source: str = ""
    output: str = ""
    meta: Meta | None = None
    skipped: bool = False
    anyway: bool = False
    mismatch: bool = False
    hunks: int = 0
    rejects: list[str] = field(default_factory=list)


def quoted(name: str) -> str:
    """A file name in a message: in quotes where a shell would need them."""
    plain = re.fullmatch(r"[\w@%+:,./^-][\w@%+:,./^=~#-]*", name)
    return name if plain else "'" + name.replace("'", "'\\''") + "'"


class Choice:
    """Chooses files and talks about them; nobody answers."""

    def __init__(self, call: Call, style: Style) -> None:
        self.call, self.style = call, style
        self.silent, self.verbose = style.on("s"), style.on("verbose")

    def say(self, text: str) -> None:
        """To standard output, but to standard error where the file goes to standard output."""
        (self.call.err if self.style.values.get("o") == "-" else self.call.out).append(text)

    def ask(self, text: str) -> None:
        """A question: without a terminal an empty line is the answer."""
        self.say(f"{text}\n")

    def choose(self, job: Job) -> None:
        """Decide which file a diff is for; its ``source`` stays empty where none is found."""
        names = list(job.header.names)
        if self.style.name:
            job.source = self.style.name
        else:
            if (names[OLD] or names[NEW]) and names[INDEX]:
                names[INDEX] = None
            known = [name for name in names if name and ".." not in name.split("/")]  # no way up is followed
            there = [name for name in known if self._status(name) is not None]
            best = self._best(there)
            if not best and job.header.missing[job.reverse]:
                new = {name: self._new_folders(name) for name in names if name}
                best = self._best([name for name in new if new[name] == min(new.values())])
            job.source = best
        job.meta = self._status(job.source) if job.source else None
        if job.source and (job.meta is None or job.meta.kind == "file"):
            self._mind_existence(job)

    def _status(self, name: str) -> Meta | None:
        return self.call.lstat(self.call.path(name))

    def _best(self, names: list[str]) -> str:
        """Of those with the fewest folders, then the shortest last part, then the shortest: the first."""
        found = sorted(names, key=lambda n: (n.strip("/").count("/"), len(posixpath.basename(n)), len(n)))
        if found and (found[0].startswith("/") or ".." in found[0].split("/")):
            self.say(f"Ignoring potentially dangerous file name {quoted(found[0])}\n")
            return ""
        return found[0] if found else ""

    def _new_folders(self, name: str) -> int:
        count, folder = 0, posixpath.dirname(name)
        while folder and self._status(folder) is None:
            count, folder = count + 1, posixpath.dirname(folder)
        return count

    def _mind_existence(self, job: Job) -> None:
        """A file that the patch makes should not be there, and one that it changes should."""
        missing = job.meta is None
        empty = job.meta is None or job.meta.size == 0
        says = job.header.missing
        if empty and says[job.reverse ^ missing] == 1 and says[(not job.reverse) ^ missing] == 2:
            return
        if (not empty) < says[job.reverse ^ empty]:
            how = ", when reversed," if job.reverse else ""
            verb = "delete" if missing else "empty out" if empty else "create"
            why = "does not exist" if missing else "is already empty" if empty else "already exists"
            job.reverse ^= self.may_reverse(
                job, f"The next patch{how} would {verb} the file {quoted(job.source)},\nwhich {why}!"
            )

    def may_reverse(self, job: Job, text: str) -> bool:
        """Say that a patch seems to be applied already, and decide by the options what to do."""
        on = self.style.on
        if on("N") or not (on("f") and self.silent):
            self.say(text)
        if on("N"):
            self.say("  Skipping patch.\n")
            job.skipped = True
        elif on("f"):
            self.say("" if self.silent else "  Applying it anyway.\n")
        elif on("t"):
            self.say("  Ignoring -R.\n" if job.reverse else "  Assuming -R.\n")
            return True
        else:
            self.ask("  Ignore -R? [n] " if job.reverse else "  Assume -R? [n] ")
            self.ask("Apply anyway? [n] ")
            self.say("" if self.silent else "Skipping patch.\n")
            job.skipped = True
        return False

    def describe(self, job: Job) -> None:
        """Say what was found, and what leads there where no file was."""
        if job.skipped:
            return
        header = job.header
        if self.verbose:
            self.say(f"  Looks like {KINDS[header.kind]} to me...\n")
        if not self.silent:
            self.say("".join(header.notes))
            if not job.source:
                self.say(f"can't find file to patch at input line {header.line}\n")
                hint = "should have used the" if not self.style.on("p") else "used the wrong"
                self.say(f"Perhaps you {hint} -p or --strip option?\n")
        if (self.verbose or not job.source) and header.before:
            rule = "--------------------------\n"
            self.say(
                f"The text leading up to this was:\n{rule}{''.join('|' + b for b in header.before)}{rule}"
            )
        if job.source:
            return
        job.skipped = True
        if self.style.on("f") or self.style.on("t"):
            self.say("No file to patch.  Skipping patch.\n")
        else:
            self.ask("File to patch: ")
            self.ask("Skip this patch? [y] ")
            self.say("" if self.silent else "Skipping patch.\n")
