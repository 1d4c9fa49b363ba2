"""The words of bashkit's error texts, and those that bash, GNU tools and Debian's others have in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from echo_terminal.terminal.programs.call import NO_ENTRY, TOO_LONG
from echo_terminal.terminal.wording.usage import BASH, SED

_USE = "Use jq --help for help with command-line options"
_HINTED = (
    "b2sum base32 base64 basename cat chgrp chown cksum comm cut date dd dirname du env expand expr fmt fold head id "
    "install join link md5sum mkfifo nl nproc numfmt od paste pr printenv pwd readlink realpath seq sha1sum sha224sum "
    "sha256sum sha384sum sha512sum shred sleep sort split sum tac tail tee test timeout touch tr truncate tsort uname "
    "unexpand uniq unlink wc whoami yes diff cmp"
)
_COMPLAINTS = (
    r"missing operand(?: after '[^']*')?|missing (?:destination )?file operand(?: after '[^']*')?"
    r"|unrecognized operand '[^']*'|extra operand '[^']*'|invalid option -- '.'"
    r"|unrecognized option '[^']*'|option requires an argument -- '.'|invalid mode: '[^']*'"
    r"|invalid time interval '[^']*'|you must specify a list of bytes, characters, or fields"
    r"|invalid (?:body|header|footer) numbering style: '[^']*'"
    r"|fields are numbered from 1|invalid field value '[^']*'|the delimiter must be a single character"
)
_TEXTS: tuple[tuple[str, str], ...] = (
    (r"(: command not found)\. Did you mean: [^?\n]*\?", r"\1"),
    (r"^([^\[\n]*: command not found)\. .*$", r"\1"),
    (r"^sh: line (\d+): (.*): command not found$", r"sh: \1: \2: not found"),
    (
        r"^error: unexpected argument '-([^-'])[^']*' found\n(?:.*\n)*?Usage: (\S+).*\n(?:.*\n)*?For more .*$",
        r"\2: invalid option -- '\1'",
    ),
    (
        r"^error: unexpected argument '(--[^']*)' found\n(?:.*\n)*?Usage: (\S+).*\n(?:.*\n)*?For more .*$",
        r"\2: unrecognized option '\1'",
    ),
    (r"^error: the following required arguments were not provided:\n(?:.*\n)*?Usage: truncate.*\n(?:.*\n)*?For .*$",
     "truncate: you must specify either '--size' or '--reference'\nTry 'truncate --help' for more information."),
    (r"io error: (?:file )?not found|io error: parent directory not found", NO_ENTRY),
    (r"(?:io error: )?(?:file ?name|path) too long: \d+ bytes exceeds \d+ byte limit", TOO_LONG),
    (r"io error: is a directory", "Is a directory"),
    (r"(?:io error: )?filesystem is read-only", "Read-only file system"),
    (rf"^(head|tail): (?!cannot |error )(.+): ({NO_ENTRY}|{TOO_LONG})$", r"\1: cannot open '\2' for reading: \3"),
    (r"^(head|tail): (?!cannot |error )(.+): Is a directory$", r"\1: error reading '\2': Is a directory"),
    (rf"^sort: (?!cannot )(.+): ({NO_ENTRY}|{TOO_LONG})$", r"sort: cannot read: \1: \2"),
    (r"^sort: (?!read )(.+): Is a directory$", r"sort: read failed: \1: Is a directory"),
    (r"^sort: invalid field specification '(.*)': (invalid number at field start)$",
     r"sort: \2: invalid count at start of '\1'"),
    (rf"^tac: (?!failed )(.+): {NO_ENTRY}$", rf"tac: failed to open '\1' for reading: {NO_ENTRY}"),
    (r"^cut: you must specify a list of fields$", "cut: you must specify a list of bytes, characters, or fields"),
    (r"^(sed: -e expression #\d+, char \d+): invalid pattern: .*unclosed group$", r"\1: Unmatched ( or \\("),
    (r"^(sed: -e expression #\d+, char \d+): invalid pattern: .*unopened group$", r"\1: Unmatched ) or \\)"),
    (r"^cat: : Is a directory$", f"cat: '': {NO_ENTRY}"),
    (r"^bash: : Is a directory$", f"bash: : {NO_ENTRY}"),
    (r"^grep: Parsing error at position \d+: Opening parenthesis without.*$", "grep: missing closing parenthesis"),
    (r"^sed: can't read (.+): Is a directory$", r"sed: read error on \1: Is a directory"),
    (r"^(sed: -e expression #\d+, char )\d+: unmatched `\{'$", r"\g<1>0: unmatched `{'"),
    (r"^sort: invalid field specification '(.*)': (field number is zero)$",
     r"sort: \2: invalid field specification '\1'"),
    (r"^uniq: (.+): Is a directory$", r"uniq: error reading '\1'"),
    (rf"^rev: (?!cannot )(.+): {NO_ENTRY}$", rf"rev: cannot open \1: {NO_ENTRY}"),
    (r"^truncate: invalid number in size ('.*')$", r"truncate: Invalid number: \1"),
    (r"^(xargs: (?:invalid option|option requires|unrecognized option|invalid number|value ).*)$(?!\n.*Try ')",
     r"\1\nTry 'xargs --help' for more information."),
    (r"^timeout: missing (?:operand|command)\nUsage: .*$", "Try 'timeout --help' for more information."),
    (r"^(user|sys) unavailable$", r"\1 0.00"),
    (r"^(\S+: line \d+: |bash: )(bg|fg): .*: no such job$", r"\1\2: no job control"),
    (r"^((?:\S+: line \d+: |bash: ).*?)([-+*/%<>&|^=])(\s*): syntax error: operand expected$",
     r'\1\2\3: syntax error: operand expected (error token is "\2\3")'),
    (r"^((?:\S+: line \d+: |bash: ).*-)(\d+)(: exponent less than 0)$", r'\1\2\3 (error token is "\2")'),
    (rf"^sh: (\S+\.sh): {NO_ENTRY}$", r"sh: 0: cannot open \1: No such file"),
    (r"^bash: getopts: illegal option -- '(.)'$", r"bash: illegal option -- \1"),
    (r"^bash: eval: line \d+: (unexpected EOF.*)$", r"bash: \1"),
    (r"^(sed: (?:invalid option -- '.'|unrecognized option '.*'|option requires an argument -- '.'))\n"
     r"(?!Usage: sed \[OPTION\]\.\.\. \{script-only)", rf"\1\n{SED}"),
    (r"^(?:Usage: sed \[OPTION\]\.\.\. \{script\} \[FILE\]\.\.\.\n)+Stream (?:.*\n)*?.* and exit\n.* and exit\n",
     SED),
    (r"^(sed: -e expression #\d+, char \d+): invalid pattern: .*valid decimal$", r"\1: Unmatched \\{"),
    (r"^(sed: -e expression #\d+, char \d+): invalid pattern: .*missing expression$",
     r"\1: Invalid preceding regular expression"),
    (r"^find: invalid expression; you have used a binary operator '(-\w+)' with nothing after it\.$",
     r"find: expected an expression after '\1'"),
    (r"^tac: (.*): Is a directory$", r"tac: \1: read error: Is a directory"),
    (rf"^(tar: .*: Cannot open: {NO_ENTRY})$(?!\ntar)", r"\1\ntar: Error is not recoverable: exiting now"),
    (rf"^(tar: .*(?<!Warning): Cannot stat: {NO_ENTRY})$(?!\ntar)",
     r"\1\ntar: Exiting with failure status due to previous errors"),
    (r"^(base64: invalid input): .*$", r"\1"),
    (r"^(md5sum|sha\d+sum): -: no properly", r"\1: 'standard input': no properly"),
    (r"^bash: printf: %.*?(.): invalid conversion specification$", r"bash: printf: `\1': invalid format character"),
    (r"^bash: getopts: (option requires an argument) -- '(.)'$", r"bash: \1 -- \2"),
    (r"^bash: fg: current: no such job$", "bash: fg: no job control"),
    (r"^diff: missing operand$(?!\n.*Try ')",
     "diff: missing operand after 'diff'\nTry 'diff --help' for more information."),
    (r"^jq: invalid JSON: EOF while parsing an? \w+ at (line \d+) (column \d+)$",
     r"parse error: Unfinished JSON term at EOF at \1, \2"),
    (r"^jq: invalid JSON: expected value at line 1 column 1$",
     "parse error: Invalid numeric literal at line 2, column 0"),
    (r"^bash: eval: line \d+: (syntax error.*)$", r"bash: \1"),
    (r'^bash: (0\d+)\b.*(: value too great for base \(error token is "\1"\))$', r"bash: \1\2"),
    (r"syntax error: expected variable name in for loop", "syntax error near unexpected token `newline'"),
    (r"^(bash: exit: (?:.*: numeric argument required|too many arguments))$", r"exit\n\1"),
    (r"^(gzip: .*): invalid gzip header$", r"\n\1: not in gzip format"),
    (rf"^bzip2: (?!Can't)(.*): ({NO_ENTRY})$", r"bzip2: Can't open input file \1: \2."),
    (r"^tar: Unexpected end of archive$",
     "tar: This does not look like a tar archive\ntar: Exiting with failure status due to previous errors"),
    (r"^(bash: |\S+: line \d+: )printf: (0[0-9]+): invalid number$", r"\1printf: \2: invalid octal number"),
    (r"^(bash: |\S+: line \d+: )printf: (0[xX]\S*): invalid number$", r"\1printf: \2: invalid hex number"),
    (r"^(bash: |\S+: line \d+: )printf: %: invalid conversion specification$",
     r"\1printf: `%': missing format character"),
    (rf"^truncate: cannot write ('.*'): {NO_ENTRY}$", rf"truncate: cannot open \1 for writing: {NO_ENTRY}"),
    (rf"^strings: ([^'\n]*): {NO_ENTRY}$", r"strings: '\1': No such file"),
    (r"^(bash: -c: )?(?:bash: )?syntax error: unexpected end of input in arithmetic command$",
     r"\1unexpected EOF while looking for matching `)'"),
    (r"^bash: -c: (?=unexpected EOF)", "bash: -c: line 1: "),
    (r"^unexpected EOF while looking for matching `\)'$", "bash: unexpected EOF while looking for matching `)'"),
    (r"^bash: coproc: missing command$", "bash: syntax error near unexpected token `newline'"),
    (r"^Usage:\tbash \[option\] .*\n", BASH),
    (r"^(bash: umask: `)[ugoa]*([^ugoa\n])[^\n]*(': invalid symbolic mode operator)$", r"\1\2\3"),
    (r"^missing \]$", "bash: [: missing `]'"),
    (r"^(user|sys)\tunavailable$", r"\1\t0m0.000s"),
    (r"^real\t\d+m[\d.]+s$", "real\t0m0.000s"),
    (rf"^({'|'.join(_HINTED.split())}): ({_COMPLAINTS})$(?!\n(?:.*\n){{0,2}}?.*Try '\1 )",
     r"\1: \2\nTry '\1 --help' for more information."),
    (r"^Try '(diff|cmp) --help'", r"\1: Try '\1 --help'"),
    (r"^fold: (invalid number of columns: )'-w(\d+)'$", r"fold: \1'-\2'"),
    (r"^fold: (invalid number of columns: '0')$", r"fold: \1: Numerical result out of range"),
    (r"^expand: invalid tab size: ('.*')$", r"expand: tab size contains invalid character(s): \1"),
    (r"^sort: invalid field specification '\d+,(\D.*)': (invalid number after ',')$",
     r"sort: \2: invalid count at start of '\1'"),
    (r"^sort: (invalid field specification '.*'): (character offset is zero)$", r"sort: \2: \1"),
    (r"^sort: multi-character tab '\\(.)'$", r"sort: multi-character tab '\\\\\1'"),
    (r"^head: (invalid number of (?:lines|bytes): )'-(.*)'$", r"head: \1'\2'"),
    (rf"^(bzcat|bunzip2): (?!Can't)(.+): {NO_ENTRY}$", rf"\1: Can't open input file \2: {NO_ENTRY}."),
    (r"^grep: Parsing error at position \d+: Invalid character class$",
     "grep: missing terminating ] for character class"),
    (r"^grep: Parsing error at position \d+: Target of repeat operator is invalid$",
     "grep: quantifier does not follow a repeatable item"),
    (rf"^{_USE}\.$", f"{_USE},\nor see the jq manpage, or online docs  at https://stedolan.github.io/jq"),
    (r"^jq: (--arg|--argjson) requires two arguments$", r"jq: \1 takes two parameters (e.g. \1 varname value)"),
    (r"^jq: (invalid JSON) for --argjson: .*$", r"jq: \1 text passed to --argjson"),
    (r"^jq: error: Could not open file .*: Is a directory\n", ""),
)  # fmt: skip


def _needed(pattern: str) -> str:
    """The longest text that every match of a pattern holds: looked for first, it is found missing at once."""
    longest = run = ""
    for code, argument in _flat(_parser.parse(pattern, re.M)):
        run = run + chr(argument) if code is _constants.LITERAL else "" if code is not _constants.AT else run
        longest = max(longest, run, key=len)
    return longest


def _flat(parts: Any) -> Iterator[tuple[Any, Any]]:
    """The steps of a parsed pattern, those of its groups in their places."""
    for code, argument in parts:
        if code is _constants.SUBPATTERN and not argument[1]:
            yield from _flat(argument[3])
        else:
            yield code, argument


RULES = tuple((_needed(pattern), re.compile(pattern, re.M), new) for pattern, new in _TEXTS)


def in_real_words(text: str) -> str:
    """Error texts by the table: what it knows needs neither the command nor the session."""
    for needed, pattern, new in RULES:
        if needed in text:
            text = pattern.sub(new, text)
    return text
