"""How error texts of coreutils 9.1 quote names, and what ``grep`` repeats of an unknown option."""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.call import NO_ENTRY, shown

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
    return _NAMED.sub(lambda found: f"{found[1]}: {shown(found[2])}{found[3]}", text)


def _value(option: str, command: str) -> str:
    found = re.search(rf"{option}(=[^\s'\"]*)", command)
    return found[1] if found else ""
