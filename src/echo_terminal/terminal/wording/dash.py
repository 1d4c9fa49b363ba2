"""``sh`` is dash on Debian, bash in bashkit: its words for what fails, and what it does not have."""

from __future__ import annotations

import re
from collections.abc import Callable

from echo_terminal.terminal.programs.call import NO_ENTRY, Call
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.words import PLACE

ECHO = f"{OWN}dash_echo"
ABSENT = "source let declare typeset shopt pushd popd dirs mapfile readarray disown enable compgen complete".split()
_TEXT = re.compile(r"(\bsh\s+(?:-[eu]+\s+)*-[eu]*c\s+)(?:'([^']*)'|\"((?:[^\"\\$`]|\\.)*)\")", re.S)
_BUILTIN = re.compile(rf"{PLACE}({'|'.join(ABSENT)})\b")
ECHOES = re.compile(rf"{PLACE}echo\s+(?:-\w*[eE]|[^;&|\n]*\\)")
_SCRIPT = re.compile(r"(?<![\w./-])sh\s+(?:-[eu]+\s+)*([\w./-]+)(?![\w'\"])")
_NAMED = re.compile(r"\bsh\s+(?:-\w+\s+)*-\w*c\s+(?:'[^']*'|\"[^\"]*\")\s+([\w./-]+)", re.S)
_ONLY = re.compile(r"\bsh\s+(?:-\w+\s+)*-\w*c\b")
_LINE = re.compile(r"^([^\s:]+): (?:-c: )?line (\d+): (.*)$", re.M)
_ARITHMETIC = (
    ("division by 0", "division by zero"),
    ("syntax error: operand expected", "expecting primary"),
    ("syntax error in expression", "expecting EOF"),
)
_WORDS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"cd: (.*): (?:No such file or directory|Not a directory|Permission denied)", r"cd: can't cd to \1"),
        (r"(.*): command not found.*", r"\1: not found"),
        (r"\$?(\w+): unbound variable", r"\1: parameter not set"),
        (r"(\w+): readonly variable", r"\1: is read only"),
        (r"(\[|test): (.*): integer expression expected", r"\1: Illegal number: \2"),
        (r"(exit|return): (.*): numeric argument required", r"\1: Illegal number: \2"),
        (r"printf: (.*): invalid number", r"printf: \1: expected numeric value"),
        (r"local: can only be used in a function", "local: not in a function"),
        (r"type: (.*): not found", r"\1: not found"),
        (r"unexpected EOF while looking for matching `['\"]'", "Syntax error: Unterminated quoted string"),
        (
            r"unexpected EOF while looking for matching `\)'",
            'Syntax error: end of file unexpected (expecting ")")',
        ),
        (r"syntax error near unexpected token `newline'", "Syntax error: newline unexpected"),
        (r"syntax error near unexpected token `(.*)'", r'Syntax error: "\1" unexpected'),
    )
)
_ENDS = {"if": "then", "then": "fi", "else": "fi", "for": "do", "while": "do", "until": "do", "do": "done",
         "case": "esac", "{": "}", "(": ")"}  # fmt: skip


def as_dash(command: str) -> str:
    """The command with the texts of ``sh -c`` led in by what dash lacks or does otherwise, where they ask for it."""

    def led(match: re.Match[str]) -> str:
        text = match[2] if match[2] is not None else match[3]
        quote = "'" if match[2] is not None else '"'
        lead = "".join(
            f"{name}() {{ echo sh: 1: {name}: not found >&2; return 127; }}; "
            for name in dict.fromkeys(_BUILTIN.findall(text))
        )
        if ECHOES.search(text) is not None and quote == "'":
            lead += f'echo() {{ {ECHO} "$@"; }}; '
        return f"{match[1]}{quote}{lead}{text}{quote}" if lead else match[0]

    return _TEXT.sub(led, command)


def echo(call: Call) -> None:
    """``echo`` of dash: ``-n`` alone is an option, and backslashes are read."""
    words = call.argv
    end = "\n"
    if words[:1] == ["-n"]:
        words, end = words[1:], ""
    text = " ".join(words)
    text, stop, _ = text.partition("\\c")
    codes = {"n": "\n", "t": "\t", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "v": "\v"}
    text = re.sub(
        r"\\(?:0([0-7]{0,3})|([ntabfrv\\]))",
        lambda m: codes[m[2]] if m[2] else chr(int(m[1] or "0", 8)),
        text,
    )
    call.out.append(text + ("" if stop else end))


def dash_words(text: str, command: str) -> str:
    """Error texts of scripts that ``sh`` ran in the words of dash."""
    every = "bash" not in command and _ONLY.search(command) is not None  # whatever the texts are named
    names = {"sh", *_SCRIPT.findall(command), *_NAMED.findall(command)}

    def one(match: re.Match[str]) -> str:
        name, line, said = match.groups()
        if name == "sh" and said.endswith("unexpected end of file"):  # dash counts no line behind the text
            line = str(int(line) - 1)
        return f"{name}: {line}: {_said(said, command)}" if every or name in names else match[0]

    text = _LINE.sub(one, text)
    return re.sub(r"^(\S+: \d+: Syntax error: .*\n)\1?(?:\S+: \d+: `.*'\n)?", r"\1", text, flags=re.M)


def _said(said: str, command: str) -> str:
    for bash, dash in _ARITHMETIC:
        if m := re.match(rf"(?:\(\(: )?(.*): {re.escape(bash)}", said):
            return f'arithmetic expression: {dash}: "{m[1]}"'
    if said == "syntax error: unexpected end of file":
        open_ = [
            w for w in re.findall(r"\b(?:if|then|else|for|while|until|do|case|fi|done|esac)\b|[{}]", command)
        ]
        stack: list[str] = []
        for word in open_:
            if word in ("fi", "done", "esac", "}"):
                stack = stack[:-1]
            elif word in ("then", "else", "do") and stack:
                stack[-1] = word
            else:
                stack.append(word)
        wanted = f' (expecting "{_ENDS[stack[-1]]}")' if stack and stack[-1] in _ENDS else ""
        return f"Syntax error: end of file unexpected{wanted}"
    if m := re.fullmatch(rf"(?!cd: )(.*): ({NO_ENTRY}|Permission denied|Is a directory)", said):
        what, why = m.groups()
        through = re.search(r"<\s*\"?[${]", command) and not re.search(
            rf"[;&|'\"]\s*{re.escape(what)}", command
        )
        if through or re.search(rf"<\s*['\"]?{re.escape(what)}", command):
            return f"cannot open {what}: {'No such file' if why == NO_ENTRY else why}"
        if re.search(rf">\s*['\"]?{re.escape(what)}", command):
            return f"cannot create {what}: {'Directory nonexistent' if why == NO_ENTRY else why}"
        return f"{what}: not found" if why == NO_ENTRY else said
    for pattern, new in _WORDS:
        if pattern.fullmatch(said):
            return pattern.sub(new, said)
    return said
