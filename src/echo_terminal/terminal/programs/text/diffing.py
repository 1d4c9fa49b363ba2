"""``diff`` after GNU diffutils 3.8: normal, unified, context and side-by-side output, folders."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, Meta, UsageError, options
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.limits import narrow
from echo_terminal.terminal.programs.patterns import all_match
from echo_terminal.terminal.programs.text.edits import Hunk, hunks

LONG = (
    "brief report-identical-files recursive ignore-case ignore-all-space ignore-space-change ignore-blank-lines "
    "ignore-trailing-space unified=? context=? side-by-side width= new-file text normal strip-trailing-cr label= "
    "exclude= suppress-common-lines color=? expand-tabs minimal speed-large-files ed rcs ignore-matching-lines="
).split()
LETTERS = {
    "brief": "q", "report-identical-files": "s", "recursive": "r", "ignore-case": "i", "ignore-all-space": "w",
    "ignore-space-change": "b", "ignore-blank-lines": "B", "ignore-trailing-space": "Z", "side-by-side": "y",
    "new-file": "N", "text": "a", "strip-trailing-cr": "R",
}  # fmt: skip
NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True)
class Style:
    """The options of one call."""

    letters: str
    form: str  # normal, u, c, y, e, n
    context: int
    width: int
    labels: tuple[str, ...]
    words: str  # the options as typed, for the headings of folders
    ignored: str = ""  # changes all of whose lines match do not count


@dataclass(frozen=True)
class Side:
    """One of two files: its name as shown, its lines, whether the last ends in a newline, its time."""

    name: str
    lines: list[str]
    ended: bool
    time: float


def diff(call: Call) -> None:
    """Compare files line by line."""
    typed = [word for word in call.argv if word.startswith("-") and word != "-"]
    call.argv = [re.sub(r"^-([a-zA-Z]*?)[uU](\d+)$", r"-\1U\2", word) for word in call.argv]
    found, words = options(call, "qsriwbBZyNatuU:cC:W:L:x:dpenI:", LONG, code=2)
    letters, form, context, width, labels, ignored = "", "normal", 3, 130, [], ""
    for option, value in found:
        name = option.lstrip("-")
        if name in ("u", "U", "unified", "c", "C", "context"):
            form = "u" if name in ("u", "U", "unified") else "c"
            if value and not value.isdigit():
                raise UsageError(f"invalid context length '{value}'", 2)
            context = int(value) if value else context
        elif name in ("W", "width"):
            if not value.isdigit() or int(value) == 0:
                raise UsageError(f"invalid width '{value}'", 2)
            narrow(value)
            width = int(value)
        elif name in ("L", "label"):
            labels.append(value)
        elif name in ("e", "n", "ed", "rcs"):
            form = "n" if name in ("n", "rcs") else "e"
        elif name in ("I", "ignore-matching-lines"):
            ignored = value if not ignored else f"{ignored}|{value}"
        else:
            letters += LETTERS.get(name, name if len(name) == 1 else "")
    if "y" in letters:
        form = "y"
    if len(words) < 2:
        raise UsageError(f"missing operand after '{words[0] if words else 'diff'}'", 2)
    if len(words) > 2:
        raise UsageError(f"extra operand '{words[2]}'", 2)
    style = Style(letters, form, context, width, tuple(labels), " ".join(["diff", *typed]), ignored)
    left, right = words
    metas = [_meta(call, word) for word in words]
    if all(m is not None and m.kind == "directory" for m in metas):
        call.code = max(call.code, _folders(call, style, left, right))
        return
    if metas[0] is not None and metas[1] is not None:
        if metas[0].kind == "directory":
            left = posixpath.join(left, posixpath.basename(right))
        elif metas[1].kind == "directory":
            right = posixpath.join(right, posixpath.basename(left))
    sides = [_side(call, word, style) for word in (left, right)]
    if sides[0] is None or sides[1] is None:
        call.code = 2
        return
    call.code = max(call.code, _files(call, style, sides[0], sides[1], ""))


def _meta(call: Call, word: str) -> Meta | None:
    return Meta("file", 0o600, 0, 0.0) if word == "-" else call.stat(call.path(word))


def _side(call: Call, word: str, style: Style) -> Side | None:
    if word == "-":
        text, time = call.stdin, 0.0
    else:
        meta = call.stat(call.path(word))
        if meta is None:
            if "N" in style.letters:
                return Side(word, [], True, 0.0)
            call.fail(f"{word}: {NO_ENTRY}", 2)
            return None
        if not meta.readable:
            call.fail(f"{word}: Permission denied", 2)
            return None
        data, time = call.fs.read_file(call.path(word)), call.shown_time(meta.modified)
        if b"\0" in data and "a" not in style.letters:
            return Side(word, ["\0", data.decode("latin-1")], True, time)
        text = data.decode("utf-8", "replace")
    if "R" in style.letters:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    ended = lines[-1] == ""
    return Side(word, lines[:-1] if ended else lines, ended or not text, time)


def _folders(call: Call, style: Style, left: str, right: str) -> int:
    ours, theirs = call.children(call.path(left)), call.children(call.path(right))
    code = 0
    for name in sorted({*ours, *theirs}, key=str.encode):
        pair = [posixpath.join(folder, name) for folder in (left, right)]
        kinds = [call.stat(call.path(word)) for word in pair]
        if (name not in ours or name not in theirs) and "N" not in style.letters:
            call.line(f"Only in {left if name in ours else right}: {name}".replace("//", "/"))
            code = max(code, 1)
        elif all(k is not None and k.kind == "directory" for k in kinds):
            if "r" in style.letters:
                code = max(code, _folders(call, style, *pair))
            else:
                call.line(f"Common subdirectories: {pair[0]} and {pair[1]}")
        elif any(k is not None and k.kind == "directory" for k in kinds):
            names = [
                "directory" if k is not None and k.kind == "directory" else "regular file" for k in kinds
            ]
            call.line(f"File {pair[0]} is a {names[0]} while file {pair[1]} is a {names[1]}")
            code = max(code, 1)
        else:
            sides = [_side(call, word, style) for word in pair]
            if sides[0] is None or sides[1] is None:
                code = 2
            else:
                code = max(
                    code, _files(call, style, sides[0], sides[1], f"{style.words} {' '.join(pair)}".strip())
                )
    return code


def _key(style: Style, line: str) -> str:
    if "w" in style.letters:
        line = re.sub(r"\s+", "", line)
    elif "b" in style.letters:
        line = re.sub(r"\s+", " ", line).rstrip()
    elif "Z" in style.letters:
        line = line.rstrip()
    return line.lower() if "i" in style.letters else line


def _files(call: Call, style: Style, left: Side, right: Side, heading: str) -> int:
    keys = [[_key(style, line) for line in side.lines] for side in (left, right)]
    spaces = any(letter in style.letters for letter in "wbZ")
    for side, key in zip((left, right), keys, strict=True):
        if key and not side.ended and not spaces:
            key[-1] += "\n"  # a line without its newline is another line
    changes = hunks(*keys)
    if "B" in style.letters:
        changes = [h for h in changes if any(left.lines[h.a : h.b]) or any(right.lines[h.c : h.d])]
    if style.ignored:
        changes = [
            h for h in changes if not all_match(style.ignored, left.lines[h.a : h.b] + right.lines[h.c : h.d])
        ]
    if not changes:
        if "s" in style.letters:
            call.line(f"Files {left.name} and {right.name} are identical")
        if style.form == "y":
            _side_by_side(call, style, left, right, changes)
        return 0
    if "q" in style.letters:
        call.line(f"Files {left.name} and {right.name} differ")
        return 1
    if "\0" in (left.lines[:1] + right.lines[:1]):
        call.line(f"Binary files {left.name} and {right.name} differ")
        return 1
    if heading:
        call.line(heading)
    if style.form == "normal":
        _normal(call, left, right, changes)
    elif style.form in "en":
        _script(call, style.form, right, changes)
    elif style.form == "y":
        _side_by_side(call, style, left, right, changes)
    else:
        _grouped(call, style, left, right, changes)
    return 1


def _lines(call: Call, side: Side, start: int, end: int, mark: str) -> None:
    for number in range(start, end):
        call.line(f"{mark}{side.lines[number]}")
        if number == len(side.lines) - 1 and not side.ended:
            call.line(NO_NEWLINE)


def _span(start: int, end: int) -> str:
    return f"{start + 1},{end}" if end - start > 1 else str(end if end == start else start + 1)


def _normal(call: Call, left: Side, right: Side, changes: list[Hunk]) -> None:
    for h in changes:
        letter = "a" if h.a == h.b else "d" if h.c == h.d else "c"
        call.line(f"{_span(h.a, h.b)}{letter}{_span(h.c, h.d)}")
        _lines(call, left, h.a, h.b, "< ")
        if letter == "c":
            call.line("---")
        _lines(call, right, h.c, h.d, "> ")


def _script(call: Call, form: str, right: Side, changes: list[Hunk]) -> None:
    """A script for ``ed`` (from the last change to the first) or for RCS."""
    for h in reversed(changes) if form == "e" else changes:
        lines = right.lines[h.c : h.d]
        if form == "n":
            if h.b > h.a:
                call.line(f"d{h.a + 1} {h.b - h.a}")
            if lines:
                call.line(f"a{h.b} {len(lines)}")
        else:
            call.line(_span(h.a, h.b) + ("a" if h.a == h.b else "c" if lines else "d"))
        if lines:
            call.out += [f"{line}\n" for line in lines]
            if form == "e":
                call.line(".")


def _groups(changes: list[Hunk], context: int) -> list[list[Hunk]]:
    groups: list[list[Hunk]] = []
    for h in changes:
        if groups and h.a - groups[-1][-1].b <= 2 * context:
            groups[-1].append(h)
        else:
            groups.append([h])
    return groups


def _grouped(call: Call, style: Style, left: Side, right: Side, changes: list[Hunk]) -> None:
    marks = ("---", "+++") if style.form == "u" else ("***", "---")
    form = "%Y-%m-%d %H:%M:%S.%N %z" if style.form == "u" else "%a %b %e %H:%M:%S %Y"
    for number, (mark, side) in enumerate(zip(marks, (left, right), strict=True)):
        label = style.labels[number] if number < len(style.labels) else ""
        call.line(f"{mark} " + (label or f"{side.name}\t{format_time(side.time, form)}"))
    for group in _groups(changes, style.context):
        before = min(style.context, group[0].a)
        after = min(style.context, len(left.lines) - group[-1].b)
        a, b = group[0].a - before, group[-1].b + after
        c, d = group[0].c - before, group[-1].d + after
        if style.form == "u":
            _unified(call, left, right, group, a, b, c, d)
        else:
            _context(call, left, right, group, (a, b, c, d))


def _unified(call: Call, left: Side, right: Side, group: list[Hunk], a: int, b: int, c: int, d: int) -> None:
    def place(start: int, end: int) -> str:
        count = end - start
        return f"{start + 1 if count else start}" + (f",{count}" if count != 1 else "")

    call.line(f"@@ -{place(a, b)} +{place(c, d)} @@")
    at = a
    for h in group:
        _lines(call, left, at, h.a, " ")
        _lines(call, left, h.a, h.b, "-")
        _lines(call, right, h.c, h.d, "+")
        at = h.b
    _lines(call, left, at, b, " ")


def _context(
    call: Call, left: Side, right: Side, group: list[Hunk], spans: tuple[int, int, int, int]
) -> None:
    a, b, c, d = spans
    call.line("***************")
    call.line(f"*** {_span(a, b)} ****")
    if any(h.a != h.b for h in group):
        at = a
        for h in group:
            _lines(call, left, at, h.a, "  ")
            _lines(call, left, h.a, h.b, "- " if h.c == h.d else "! ")
            at = h.b
        _lines(call, left, at, b, "  ")
    call.line(f"--- {_span(c, d)} ----")
    if any(h.c != h.d for h in group):
        at = c
        for h in group:
            _lines(call, right, at, h.c, "  ")
            _lines(call, right, h.c, h.d, "+ " if h.a == h.b else "! ")
            at = h.d
        _lines(call, right, at, d, "  ")


def _side_by_side(call: Call, style: Style, left: Side, right: Side, changes: list[Hunk]) -> None:
    offset = (style.width // 2 + 5 + style.width % 2) // 8 * 8  # where the right column starts: a tab stop
    half = max(0, min(offset - 3, style.width - offset))
    offset = offset if half else style.width

    def row(ours: str | None, mark: str, theirs: str | None) -> None:
        text = (ours or "").expandtabs()[:half]
        column = len(text)
        if mark == " ":
            if "suppress-common-lines" in style.words:
                return
            call.line(text + (_tabs(column, offset) + (theirs or "").expandtabs()[:half] if theirs else ""))
            return
        place = (half + offset - 1) // 2
        line = text + _tabs(column, place) + mark
        if theirs is not None and mark != "<":
            line += _tabs(place + 1, offset) + theirs.expandtabs()[:half]
        call.line(line)

    at = 0
    for h in changes:
        for number in range(at, h.a):
            row(left.lines[number], " ", left.lines[number])
        both = min(h.b - h.a, h.d - h.c)
        for number in range(both):
            row(left.lines[h.a + number], "|", right.lines[h.c + number])
        for number in range(h.a + both, h.b):
            row(left.lines[number], "<", None)
        for number in range(h.c + both, h.d):
            row(None, ">", right.lines[number])
        at = h.b
    for number in range(at, len(left.lines)):
        row(left.lines[number], " ", left.lines[number])


def _tabs(start: int, end: int) -> str:
    tabs = max(0, end // 8 - start // 8)
    return "\t" * tabs + " " * (end - (end // 8 * 8 if tabs else start))
