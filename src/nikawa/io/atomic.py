"""Write a file or a folder whole or not at all: temporary name beside it, fsync, rename.

The writer holds a lock on its temporary, which dies with the process; a temporary without a lock is
the leftover of a killed writer and is cleared away by the next one of the same name.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from nikawa.errors import BadInput
from nikawa.io.locks import try_lock
from nikawa.io.swap import (
    OLD,
    PART,
    clear,
    leftovers,
    named,
    open_folder,
    start_of,
    swap,
    sync_folder,
)


@contextmanager
def atomic_write(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A binary stream whose content appears at `path` only when the block ends well.

    `.gz` and `.zst` are compressed, with no time stamp inside: same content, same bytes. A link is followed.
    """
    refuse_existing(path, overwrite)
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or pipe"
        raise BadInput(f"is {kind}, not a file", file=path, cure="choose another name")
    place = _prepare(path)
    with named(path, place):
        descriptor, name = tempfile.mkstemp(prefix=start_of(place), suffix=PART, dir=place.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as raw:
                try_lock(raw.fileno())
                with _compressed(raw, path.suffix) as stream:
                    yield stream
                raw.flush()
                os.fsync(raw.fileno())
                temporary.chmod(0o666 & ~_umask())
                refuse_existing(path, overwrite)
                temporary.replace(place)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
    sync_folder(place.parent)


@contextmanager
def atomic_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder to fill, which appears at `path` only when the block ends well; it replaces all that was there."""
    refuse_existing(path, overwrite)
    place = _prepare(path)
    refuse_existing(path, overwrite)  # the old one may have been put back
    with named(path, place):
        temporary = Path(tempfile.mkdtemp(prefix=start_of(place), suffix=PART, dir=place.parent))
        descriptor = open_folder(temporary)
        try:
            yield temporary
            sync_folder(temporary)
            temporary.chmod(place.stat().st_mode & 0o7777 if place.is_dir() else 0o777 & ~_umask())
            refuse_existing(path, overwrite)
            swap(temporary, place)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        finally:
            if descriptor is not None:
                os.close(descriptor)
    sync_folder(place.parent)


def refuse_existing(path: Path, overwrite: bool, read: Sequence[Path] = ()) -> None:
    """Raise unless `path` is free or may be replaced; what is `read` never may."""
    if path.exists() and any(other.exists() and path.samefile(other) for other in read):
        raise BadInput(
            "is read and would be replaced",
            file=path,
            cure="choose another name for what is written",
        )
    if path.exists() and not overwrite:
        raise BadInput("exists already", file=path, cure="choose another name, or say --overwrite")


def _prepare(path: Path) -> Path:
    """Where `path` really is; its parent is made, and what killed writers left there is put back or cleared."""
    place = Path(os.path.realpath(path))
    if place.parent == place:
        raise BadInput("is the root folder", file=path, cure="name a file or folder inside it")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInput(
            "is a file, not a folder", file=path.parent, cure="choose another place"
        ) from None
    for leftover in leftovers(place):
        put_back = leftover.name.endswith(OLD) and not place.exists()
        clear(leftover, place if put_back else None)
    return place


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
