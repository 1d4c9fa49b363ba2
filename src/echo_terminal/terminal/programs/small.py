"""Small programs: ``seq``, ``yes``, ``uptime`` and others; pagers; and those that need a network."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from echo_terminal.terminal.programs.call import Call, UsageError, options, quote
from echo_terminal.terminal.programs.formatting import format_time
from echo_terminal.terminal.programs.limits import FLOOD, ROOM, WIDEST, Stopped, narrow
from echo_terminal.terminal.programs.text.columns import content
from echo_terminal.terminal.terminal import CLOCK

LONGEST_SEQ = 32 << 20  # characters of whole numbers
LINE = "::::::::::::::"
NOT_FOUND = 127
SIGNALS = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG "
    "XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
).split()


def absent(call: Call) -> None:
    """A program that the machine does not have."""
    call.err.append(f"bash: {call.name}: command not found\n")
    call.code = NOT_FOUND


def two_matchers(call: Call) -> None:
    """``grep`` with two kinds of pattern."""
    call.err.append("grep: conflicting matchers specified\n")
    call.code = 2


def no_login_shell(call: Call) -> None:
    """``logout`` and ``suspend`` in a shell that is neither a login shell nor under job control."""
    reason = "not login shell: use `exit'" if call.name == "logout" else "cannot suspend: no job control"
    call.err.append(f"bash: {call.name}: {reason}\n")
    call.code = 1


def signals(call: Call) -> None:
    """The table of ``kill -l``."""
    real_time = [(34 + n, f"RTMIN{f'+{n}' if n else ''}") for n in range(16)]
    real_time += [(64 - n, f"RTMAX{f'-{n}' if n else ''}") for n in range(14, -1, -1)]
    for place, (number, name) in enumerate([*enumerate(SIGNALS, 1), *real_time], 1):
        call.out.append(f"{number:2}) SIG{name}" + ("\n" if place % 5 == 0 else "\t"))
    call.out.append("\n")


def fc(call: Call) -> None:
    """Commands of that list."""
    if not any(word.startswith("-") and "l" in word for word in call.argv):
        call.err.append("bash: fc: no command found\n")
        call.code = 1


def seq(call: Call) -> None:
    """Print a sequence of numbers."""
    argv = call.argv
    split = next((n for n, word in enumerate(argv) if re.match(r"-?[.\d]", word)), len(argv))
    call.argv = argv[:split]
    found, rest = options(call, "f:s:w", ["format=", "separator=", "equal-width"], permute=False)
    words = rest + argv[split:]
    while words and words[-1].startswith("-") and not re.match(r"-?[.\d]", words[-1]):
        call.argv = [words.pop()]
        found += options(call, "f:s:w", ["format=", "separator=", "equal-width"])[0]
    names = dict(found)
    if not words:
        raise UsageError("missing operand")
    if len(words) > 3:
        raise UsageError(f"extra operand {quote(words[3])}")
    numbers = [_number(word) for word in words]
    first, step, last = (
        (Decimal(1), Decimal(1), numbers[0]) if len(numbers) == 1
        else (numbers[0], Decimal(1), numbers[1]) if len(numbers) == 2
        else (numbers[0], numbers[1], numbers[2])
    )  # fmt: skip
    if step == 0:
        raise UsageError(f"invalid Zero increment value: {quote(words[1])}")
    separator = names.get("-s", names.get("--separator", "\n"))
    style = names.get("-f", names.get("--format"))
    places = max(_places(word) for word in (words[:-1] or ["1"]))
    if places > WIDEST or any(
        abs(number.adjusted()) > WIDEST for number in (first, step, (last - first) / step)
    ):
        raise Stopped(ROOM)
    count = int((last - first) / step) + 1 if (last - first) / step >= 0 else 0
    most, wide = FLOOD, max(len(f"{value:.{places}f}") for value in (first, last)) + len(separator)
    if places == 0 and style is None and all(number == int(number) for number in numbers):
        call.cut = count * wide > LONGEST_SEQ
        shown = range(int(first), int(first + count * step), int(step))
        texts = [str(number) for number in (shown[: FLOOD // wide + 1] if call.cut else shown)]
        most = LONGEST_SEQ
    else:
        texts, size = [], 0
        for number in range(count):
            value = first + number * step
            texts.append(f"{value:.{places}f}" if style is None else style % _argument(style, value))
            size += len(texts[-1]) + len(separator)
            call.cut = size > FLOOD
            if call.cut:
                break
    if ("-w" in names or "--equal-width" in names) and style is None:
        width = max(len(f"{value:.{places}f}") for value in (first, first + (count - 1) * step, last))
        call.cut = call.cut or len(texts) * width > most
        del texts[most // width + 1 :]
        texts = [("-" if t[0] == "-" else "") + t.lstrip("-").zfill(width - (t[0] == "-")) for t in texts]
    if texts:
        call.out.append(separator.join(texts) + "\n")


def yes(call: Call) -> None:
    """Repeat a line, not for ever but until no terminal would listen."""
    line = (" ".join(call.argv) or "y") + "\n"
    call.out.append(line * (FLOOD // len(line) + 1))
    call.cut = True


def _argument(style: str, value: Decimal) -> float:
    narrow(*re.findall(r"\d+", style))
    found = re.findall(r"%[-#0 +']*\d*(?:\.\d*)?L?(.?)", style.replace("%%", ""))
    if not found:
        raise UsageError(f"format {quote(style)} has no % directive", hint=False)
    if not found[0]:
        raise UsageError(f"format {quote(style)} ends in %", hint=False)
    if found[0] not in "efgaEFGA":
        raise UsageError(f"format {quote(style)} has unknown %{found[0]} directive", hint=False)
    if len(found) > 1:
        raise UsageError(f"format {quote(style)} has too many % directives", hint=False)
    return float(value)


def _number(word: str) -> Decimal:
    try:
        value = Decimal(int(word, 16)) if re.fullmatch(r"[-+]?0[xX][0-9a-fA-F]+", word) else Decimal(word)
    except InvalidOperation:
        raise UsageError(f"invalid floating point argument: {quote(word)}") from None
    if not value.is_finite():
        raise UsageError(f"invalid floating point argument: {quote(word)}")
    return value


def _places(word: str) -> int:
    return len(word.partition(".")[2]) if "e" not in word.lower() else 0


def uptime(call: Call) -> None:
    """How long the machine is up: it starts with the episode."""
    found, words = options(call, "phsV", ["pretty", "since"])
    names = {option.lstrip("-")[0] for option, _ in found}
    if words or "h" in names:
        usage = "\nUsage:\n uptime [options]\n\nOptions:\n -p, --pretty   show uptime in pretty format\n"
        usage += " -h, --help     display this help and exit\n -s, --since    system up since\n"
        usage += " -V, --version  output version information and exit\n\nFor more details see uptime(1).\n"
        (call.err if words else call.out).append(usage)
        call.code = int(bool(words))
    elif "V" in names:
        call.line("uptime from procps-ng 4.0.2")
    elif "s" in names:
        call.line(format_time(CLOCK, "%F %T"))
    else:
        up = f" {format_time(CLOCK, '%T')} up 0 min,  0 user,  load average: 0.00, 0.00, 0.00"
        call.line("up 0 minutes" if "p" in names else up)


def history(call: Call) -> None:
    """``history`` where none is kept, as in the shells of the other engines."""
    word = next((word for word in call.argv if word not in ("-c", "-d", "-w", "-a", "-r", "-n")), "1")
    if call.argv[:1] == ["-d"] or not word.isdigit():
        reason = "history position out of range" if word.isdigit() else "numeric argument required"
        call.err.append(f"bash: history: {word}: {reason}\n")
        call.code = 1


def _host(words: list[str]) -> str:
    url = next((w for w in words if not w.startswith("-")), "")
    return re.sub(r"^[a-z]+://", "", url).split("/")[0].split(":")[0].split("@")[-1]


def curl(call: Call) -> None:
    """No network: no host name can be resolved, and nothing listens on this one."""
    host = _host(call.argv)
    if not host:
        call.err.append("curl: try 'curl --help' or 'curl --manual' for more information\n")
        call.code = 2
        return
    short = "".join(w[1:] for w in call.argv if re.fullmatch("-[a-zA-Z]+", w))
    silent = "s" in short or "--silent" in call.argv
    own = host in ("localhost", "127.0.0.1", "0.0.0.0", "[::1]")
    port = re.search(r":(\d+)(?:/|\Z)", next(w for w in call.argv if host in w))
    if not silent:
        call.err.append(
            "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
            "                                 Dload  Upload   Total   Spent    Left  Speed\n"
            "\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
        )
    here = host.removesuffix("]").rpartition("[")[2] in ("localhost", "127.0.0.1", "::1")
    call.code = 7 if here else 6
    if not silent or "S" in short or "--show-error" in call.argv:
        reason = (
            f"(7) Failed to connect to {host} port {port[1] if port else 80} after 0 ms: Couldn't connect to server"
            if own
            else f"(6) Could not resolve host: {host}"
        )
        call.err.append(("\n" if own and not silent else "") + f"curl: {reason}\n")
    call.code = 7 if own else 6


def more(call: Call) -> None:
    """``more`` and ``less`` where no one looks: files as they are, each with a heading from ``more``."""
    words = [word for word in call.argv if word[:1] not in ("-", "+")]
    for word in words or ["-"]:
        data = content(call, word)
        less = call.name == "less"
        if not isinstance(data, str):
            heading = "" if less or not words else f"{LINE}\n{word}\n{LINE}\n"
            call.out.append(heading)
            call.write(data)
        elif data == "Is a directory":
            call.out.append(f"{word} is a directory\n" if less else f"\n*** {word}: directory ***\n\n")
        elif less:
            call.line(f"{word}: {data}")
        else:
            call.err.append(f"more: cannot open {word}: {data}\n")


def clear(call: Call) -> None:
    """A dumb terminal cannot be cleared."""
    call.code = 1


def stty(call: Call) -> None:
    """There is no terminal whose lines it could set."""
    call.fail("'standard input': Inappropriate ioctl for device")


def wget(call: Call) -> None:
    """No network: no host name can be resolved."""
    host = _host(call.argv)
    if not host:
        call.err.append(
            "wget: missing URL\nUsage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.\n"
        )
        call.code = 1
        return
    if not {"-q", "--quiet", "-qO-"} & set(call.argv):
        call.err.append(f"wget: unable to resolve host address '{host}'\n")
    call.code = 4
