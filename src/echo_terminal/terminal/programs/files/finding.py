"""``find`` after GNU findutils 4.9, where sizes, times, links and rights of files are asked for; see ``piping``.

Commands are run by bashkit's ``find`` alone: a program that is written here cannot start another.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from echo_terminal.terminal.programs.call import Call, UsageError, inode, quote
from echo_terminal.terminal.programs.dates import parse_date
from echo_terminal.terminal.programs.files.found import KIND, Facts, Found
from echo_terminal.terminal.programs.files.modes import parse_mode
from echo_terminal.terminal.terminal import USER

UNITS = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


Test = Callable[[Found], bool]


class _Quit(Exception):
    pass


@dataclass
class Search:
    """One call: the expression and what holds for the whole walk."""

    call: Call
    facts: Facts
    follow: bool = False
    least: int = 0
    most: int = 1 << 30
    inside_first: bool = False
    acts: bool = False
    pruned: bool = False
    words: list[str] = field(default_factory=list)

    # -- the expression ------------------------------------------------------------------------------------------------

    def expression(self) -> Test:
        """``a -o b``, and lists with commas are not supported."""
        test = self._all_of()
        while self.words and self.words[0] in ("-o", "-or"):
            self.words.pop(0)
            test = _either(test, self._all_of())
        return test

    def _all_of(self) -> Test:
        test = self._term()
        while self.words and self.words[0] not in ("-o", "-or", ")"):
            if self.words[0] in ("-a", "-and"):
                self.words.pop(0)
            test = _both(test, self._term())
        return test

    def _term(self) -> Test:
        if not self.words:
            raise UsageError("expected an expression", hint=False)
        word = self.words.pop(0)
        if word in ("!", "-not"):
            inner = self._term()
            return lambda found: not inner(found)
        if word == "(":
            inner = self.expression()
            if not self.words:
                raise UsageError(
                    "invalid expression; I was expecting to find a ')' somewhere but did not see one.",
                    hint=False,
                )
            self.words.pop(0)
            return inner
        return self._primary(word)

    def _argument(self, word: str) -> str:
        if not self.words:
            raise UsageError(f"missing argument to `{word}'", hint=False)
        return self.words.pop(0)

    def _primary(self, word: str) -> Test:
        if word in ("-true", "-daystart", "-noleaf", "-mount", "-xdev"):
            return lambda found: True
        if word == "-false":
            return lambda found: False
        if word == "-depth":
            self.inside_first = True
            return lambda found: True
        if word == "-prune":
            return self._prune
        if word == "-empty":
            return self.facts.empty
        if word in ("-readable", "-writable", "-executable"):
            bit = {"-readable": 0o400, "-writable": 0o200, "-executable": 0o100}[word]
            return lambda found: bool((self.call.stat(found.path) or found.meta).mode & bit)
        if word in ("-print", "-print0", "-delete", "-quit", "-ls"):
            return self._action(word)
        return self._with_argument(word, self._argument(word))

    def _with_argument(self, word: str, text: str) -> Test:
        if word in ("-maxdepth", "-mindepth"):
            if not text.isdigit():
                raise UsageError(
                    f"Expected a positive decimal integer argument to {word}, but got {quote(text)}",
                    hint=False,
                )
            self.most, self.least = (int(text), self.least) if word == "-maxdepth" else (self.most, int(text))
            return lambda found: True
        if word in ("-name", "-iname"):
            return _named(text, fold=word == "-iname", whole=False)
        if word in ("-path", "-wholename", "-ipath"):
            return _named(text, fold=word == "-ipath", whole=True)
        if word == "-type":
            return lambda found: KIND[found.meta.kind] in text.split(",")
        if word in ("-user", "-group", "-uid", "-gid"):
            return lambda found: text in (USER, "1000")
        if word == "-perm":
            return _permitted(text)
        if word == "-printf":
            self.acts = True
            return lambda found: self.put(self.facts.formatted(found, text))
        if word == "-samefile":
            return self._same(text)
        if word == "-newermt":
            return self._written_after(text)
        if word == "-newer":
            meta = self.call.stat(self.call.path(text))
            if meta is None:
                raise UsageError(f"{quote(text)}: {self.call.why_missing(text)}", hint=False)
            then = self.call.clock.order(meta.modified)
            return lambda found: self.call.clock.order(found.meta.modified) > then
        return self._counted(word, text)

    def _counted(self, word: str, text: str) -> Test:
        match = re.fullmatch(r"([-+]?)(\d+)([a-zA-Z]?)", text)
        if match is None or (match[3] and (word != "-size" or match[3] not in UNITS)):
            if word == "-size":
                known = text[-1:] in UNITS
                what = f"Invalid argument `{text}' to -size" if known else f"invalid -size type `{text[-1:]}'"
            else:
                what = f"invalid argument `{text}' to `{word}'"
            raise UsageError(what, hint=False)
        sign, number, unit = match[1], int(match[2]), UNITS.get(match[3], 512)
        measure: dict[str, Callable[[Found], int]] = {
            "-size": lambda found: -(-self.facts.size(found) // unit),
            "-links": self.facts.links,
            "-inum": lambda found: inode(found.path),
            "-mtime": lambda found: self.facts.age(found) // 86_400,
            "-mmin": lambda found: -(-self.facts.age(found) // 60),
        }
        value = measure[word]
        if sign:
            return lambda found: value(found) > number if sign == "+" else value(found) < number
        return lambda found: value(found) == number

    def _written_after(self, text: str) -> Test:
        try:
            then = parse_date(text)
        except (ValueError, OverflowError):
            raise UsageError(
                f"I cannot figure out how to interpret {quote(text)} as a date or time", hint=False
            ) from None
        return lambda found: self.facts.time(found) > then

    def _same(self, text: str) -> Test:
        meta = self.call.lstat(self.call.path(text))
        if meta is None:
            raise UsageError(f"{quote(text)}: {self.call.why_missing(text)}", hint=False)
        return lambda found: found.path == self.call.path(text)

    def _prune(self, found: Found) -> bool:
        self.pruned = True
        return True

    # -- actions -------------------------------------------------------------------------------------------------------

    def _action(self, word: str) -> Test:
        self.acts = True
        if word == "-delete":
            self.inside_first = True
            return self._delete
        if word == "-quit":
            return self._stop
        if word == "-ls":
            return lambda found: self.put(self.facts.listed(found))
        end = "\0" if word == "-print0" else "\n"
        return lambda found: self.put(found.name + end)

    def put(self, text: str) -> bool:
        """Print, which always holds."""
        self.call.out.append(text)
        return True

    def _stop(self, found: Found) -> bool:
        raise _Quit

    def _delete(self, found: Found) -> bool:
        if found.meta.kind == "directory" and self.call.children(found.path):
            self.call.fail(f"cannot delete '{found.name}': Directory not empty")
            return False
        if found.name != ".":
            self.call.fs.remove(found.path)
        return True

    # -- the walk ------------------------------------------------------------------------------------------------------

    def visit(self, found: Found, test: Test) -> None:
        """A path and what is below it."""
        call, folder = self.call, found.meta.kind == "directory"
        self.pruned = False
        wanted = found.depth >= self.least
        if wanted and not self.inside_first:
            test(found)
        if folder and found.depth < self.most and not (self.pruned and not self.inside_first):
            if not found.meta.readable:
                call.fail(f"'{found.name}': Permission denied")
            else:
                for name, meta in call.children(found.path).items():
                    path = posixpath.join(found.path, name)
                    meta = (call.stat(path) or meta) if self.follow else meta
                    self.visit(
                        Found(posixpath.join(found.name, name), path, found.start, found.depth + 1, meta),
                        test,
                    )
        if wanted and self.inside_first:
            test(found)


def _either(a: Test, b: Test) -> Test:
    return lambda found: a(found) or b(found)


def _both(a: Test, b: Test) -> Test:
    return lambda found: a(found) and b(found)


def _named(pattern: str, *, fold: bool, whole: bool) -> Test:
    match = re.compile(fnmatch.translate(pattern), re.I if fold else 0).match

    def test(found: Found) -> bool:
        return match(found.name if whole else posixpath.basename(found.name.rstrip("/")) or "/") is not None

    return test


def _permitted(text: str) -> Test:
    sign = text[0] if text[:1] in ("-", "/") else ""
    bits = parse_mode(text[len(sign) :], 0, folder=False)
    if bits is None:
        raise UsageError(f"invalid mode '{text}'", hint=False)
    if sign == "-":
        return lambda found: found.meta.mode & bits == bits
    if sign == "/":
        return lambda found: bits == 0 or bool(found.meta.mode & bits)
    return lambda found: found.meta.mode == bits


def find(call: Call) -> None:
    """Walk through folders and print what an expression holds for."""
    call.name = "find"
    words = list(call.argv)
    search = Search(call, Facts(call))
    while words and words[0] in ("-L", "-P", "-H"):
        search.follow = words.pop(0) == "-L"
    roots = []
    while words and not words[0].startswith("-") and words[0] not in ("(", "!", ")"):
        roots.append(words.pop(0))
    search.words = words
    test = search.expression() if words else (lambda found: True)
    if not search.acts:
        shown = test
        test = lambda found: shown(found) and search.put(found.name + "\n")  # noqa: E731
    try:
        for root in roots or ["."]:
            meta = call.exists(root)
            if meta is None:
                call.fail(f"'{root}': {call.why_missing(root)}")
                continue
            meta = (call.stat(call.path(root)) or meta) if search.follow else meta
            search.visit(Found(root, call.path(root), root, 0, meta), test)
    except _Quit:
        pass
