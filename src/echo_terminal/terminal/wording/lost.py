"""Programs that ``PATH`` does not lead to: bashkit finds its own wherever it leads.

In a command that changes ``PATH``, or behind one, their names become paths where nothing is, and the error texts are
turned back (``real_names``).
"""

from __future__ import annotations

import re

from bashkit import FileSystem

from echo_terminal.terminal.programs.call import NO_ENTRY
from echo_terminal.terminal.programs.xargs import BUILTINS
from echo_terminal.terminal.wording.texts import outside_texts
from echo_terminal.terminal.wording.words import PLACE

FOUND, MISSED, UNSET = (
    "",
    "/usr/.lost/missed/",
    "/usr/.lost/unset/",
)  # what stands before the name of a program
_FOLDERS = frozenset(("/bin", "/usr/bin"))
_ASKS = r"(?:(?:type|command[ \t]+-[vV]|env|xargs|nohup|exec)[ \t]+(?:-[at]+[ \t]+)?)?"
_SET = r"(?:export[ \t]+)?PATH=(?P<value>[^\s;&|()]*)(?P<prefix>[ \t]+(?=[\w./-]))?"
_WORDS = r"(?:if|then|elif|else|while|until|do|time)\b"
_STEP = re.compile(
    rf"(?P<end>\))|(?P<place>{PLACE})(?P<set>{_SET})?(?P<unset>unset[ \t]+(?:-v[ \t]+)?PATH\b)?"
    rf"(?P<asks>{_ASKS}(?:PATH=(?P<other>[^\s;&|()]*)[ \t]+)?)(?P<name>(?!{_WORDS})[\w.-]+(?![\w./=$-]))?"
)
_STARTS = re.compile(r"(?<![\w$])PATH=(?![\"']?\$\{?PATH\b)|\bunset\b")
_MISSED = re.compile(rf"^((?:bash|sh|\S+: line \d+): (?:line \d+: )?){MISSED}(\S+): {NO_ENTRY}$", re.M)


def of(path: str | None) -> str:
    """What becomes of the names of programs with such a ``PATH``."""
    if not path:
        return UNSET
    return FOUND if not _FOLDERS.isdisjoint(path.split(":")) or "$" in path or "~" in path else MISSED


def hidden(command: str, now: str, fs: FileSystem) -> str:
    """The command with the names of programs hidden where ``PATH`` does not lead to them; ``now``: as it begins."""
    if not now and _STARTS.search(command) is None:
        return command
    programs = {entry["name"] for entry in fs.read_dir("/usr/bin")} - BUILTINS

    def change(text: str) -> str:
        state, outer = now, list[str]()
        out, place = "", 0
        for match in _STEP.finditer(text):
            if match["end"]:
                state = outer.pop() if outer else state
                continue
            outer += [state] * match["place"].count("(")
            here = state
            if match["set"]:
                value = match["value"].strip("\"'")
                here = state if re.search(r"\$\{?PATH\b", value) else of(value)
                state = state if match["prefix"] else here
            elif match["unset"]:
                here = state = UNSET
            if match["other"] is not None:
                here = of(match["other"])
            if here and match["name"] in programs:
                out += text[place : match.start("name")] + here
                place = match.start("name")
        return out + text[place:]

    return outside_texts(command, change)


def real_names(text: str) -> str:
    """Error texts with the names of programs as they were typed."""
    return _MISSED.sub(r"\1\2: command not found", text).replace(MISSED, "").replace(UNSET, "")
