"""Write a file whole or not at all: temporary name beside it, fsync, rename."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from nikawa.errors import BadInput


@contextmanager
def atomic_write(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A binary stream whose content appears at `path` only when the block ends well.

    `.gz` and `.zst` are compressed, with no time stamp inside: same content, same bytes.
    """
    refuse_existing(path, overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as raw:
            with _compressed(raw, path.suffix) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise unless `path` is free or may be replaced."""
    if path.exists() and not overwrite:
        raise BadInput("exists already", file=path, cure="choose another name, or say --overwrite")


@contextmanager
def _compressed(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif suffix == ".zst":
        with zstandard.ZstdCompressor(level=9).stream_writer(raw, closefd=False) as packed:
            yield cast(BinaryIO, packed)
    else:
        yield raw


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
