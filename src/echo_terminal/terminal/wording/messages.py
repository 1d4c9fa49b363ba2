"""Error texts of bashkit turned into those of bash, GNU tools and Debian's others."""

from __future__ import annotations

import re

from echo_terminal.terminal.programs.call import NO_ENTRY
from echo_terminal.terminal.wording import lost
from echo_terminal.terminal.wording.coreutils_words import of_coreutils
from echo_terminal.terminal.wording.dash import dash_words
from echo_terminal.terminal.wording.grammar import sourced, without_repeats
from echo_terminal.terminal.wording.opening import FIXED, SAME, real_names
from echo_terminal.terminal.wording.permissions import DENIED
from echo_terminal.terminal.wording.sed_scripts import refuses
from echo_terminal.terminal.wording.starting import started
from echo_terminal.terminal.wording.wordings import in_real_words

_ON_PATHS = (
    "sort uniq cut nl comm paste column wc shuf join diff realpath tac fold fmt rev expand tee head tail"
)
_OWN_SHELL = re.compile(r"\b(?:ba)?sh\s+(?:-\S+\s+)*-\w*c\b|\bbash\s*(?:-s\s*)?<<|\|\s*bash\s*$")
_LINE = re.compile(r"(?:^|(?<=[\[\"'(=<>| :]))bash: (?:-c: )?line \d+: ", re.M)
_CLOSED = re.compile(rf"^(.*){DENIED}(.*?)(?:{NO_ENTRY}|Read-only file system|Not a directory)", re.M)
_STARTERS = re.compile(r"\b(?:nice|nohup|env|timeout|xargs|exec(?:dir)?)\b")
_CONTROL = re.compile(r"[\t\r]")
_UNPRINTED = re.compile(  # names with letters that do not show
    r"^((?:bash|[^\s:]+: line \d+): (?:cd: |syntax error near unexpected token `)?)([^\n:`']*[\t\r][^\n:`']*)"
    rf"('|: (?:command not found|{NO_ENTRY}))$",
    re.M,
)
_MENU = re.compile(r"^ ?1\) .*\n(?:^ ?\d+\) .*\n)*", re.M)
_IN_SCRIPT = re.compile(r"^(?!bash: |sh: )([^\s:]+: )(line \d+: )(.*)$", re.M)
_HELPERS = re.compile(r"^(?:\S+ ){0,3}?(?:__end_of_command|trap - EXIT|unset -f (?:sleep|kill)).*\n", re.M)


def real_messages(text: str, command: str, folders: tuple[str, ...]) -> str:
    """Output of bashkit with real error texts.

    ``command`` tells what can occur; ``folders`` are the working directories before and after: bashkit makes some
    names absolute that real tools repeat as they were typed.
    """
    if "/usr/.lost/" in text:
        text = lost.real_names(text)
    if _OWN_SHELL.search(command) is None:
        text = _LINE.sub("bash: ", text)
    for folder in sorted({f for f in folders if f != "/"}, key=len, reverse=True):
        if folder + "/" not in command and f": {folder}/" in text:
            names = "|".join(_ON_PATHS.split())
            text = re.sub(rf"^({names}): {re.escape(folder)}/", r"\1: ", text, flags=re.M)
    text = _with_words(in_real_words(text), command)
    if ": line " in text:
        text = _IN_SCRIPT.sub(_as_at_prompt, text)
    if DENIED in text:
        text = _CLOSED.sub(r"\1\2Permission denied", text).replace("%2e%2e", "..")
    if ": line " in text and "sh" in command:
        text = dash_words(text, command)
    if ": line " in text:
        text = sourced(text, command).replace("-c: line 1: `:;", "-c: line 1: `")
    text = of_coreutils(text, command)
    if FIXED in text or SAME in text:
        text = real_names(text)
    if "syntax error near" in text:
        text = without_repeats(text)
    if _CONTROL.search(text) is not None:
        text = _UNPRINTED.sub(_with_escapes, text)
    if "1) " in text:
        text = _shown_once(text)
    if "__end_of_command" in text:
        text = _HELPERS.sub("", text)
    return text


def _with_escapes(found: re.Match[str]) -> str:
    name = found[2].replace("\\", "\\\\").replace("\t", "\\t").replace("\r", "\\r")
    return f"{found[1]}$'{name}'{found[3]}"


def _shown_once(text: str) -> str:
    """``select`` shows its menu once, and then asks alone."""
    menu = _MENU.search(text)
    return text if menu is None else text[: menu.end()] + text[menu.end() :].replace(menu[0], "")


def _as_at_prompt(found: re.Match[str]) -> str:
    """An error of a script in the words of the same error at a prompt; ``getopts`` names no line."""
    name, line, rest = found.groups()
    real = in_real_words(f"bash: {rest}").removeprefix("bash: ")
    return f"{name}{'' if rest.startswith('getopts: ') and real != rest else line}{real}"


