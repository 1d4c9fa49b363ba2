"""What a command writes to its standard output, in the words of real programs and without those of the engine."""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.versions import real_versions
from echo_terminal.terminal.wording.messages import real_messages
from echo_terminal.terminal.wording.piping import OWN

LONGEST = 1 << 16  # characters of output that may hold error texts; a flood holds none that anybody reads
_LISTS = re.compile(
    r"\b(?:compgen|declare|typeset|set|type|alias|trap)\b"
)  # what the shell has: ours are not to be seen
_LAST = re.compile(r"^declare -x _=.*\n", re.M)  # bashkit exports the last word
_LISTED = re.compile(rf"^(?:declare -f )?{OWN}[a-z]\w*(?: \(\) *\n[{{(].*?^[}})])?\n", re.M | re.S)
_NAMED = re.compile(
    rf"\b{OWN}(?:run_)?(xargs|find|head|tail|tr|tar|gzip|gunzip|sed|tee|ls|grep|history|fc|\w+sum)\b"
)


def real_output(text: str, command: str, folders: tuple[str, ...]) -> str:
    """The output of a command; ``folders``: see ``real_messages``."""
    if len(text) <= LONGEST and ("&1" in command or "|&" in command or "&>" in command):
        return real_messages(text, command, folders)
    if "--version" in command:
        return real_versions(text)
    if "declare -x _=" in text:
        text = _LAST.sub("", text)
    if OWN not in text or _LISTS.search(command) is None:
        return text
    return _NAMED.sub(r"\1", _LISTED.sub("", text))
