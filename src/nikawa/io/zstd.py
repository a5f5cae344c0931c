"""Decompress zstd in blocks of bounded size, and tell a file cut short from one that ends."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import zstandard

_LEAST, _MOST = 1 << 9, 1 << 14
"""Packed bytes taken at a time: four of them may stand for 128 KiB, so well-packed data is taken in sips."""
_BLOCK = 1 << 20
"""About how much a piece should grow to."""


class ZstdReader(io.RawIOBase):
    """Decompressed bytes of a zstd file. Unlike the library's own reader it refuses a file cut short."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self._unpacker = raw, zstandard.ZstdDecompressor()
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = memoryview(b"")
        self._piece = _LEAST

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with as much as is ready."""
        while not self._ready:
            packed = self._packed()
            if not packed:
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._unpacker.decompressobj()
            self._ready = memoryview(self._frame.decompress(packed))
            grown = len(self._ready) > _BLOCK
            self._piece = max(_LEAST, self._piece // 2) if grown else min(_MOST, self._piece * 2)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _packed(self) -> bytes:
        """The next packed bytes: what follows a finished frame, else more of the file."""
        rest = self._frame.unused_data if self._frame and self._frame.eof else b""
        packed = rest or self._raw.read(self._piece)
        if not packed and self._frame is not None and not self._frame.eof:
            raise EOFError("the end is missing")
        return packed
