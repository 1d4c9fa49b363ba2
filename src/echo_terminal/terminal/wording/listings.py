"""What a command writes to its standard output, in the words of real programs and without those of the engine."""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.versions import real_versions
from echo_terminal.terminal.wording.calling import RUN
from echo_terminal.terminal.wording.messages import real_messages
from echo_terminal.terminal.wording.opening import SAME
from echo_terminal.terminal.wording.piping import BYTEWISE, JQ, KILLING, NAMES, OWN, RAW_JQ

LONGEST = 1 << 16  # characters of output that may hold error texts; a flood holds none that anybody reads
_LISTS = re.compile(
    r"\b(?:compgen|declare|typeset|set|type|alias|trap|BASH_COMMAND)\b|\$\{?_\b"
)  # what the shell has: ours are not to be seen
_LAST = re.compile(r"^declare -x _=.*\n", re.M)  # bashkit exports the last word
_LISTED = re.compile(rf"^(?:declare -f )?{OWN}[a-z]\w*(?: \(\) *\n[{{(].*?^[}})])?\n", re.M | re.S)
_TYPED = (  # how functions are shown, and what was typed
    (re.compile(rf"\b(?:{BYTEWISE}|{JQ}|{RAW_JQ}|{RUN} \$LINENO) "), ""),
    (re.compile(r'"\$\(__open \S+ ((?:[^()\n]|\$\w)*)\)"'), r"\1"),
    (re.compile(r"\{ *\n? *(umask [^\n]*) && __mask \"\$\(umask\)\"(?:;?\n? *\}| *; *\})"), r"\1"),
    (re.compile(rf"{re.escape(SAME)}([^\s;]*)"), lambda match: match[1].replace("%2f", "/")),
    (re.compile(rf"\b{OWN}signals\b"), "kill -l"),
    (re.compile(rf"\b{KILLING}\b"), "timeout"),
    (re.compile(rf"\b{OWN}refuse (?=[a-z])"), ""),
    (re.compile(rf"\b{OWN}(?:run_)?({'|'.join(NAMES)})\b"), r"\1"),
)


def real_output(text: str, command: str, folders: tuple[str, ...]) -> str:
    """The output of a command; ``folders``: see ``real_messages``."""
    if len(text) <= LONGEST and ("&1" in command or "|&" in command or "&>" in command):
        text = real_messages(text, command, folders)
    elif "--version" in command:
        text = real_versions(text)
    if "declare -x _=" in text:
        text = _LAST.sub("", text)
    if (OWN not in text and SAME not in text) or _LISTS.search(command) is None:
        return text
    text = _LISTED.sub("", text)
    for pattern, typed in _TYPED if OWN in text or SAME in text else ():
        text = pattern.sub(typed, text)
    return text
