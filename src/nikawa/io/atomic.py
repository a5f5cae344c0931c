"""Write a file or a folder whole or not at all: a temporary beside it, fsync, rename.

The writer holds a lock on its temporary, which dies with the process; a temporary without a lock is
the leftover of a killed writer, which the next one of the same name clears away or puts back.

- `atomic_write`: one file.
- `atomic_folder`: one folder, which replaces all that was there.
- `staged_files`: some files of a folder that holds others too. All are written first, then moved in, the last one at the end;
  what they replace is set aside until then. The files of others are never touched.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from nikawa.errors import BadInput
from nikawa.io.locks import try_lock

PART = ".part"
"""How the name of a temporary ends."""
OLD = f".old{PART}"
"""How the name of a folder ends that is set aside for a new one."""
STAGING = ".new."
"""How the name of a folder starts whose files are to be moved into the one it is in."""
SET_ASIDE, ADDED = "old", ".added.json"
"""Inside a staging folder: what is replaced, and the names of files that replace nothing."""
MAX_NAME_BYTES = 200
"""Bytes of a name beyond which a temporary is not called after all of it: names end at 255."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing, which come without a name."""
_EXCHANGE = 2
"""The flag of the system call that lets two names change places."""


@contextmanager
def atomic_write(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A binary stream whose content appears at `path` only when the block ends well.

    `.gz` and `.zst` are compressed, with no time stamp inside: same content, same bytes. A link is
    followed. Raises BadInput where `path` exists and `overwrite` is not set, or where it is no
    file.
    """
    refuse_existing(path, overwrite)
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or pipe"
        raise BadInput(f"is {kind}, not a file", file=path, cure="choose another name")
    place = _prepare(path)
    with _name_errors(path, place):
        descriptor, name = tempfile.mkstemp(prefix=_prefix(place), suffix=PART, dir=place.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as raw:
                try_lock(raw.fileno())
                with _compress(raw, path.suffix) as stream:
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
    """A folder to fill, which appears at `path` only when the block ends well.

    It replaces all that was there.
    """
    refuse_existing(path, overwrite)
    place = _prepare(path)
    refuse_existing(path, overwrite)  # the old one may have been put back
    with _name_errors(path, place):
        temporary = Path(tempfile.mkdtemp(prefix=_prefix(place), suffix=PART, dir=place.parent))
        with _locked_folder(temporary):
            try:
                yield temporary
                sync_folder(temporary)
                old_mode = place.stat().st_mode & 0o7777 if place.is_dir() else None
                temporary.chmod(0o777 & ~_umask() if old_mode is None else old_mode)
                refuse_existing(path, overwrite)
                swap_folders(temporary, place)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
    sync_folder(place.parent)


@contextmanager
def staged_files(folder: Path, old: Iterable[str], last: str) -> Iterator[Path]:
    """A folder to fill, whose files move into `folder` when the block ends well and replace those
    called `old`.

    The file called `last` moves last, and is taken away first: while it is missing, the others
    count for nothing. If anything fails all is put back; if the writer is killed while moving,
    `recover` puts it back.
    """
    replaced = sorted(old, key=lambda name: name != last)
    with _name_errors(folder, folder / STAGING.strip(".")):
        staging = Path(tempfile.mkdtemp(prefix=STAGING, suffix=PART, dir=folder))
        with _locked_folder(staging):
            try:
                yield staging
                written = [path.name for path in staging.iterdir()]
                names = sorted(written, key=lambda name: (name == last, name))
                added = sorted(set(names) - set(replaced))
                for name in added:
                    refuse_existing(folder / name, overwrite=False)
                (staging / ADDED).write_text(json.dumps(added))
                (staging / SET_ASIDE).mkdir()
                sync_folder(staging)
                for name in replaced:
                    (folder / name).rename(staging / SET_ASIDE / name)
                for name in names:
                    (staging / name).rename(folder / name)
            except BaseException:
                _undo_moves(staging, folder)
                raise
    sync_folder(folder)
    shutil.rmtree(staging, ignore_errors=True)


def recover(folder: Path, last: str) -> None:
    """Put back what a writer set aside that was killed while it moved files.

    With `last` in place it was done.
    """
    for staging in sorted(folder.glob(f"{STAGING}*{PART}")):
        with suppress(OSError):  # in use, or gone meanwhile
            descriptor = os.open(staging, os.O_RDONLY)
            try:
                if not try_lock(descriptor):
                    continue
                if (folder / last).exists():
                    shutil.rmtree(staging, ignore_errors=True)
                else:
                    _undo_moves(staging, folder)
            finally:
                os.close(descriptor)


def _undo_moves(staging: Path, folder: Path) -> None:
    """Take back what was moved in, put back what was set aside, and remove the rest."""
    aside, added = staging / SET_ASIDE, staging / ADDED
    if aside.is_dir() and added.is_file():  # else killed while clearing up
        for name in json.loads(added.read_text()):
            if not (staging / name).exists():
                (folder / name).unlink(missing_ok=True)
        for path in aside.iterdir():
            path.rename(folder / path.name)
    shutil.rmtree(staging, ignore_errors=True)


def refuse_existing(path: Path, overwrite: bool, read: Sequence[Path] = ()) -> None:
    """Raise unless `path` is free or may be replaced; what is `read` never may."""
    if path.exists() and any(other.exists() and path.samefile(other) for other in read):
        cure = "choose another name for what is written"
        raise BadInput("is read and would be replaced", file=path, cure=cure)
    if path.exists() and not overwrite:
        raise BadInput("exists already", file=path, cure="choose another name, or say --overwrite")


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` last."""
    with suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _prepare(path: Path) -> Path:
    """Where `path` really is.

    Its parent is made, and what killed writers left there is put back or cleared.
    """
    place = Path(os.path.realpath(path))
    if place.parent == place:
        raise BadInput("is the root folder", file=path, cure="name a file or folder inside it")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        cure = "choose another place"
        raise BadInput("is a file, not a folder", file=path.parent, cure=cure) from None
    pattern = rf"{re.escape(_prefix(place))}\w+(\.old)?{re.escape(PART)}"
    names = [entry.name for entry in os.scandir(place.parent)]
    for name in sorted(name for name in names if re.fullmatch(pattern, name, re.ASCII)):
        put_back = name.endswith(OLD) and not place.exists()
        clear_leftover(place.parent / name, place if put_back else None)
    return place


def _prefix(place: Path) -> str:
    """How the names of temporaries for `place` start."""
    name = place.name
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        name = blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return f".{name}."


def clear_leftover(leftover: Path, back: Path | None) -> None:
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


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, where the system lets a folder be opened."""
    descriptor = None
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try_lock(descriptor)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def swap_folders(temporary: Path, place: Path) -> None:
    """Put the folder `temporary` at `place` in one step where the system can, and remove what was
    there.

    Where it cannot, the old folder is set aside first; a writer killed just then leaves it to be
    put back.
    """
    if not place.exists():
        temporary.rename(place)
        return
    if exchange_folders(temporary, place):
        sync_folder(place.parent)
        shutil.rmtree(temporary, ignore_errors=True)
        return
    aside = temporary.with_suffix(OLD)
    with _locked_folder(place):
        place.rename(aside)
        try:
            temporary.rename(place)
        except BaseException:
            aside.rename(place)
            raise
        sync_folder(place.parent)
        shutil.rmtree(aside, ignore_errors=True)


def exchange_folders(one: Path, other: Path) -> bool:
    """Let two names change places in one step; whether the system could."""
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(one.absolute()), os.fsencode(other.absolute())
        if sys.platform == "darwin":
            return int(library.renamex_np(*names, _EXCHANGE)) == 0
        # the paths are absolute: the folders that the zeros stand for are not looked at
        return int(library.renameat2(0, names[0], 0, names[1], _EXCHANGE)) == 0
    except (AttributeError, OSError, TypeError):  # another system, or an older one
        return False


@contextmanager
def _name_errors(path: Path, place: Path) -> Iterator[None]:
    """Let errors speak of `path`, the name that was given, not of the temporary that stands in for
    it.
    """
    start = str(place.parent / _prefix(place))

    def rename(name: str) -> str:
        if not name.startswith(start):
            return name
        return f"{path}{name.removeprefix(start).partition(PART)[2]}"

    try:
        yield
    except OSError as problem:
        if isinstance(problem.filename, str):
            problem.filename, problem.filename2 = rename(problem.filename), None
        elif problem.errno in _DISK_FULL:
            problem.filename = str(path)
        raise
    except BadInput as problem:
        if problem.file is not None:
            problem.file = Path(rename(str(problem.file)))
            problem.args = (str(problem),)
        raise


@contextmanager
def _compress(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
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
