"""File modes: ``chmod`` after GNU coreutils 9.1, and the modes that it reads."""

from __future__ import annotations

import posixpath
import re

from echo_terminal.terminal.programs.call import Call, UsageError, mode_text, options, quote

UMASK = 0o022
_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=](?:[ugo]|[rwxXst]*))+)")
_STEP = re.compile(r"([-+=])([ugo]|[rwxXst]*)")
_SHIFT = {"u": 6, "g": 3, "o": 0}


def parse_mode(text: str, old: int, *, folder: bool) -> int | None:
    """The mode that octal digits or symbols such as ``u+x,g-w`` make of ``old``; None where they say nothing."""
    if re.fullmatch("[0-7]{1,5}", text):
        return int(text, 8) if int(text, 8) <= 0o7777 else None
    mode = old
    for clause in text.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            return None
        for sign, letters in _STEP.findall(match[2]):
            mode = _step(mode, match[1], sign, letters, folder)
    return mode


def _step(mode: int, who: str, sign: str, letters: str, folder: bool) -> int:
    classes = "ugo" if not who or "a" in who else who
    value = 0
    for letter in letters:
        if letter in "ugo":
            value |= mode >> _SHIFT[letter] & 7
        elif letter == "X":
            value |= 1 if folder or mode & 0o111 else 0
        elif letter in "rwx":
            value |= {"r": 4, "w": 2, "x": 1}[letter]
    bits = sum(value << _SHIFT[c] for c in dict.fromkeys(classes))
    if "s" in letters:
        bits |= (0o4000 if "u" in classes else 0) | (0o2000 if "g" in classes else 0)
    if "t" in letters:
        bits |= 0o1000
    if not who:
        bits &= ~UMASK
    if sign == "+":
        return mode | bits
    if sign == "-":
        return mode & ~bits
    cleared = sum(7 << _SHIFT[c] for c in dict.fromkeys(classes))
    return mode & ~cleared | bits


def chmod(call: Call) -> None:
    """Change file modes."""
    argv = list(call.argv)
    words, flags, mode_word = [], [], None
    for position, word in enumerate(argv):
        if word == "--":
            words += argv[position + 1 :]
            break
        if re.fullmatch(r"-[rwxXst]+(,.*)?|-[ugo]", word) and mode_word is None and not words:
            mode_word = word
        elif word.startswith("-") and len(word) > 1:
            flags.append(word)
        else:
            words.append(word)
    call.argv = flags
    found, _ = options(
        call, "cfvR", ["changes", "silent", "quiet", "verbose", "recursive", "reference=", "preserve-root"]
    )
    names = {option for option, _ in found}
    reference = next((value for option, value in found if option == "--reference"), None)
    if mode_word is None and reference is None:
        if not words:
            raise UsageError("missing operand")
        mode_word = words.pop(0)
        if not words:
            raise UsageError(f"missing operand after {quote(mode_word)}")
    elif not words:
        raise UsageError("missing operand")
    if reference is not None:
        meta = call.stat(call.path(reference))
        if meta is None:
            raise UsageError(
                f"failed to get attributes of {quote(reference)}: No such file or directory", hint=False
            )
        mode_word = f"{meta.mode:o}"
    assert mode_word is not None
    if parse_mode(mode_word, 0, folder=False) is None:
        raise UsageError(f"invalid mode: {quote(mode_word)}")
    for word in words:
        _chmod(call, word, mode_word, names)


def _chmod(call: Call, word: str, mode_word: str, names: set[str]) -> None:
    path = call.path(word)
    meta = call.stat(path)
    if meta is None:
        link = call.lstat(path)
        text = "cannot operate on dangling symlink" if link is not None else "cannot access"
        reason = "" if link is not None else f": {call.why_missing(word)}"
        call.fail(f"{text} {quote(word)}{reason}")
        return
    new = parse_mode(mode_word, meta.mode, folder=meta.kind == "directory")
    assert new is not None
    call.clock.modes.pop(path, None)
    if new != meta.mode:
        call.fs.chmod(path, new)
    before, after = (f"{m:04o} ({mode_text(m, 'file')[1:]})" for m in (meta.mode, new))
    if new != meta.mode and names & {"-v", "-c", "--verbose", "--changes"}:
        call.line(f"mode of {quote(word)} changed from {before} to {after}")
    elif names & {"-v", "--verbose"}:
        call.line(f"mode of {quote(word)} retained as {after}")
    if names & {"-R", "--recursive"} and meta.kind == "directory":
        for name, child in call.children(path).items():
            if child.kind != "symlink":
                _chmod(call, posixpath.join(word, name), mode_word, names)
