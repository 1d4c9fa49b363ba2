"""What bash says of commands that are no commands, where bashkit's parser says something else or sees no fault."""

from __future__ import annotations

import re

from echo_terminal.terminal.wording.texts import unended
from echo_terminal.terminal.wording.words import PLACE

_QUOTE = "unexpected EOF while looking for matching"
_NEAR = "syntax error near unexpected token"
_CONDITION = "syntax error in conditional expression"
_OPERATOR = re.compile(r"(?:<<<|<<-?|>>|>\||[<>]&|[<>])[ \t]+(<<<|<<-?|>>|>&|<&|&>>|&>|[<>&|;()]+)")
_ARRAY = re.compile(r"(?:^|[;&\n])\s*\w+=\((?!\()([^()\n]*)$")
_LIST = re.compile(r"^[ \t]*\w+=\((?!\()", re.M)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([\w.-]+)\1")


def refused(command: str) -> tuple[str, int] | None:
    """Standard error and exit code of a command that bashkit would run, or refuse in other words; None for others."""
    if dangling(command):
        return "bash: syntax error: unexpected end of file\n", 2
    if "${" in command or "=(" in command:
        return _unclosed(command) or (_arithmetic(command) if "$((" in command else None)
    return _arithmetic(command) if "$((" in command else None


def dangling(command: str) -> bool:
    """Does the command end where bash still expects another?"""
    return re.search(r"[^&|\s]\s*(?:&&|\|\|?)\s*$", command) is not None and "<<" not in command


def _unclosed(command: str) -> tuple[str, int] | None:
    """What bash says of a parameter or an array without its end, which bashkit takes for closed."""
    if "'" in command or "<<" in command:
        return None
    if "${" in command and command.count("${") > command.count("}"):
        quoted = command[: command.rfind("${")].count('"') % 2
        return f"bash: {_QUOTE} `{chr(34) if quoted else '}'}'\n", 2
    if match := _ARRAY.search(command):
        end = re.search(r"[;&|]", match[1])
        return (f"bash: {_NEAR} `{end[0]}'\n", 1) if end else (f"bash: {_QUOTE} `)'\n", 1)
    return None


def unclosed(script: str) -> str:
    """A script up to a parameter or a list without its end, and what bash says there; another script as it is."""
    place, end, code = script.find("${", script.rfind("}") + 1), "}", 2
    if place < 0 and (opened := _LIST.search(script, script.rfind(")") + 1)) is not None:
        place, end, code = opened.end(), ")", 1
    start = script.rfind("\n", 0, max(place, 0)) + 1
    if place < 0 or script[place - 1 : place] == "\\" or "'" in script[start:]:
        return script
    line = script.count("\n", 0, start) + 1
    say = f'printf \'%s: line {line}: %s\\n\' "$0" "{_QUOTE} \\`{end}\'" >&2; exit {code}'
    return script[:start] + say + "\n" * script.count("\n", start)


def _arithmetic(command: str) -> tuple[str, int] | None:
    """What bash says of ``$((`` without its end."""
    if "'" in command or "<<" in command or "case" in command:
        return None
    place = -1
    while (place := command.find("$((", place + 1)) >= 0:
        depth = 0
        for letter in command[place + 1 :]:
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                break
        if depth:
            return f"bash: {_QUOTE} `)'\n", 2
    return None


def warnings(command: str, line: int) -> str:
    """What bash says of here-documents that go on to the end of a command, whose first line has this number."""
    if "<<" not in command:
        return ""
    return "".join(
        f"bash: warning: here-document at line {line + before} delimited by end-of-file (wanted `{last}')\n"
        for last, before in unended(command)
    )


