"""Compressed data piece by piece: nothing grows without end, and a call of C stays short."""

from __future__ import annotations

from typing import Protocol

from echo_terminal.terminal.programs.limits import ROOM, Stopped

PIECE = 1 << 20
MOST = 1 << 26  # bytes that may come out of an archive: no terminal's files take more


class Compressor(Protocol):
    """Of ``zlib``, ``bz2`` or ``lzma``."""

    def compress(self, data: bytes, /) -> bytes:
        """What more data makes."""

    def flush(self) -> bytes:
        """The end."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most so many more; none at the end."""


def packed(compressor: Compressor, data: bytes) -> bytes:
    """The data compressed."""
    pieces = [compressor.compress(data[n : n + PIECE]) for n in range(0, len(data), PIECE)]
    return b"".join([*pieces, compressor.flush()])


def unpacked(stream: Readable) -> bytes:
    """All that a stream holds.

    Raises:
        Stopped: more than ``MOST``.
    """
    pieces, size = [], 0
    while piece := stream.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        fits(size)
    return b"".join(pieces)


def fits(size: int) -> None:
    """So many bytes are about to be made.

    Raises:
        Stopped: they are too many.
    """
    if size > MOST:
        raise Stopped(ROOM)
