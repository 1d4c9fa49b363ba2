"""Which programs of a command are ours: archivers on files (in pipes bytes must pass), ``find`` where it asks for
what bashkit's does not know."""

from __future__ import annotations

import re

from echo_terminal.terminal.wording.words import PLACE

OWN = "__"  # in front of the names of our programs that bashkit has too
_PROGRAM = re.compile(rf"({PLACE})(tar|gzip|gunzip)(?![\w./-])([^;&\n|)}}]*)(\|?)")
_TO_STDOUT = re.compile(
    r"(?:^|\s)(?:-|-[a-zA-Z0-9]*c[a-zA-Z0-9]*|--stdout|--to-stdout)(?=\s|$)|<(?!\s*/dev/null)"
)
_TAR_STREAM = re.compile(r"(?:^|(?<!-T)\s)-(?=\s|$)|--to-command|<")
_TAR_FILE = re.compile(r"^\s*-?\w*f\w*(?:\s|$)|\s-\w*f\w*(?:\s|$)|\s--file\b")
_TAR_MODE = re.compile(r"\s*-?[a-zA-Z]*[cxt]")
_ZCAT = re.compile(r"(\|\s*)zcat(?=\s*(?:$|[|;&)]))")
_FIND = re.compile(rf"({PLACE})find(?=\s)((?:\\.|'[^']*'|\"[^\"]*\"|[^;&\n|)<>`'\"\\])*)")
_FIND_WORD = re.compile(r"(?:(?<=\s)|^)-[a-zA-Z]\w*")
_FIND_ALSO = frozenset(
    (
        "-L -P -H -name -iname -path -wholename -ipath -type -user -group -uid -gid -perm -maxdepth -mindepth -print "
        "-o -print0 -prune -quit -delete -true -false -not -and -or -a -readable -writable -executable -depth -xdev"
    ).split()
)
_FIND_OURS = frozenset("-size -empty -links -samefile -inum -mtime -mmin -newer -printf -ls".split())


def own_find(command: str) -> str:
    """The command with our ``find`` where it looks at sizes, times, links or rights, and starts no program."""
    return _FIND.sub(_chosen_find, command)


def _chosen_find(match: re.Match[str]) -> str:
    before, words = match.groups()
    asked = set(_FIND_WORD.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", words)))
    ours = asked & _FIND_OURS and asked <= _FIND_OURS | _FIND_ALSO
    return f"{before}{OWN}find{words}" if ours else match[0]


_TEE = re.compile(rf"({PLACE})tee(?=\s+[^\s;&|])")
_BYTES = re.compile(r"zip|tar|xz|zcat|base64|xxd|\\x|\\[0-7]{3}|\.dat|\.bin|\.gz|urandom|>\(")
_LS = re.compile(rf"({PLACE})ls(\s[^;&|\n<]*?2>&1)(?!\s*>)")
_SHORT = re.compile(
    rf"({PLACE})(?<!#!)/(?:usr/)?bin/(?=(?:ls|cat|grep|find|sed|awk|sort|head|tail|wc|mkdir|rm|cp|mv|ln|chmod|touch|"
    r"date|printf|tr|cut|uniq|env|seq|stat|du|tar|gzip|diff|tee|xargs|basename|dirname|id|whoami)\s)"
)
_MATCHERS = re.compile(  # two kinds of pattern at once
    rf"({PLACE})grep(?=\s+(?:-\w*(?:[EFG]\w*P|P\w*[EFG])\w*|-([EFGP])\s+-(?!\2)[EFGP])\s)"
)
_SIGNALS = re.compile(r"\b(?:kill|trap) -l(?=\s*(?:$|[|;&\n)]))")
_HISTORY = re.compile(rf"({PLACE})(history|fc)(?=[\s;&|)]|\Z)")
_SUMS = re.compile(
    rf"({PLACE}|(?:\bxargs(?:\s+-\S+)*|-exec(?:dir)?)\s*)"
    r"((?:md5|sha1|sha224|sha256|sha384|sha512|b2)sum|cksum)(?=(?:\s+-\S+)*\s+[^\s;&|<>()-])(?![^;&|\n]*<)"
)


def bytewise(command: str) -> bool:
    """May bytes that are no text pass through its pipes?"""
    return _BYTES.search(command) is not None


def own_programs(command: str, *, tee: bool) -> str:
    """The command with our programs in the places where they are better; with our ``tee``?"""
    if "tar" in command or "z" in command:
        command = own_archivers(command)
    if "2>&1" in command and "ls" in command:
        command = _LS.sub(rf"\1{OWN}ls\2", command)
    if "/bin/" in command:
        command = _SHORT.sub(r"\1", command)
    if "history" in command or "fc" in command:
        command = _HISTORY.sub(rf"\1{OWN}\2", command)
    if " -l" in command:
        command = _SIGNALS.sub(f"{OWN}signals", command)
    if "sum " in command:
        command = own_sums(command)
    if "grep -" in command:
        command = _MATCHERS.sub(rf"\1{OWN}grep", command)
    if "find" in command:
        command = own_find(command)
    if tee and "tee" in command:
        command = _TEE.sub(rf"\1{OWN}tee", command)
    return command


def own_sums(command: str) -> str:
    """The command with our checksums where files are named: bashkit's stop at the first that is missing."""
    return _SUMS.sub(rf"\1{OWN}\2", command)


def own_archivers(command: str) -> str:
    """The command with our programs where archives are files; ``zcat`` in a pipe is bashkit's ``gunzip -c``."""
    return _ZCAT.sub(r"\1gunzip -c", _PROGRAM.sub(_chosen, command))


def _chosen(match: re.Match[str]) -> str:
    before, name, words, pipe = match.groups()
    piped = re.search(r"(?<!\|)\|&?\s*\Z", match.string[: match.start(2)]) is not None
    if piped and not (name == "tar" and "-T" in words):
        return match[0]
    if name == "tar":
        in_file = _TAR_FILE.search(words) is not None
        ours = _TAR_STREAM.search(words) is None and (in_file or not (pipe or _TAR_MODE.match(words)))
    else:
        lists = re.search(r"(?:^|\s)(?:-\w*l\w*|--list)(?=\s)", words) is not None  # text goes into the pipe
        ours = _TO_STDOUT.search(words) is None and (lists or not pipe) and words.strip() != ""
    return f"{before}{OWN}{name}{words}{pipe}" if ours else match[0]
