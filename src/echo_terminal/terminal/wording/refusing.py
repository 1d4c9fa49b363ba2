"""Options that a program or a builtin does not have: refused in its words and with its exit code, and ``--version``.

bashkit's programs take some of them, or fail with codes of their own; where such a word stands in a command as typed,
the call is given to ``refuse`` in their place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from echo_terminal.terminal.programs.call import Call, quote
from echo_terminal.terminal.programs.versions import VERSIONS
from echo_terminal.terminal.wording import sort_words
from echo_terminal.terminal.wording.piping import OWN
from echo_terminal.terminal.wording.usage import FILE, READ
from echo_terminal.terminal.wording.words import PLACE

REFUSE = f"{OWN}refuse"


@dataclass(frozen=True)
class Spec:
    """The options of a GNU program: letters and names as ``getopt_long`` has them (``=?``: an argument or none).

    ``first``: options end at the first operand. ``code``: of a refusal. ``usage``: in place of the hint at ``--help``.
    ``most``, ``least``: so many operands at most, or at least (with less, only the hint is given).
    """

    letters: str
    names: tuple[str, ...] = ()
    first: bool = False
    code: int = 1
    usage: str = ""
    most: int = 1 << 30
    least: int = 0


def _spec(
    letters: str, names: str = "", code: int = 1, usage: str = "", most: int = 1 << 30, least: int = 0
) -> Spec:
    return Spec(letters.lstrip("+"), tuple(names.split()), letters[:1] == "+", code, usage, most, least)


_DIGITS = "0123456789"
PROGRAMS = {
    "arch": _spec("", most=0),
    "basename": _spec("+as:z", "multiple suffix= zero"),
    "cat": _spec("benstuvAET", "number-nonblank number squeeze-blank show-nonprinting show-ends show-tabs show-all"),
    "df": _spec("aB:iThHklmPt:vx:", "all block-size= inodes human-readable si local output=? portability "
                "print-type sync no-sync total type= exclude-type="),
    "dirname": _spec("z", "zero"),
    "env": _spec("+C:iS:u:v0", "ignore-environment null unset= chdir= default-signal=? ignore-signal=? block-signal=? "
                 "list-signal-handling debug split-string=", 125),
    "factor": _spec(""),
    "file": _spec("bcCdDe:Ef:F:hiklLm:nNpP:rsSvzZ0", "brief checking-printout compile debug exclude= extension "
                  "files-from= separator= mime mime-type mime-encoding keep-going list dereference magic-file= "
                  "no-buffer no-pad preserve-date parameter= raw special-files no-sandbox uncompress print0 "
                  "apple no-dereference exclude-quiet=", usage=FILE),
    "head": _spec(f"c:n:qvz{_DIGITS}", "bytes= lines= quiet silent verbose zero-terminated"),
    "link": _spec("", most=2),
    "nice": _spec(f"+n:{_DIGITS}", "adjustment=", 125),
    "nl": _spec("h:b:d:i:l:n:ps:f:v:w:", "header-numbering= body-numbering= footer-numbering= starting-line-number= "
                "line-increment= no-renumber join-blank-lines= number-separator= number-width= number-format= "
                "section-delimiter="),
    "nohup": _spec("+", code=125),
    "nproc": _spec("", "all ignore=", most=0),
    "printenv": _spec("+iu:0", "null", 2),
    "readlink": _spec("efmnqsvz", "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent "
                      "verbose zero"),
    "rev": _spec("hV0", "zero"),
    "sleep": _spec(""),
    "split": _spec(f"C:a:b:del:n:t:ux{_DIGITS}", "bytes= lines= line-bytes= suffix-length= additional-suffix= "
                   "numeric-suffixes=? hex-suffixes=? elide-empty-files filter= number= separator= unbuffered verbose"),
    "sync": _spec("df", "data file-system"),
    "tac": _spec("brs:", "before regex separator="),
    "tail": _spec(f"c:fFn:qs:vz{_DIGITS}", "bytes= follow=? lines= max-unchanged-stats= pid= quiet retry silent "
                  "sleep-interval= verbose zero-terminated"),
    "tee": _spec("aip", "append ignore-interrupts output-error=?"),
    "timeout": _spec("+k:s:v", "kill-after= signal= foreground preserve-status verbose", 125, least=2),
    "touch": _spec("acd:fhmr:t:", "no-create date= reference= time= no-dereference"),
    "truncate": _spec("cor:s:", "no-create io-blocks reference= size="),
    "tsort": _spec("", most=1),
    "uname": _spec("asnrvmpio", "all kernel-name sysname nodename kernel-release release kernel-version machine "
                   "processor hardware-platform operating-system", most=0),
    "unlink": _spec("", most=1),
    "xargs": _spec("+0a:E:e::i::I:l::L:n:prs:txP:d:o", "null arg-file= delimiter= eof=? replace=? max-lines=? "
                   "max-args= interactive no-run-if-empty max-chars= show-limits open-tty verbose exit max-procs= "
                   "process-slot-var="),
}  # fmt: skip
_ARRAY = "[-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]"
_DECLARE = "[-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]"
BUILTINS = {  # letters, and what stands behind "usage: NAME"
    "builtin": ("", "[shell-builtin [arg ...]]"),
    "command": ("pVv", "[-pVv] command [arg ...]"),
    "disown": ("ahr", "[-h] [-ar] [jobspec ... | pid ...]"),
    "enable": ("adf:nps", "[-a] [-dnps] [-f filename] [name ...]"),
    "exec": ("cla:", "[-cl] [-a name] [command [argument ...]] [redirection ...]"),
    "getopts": ("", "optstring name [arg ...]"),
    "help": ("dms", "[-dms] [pattern ...]"),
    "history": ("acd:nprsw", "[-c] [-d offset] [n] or history -anrw [filename] or history -ps arg [arg...]"),
    "jobs": ("lnprsx", "[-lnprs] [jobspec ...] or jobs -x command [args]"),
    "mapfile": ("d:n:O:s:tu:C:c:", _ARRAY),
    "pwd": ("LP", "[-LP]"),
    "read": ("ersa:d:i:n:N:p:t:u:", READ),
    "readarray": ("d:n:O:s:tu:C:c:", _ARRAY),
    "suspend": ("f", "[-f]"),
    "times": ("", ""),
    "trap": ("lp", "[-lp] [[arg] signal_spec ...]"),
    "typeset": ("aAfFgiIlnprtux", _DECLARE),
    "umask": ("pS", "[-p] [-S] [mode]"),
    "unalias": ("a", "[-a] name [name ...]"),
    "wait": ("fnp:", "[-fn] [-p var] [id ...]"),
}
_STACKS = {"dirs": "[-clpv] [+N] [-N]", "pushd": "[-n] [+N | -N | dir]", "popd": "[-n] [+N | -N]"}
_WORD = r"[^\s;&|<>()'\"$`\\*?{}#~]+|'[^'\n]*'|\"[^\"$`\\\n]*\""
_CALL = re.compile(rf"({PLACE})([a-z]\w*)((?:[ \t]+(?:{_WORD}))+)(?=[\s;&|)`<>}}]|\Z)")
_FEW = re.compile(r"\b(?:uname|arch|nproc|unlink|link|tsort|timeout) ")
_END = re.compile(r"[ \t]*(?:[;&|)\n<>]|\Z)")  # no other word follows, of which an option might need one
_OPTION = re.compile(r"[ \t]-")
_SHELL = re.compile(r"\b(?:ba)?sh\b")  # where the names of lines would stand in the messages


def refusals(command: str) -> str:
    """The command with ``refuse`` in place of the programs whose words they must refuse."""
    if _OPTION.search(command) is None and _FEW.search(command) is None:
        return command
    builtins = _SHELL.search(command) is None

    def one(match: re.Match[str]) -> str:
        before, name, typed = match.groups()
        if (
            " -" not in typed
            and "\t-" not in typed
            and (name not in PROGRAMS or (PROGRAMS[name].most > 2 and not PROGRAMS[name].least))
        ):
            return match[0]
        if name in VERSIONS and _asks_version(name, typed.split()[0]):
            return f"{before}{REFUSE} {name}{typed}"
        words = [word.strip("'\"") for word in typed.split()]
        if name == "sort":
            wrong = sort_words.complaint(words) is not None
        elif name in PROGRAMS:
            said = complaint(PROGRAMS[name], words)
            whole = _END.match(match.string, match.end()) is not None
            wrong = said is not None and (whole or (said != "" and "requires an argument" not in said))
        else:
            wrong = builtins and _builtin_refusal(name, words) != ""
        return f"{before}{REFUSE} {name}{typed}" if wrong else match[0]

    return _CALL.sub(one, command)


def _asks_version(name: str, word: str) -> bool:
    return word == "--version" or (word == "-V" and name in ("grep", "egrep"))


def refuse(call: Call) -> None:
    """Say that a program (the first word) does not have one of the options behind it, or which version it is."""
    name, *words = call.argv
    if name in VERSIONS and _asks_version(name, words[0]):
        call.out.append(VERSIONS[name])
    elif name == "sort" and (refused := sort_words.complaint(words)) is not None:
        call.err.append(f"sort: {refused[0]}\n")
        call.code = refused[1]
    elif name in PROGRAMS:
        spec = PROGRAMS[name]
        if said := complaint(spec, words):
            call.err.append(f"{name}: {said}\n")
        call.err.append(spec.usage or f"Try '{name} --help' for more information.\n")
        call.code = spec.code
    else:
        call.err.append(_builtin_refusal(name, words))
        call.code = 2


def complaint(spec: Spec, words: Sequence[str]) -> str | None:
    """What ``getopt_long`` says of the words of a program; None if it takes them, or is asked for help."""
    rest, operands = list(words), 0
    extra = ""
    while rest:
        word = rest.pop(0)
        if word == "--" or (spec.first and (word == "-" or word[:1] != "-")):
            operands += len(rest) + (word != "--")
            break
        if word in ("--help", "--version"):
            return None
        if word[:2] == "--":
            name, equals, _ = word[2:].partition("=")
            found = [n for n in (*spec.names, "help", "version") if n.rstrip("=?").startswith(name)]
            exact = [n for n in found if n.rstrip("=?") == name]
            if not found:
                return f"unrecognized option '--{name}'"
            if len(found) > 1 and not exact:
                likely = " ".join(f"'--{n.rstrip('=?')}'" for n in found)
                return f"option '{word}' is ambiguous; possibilities: {likely}"
            known = (exact or found)[0]
            if equals and "=" not in known:
                return f"option '--{known}' doesn't allow an argument"
            if known.endswith("=") and not equals:
                if not rest:
                    return f"option '--{known[:-1]}' requires an argument"
                rest.pop(0)
        elif word[:1] == "-" and word != "-":
            wrong = _letters(spec.letters, word[1:], rest)
            if wrong is not None:
                return wrong
        else:
            operands += 1
            extra = extra or (word if operands > spec.most else "")
    if operands < spec.least:
        return ""
    return f"extra operand {quote(extra)}" if extra else None


def _letters(known: str, letters: str, rest: list[str]) -> str | None:
    """What is wrong with a word of one-letter options; takes its argument from ``rest``."""
    for place, letter in enumerate(letters):
        at = known.find(letter)
        if at < 0 or letter == ":":
            return f"invalid option -- '{letter}'"
        if known[at + 1 : at + 3] == "::":
            return None
        if known[at + 1 : at + 2] == ":":
            if place + 1 == len(letters):
                if not rest:
                    return f"option requires an argument -- '{letter}'"
                rest.pop(0)
            return None
    return None


def _builtin_refusal(name: str, words: Sequence[str]) -> str:
    """What bash says of the options of a builtin; empty if it takes them, or it is not known here."""
    if name in _STACKS:
        if re.fullmatch(r"-(?:\d+|[clpvn]+|-|-help)|[^-].*|", words[0]) is not None:
            return ""
        return f"bash: {name}: {words[0]}: invalid number\n{name}: usage: {name} {_STACKS[name]}\n"
    if name not in BUILTINS:
        return ""
    letters, usage = BUILTINS[name]
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-", "--", "--help") or word[:1] != "-":
            return ""
        wrong = "--" if word[:2] == "--" else ""
        if not wrong:
            text = _letters(letters, word[1:], rest)
            if text is not None and text.startswith("option requires"):
                return ""  # its own words are right
            wrong = f"-{text[-2]}" if text is not None else ""
        if wrong:
            shown = f"{name}: usage: {name} {usage}".rstrip()
            return f"bash: {name}: {wrong}: invalid option\n{shown}\n"
    return ""
