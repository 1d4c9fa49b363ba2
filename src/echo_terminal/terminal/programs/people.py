"""Who and where one is: ``id``, ``whoami``, ``groups``, ``logname``, ``hostname``."""

from __future__ import annotations

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.terminal import HOSTNAME, USER
from echo_terminal.terminal.wording import usage

NUMBERS = {USER: 1000, "root": 0}


def environment(call: Call) -> None:
    """``env`` and ``printenv`` without words, in the order in which bash's table of variables hands them on."""
    own = call.env.keys() - {"_"}
    call.out += [f"{name}={call.env[name]}\n" for name in sorted(sorted(own), key=_bucket)]
    call.line(f"_=/usr/bin/{call.name.removeprefix('__')}")


def _bucket(name: str) -> int:
    """The place of a name in bash's table of 1024 lists: FNV-1 of its bytes."""
    number = 2166136261
    for byte in name.encode():
        number = (number * 16777619) & 0xFFFFFFFF ^ byte
    return number % 1024


def whoami(call: Call) -> None:
    """The name of the user."""
    _, words = options(call, "")
    if words:
        raise UsageError(f"extra operand {quote(words[0])}")
    call.line(USER)


def logname(call: Call) -> None:
    """Nobody logged in."""
    _, words = options(call, "")
    if words:
        raise UsageError(f"extra operand {quote(words[0])}")
    call.fail("no login name")


def groups(call: Call) -> None:
    """The groups of users."""
    _, words = options(call, "")
    for word in words:
        if word in NUMBERS:
            call.line(f"{word} : {word}")
        else:
            call.fail(f"{quote(word)}: no such user")
    if not words:
        call.line(USER)


def identity(call: Call) -> None:
    """Numbers and names of users and groups."""
    found, words = options(call, "agGnruzZ", ["group", "groups", "name", "real", "user", "zero", "context"])
    letters = [o[1] if o[1] != "-" else {"--groups": "G"}.get(o, o[2]) for o, _ in found]
    which = {letter for letter in letters if letter in "gGu"}
    if len(which) > 1:
        raise UsageError('cannot print "only" of more than one choice', hint=False)
    if not which and ("n" in letters or "r" in letters):
        raise UsageError("cannot print only names or real IDs in default format", hint=False)
    if not which and "z" in letters:
        raise UsageError("option --zero not permitted in default format", hint=False)
    for word in words or [USER]:
        name = next((n for n, number in NUMBERS.items() if word in (n, str(number))), None)
        if name is None:
            call.fail(f"{quote(word)}: no such user")
        elif which:
            call.line(name if "n" in letters else str(NUMBERS[name]))
        else:
            both = f"{NUMBERS[name]}({name})"
            call.line(f"uid={both} gid={both} groups={both}")


def hostname(call: Call) -> None:
    """The name of the machine; it cannot be changed."""
    long = ["alias", "all-fqdns", "boot", "domain", "fqdn", "long", "ip-address", "all-ip-addresses", "short"]
    try:
        found, words = options(call, "aAbdF:fiIsy", [*long, "file="])
    except UsageError as error:
        call.fail(error.message, 255)
        call.out.append(usage.HOSTNAME)
        return
    names = {option for option, _ in found}
    if words:
        call.fail("you must be root to change the host name")
    elif names & {"-d", "--domain", "-f", "--fqdn", "--long", "-i", "--ip-address", "-a", "--alias"}:
        call.fail("Temporary failure in name resolution")
    else:
        call.line(HOSTNAME)
