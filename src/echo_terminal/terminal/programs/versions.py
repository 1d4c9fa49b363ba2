"""What programs print for ``--version``, as Debian 12 has them; of a few the first line alone."""

from __future__ import annotations

import re

_LICENSE = """License GPLv3+: GNU GPL version 3 or later <https://gnu.org/licenses/gpl.html>.
This is free software: you are free to change and redistribute it.
There is NO WARRANTY, to the extent permitted by law.
"""
_COREUTILS = {
    "mkdir rmdir basename install date nice uname yes fold expand unexpand tty": "David MacKenzie",
    "rm": "Paul Rubin, David MacKenzie, Richard M. Stallman,\nand Jim Meyering",
    "mv": "Mike Parker, David MacKenzie, and Jim Meyering",
    "cp": "Torbjorn Granlund, David MacKenzie, and Jim Meyering",
    "ln": "Mike Parker and David MacKenzie",
    "chmod chown chgrp dirname head": "David MacKenzie and Jim Meyering",
    "stat": "Michael Meskes",
    "touch": "Paul Rubin, Arnold Robbins, Jim Kingdon,\nDavid MacKenzie, and Randy Smith",
    "du": "Torbjorn Granlund, David MacKenzie, Paul Eggert,\nand Jim Meyering",
    "df": "Torbjorn Granlund, David MacKenzie, and Paul Eggert",
    "readlink": "Dmitry V. Levin",
    "realpath truncate timeout": "Padraig Brady",
    "mktemp": "Jim Meyering and Eric Blake",
    "split cat": "Torbjorn Granlund and Richard M. Stallman",
    "unlink link": "Michael Stone",
    "tail": "Paul Rubin, David MacKenzie, Ian Lance Taylor,\nand Jim Meyering",
    "tac": "Jay Lepreau and David MacKenzie",
    "nl": "Scott Bartram and David MacKenzie",
    "ls dir vdir uniq comm": "Richard M. Stallman and David MacKenzie",
    "seq": "Ulrich Drepper",
    "expr": "Mike Parker, James Youngman, and Paul Eggert",
    "env": "Richard Mlynarik, David MacKenzie, and Assaf Gordon",
    "tee": "Mike Parker, Richard M. Stallman, and David MacKenzie",
    "nohup tr od": "Jim Meyering",
    "sleep": "Jim Meyering and Paul Eggert",
    "printenv": "David MacKenzie and Richard Mlynarik",
    "id": "Arnold Robbins and David MacKenzie",
    "whoami": "Richard Mlynarik",
    "logname": "FIXME: unknown",
    "groups": "David MacKenzie and James Youngman",
    "nproc": "Giuseppe Scrivano",
    "arch": "David MacKenzie and Karel Zak",
    "numfmt": "Assaf Gordon",
    "factor": "Paul Rubin, Torbjorn Granlund, and Niels Moller",
    "shuf": "Paul Eggert",
    "tsort": "Mark Kettenis",
    "base64 base32": "Simon Josefsson",
    "md5sum sha1sum sha256sum sha512sum": "Ulrich Drepper, Scott Miller, and David Madore",
    "b2sum": "Padraig Brady and Samuel Neves",
    "cksum": "Padraig Brady and Q. Frank Xia",
    "sum": "Kayvan Aghaiepour and David MacKenzie",
    "wc": "Paul Rubin and David MacKenzie",
    "sort": "Mike Haertel and Paul Eggert",
    "cut": "David M. Ihnat, David MacKenzie, and Jim Meyering",
    "join": "Mike Haertel",
    "paste": "David M. Ihnat and David MacKenzie",
    "fmt": "Ross Paterson",
    "pr": "Pete TerMaat and Roland Huebner",
    "sync": "Jim Meyering and Giuseppe Scrivano",
    "users": "Joseph Arceneaux and David MacKenzie",
    "who": "Joseph Arceneaux, David MacKenzie, and Michael Stone",
}
_GREP = "Mike Haertel and others; see\n<https://git.sv.gnu.org/cgit/grep.git/tree/AUTHORS>"
_FIND = "Eric B. Decker, James Youngman, and Kevin Dalley"


