"""A command in words that bashkit runs as bash does: our programs in their places, and the forms that it knows.

``tr`` gets another name, because bashkit runs a ``tr`` behind ``cat``, ``grep`` or ``tr`` before it has input.
"""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.files.masking import told
from echo_terminal.terminal.programs.text.columns import REGULAR
from echo_terminal.terminal.programs.text.devices import own_devices
from echo_terminal.terminal.programs.text.ending import own_ends
from echo_terminal.terminal.programs.xargs import own_xargs
from echo_terminal.terminal.wording.calling import scripts_called
from echo_terminal.terminal.wording.codes import nul_codes, plain_codes
from echo_terminal.terminal.wording.conditions import conditions
from echo_terminal.terminal.wording.dash import as_dash
from echo_terminal.terminal.wording.jq_programs import defined
from echo_terminal.terminal.wording.opening import openings
from echo_terminal.terminal.wording.piping import OWN, own_programs
from echo_terminal.terminal.wording.refusing import refusals
from echo_terminal.terminal.wording.repeatable import repeatable
from echo_terminal.terminal.wording.sed_scripts import by_gnu_rules
from echo_terminal.terminal.wording.subscripts import plain_subscripts
from echo_terminal.terminal.wording.texts import outside_texts, unended
from echo_terminal.terminal.wording.words import PLACE

_TOOL = re.compile(
    rf"({PLACE})(?:(tr)(?=[ \n;|&)]|$)|(tail) +(\+\d+)(c?)(?=\s|$)|(head|tail) +-(\d+)c(?=\s|$))", re.M
)
_STDIN = re.compile(r"\bbash -s (?:-- )?(?=[^\s<>|;&])")  # a script that comes in, with arguments
_RANGE = re.compile(r"(?<=[\s(])([\w./-]*)\{(-?\d+)\.\.(-?\d+)(?:\.\.-?(\d+))?\}([\w./-]*)(?=[\s;&|)]|\Z)")
_MOST = 10_000  # words that bashkit makes of a range
_COUNTS = re.compile(r"\bwc\s+(?=(?:-[lwcmL]+\s*)*<\s*[^<(\s])")


def reworded(command: str) -> str:
    """The command, but texts in it (``texts.to_keep``) as they are."""
    command = as_dash(command) if "sh" in command else command
    command = plain_codes(command) if "\\u" in command or "\\U" in command else command
    command = plain_subscripts(command) if "[" in command and "${" in command else command
    if "<<" in command and command[-1:] != "\n" and unended(command):
        command += "\n"  # bash ends the last line of such a document
    command = nul_codes(command) if "\\x0" in command else command
    if "sed" in command:
        command = by_gnu_rules(command)
    command = defined(command) if "jq" in command else command
    command = repeatable(command)
    command = outside_texts(command, lambda text: _forms(own_programs(text)))
    return scripts_called(command) if "/" in command or "sh" in command else command


def _forms(command: str) -> str:
    command = openings(refusals(command))
    if "tail" in command or "head" in command:
        command = own_ends(command)
    if "umask" in command:
        command = told(command)
    if "/dev/" in command:
        command = own_devices(command)
    if ".." in command:
        command = _RANGE.sub(_ranged, command)
    if "bash -s " in command:
        command = _STDIN.sub("bash -c 'eval \"$(cat)\"' bash ", command)
    if "xargs" in command:
        command = own_xargs(command)
    if "[[" in command:
        command = conditions(command)
    if "<" in command:
        command = _COUNTS.sub(rf"\g<0>{REGULAR} ", command)
    if "tr" in command or "tail +" in command or "head -" in command or "tail -" in command:
        command = _TOOL.sub(_form, command)
    return command


def _form(match: re.Match[str]) -> str:
    before, name, tail, first, unit, ends, count = match.groups()
    if name:
        return f"{before}{OWN}tr"
    return f"{before}{tail} -{unit or 'n'} {first}" if tail else f"{before}{ends} -c {count}"


def _ranged(match: re.Match[str]) -> str:
    before, first, last, by, after = match.groups()
    start, end, step = int(first), int(last), max(int(by or 1), 1)
    if abs(end - start) // step < _MOST:
        return match[0]
    wide = " -w" if re.search(r"^-?0\d", first) or re.search(r"^-?0\d", last) else ""
    style = f" -f {before}%.0f{after}" if before or after else ""
    return f"$(seq{wide}{style} {start if not wide else first} {step if end > start else -step} {last})"