def syntax_error(error: str, command: str = "") -> tuple[str, int]:
    """Standard error and exit code of bash at a prompt for a parse error of bashkit."""
    text = re.sub(r"^parse error(?: at line \d+, column \d+)?: ", "", error)
    if "unterminated command substitution" in text:
        return f"bash: {_QUOTE} `)'\n", 1
    if "unterminated backtick" in text:
        text = f"{_QUOTE} ``'"
    elif "end of input in [[" in text:
        text = _condition(command)
    elif text == _CONDITION and "]]" in command:  # an operand is missing: bash says nothing
        return "", 2
    elif "end of input in arithmetic command" in text:
        text = f"{_QUOTE} `)'"
    elif text.startswith("expected ')' in function definition"):
        text = "syntax error: unexpected end of file"
    elif "end of input in for loop" in text:
        return "", 2
    elif text.endswith("arithmetic expression required") and (
        m := re.search(r"\bfor\s*(\(\(.*?\)\))", command)
    ):
        text += f"\nbash: syntax error: `{m[1]}'"
    elif "parser fuel exhausted" in text:  # a pattern of ``case`` without the end of the one before
        text = f"{_NEAR} `)'"
    elif text.startswith(("expected word", "expected delimiter after <<")):
        found = _OPERATOR.search(command)
        text = f"{_NEAR} `{found[1] if found else 'newline'}'"
    elif m := re.match(r"expected (?:variable name in (?P<loop>for|select)|function name)", text):
        word = m["loop"] or "function"
        found = re.search(rf"\b{word}\s*([;&|()])", command) or re.search(rf"\b{word}\s*{{\s*(\w+)", command)
        text = f"{_NEAR} `{found[1] if found else 'newline'}'"
    elif text == f"{_QUOTE} `\"'" and command.count("`") % 2:
        text = f"{_QUOTE} ``'"
    return f"bash: {text}\n", 2


def _condition(command: str) -> str:
    """What is wrong with ``[[`` without its end."""
    rest = command.rpartition("[[")[2]
    words = re.match(r"[^;\n&|]*", rest)
    if words is not None and re.search(r"(?:^|\s)\](?:\s|$)", words[0]):
        return _CONDITION
    if ";" in rest and len(rest.partition(";")[0].split()) > 2:
        return f"{_CONDITION}: unexpected token `;'"
    return "unexpected token `newline', conditional binary operator expected"


def open_ended(command: str) -> bool:
    """Would a line behind the command become part of it?"""
    if command.rstrip("\n").endswith("\\"):
        return True
    ends = {line.strip() for line in command.split("\n")}
    return any(match[2] not in ends for match in _HEREDOC.finditer(command))


_SOURCED = re.compile(rf"{PLACE}(?:\.|source)\s+(['\"]?)([\w./~-]+)\1")
_STARTED = re.compile(rf"\b(?:ba)?sh\b\s|(?:{PLACE}|\bxargs\s*)\.{{0,2}}/\S|-exec(?:dir)?\s|\|\s*(?:ba)?sh\b")
_INSIDE = re.compile(r"^(?!bash: |sh: )([^\s:]+): line (\d+): (.*)$", re.M)
_AGAIN = re.compile(rf"^(bash: {_NEAR} .*\n)bash: (?:eval: line \d+: )?`.*'\n", re.M)


def sourced(text: str, command: str) -> str:
    """Error texts of files that the session's own shell reads: it names them for a wrong syntax alone."""
    names = {match[2] for match in _SOURCED.finditer(command)}
    if not names and _STARTED.search(command) is not None:
        return text

    def one(match: re.Match[str]) -> str:
        name, line, rest = match.groups()
        if (name not in names if names else not re.search("[./]", name)) or re.search(
            rf"\b(?:ba)?sh\s+(?:-\w+\s+)*{re.escape(name)}", command
        ):
            return match[0]
        if rest.startswith(("syntax error", _QUOTE, "`")) and "error token" not in rest:
            return f"bash: {name}: line {line}: {rest}"
        return f"bash: {rest}"

    return _INSIDE.sub(one, text)


def without_repeats(text: str) -> str:
    """Without the lines that bash repeats after a wrong syntax where it reads a file, not at a prompt."""
    return _AGAIN.sub(r"\1", text)
