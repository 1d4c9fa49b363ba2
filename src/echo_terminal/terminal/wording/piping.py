"""Which programs of a command are ours: those that work on bytes, ``find`` where it asks for what bashkit's does not
know.

bashkit hands texts to a program of ours. In pipes and redirections it is called by ``BYTEWISE``, a function that hands
it base64 and takes base64 from it.
"""

from __future__ import annotations

import re

from echo_terminal.terminal.wording.words import PLACE

OWN = "__"  # in front of the names of our programs that bashkit has too
CODED = "--coded"  # the first word of a call whose input and output are base64
BYTEWISE = f"{OWN}bytewise"
WHICH, KILLING = f"{OWN}which", f"{OWN}kill_late"
NUMBERS, JQ, RAW_JQ = f"{OWN}numbers", f"{OWN}jq", f"{OWN}raw_jq"
FUNCTIONS = {  # of the shell, each in one line, for commands in which their names stand
    BYTEWISE: f'{BYTEWISE}() {{ base64 -w 0 | "$1" {CODED} "${{@:2}}" | base64 -d; return "${{PIPESTATUS[1]}}"; }}',
    # Every program is in /usr/bin, which is /bin too.
    WHICH: WHICH
    + '() { local all= name found code=0; while true; do case "$1" in -a) all=1; shift;; -?*) echo "Illegal option '
    '${1:0:2}" >&2; echo "Usage: /usr/bin/which [-a] args"; return 2;; *) break;; esac; done; [ $# -gt 0 ] || '
    'return 1; for name; do if found=$(which "$name"); then echo "$found"; case "$all$found" in 1/usr/bin/*) '
    'echo "${found#/usr}";; esac; else code=1; fi; done; return $code; }',
    JQ: f'{JQ}() {{ "$@" | {NUMBERS}; return "${{PIPESTATUS[0]}}"; }}',
    RAW_JQ: f'{RAW_JQ}() {{ "$@" | {NUMBERS} raw; return "${{PIPESTATUS[0]}}"; }}',
    KILLING: KILLING + '() { timeout "$@"; local code=$?; [ $code -eq 124 ] && return 137; return $code; }',
}
_WHICH = re.compile(rf"({PLACE})which(?=[ \t]+-|[ \t]*(?:[;&|)\n]|\Z))")
_KILL = re.compile(
    rf"({PLACE})timeout(?=(?:[ \t]+-\S+){{0,9}}?[ \t]+(?:-s[ \t]*|--signal[= ])(?:SIG)?(?:KILL|9)[ \t])"
)
_PROGRAMS = (
    "tar gzip gunzip zcat xz unxz xzcat bzip2 bunzip2 bzcat xxd hexdump hd base64 base32 basenc iconv openssl cksum "
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum"
)
NAMES = (  # of programs that may be ours
    *_PROGRAMS.split(),
    *"xargs find head tail tr tee ls grep history fc env printenv wc cut cmp sort sed touch which".split(),
)
_PROGRAM = re.compile(
    rf"(?:({PLACE})|((?:\bxargs(?:\s+-\S+){{0,9}}|-exec(?:dir)?)\s+))({'|'.join(_PROGRAMS.split())})(?![\w./-])"
    r"([^;&\n|()}]*)(?=(\|?))"
)
_ALSO = re.compile(r"(\|[ \t]*)(wc|cut|tr|cmp|tee)(?=\s|\Z|[;&|)])")  # behind a pipe, where bytes may pass
_NAMED = re.compile(r"tar|zip|zcat|xz|bzcat|xxd|hexdump|hd\b|base(?:64|32|nc)|iconv|openssl|sum\b")
_DASH = re.compile(r"\s-(?=\s|\Z)")
_PLAIN = re.compile(r"(?:\w+sum|base64(?:\s+-w\s*0)?|xxd(?:\s+-p)?)\s*(?:<<<\s*\S+\s*|<\s*[\w./-]+\s*)?")
_PIPED = re.compile(r"(?<!\|)\|&?\s*\Z")
_GROUPS = ("(", "{", "do", "then", "else")  # whose input is that of a program in them without words
_WORDS = re.compile(r"\s[^\s-]")
_GROUPED = re.compile(r"\s*(?:;[^(){}|&\n]{0,200})?[)}]\s*[|>]")  # the end of a group, whose output goes on
_FIND = re.compile(rf"({PLACE})find(?=\s)((?:\\.|'[^']*'|\"[^\"]*\"|[^;&\n|)<>`'\"\\])*)")
_FIND_WORD = re.compile(r"(?:(?<=\s)|^)-[a-zA-Z]\w*")
_FIND_ALSO = frozenset(
    (
        "-L -P -H -name -iname -path -wholename -ipath -type -user -group -uid -gid -perm -maxdepth -mindepth -print "
        "-o -print0 -prune -quit -delete -true -false -not -and -or -a -readable -writable -executable -depth -xdev"
    ).split()
)
_FIND_OURS = frozenset("-size -empty -links -samefile -inum -mtime -mmin -newer -newermt -printf -ls".split())


