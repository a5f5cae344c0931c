"""The bytes of a file that pyarrow splits into cells, as long as it splits them as the record reader does."""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from typing import BinaryIO


class NotPlainError(ValueError):
    """A file needs the record reader."""


class PlainBytes(io.RawIOBase):
    """The bytes of a stream; a `refused` byte, and a CR that does not end a line, break it off.

    So does a byte order mark at the start where the bytes are `behind_heading`: there it is text, but pyarrow drops it.
    """

    def __init__(
        self, stream: BinaryIO, refused: bytes = b"", *, behind_heading: bool = False
    ) -> None:
        self._stream = stream
        self._refused = refused
        self._refused_start = BOM_UTF8 if behind_heading else b""
        self._ends_in_cr = False

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._stream.read(size)
        if self._refused_start and data.startswith(self._refused_start):
            raise NotPlainError("a byte order mark is text")
        self._refused_start = b""
        if self._refused and self._refused in data:
            raise NotPlainError("a cell is quoted")
        if self._ends_in_cr or b"\r" in data:
            pairs = data.count(b"\r\n") + (self._ends_in_cr and data.startswith(b"\n"))
            open_ends = self._ends_in_cr + data.count(b"\r")
            self._ends_in_cr = data.endswith(b"\r")
            if pairs + self._ends_in_cr != open_ends or (self._ends_in_cr and not data):
                raise NotPlainError("a line ends in CR")
        return data