def _text(title: str, year: int, authors: str) -> str:
    copyright_ = f"Copyright (C) {year} Free Software Foundation, Inc."
    return f"{title}\n{copyright_}\n{_LICENSE}\nWritten by {authors}.\n"


VERSIONS = {
    **{
        name: _text(f"{name} (GNU coreutils) 9.1", 2022, authors)
        for names, authors in _COREUTILS.items()
        for name in names.split()
    },
    "dd": _text("dd (coreutils) 9.1", 2022, "Paul Rubin, David MacKenzie, and Stuart Kemp"),
    "grep": _text("grep (GNU grep) 3.8", 2022, _GREP),
    "egrep": _text("grep (GNU grep) 3.8", 2022, _GREP),
    "xargs": _text("xargs (GNU findutils) 4.9.0", 2022, _FIND),
    "find": _text("find (GNU findutils) 4.9.0", 2022, _FIND)
    + "Features enabled: D_TYPE O_NOFOLLOW(enabled) LEAF_OPTIMISATION FTS(FTS_CWDFD) CBO(level=2) \n",
    "diff": _text(
        "diff (GNU diffutils) 3.8",
        2021,
        "Paul Eggert, Mike Haertel, David Hayes,\nRichard Stallman, and Len Tower",
    ),
    "cmp": _text("cmp (GNU diffutils) 3.8", 2021, "Torbjorn Granlund and David MacKenzie"),
    "tar": _text("tar (GNU tar) 1.34", 2021, "John Gilmore and Jay Fenlason"),
    "jq": "jq-1.6\n",
    "rev": "rev from util-linux 2.38.1\n",
    "column": "column from util-linux 2.38.1\n",
    "hexdump": "hexdump from util-linux 2.38.1\n",
    "hostname": "hostname 3.23\n",
    "xz": "xz (XZ Utils) 5.4.1\nliblzma 5.4.1\n",
    "file": "file-5.44\nmagic file from /etc/magic:/usr/share/misc/magic\n",
    "gzip": "gzip 1.12\n",
    "gunzip": "gunzip (gzip) 1.12\n",
    "patch": "GNU patch 2.7.6\n",
    "sed": "sed (GNU sed) 4.9\n",
}

USES = {  # the first line that programs written here print for ``--help``
    "tar": "Usage: tar [OPTION...] [FILE]...\n",
    "diff": "Usage: diff [OPTION]... FILES\n",
    "cmp": "Usage: cmp [OPTION]... FILE1 [FILE2 [SKIP1 [SKIP2]]]\n",
    "sdiff": "Usage: sdiff [OPTION]... FILE1 FILE2\n",
    "patch": "Usage: patch [OPTION]... [ORIGFILE [PATCHFILE]]\n",
    "gzip": "Usage: gzip [OPTION]... [FILE]...\n",
    "gunzip": "Usage: /usr/bin/gunzip [OPTION]... [FILE]...\n",
    "hexdump": "\nUsage:\n hexdump [options] <file>...\n",
    "xz": "Usage: xz [OPTION]... [FILE]...\n",
    "iconv": "Usage: iconv [OPTION...] [FILE...]\n",
    "getopt": "\nUsage:\n getopt <optstring> <parameters>\n",
    **{
        name: f"Usage: {name} [OPTION]... [FILE]...\n"
        for name in (
            "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum ls dir vdir uniq wc comm du tail head"
        ).split()
    },
    **{name: f"Usage: {name} [OPTION]... [FILE]\n" for name in ("base32", "base64", "basenc")},
}


def real_versions(text: str) -> str:
    """Output of ``--version`` with the names of the programs that bashkit stands for."""
    bash = "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)"
    text = re.sub(r"Bashkit \S+ \(virtual bash.*\)", bash, text)
    text = re.sub(r"^jq-1\.8$", "jq-1.6", text, flags=re.M)
    return re.sub(
        r"^(\w+) \(bashkit\) \S+$", lambda m: VERSIONS.get(m[1], m[0]).partition("\n")[0], text, flags=re.M
    )
