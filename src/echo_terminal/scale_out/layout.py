"""Roles of observation tokens where an engine keeps text only.

NeMo-RL tokenises an observation as one text and drops everything but ids, so roles cannot be recorded when
a token is made. Here they are read back from the layout that ``agent.prompt`` fixes. Differences from a
transcript, all towards fewer targets: a token whose bytes belong to two roles leaves O'; a newline before a
notice counts as the notice's; a program that prints a notice word for word is taken for the harness.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from echo_terminal.agent.prompt import RESPONSE_CLOSE, RESPONSE_OPEN, WARNINGS
from echo_terminal.agent.transcript import Role

_OPEN, _CLOSE = RESPONSE_OPEN.encode(), RESPONSE_CLOSE.encode()
_SAID = b"|".join(re.escape(text.encode()) for text in WARNINGS.values())
_WARNING_BLOCK = re.compile(rb"(?:\[warning: (?:" + _SAID + rb")\]\n?)+")
_EXIT = re.compile(rb"exit code: (-?\d+)\n?")
_NOTICE = re.compile(
    rb"\n?\[\.\.\. \d+ characters \(\d+ bytes, \d+ newlines\) omitted \.\.\.\]\n"
    rb"|\n?\[stopped at the limit of [0-9.e+-]+ s\]\Z|\n?\[killed\]\Z"
)
_BREAK = "\u200b"  # a zero-width space: what keeps printed control text from becoming a control token


def neutralise(text: str, control: Sequence[str]) -> str:
    """``text`` with every control string broken by a zero-width space after its first character."""
    for token in control:
        text = text.replace(token, token[0] + _BREAK + token[1:])
    return text


def byte_roles(span: bytes) -> NDArray[np.int8]:
    """Role of each byte of what stands between two actions: OUTPUT, WARNING or GLUE."""
    roles = np.full(len(span), Role.GLUE, dtype=np.int8)
    start = span.find(_OPEN)
    if start < 0:
        return roles
    at, end = start + len(_OPEN), span.rfind(_CLOSE)
    if end < at:  # cut at the context limit
        end = len(span)
    if warning := _WARNING_BLOCK.match(span, at, end):
        roles[at : warning.end()] = Role.WARNING
        at = warning.end()
    code = _EXIT.match(span, at, end)
    if code is None:  # nothing was run
        return roles
    roles[code.start(1) : code.end(1)] = Role.OUTPUT
    roles[code.end() : end] = Role.OUTPUT
    for notice in _NOTICE.finditer(span, code.end(), end):
        roles[notice.start() : notice.end()] = Role.WARNING
    return roles


def token_roles(tokens: Sequence[bytes]) -> NDArray[np.int8]:
    """Role of each token between two actions: OUTPUT if all its bytes are, WARNING if all belong to the
    observation."""
    roles = byte_roles(b"".join(tokens))
    sizes = np.array([len(t) for t in tokens], dtype=np.int64)
    ends = np.cumsum(sizes)
    output = _counts(roles == Role.OUTPUT, ends)
    observed = _counts(roles != Role.GLUE, ends)
    result = np.full(len(tokens), Role.GLUE, dtype=np.int8)
    result[(observed == sizes) & (sizes > 0)] = Role.WARNING
    result[(output == sizes) & (sizes > 0)] = Role.OUTPUT
    return result


def row_roles(
    ids: Sequence[int], sampled: NDArray[np.bool_], length: int, vocabulary: Sequence[bytes]
) -> NDArray[np.int8]:
    """Roles [S] of one row whose ``sampled`` tokens [S] are known; what follows no action is PROMPT,
    padding GLUE."""
    roles = np.full(len(sampled), Role.GLUE, dtype=np.int8)
    actions = np.flatnonzero(sampled[:length])
    first = int(actions[0]) if len(actions) else length
    roles[:first] = Role.PROMPT
    roles[actions] = Role.ACTION
    edges = np.flatnonzero(np.diff(np.concatenate([[True], sampled[first:length], [True]]).astype(np.int8)))
    for start, end in zip(edges[::2] + first, edges[1::2] + first, strict=True):
        roles[start:end] = token_roles([vocabulary[i] for i in ids[start:end]])
    return roles


def vocabulary_bytes(tokenizer: Any) -> list[bytes]:
    """Bytes of every id of a byte-level Hugging Face tokenizer.

    Raises:
        ValueError: the vocabulary is not byte-level, so that bytes of a token cannot be told.
    """
    added: Mapping[int, Any] = tokenizer.added_tokens_decoder
    alphabet = _byte_alphabet()
    result = []
    for index, token in enumerate(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))):
        if index in added:
            result.append(str(added[index]).encode())
        elif token is None:
            result.append(b"")
        elif all(c in alphabet for c in token):
            result.append(bytes(alphabet[c] for c in token))
        else:
            raise ValueError(f"token {token!r} is not byte-level: use a Qwen- or GPT-2-like tokenizer")
    return result


def _byte_alphabet() -> dict[str, int]:
    """The printable stand-ins of the 256 bytes in byte-level BPE: printable Latin-1 as itself, the rest
    from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(printable)]
    return {chr(b): b for b in printable} | {chr(0x100 + n): b for n, b in enumerate(others)}


def _counts(flags: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """True flags within each token, whose byte ranges end at ``ends``."""
    total = np.concatenate([[0], np.cumsum(flags)])
    return np.diff(total[np.concatenate([[0], ends])])
