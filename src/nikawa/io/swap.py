"""What writing beside and swapping rests on: temporary names, locks, exchanging two folders, errors by the right name."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.locks import try_lock

PART = ".part"
"""How the name of a temporary ends."""
OLD = f".old{PART}"
"""How the name of a folder ends that is set aside for a new one."""

_LONGEST = 200
"""Bytes of a name beyond which a temporary is not called after all of it: names end at 255."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing, which come without a name."""
_EXCHANGE = 2


def start_of(place: Path) -> str:
    """How the names of temporaries for `place` start."""
    name = place.name
    if len(os.fsencode(name)) > _LONGEST:
        name = blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return f".{name}."


def leftovers(place: Path) -> list[Path]:
    """Temporaries for `place`, in use or left by killed writers."""
    mine = re.compile(rf"{re.escape(start_of(place))}\w+(\.old)?{re.escape(PART)}", re.ASCII)
    return sorted(
        Path(found.path) for found in os.scandir(place.parent) if mine.fullmatch(found.name)
    )


def clear(leftover: Path, back: Path | None = None) -> None:
    """Remove a temporary that nobody holds, or put it `back`."""
    with suppress(OSError):  # in use, or gone meanwhile
        descriptor = os.open(leftover, os.O_RDONLY)
        try:
            if not try_lock(descriptor):
                return
            if back is not None:
                leftover.rename(back)
            elif leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()
        finally:
            os.close(descriptor)


def swap(temporary: Path, place: Path) -> None:
    """Put the folder `temporary` at `place` in one step where the system can, and remove what was there.

    Where it cannot, the old folder is set aside first; a writer killed just then leaves it to be put back.
    """
    if not place.exists():
        temporary.rename(place)
    elif exchange(temporary, place):
        sync_folder(place.parent)
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        _swap_in_two_steps(temporary, place)


def _swap_in_two_steps(temporary: Path, place: Path) -> None:
    aside, held = temporary.with_suffix(OLD), open_folder(place)
    try:
        place.rename(aside)
        try:
            temporary.rename(place)
        except BaseException:
            aside.rename(place)
            raise
        sync_folder(place.parent)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        if held is not None:
            os.close(held)


def exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; whether the system could."""
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(one.absolute()), os.fsencode(other.absolute())
        if sys.platform == "darwin":
            return int(library.renamex_np(*names, _EXCHANGE)) == 0
        return (
            int(library.renameat2(0, names[0], 0, names[1], _EXCHANGE)) == 0
        )  # absolute: the 0 is not looked at
    except (AttributeError, OSError, TypeError):  # another system, or an older one
        return False


def open_folder(folder: Path) -> int | None:
    """Open a folder and take its lock, where the system lets a folder be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try_lock(descriptor)
        return descriptor
    return None


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` last."""
    with suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def named(path: Path, place: Path) -> Iterator[None]:
    """Let errors speak of `path`, the name that was given, not of the temporary that stands in for it."""
    start = str(place.parent / start_of(place))

    def meant(name: str) -> str:
        return (
            f"{path}{name.removeprefix(start).partition(PART)[2]}"
            if name.startswith(start)
            else name
        )

    try:
        yield
    except OSError as problem:
        if isinstance(problem.filename, str):
            problem.filename, problem.filename2 = meant(problem.filename), None
        elif problem.errno in _FULL:
            problem.filename = str(path)
        raise
    except BadInput as problem:
        if problem.file is not None:
            problem.file = Path(meant(str(problem.file)))
            problem.args = (str(problem),)
        raise
