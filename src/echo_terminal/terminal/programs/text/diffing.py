"""``diff`` and ``sdiff`` after GNU diffutils 3.8: their words, files and folders."""

from __future__ import annotations

import fnmatch
import posixpath
import re

from echo_terminal.terminal.programs.call import NO_ENTRY, Call, Meta, UsageError, options
from echo_terminal.terminal.programs.limits import narrow
from echo_terminal.terminal.programs.patterns import all_match
from echo_terminal.terminal.programs.text import diff_formats
from echo_terminal.terminal.programs.text.diff_output import Side, Style, show, side_by_side
from echo_terminal.terminal.programs.text.edits import hunks

LONG = (
    "brief report-identical-files recursive ignore-case ignore-all-space ignore-space-change ignore-blank-lines "
    "ignore-trailing-space unified=? context=? side-by-side width= new-file text normal strip-trailing-cr label= "
    "exclude= suppress-common-lines color=? expand-tabs minimal speed-large-files ed rcs ignore-matching-lines= "
    "left-column from-file= to-file= ignore-tab-expansion show-function-line= show-c-function ifdef= initial-tab "
    "tabsize= horizon-lines= no-dereference starting-file="
).split() + [f"{name}=" for name in diff_formats.NAMES]
_FUNCTION = r"^[a-zA-Z$_]"  # a line of -p
_COLOURED = re.compile(r"(?P<name>diff |\+\+\+ |--- )|(?P<place>@@|\d)|(?P<old>[<-](?!--$))|(?P<new>[>+])")
_COLOURS = {"name": "1", "place": "36", "old": "31", "new": "32"}
SDIFF_LONG = (
    "suppress-common-lines width= left-column ignore-all-space ignore-space-change ignore-blank-lines ignore-case "
    "ignore-tab-expansion expand-tabs text minimal speed-large-files output= strip-trailing-cr"
).split()
_SDIFF = {"-s": "--suppress-common-lines", "-l": "--left-column", "-w": "-W", "-W": "-w"}
LETTERS = {
    "brief": "q", "report-identical-files": "s", "recursive": "r", "ignore-case": "i", "ignore-all-space": "w",
    "ignore-space-change": "b", "ignore-blank-lines": "B", "ignore-trailing-space": "Z", "side-by-side": "y",
    "new-file": "N", "text": "a", "strip-trailing-cr": "R", "expand-tabs": "t", "ignore-tab-expansion": "E",
}  # fmt: skip


def diff(call: Call) -> None:
    """Compare files line by line."""
    typed = [word for word in call.argv if word.startswith("-") and word != "-"]
    call.argv = [re.sub(r"^-([a-zA-Z]*?)[uU](\d+)([a-zA-Z]*)$", r"-\1\3U\2", word) for word in call.argv]
    found, words = options(call, "qsriwbBZyNatuU:cC:W:L:x:dpenI:EF:D:THPS:", LONG, code=2)
    letters, form, context, width, labels, ignored = "", "normal", 3, 130, [], ""
    function, formats, named, left_out, colours = "", {}, {}, [], False
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
        elif name in ("x", "exclude"):
            left_out.append(value)
        elif name in ("p", "show-c-function", "F", "show-function-line"):
            function, form = value or _FUNCTION, "c" if form == "normal" else form
        elif name in ("D", "ifdef"):
            formats.update(diff_formats.of_ifdef(value))
        elif name in diff_formats.NAMES:
            formats[name] = value
        elif name in ("from-file", "to-file"):
            named[name] = value
        elif name == "color":
            if value not in ("", "always", "never", "auto"):
                raise UsageError(f"invalid color '{value}'", 2)
            colours = value == "always"
        else:
            letters += LETTERS.get(name, name if len(name) == 1 else "")
    if "y" in letters:
        form = "y"
    said = " ".join(["diff", *typed])
    style = Style(
        letters, form, context, width, tuple(labels), said, ignored, tuple(left_out), function, formats
    )
    for place, word in named.items():
        for other in words:
            _pair(call, style, *((word, other) if place == "from-file" else (other, word)))
    if named:
        return
    if len(words) < 2:
        raise UsageError(f"missing operand after '{words[0] if words else 'diff'}'", 2)
    if len(words) > 2:
        raise UsageError(f"extra operand '{words[2]}'", 2)
    _pair(call, style, *words)
    if colours and form in ("normal", "u"):
        call.out = [_coloured(line) for line in "".join(call.out).splitlines(keepends=True)]


def _coloured(line: str) -> str:
    kind = _COLOURED.match(line)
    if kind is None or kind.lastgroup is None:
        return line
    end = "\n" if line.endswith("\n") else ""
    return f"\x1b[{_COLOURS[kind.lastgroup]}m{line.removesuffix(end)}\x1b[0m{end}"


def sdiff(call: Call) -> None:
    """Show files side by side."""
    found, words = options(call, "sw:lWbBEitadHo:", SDIFF_LONG, code=2)
    if any(option in ("-o", "--output") for option, _ in found):
        return  # it asks
    if len(words) < 2:
        raise UsageError(f"missing operand after '{words[0] if words else 'sdiff'}'", 2)
    if len(words) > 2:
        raise UsageError(f"extra operand '{words[2]}'", 2)
    call.name = "diff"
    call.argv = [
        "-y",
        *(part for option, value in found for part in (_SDIFF.get(option, option), value) if part),
        "--",
    ]
    call.argv += words
    diff(call)


def _pair(call: Call, style: Style, left: str, right: str) -> None:
    words = (left, right)
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
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in style.left_out):
            continue
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
    if "E" in style.letters:
        line = line.expandtabs()
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
        if style.formats:
            diff_formats.show(call, style.formats, left, right, changes)
        elif style.form == "y":
            side_by_side(call, style, left, right, changes)
        return 0
    if "q" in style.letters:
        call.line(f"Files {left.name} and {right.name} differ")
        return 1
    if "\0" in (left.lines[:1] + right.lines[:1]):
        call.line(f"Binary files {left.name} and {right.name} differ")
        return 1
    if heading:
        call.line(heading)
    if style.formats:
        diff_formats.show(call, style.formats, left, right, changes)
    else:
        show(call, style, left, right, changes)
    return 1
