"""First lines of ``--version`` of the programs that stand here for those of Debian 12."""

from __future__ import annotations

import re

_FAMILIES = {
    "GNU coreutils) 9.1":
        "b2sum base32 base64 basename cat chgrp chmod chown cksum comm cp cut date dd df dirname du env "
        "expand expr fmt fold head id join ln ls md5sum mkdir mktemp mv nl nproc numfmt od paste pr printenv "
        "pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum shuf sleep sort "
        "split stat sum tac tail tee timeout touch tr truncate tsort uname unexpand uniq wc whoami yes",
    "GNU findutils) 4.9.0": "find xargs",
    "GNU diffutils) 3.8": "diff cmp",
    "GNU grep) 3.8": "grep",
    "GNU sed) 4.9": "sed",
    "GNU tar) 1.34": "tar",
}  # fmt: skip
VERSIONS = {
    **{name: f"{name} ({family}" for family, names in _FAMILIES.items() for name in names.split()},
    "gzip": "gzip 1.12",
    "gunzip": "gunzip (gzip) 1.12",
    "patch": "GNU patch 2.7.6",
    "xz": "xz (XZ Utils) 5.4.1",
    "column": "column from util-linux 2.38.1",
    "file": "file-5.44",
    "xxd": "xxd 2022-01-14 by Juergen Weigert et al.",
}


def real_versions(text: str) -> str:
    """Output of ``--version`` with the names of the programs that bashkit stands for."""
    bash = "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)"
    text = re.sub(r"Bashkit \S+ \(virtual bash.*\)", bash, text)
    text = re.sub(r"^jq-1\.8$", "jq-1.6", text, flags=re.M)
    return re.sub(r"^(\w+) \(bashkit\) \S+$", lambda m: VERSIONS.get(m[1], m[0]), text, flags=re.M)