def _with_words(text: str, command: str) -> str:
    """The texts that repeat words of the command line which bashkit leaves out."""
    if "sed: -e expression #" in text and not refuses(command):
        text = re.sub(
            r"(sed: -e expression #\d+, char )(\d+)(: unknown option to `s')(?:: .*)?$",
            lambda found: f"{found[1]}{int(found[2]) + 1}{found[3]}",
            text,
            flags=re.M,
        )
        text = re.sub(
            r"^(sed: -e expression #\d+, char )(\d+)(: unexpected `,'|: invalid usage of line address 0)$",
            lambda found: f"{found[1]}{int(found[2]) + (',' not in found[3] or found[2] != '1')}{found[3]}",
            text,
            flags=re.M,
        )
    if "not set" in text:
        text = re.sub(
            r"^bash: (\w+): parameter null or not set$",
            lambda found: found[0].replace("null or ", "") if f"${{{found[1]}?" in command else found[0],
            text,
            flags=re.M,
        )
    if "division by 0" in text or "operand expected" in text:
        text = _DIVISION.sub(lambda found: _with_spaces(found, command), text)
    if "sort" in command and (m := re.search(r"\bsort\b[^|;]*\s-o\s*(\S+)", command)):
        text = text.replace(f"sort: cannot read: {m[1]}: ", f"sort: open failed: {m[1]}: ")
    if "sed: read error" in text and re.search(r"\bsed\b[^|;]* (?:-[nEr]*i|--in-place)", command):
        text = re.sub(r"^sed: read error on (.*): Is a directory$", r"sed: couldn't edit \1: not a regular file", text,
                      flags=re.M)  # fmt: skip
    if "tee " in command and (m := re.search(r"\btee (?:-a )?([^\s|;&<>]+)", command)):
        text = re.sub(rf"^(?={NO_ENTRY}$|Is a directory$)", f"tee: {m[1]}: ", text, flags=re.M)
    if "join " in command and (m := re.search(r"\bjoin ([^\s|;&-]\S*)\s*$", command)):
        text = re.sub(r"^join: missing operand$", f"join: missing operand after '{m[1]}'", text, flags=re.M)
    if "exec" in command:
        for name in re.findall(r"(?:^|[;&|({\n'\"])\s*exec ([^\s;&|'\"]+)", command):
            text = re.sub(
                rf": {re.escape(name)}: command not found$", f": exec: {name}: not found", text, flags=re.M
            )
    if _STARTERS.search(command) is not None:
        text = started(text, command)
    return text


_DIVISION = re.compile(
    r"^((?:\S+: line \d+: |bash: )(?:\(\(: )?)(.*)(: (?:division by 0|syntax error: operand expected) "
    r"\(error token is \")(.*)(\"\))$",
    re.M,
)


def _with_spaces(found: re.Match[str], command: str) -> str:
    """bash repeats the blanks behind an expression too."""
    start, text, middle, token, end = found.groups()
    place = re.search(rf"\(\(\s*{re.escape(text)}(\s+)\)\)", command)
    return f"{start}{text}{place[1]}{middle}{token}{place[1]}{end}" if place else found[0]


# Exit codes of bashkit that differ from the real ones, by error text; for commands that are one simple command.
_CODES = (
    (r"^(?:cat|tac|truncate|head|tail|mkdir|touch|tee): .*(?:option|you must)", 1),
    (r"^sed: (?:read error on |couldn't edit )", 4),
    (
        r"^sh: (?:0: cannot open |\d+: (?:Syntax error|arithmetic|cannot |\w+: (?:parameter not set|is read only)))",
        2,
    ),
    (r"^(\S+): \1: Is a directory", 126),
    (r"^sh: \d+: (?:cd: can't|exit: Illegal|local: not in)", 2),
    (r"^bash: wait: .*not a pid", 1),
    (r"^diff: ", 2),
    (r"^gzip: (?!stdin).*: not in gzip format", 1),
    (r"^gzip: .*: unknown suffix -- ignored", 2),
    (r"^tar: unrecognized option", 64),
    (r"^od: (?:invalid|unrecognized) option", 1),
    (r"^(?:xxd|tar: -: Cannot read|patch: \*\*\*\* read error |grep: \(standard input\)): Is a directory", 2),
    (r"^parse error: ", 4),
    (r"^jq: error: Division by zero", 3),
)
_COMPILED_CODES = tuple((re.compile(pattern, re.M), code) for pattern, code in _CODES)
_COMPOUND = re.compile(r"[;&\n]")


def exit_code(stderr: str, command: str, code: int) -> int:
    """The real exit code of a simple command or pipeline that failed with a real error text."""
    if code == 0 or _COMPOUND.search(command) is not None:
        return code
    return next((real for pattern, real in _COMPILED_CODES if pattern.search(stderr)), code)
