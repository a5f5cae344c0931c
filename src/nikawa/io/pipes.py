"""Files that can be read only once: data from a pipe or a terminal is stored, so that
it can be read again.

Nikawa reads the beginning of a file to detect encoding, language and form. Without storage, that part of a
pipe would be lost.
"""

from __future__ import annotations

import atexit
import io
import os
import stat
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import BinaryIO, cast

from nikawa.errors import BadInput
from nikawa.io.limits import read_limits, write_size
from nikawa.io.remote import RemotePath, to_path

STDIN = Path("/dev/stdin")
_BUFFER = 1 << 17
_held: dict[tuple[int, int], _HeldPipe] = {}
"""Device and number of a pipe to its stored data."""


def input_path(name: str | Path) -> Path:
    """The path a name stands for: `-` is the standard input; see `to_path` for addresses.

    >>> str(input_path("-"))
    '/dev/stdin'
    """
    return STDIN if str(name) == "-" else to_path(name)


def is_piped(path: Path) -> bool:
    """Whether the path leads to a pipe or to the standard input."""
    if isinstance(path, RemotePath):
        return False
    try:
        return path == STDIN or stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


def hold_pipe(raw: BinaryIO, path: Path) -> BinaryIO:
    """Return the open file, or for a pipe or a terminal its data from the start.

    Data is copied on demand, so that a reader that stops early leaves the rest.
    """
    about = os.fstat(raw.fileno())
    if not stat.S_ISFIFO(about.st_mode) and not os.isatty(raw.fileno()):
        return raw
    key = about.st_dev, about.st_ino
    if key in _held:
        raw.close()
    else:
        _held[key] = _HeldPipe(raw, path)
        atexit.register(_held[key].close)
    return cast(BinaryIO, io.BufferedReader(_View(_held[key]), _BUFFER))


class _HeldPipe:
    """A pipe, and an unnamed file with the data so far."""

    def __init__(self, raw: BinaryIO, path: Path) -> None:
        self._raw: BinaryIO | None = raw
        self._copy = cast(BinaryIO, TemporaryFile())  # noqa: SIM115  # it lives as long as the program
        self._size, self._path, self._lock = 0, path, Lock()

    def close(self) -> None:
        """Let go of both."""
        self._copy.close()
        if self._raw is not None:
            self._raw.close()

    def read(self, count: int, at: int) -> bytes:
        """Return bytes from an earlier position, and read more of the pipe if necessary."""
        with self._lock:
            while at >= self._size and self._raw is not None:
                self._take()
        return os.pread(self._copy.fileno(), count, at)

    def _take(self) -> None:
        """Copy the available data of the pipe."""
        assert self._raw is not None
        try:
            data = self._raw.read1(_BUFFER)  # type: ignore[attr-defined]  # it is buffered
            self._copy.write(data)
            self._copy.flush()
        except OSError as problem:
            what = f"cannot be stored ({problem.strerror})"
            cure = "write it to a file and pass that file"
            raise BadInput(what, file=self._path, cure=cure) from None
        self._size += len(data)
        limits = read_limits()
        if self._size > limits.pipe:
            what = (
                f"has more than {write_size(limits.pipe)}, which is the most that a pipe may have"
            )
            cure = limits.cure("pipe", "write it to a file and pass that file")
            raise BadInput(what, file=self._path, cure=cure)
        if not data:
            self._raw.close()
            self._raw = None


class _View(io.RawIOBase):
    """A stored pipe from its start, with its own position."""

    def __init__(self, held: _HeldPipe) -> None:
        self._held, self._at = held, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._held.read(len(view), self._at)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
