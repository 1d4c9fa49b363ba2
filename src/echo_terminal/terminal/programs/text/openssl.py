"""``openssl`` of OpenSSL 3.0 for what a shell asks of it: digests, base64 and random bytes. It has no ciphers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import re
from collections.abc import Callable

from echo_terminal.terminal.programs.call import NO_ENTRY, Call
from echo_terminal.terminal.programs.limits import LONGEST, ROOM, Stopped
from echo_terminal.terminal.programs.text.coding import wrapped
from echo_terminal.terminal.programs.text.columns import content

_DIGESTS = {
    "md5": "MD5", "sha1": "SHA1", "sha224": "SHA2-224", "sha256": "SHA2-256", "sha384": "SHA2-384",
    "sha512": "SHA2-512", "sha3-224": "SHA3-224", "sha3-256": "SHA3-256", "sha3-384": "SHA3-384",
    "sha3-512": "SHA3-512", "blake2b512": "BLAKE2B-512", "blake2s256": "BLAKE2S-256",
}  # fmt: skip
_HASHLIB = {"blake2b512": "blake2b", "blake2s256": "blake2s"}
_THREAD = "40B77C8D697F0000"  # in front of the lines of a library's errors stands one that no two runs share
_WIDTH = 64


def program(draw: random.Random) -> Callable[[Call], None]:
    """The program, with the source of its random bytes."""

    def openssl(call: Call) -> None:
        name, *rest = call.argv or [""]
        if name == "version":
            call.line("OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)")
        elif name in ("dgst", *_DIGESTS):
            _digests(call, name, rest)
        elif name in ("base64", "enc"):
            _base64(call, name, rest)
        elif name == "rand":
            _random(call, rest, draw)
        else:
            call.err.append(f"Invalid command '{name}'; type \"help\" for a list.\n")
            call.code = 1

    return openssl


def _refuse(call: Call, name: str, *lines: str) -> None:
    for line in (*lines, "Use -help for summary."):
        call.err.append(f"{name}: {line}\n")
    call.code = 1


def _unsupported(call: Call, name: str, what: str, wrong: str) -> None:
    _refuse(call, name, f"Unknown {what}: {wrong}")
    call.err.append(
        f"{_THREAD}:error:0308010C:digital envelope routines:inner_evp_generic_fetch:unsupported:"
        f"../crypto/evp/evp_fetch.c:386:Global default library context, Algorithm ({wrong} : 0), Properties ()\n"
    )


def _parsed(words: list[str], valued: str) -> tuple[dict[str, str], list[str]]:
    """Options, those of ``valued`` with the word behind them, up to the first word that is none."""
    rest, found = list(words), {}
    while rest and rest[0][:1] == "-" and rest[0] != "-":
        name = rest.pop(0).lstrip("-")
        found[name] = rest.pop(0) if name in valued.split() and rest else ""
    return found, rest


def _write(call: Call, found: dict[str, str], data: bytes) -> None:
    if "out" in found:
        call.fs.write_file(call.path(found["out"]), data)
    else:
        call.write(data)


def _digests(call: Call, name: str, words: list[str]) -> None:
    found, files = _parsed(words, "hmac out")
    kind = "" if name == "dgst" else name
    for option in found:
        if option in _DIGESTS:
            kind = option
        elif option not in ("hex", "binary", "r", "c", "hmac", "out"):
            _unsupported(call, name, "option or message digest", option)
            return
    plain = kind or "sha256"
    label = _DIGESTS[kind] if kind else "SHA256"
    made = b""
    for word in files or ["-"]:
        data = content(call, word)
        if isinstance(data, str):
            call.err.append(
                f"{word}: {data}\n"
                f"{_THREAD}:error:80000002:system library:file_ctrl:{data}:../crypto/bio/bss_file.c:297:"
                f"calling fopen({word}, r)\n"
                f"{_THREAD}:error:10080002:BIO routines:file_ctrl:system lib:../crypto/bio/bss_file.c:300:\n"
            )
            call.code = 1
            continue
        kept = _HASHLIB.get(plain, plain.replace("sha3-", "sha3_"))
        key = found.get("hmac")
        digest = hashlib.new(kept, data) if key is None else hmac.new(key.encode(), data, kept)
        text = ":".join(re.findall("..", digest.hexdigest())) if "c" in found else digest.hexdigest()
        shown = word if files else "stdin"
        if "binary" in found:
            made += digest.digest()
        elif "r" in found:
            made += f"{text} *{shown}\n".encode()
        else:
            made += f"{'HMAC-' if files and key is not None else ''}{label}({shown})= {text}\n".encode()
    _write(call, found, made)


def _base64(call: Call, name: str, words: list[str]) -> None:
    found, rest = _parsed(words, "in out")
    for option in found:
        if option not in ("base64", "a", "d", "e", "A", "in", "out"):
            _unsupported(call, name, "cipher", option)
            return
    if rest:
        _refuse(call, name)
        return
    word = found.get("in", "-")
    data = content(call, word)
    if isinstance(data, str):
        call.err.append(
            f'Can\'t open "{word}" for reading, {NO_ENTRY}\n'
            f"{_THREAD}:error:80000002:system library:BIO_new_file:{NO_ENTRY}:../crypto/bio/bss_file.c:67:"
            f"calling fopen({word}, rb)\n"
            f"{_THREAD}:error:10000080:BIO routines:BIO_new_file:no such file:../crypto/bio/bss_file.c:75:\n"
        )
        call.code = 1
    elif name == "enc" and not found.keys() & {"base64", "a"}:
        _write(call, found, data)
    elif "d" in found:
        _write(call, found, _decoded(data, whole="A" in found))
    else:
        text = base64.b64encode(data).decode()
        _write(call, found, wrapped(text, 0 if "A" in found else _WIDTH).encode())


def _decoded(data: bytes, *, whole: bool) -> bytes:
    """Lines that end in a newline, or (``whole``) one; nothing of what is no base64, and no complaint."""
    lines = data.split(b"\n")
    text = b"".join(lines if whole else lines[:-1])
    return (
        base64.b64decode(text)
        if re.fullmatch(rb"(?:[A-Za-z0-9+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?", text)
        else b""
    )


def _random(call: Call, words: list[str], draw: random.Random) -> None:
    found, rest = _parsed(words, "out")
    wrong = next((option for option in found if option not in ("hex", "base64", "out")), None)
    if wrong is not None:
        _refuse(call, "rand", f"Unknown option: -{wrong}")
    elif not rest:
        call.out.append("\n" if "hex" in found else "")
    elif not rest[0].isdigit():
        _refuse(call, "rand", f'Can\'t parse "{rest[0]}" as a number')
    else:
        if int(rest[0]) > LONGEST:
            raise Stopped(ROOM)
        data = draw.randbytes(int(rest[0]))
        text = f"{data.hex()}\n" if "hex" in found else wrapped(base64.b64encode(data).decode(), _WIDTH)
        _write(call, found, text.encode() if found.keys() & {"hex", "base64"} else data)
