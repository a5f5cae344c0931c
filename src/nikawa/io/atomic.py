"""Write a file or a folder whole or not at all: temporary name beside it, fsync, rename.

The writer holds a lock on its temporary, which dies with the process; a temporary without a lock is
the leftover of a killed writer and is cleared away by the next one of the same name.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from nikawa.errors import BadInput

PART = ".part"
"""How the name of a temporary ends."""


@contextmanager
def atomic_write(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A binary stream whose content appears at `path` only when the block ends well.

    `.gz` and `.zst` are compressed, with no time stamp inside: same content, same bytes.
    """
    refuse_existing(path, overwrite)
    _prepare(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=PART, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as raw:
            _lock(raw.fileno())
            with _compressed(raw, path.suffix) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
            temporary.chmod(0o666 & ~_umask())
            refuse_existing(path, overwrite)
            temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


@contextmanager
def atomic_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder to fill, which appears at `path` only when the block ends well; it replaces all that was there."""
    refuse_existing(path, overwrite)
    _prepare(path)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=PART, dir=path.parent))
    descriptor = _open_folder(temporary)
    try:
        yield temporary
        sync_folder(temporary)
        temporary.chmod(0o777 & ~_umask())
        refuse_existing(path, overwrite)
        _swap(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)
    sync_folder(path.parent)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise unless `path` is free or may be replaced."""
    if path.exists() and not overwrite:
        raise BadInput("exists already", file=path, cure="choose another name, or say --overwrite")


def _swap(temporary: Path, path: Path) -> None:
    """Put `temporary` at `path`; what was there is set aside first and put back if that fails."""
    if not path.exists():
        temporary.rename(path)
        return
    aside = temporary.with_suffix(f".old{PART}")
    path.rename(aside)
    try:
        temporary.rename(path)
    except BaseException:
        aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _prepare(path: Path) -> None:
    """Make the parent folder and clear what killed writers of `path` left in it."""
    if path.is_dir() and path.parent == path:
        raise BadInput("is the root folder", file=path, cure="name a file or folder inside it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInput("is a file, not a folder", file=path.parent, cure="choose another place") from None
    start = f".{path.name}."
    for found in os.scandir(path.parent):
        if found.name.startswith(start) and found.name.endswith(PART):
            _clear(Path(found.path))


def _clear(leftover: Path) -> None:
    with suppress(OSError):  # in use, or gone meanwhile
        descriptor = os.open(leftover, os.O_RDONLY)
        try:
            if _lock(descriptor):
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock of an open file for as long as it is open; whether it was free."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _open_folder(folder: Path) -> int | None:
    with suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        _lock(descriptor)
        return descriptor
    return None


@contextmanager
def _compressed(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=6) as packed:
            yield cast(BinaryIO, packed)
    elif suffix == ".zst":
        with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as packed:
            yield cast(BinaryIO, packed)
    else:
        yield raw


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` last."""
    with suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
