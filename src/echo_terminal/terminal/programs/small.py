"""Small programs after GNU coreutils 9.1: ``seq``, ``mktemp``, ``shuf``; and those that need a network."""

from __future__ import annotations

import gzip
import io
import posixpath
import random
import re
import string
import zlib
from decimal import Decimal, InvalidOperation

from echo_terminal.terminal.programs.archive.packing import unpacked
from echo_terminal.terminal.programs.call import NO_ENTRY, Call, UsageError, options, quote
from echo_terminal.terminal.programs.limits import FLOOD, ROOM, WIDEST, Stopped, narrow
from echo_terminal.terminal.programs.text.devices import noise

LONGEST_SEQ = 32 << 20  # characters of whole numbers
NOT_FOUND = 127
MOST_LINES = 3_000_000  # that are shuffled
SIGNALS = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG "
    "XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
).split()


def absent(call: Call) -> None:
    """A program that the machine does not have."""
    call.err.append(f"bash: {call.name}: command not found\n")
    call.code = NOT_FOUND


def no_interpreter(call: Call) -> None:
    """A script (the first word) whose first line names no program."""
    call.err.append(f"bash: {call.argv[0]}: cannot execute: required file not found\n")
    call.code = NOT_FOUND


def two_matchers(call: Call) -> None:
    """``grep`` with two kinds of pattern."""
    call.err.append("grep: conflicting matchers specified\n")
    call.code = 2


def zcat(call: Call) -> None:
    """Write what gzip files hold."""
    _, words = options(call, "cdfq")
    for word in words:
        name = word if call.stat(call.path(word)) is not None or word.endswith(".gz") else f"{word}.gz"
        if call.stat(call.path(name)) is None:
            call.err.append(f"gzip: {name}: {NO_ENTRY}\n")
            call.code = 1
            continue
        try:
            data = unpacked(gzip.open(io.BytesIO(call.fs.read_file(call.path(name)))))
            call.out.append(data.decode("utf-8", "replace"))
        except (OSError, EOFError, zlib.error):
            call.err.append(f"\ngzip: {name}: not in gzip format\n")
            call.code = 1


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


def history(call: Call) -> None:
    """The list of a shell that keeps none, as every engine's."""
    wrong = next((word for word in call.argv if re.fullmatch(r"\d+|-.*", word) is None), None)
    if wrong is not None and not call.argv[0].startswith("-"):
        call.err.append(f"bash: history: {wrong}: numeric argument required\n")
        call.code = 1


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


class Draw:
    """Random programs, from the seed of the episode."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def mktemp(self, call: Call) -> None:
        """Make a file or folder of a fresh name."""
        found, words = options(call, "dp:qtu", ["directory", "tmpdir=", "quiet", "dry-run", "suffix="])
        names = dict(found)
        if len(words) > 1:
            raise UsageError("too many templates")
        template = words[0] if words else "tmp.XXXXXXXXXX"
        suffix = names.get("--suffix", "")
        folder = names.get("-p", names.get("--tmpdir", "" if words and "-t" not in names else None))
        folder = (folder or call.env.get("TMPDIR") or "/tmp") if folder is None or "-p" in names else folder
        match = re.search(r"(X{3,})([^X/]*)$", template)
        if match is None:
            raise UsageError(f"too few X's in template {quote(template)}", hint=False)
        letters = self.random.choices(string.ascii_letters + string.digits, k=len(match[1]))
        name = template[: match.start()] + "".join(letters) + match[2] + suffix
        name = posixpath.join(folder, name)
        path = call.path(name)
        if not call.is_folder(posixpath.dirname(path)):
            kind = "directory" if "-d" in names or "--directory" in names else "file"
            shown = template if not folder else posixpath.join(folder, template)
            call.fail(f"failed to create {kind} via template {quote(shown)}: {NO_ENTRY}")
            return
        if "-u" not in names and "--dry-run" not in names:
            if "-d" in names or "--directory" in names:
                call.fs.mkdir(path)
                call.fs.chmod(path, 0o700)
            else:
                call.fs.write_file(path, b"")
                call.fs.chmod(path, 0o600)
        call.line(name)

    def noise(self, call: Call) -> None:
        """What ``/dev/urandom`` gives."""
        noise(call, self.random)

    def shuf(self, call: Call) -> None:
        """Write lines in an order that the seed of the episode determines."""
        found, words = options(
            call, "ei:n:o:rz", ["echo", "input-range=", "head-count=", "output=", "repeat", "zero-terminated"]
        )
        names = dict(found)
        span = names.get("-i", names.get("--input-range"))
        end = "\0" if "-z" in names or "--zero-terminated" in names else "\n"
        if span is not None:
            match = re.fullmatch(r"(\d+)-(\d+)", span)
            if match is None or int(match[1]) > int(match[2]) + 1:
                raise UsageError(f"invalid input range: {quote(span)}", hint=False)
            if int(match[2]) - int(match[1]) > MOST_LINES:
                raise Stopped(ROOM)
            lines = [str(n) for n in range(int(match[1]), int(match[2]) + 1)]
        elif "-e" in names or "--echo" in names:
            lines = words
        else:
            if len(words) > 1:
                raise UsageError(f"extra operand {quote(words[1])}")
            text = call.stdin
            if words and words[0] != "-":
                meta = call.stat(call.path(words[0]))
                if meta is None or meta.kind == "directory":
                    reason = NO_ENTRY if meta is None else "read error: Is a directory"
                    call.fail(f"{words[0]}: {reason}" if meta is None else reason)
                    return
                text = call.fs.read_file(call.path(words[0])).decode("utf-8", "replace")
            lines = text.split(end)[:-1] if text.endswith(end) else text.split(end) if text else []
        count = names.get("-n", names.get("--head-count"))
        if count is not None and not count.isdigit():
            raise UsageError(f"invalid line count: {quote(count)}", hint=False)
        limit = len(lines) if count is None else int(count)
        if "-r" in names or "--repeat" in names:
            if limit > MOST_LINES:
                raise Stopped(ROOM)
            drawn = self.random.choices(lines, k=limit if count is not None else 1000) if lines else []
        else:
            drawn = self.random.sample(lines, min(limit, len(lines)))
        text = "".join(line + end for line in drawn)
        output = names.get("-o", names.get("--output"))
        if output is not None:
            call.fs.write_file(call.path(output), text.encode())
        else:
            call.out.append(text)


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
    if not silent:
        call.err.append(
            "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
            "                                 Dload  Upload   Total   Spent    Left  Speed\n"
            "\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
        )
    here = host.removesuffix("]").rpartition("[")[2] in ("localhost", "127.0.0.1", "::1")
    call.code = 7 if here else 6
    if not silent or "S" in short or "--show-error" in call.argv:
        port = re.search(rf"{re.escape(host)}:(\d+)", " ".join(call.argv))
        number = port[1] if port else "443" if "https:" in " ".join(call.argv) else "80"
        failed = f"Failed to connect to {host} port {number} after 0 ms: Couldn't connect to server"
        call.err.append(f"curl: (7) {failed}\n" if here else f"curl: (6) Could not resolve host: {host}\n")


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
