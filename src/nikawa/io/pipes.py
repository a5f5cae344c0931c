"""Files that can be read only once: what comes through a pipe or from a terminal is held, so that
it can be read again.

Telling encoding, language and form takes a first look at a file; without this the look would be all
there is to read.
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

STDIN = Path("/dev/stdin")
_BUFFER = 1 << 17
_held: dict[tuple[int, int], _HeldPipe] = {}
"""Device and number of a pipe to what came through it."""


def input_path(name: str | Path) -> Path:
    """The path a name stands for: `-` is the standard input.

    >>> str(input_path("-"))
    '/dev/stdin'
    """
    return STDIN if str(name) == "-" else Path(name)


def is_piped(path: Path) -> bool:
    """Whether the path leads to a pipe or to the standard input."""
    try:
        return path == STDIN or stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


def hold_pipe(raw: BinaryIO, path: Path) -> BinaryIO:
    """The open file, or where it is a pipe or a terminal, all that comes through it, from the start.

    What comes is copied as it is asked for, so that a reader that stops early leaves the rest.
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
    """A pipe, and a file without a name that holds what came through it so far."""

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
        """Bytes from a place that was reached before, more of the pipe where it needs be."""
        with self._lock:
            while at >= self._size and self._raw is not None:
                self._take()
        return os.pread(self._copy.fileno(), count, at)

    def _take(self) -> None:
        """Copy what the pipe has ready."""
        assert self._raw is not None
        try:
            data = self._raw.read1(_BUFFER)  # type: ignore[attr-defined]  # it is buffered
            self._copy.write(data)
            self._copy.flush()
        except OSError as problem:
            what = f"cannot be held ({problem.strerror})"
            cure = "write it to a file and name that"
            raise BadInput(what, file=self._path, cure=cure) from None
        self._size += len(data)
        limits = read_limits()
        if self._size > limits.pipe:
            what = f"brings more than {write_size(limits.pipe)}, all of which is held"
            cure = limits.cure("pipe", "write it to a file and name that")
            raise BadInput(what, file=self._path, cure=cure)
        if not data:
            self._raw.close()
            self._raw = None


class _View(io.RawIOBase):
    """A held pipe from its start, at a place of its own."""

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
