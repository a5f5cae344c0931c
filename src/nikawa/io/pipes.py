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
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from nikawa.errors import BadInput

STDIN = Path("/dev/stdin")
_BUFFER = 1 << 17
_held: dict[tuple[int, int], BinaryIO] = {}
"""Device and number of a pipe to all that came through it, in a file without a name."""


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
    """The open file, or where it is a pipe or a terminal, all that came through it, from the start."""
    about = os.fstat(raw.fileno())
    if not stat.S_ISFIFO(about.st_mode) and not os.isatty(raw.fileno()):
        return raw
    key = about.st_dev, about.st_ino
    with raw:
        if key not in _held:
            copy = cast(BinaryIO, TemporaryFile())  # noqa: SIM115  # it lives as long as the program
            try:
                copyfileobj(raw, copy, _BUFFER)
                copy.flush()
            except OSError as problem:
                copy.close()
                what = f"cannot be held ({problem.strerror})"
                cure = "write it to a file and name that"
                raise BadInput(what, file=path, cure=cure) from None
            atexit.register(copy.close)
            _held[key] = copy
    return cast(BinaryIO, io.BufferedReader(_View(_held[key].fileno()), _BUFFER))


class _View(io.RawIOBase):
    """A file from its start, at a place of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._at = descriptor, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = os.pread(self._descriptor, len(view), self._at)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