def own_find(command: str) -> str:
    """The command with our ``find`` where it looks at sizes, times, links or rights, and starts no program."""
    return _FIND.sub(_chosen_find, command)


def _chosen_find(match: re.Match[str]) -> str:
    before, words = match.groups()
    asked = set(_FIND_WORD.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", words)))
    ours = asked & _FIND_OURS and asked <= _FIND_OURS | _FIND_ALSO
    return f"{before}{OWN}find{words}" if ours else match[0]


_TEE = re.compile(rf"({PLACE})tee(?=\s+[^\s;&|])")
_BYTES = re.compile(
    r"(?<![a-zA-Z])(?:tar|g?zip|gunzip|unzip|zcat|xz|unxz|xzcat|bzip2|bunzip2|bzcat|xxd|od|base64|hexdump|iconv|openssl)(?![a-zA-Z])"
    r"|\\x|\\[0-7]{3}|\.dat|\.bin|\.gz|random|>\(|\|[ \t]*cmp\b|\b(?:cat|head|tail)\b[^;&|\n]{0,200}\|[ \t]*tee\b"
)
_LS = re.compile(rf"({PLACE})ls(\s[^;&|\n<]{{0,500}}?2>&1)(?!\s*>)")
_HISTORY = re.compile(
    rf"({PLACE}|\b(?:(?:ba|da)?sh -\w*c|eval|trap) ['\"])(history|fc)(?![\w-])(?=[ \t]*(?:[-\w]|[;&|)\n>'\"]|\Z))"
)
_SHORT = re.compile(
    rf"({PLACE})(?<!#!)/(?:usr/)?bin/(?=(?:ls|cat|grep|find|sed|awk|sort|head|tail|wc|mkdir|rm|cp|mv|ln|chmod|touch|"
    r"date|printf|tr|cut|uniq|env|seq|stat|du|tar|gzip|diff|tee|xargs|basename|dirname|id|whoami)\s)"
)
_MATCHERS = re.compile(  # two kinds of pattern at once
    rf"({PLACE})grep(?=\s+(?:-\w*(?:[EFG]\w*P|P\w*[EFG])\w*|-([EFGP])\s+-(?!\2)[EFGP])\s)"
)
_SIGNALS = re.compile(r"\b(?:kill|trap) -l(?=\s*(?:$|[|;&\n)]))")
_ENVIRONMENT = re.compile(rf"({PLACE})((?:print)?env)(?=[ \t]*(?:[|;&)\n>]|\Z|\d>))")


def bytewise(command: str) -> bool:
    """May bytes that are no text pass through its pipes?"""
    return _BYTES.search(command) is not None


def own_lists(command: str) -> str:
    """The command with our programs for the list of commands before it, in which bashkit's show what the engine ran."""
    return _HISTORY.sub(rf"\1{OWN}\2", command) if "history" in command or "fc" in command else command


def own_programs(command: str) -> str:
    """The command with our programs in the places where they are better."""
    if _NAMED.search(command) is not None:
        command = _PROGRAM.sub(_called, command)
    if "2>&1" in command and "ls" in command:
        command = _LS.sub(rf"\1{OWN}ls\2", command)
    if "which" in command:
        command = _WHICH.sub(rf"\1{WHICH}", command)
    if "timeout -" in command:
        command = _KILL.sub(rf"\1{KILLING}", command)
    if "/bin/" in command:
        command = _SHORT.sub(r"\1", command)
    command = own_lists(command)
    if "env" in command:
        command = _ENVIRONMENT.sub(rf"\1{OWN}\2", command)
    if " -l" in command:
        command = _SIGNALS.sub(f"{OWN}signals", command)
    if "grep -" in command:
        command = _MATCHERS.sub(rf"\1{OWN}grep", command)
    if "find" in command:
        command = own_find(command)
    if bytewise(command):
        return _ALSO.sub(rf"\1{BYTEWISE} {OWN}\2", command)
    return _TEE.sub(rf"\1{OWN}tee", command) if "tee" in command else command


def _called(match: re.Match[str]) -> str:
    place, starter, name, words, pipe = match.groups()
    if starter is not None:
        return f"{starter}{OWN}{name}{words}"
    passes = pipe or "<" in words or ">" in words or _DASH.search(words) is not None
    passes = passes or (place is not None and place.strip() in _GROUPS and _WORDS.search(words) is None)
    passes = passes or _GROUPED.match(match.string, match.end()) is not None
    passes = passes or _PIPED.search(match.string, max(0, match.start(3) - 100), match.start(3)) is not None
    if passes and _PLAIN.fullmatch(name + words) is not None:
        return match[0]  # what comes in is read by bashkit's as well
    return f"{place}{BYTEWISE + ' ' if passes else ''}{OWN}{name}{words}"
