"""Error texts of coreutils 9.1 where bashkit words them differently, and how they quote names."""

from __future__ import annotations

import re

from echo_terminal.terminal.shims.call import NO_ENTRY, shown

_RULES = tuple((re.compile(pattern, re.M), new) for pattern, new in (
    (r"^fold: (invalid number of columns: )'-w(\d+)'$", r"fold: \1'-\2'"),
    (r"^fold: (invalid number of columns: '0')$", r"fold: \1: Numerical result out of range"),
    (r"^expand: invalid tab size: ('.*')$", r"expand: tab size contains invalid character(s): \1"),
    (r"^sort: invalid field specification '\d+,(\D.*)': (invalid number after ',')$",
     r"sort: \2: invalid count at start of '\1'"),
    (r"^sort: (invalid field specification '.*'): (character offset is zero)$", r"sort: \2: \1"),
    (r"^sort: multi-character tab '\\(.)'$", r"sort: multi-character tab '\\\\\1'"),
    (r"^head: (invalid number of (?:lines|bytes): )'-(.*)'$", r"head: \1'\2'"),
    (rf"^(hexdump: .*: {NO_ENTRY})$(?!\nhexdump)", r"\1\nhexdump: all input file arguments failed"),
    (rf"^strings: (.+): {NO_ENTRY}$", r"strings: '\1': No such file"),
    (rf"^(bzcat|bunzip2): (?!Can't)(.+): {NO_ENTRY}$", rf"\1: Can't open input file \2: {NO_ENTRY}."),
    (r"^grep: Parsing error at position \d+: Invalid character class$",
     "grep: missing terminating ] for character class"),
    (r"^grep: Parsing error at position \d+: Target of repeat operator is invalid$",
     "grep: quantifier does not follow a repeatable item"),
))  # fmt: skip
_MAY = re.compile(r"invalid|multi-character|hexdump|strings|bzcat|bunzip2|Parsing error")
_QUOTING = (
    "cat nl md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum cut od base64 base32 paste "
    "uniq fold expand unexpand comm shuf join tsort"
)
_NAMED = re.compile(
    rf"^({'|'.join(_QUOTING.split())}|sort: (?:cannot read|read failed|open failed)): "
    rf"(?!['\"]|read error|cannot |failed )(.+)(: (?:{NO_ENTRY}|Is a directory|Permission denied))$",
    re.M,
)
_UNKNOWN = re.compile(r"^(grep: unrecognized option '(--[\w-]+))'$", re.M)


def of_coreutils(text: str, command: str) -> str:
    """An error text in the words of coreutils; the command tells what followed an unknown option of ``grep``."""
    if "grep: unrecognized" in text:
        text = _UNKNOWN.sub(lambda m: f"{m[1]}{_value(m[2], command)}'", text)
    if _MAY.search(text) is not None:
        for pattern, new in _RULES:
            text = pattern.sub(new, text)
    return _NAMED.sub(lambda found: f"{found[1]}: {shown(found[2])}{found[3]}", text)


def _value(option: str, command: str) -> str:
    found = re.search(rf"{option}(=[^\s'\"]*)", command)
    return found[1] if found else ""
