"""Write a file or a folder completely or not at all: a temporary next to it, fsync, rename.

The writer holds a lock on its temporary, which ends with the process. A temporary without a lock was
left by a killed writer; the next writer of the same name removes it or puts it back.

- `atomic_write`: one file.
- `atomic_folder`: one folder, which replaces the previous one.
- `staged_files`: some files of a folder that also has others. All are written first, then moved in, the last one at the end;
the replaced files are set aside until then. The files of others are never touched.

Each takes an address too: see `nikawa.io.uploads`.

Nothing is written outside: below a folder that one of these has opened, and with `inside`, a path
that leads out of it, by `..` or by a link, is refused.
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
from contextvars import ContextVar
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from nikawa.errors import BadInput
from nikawa.io.file_names import MAX_NAME_BYTES, refuse_outside
from nikawa.io.locks import try_lock
from nikawa.io.remote import RemotePath, to_path
from nikawa.io.uploads import upload_file, upload_folder

PART = ".part"
"""The suffix of a temporary."""
OLD = f".old{PART}"
"""The suffix of a folder that is set aside for a new one."""
STAGING = ".new."
"""The prefix of a staging folder, whose files are moved into its parent."""
SET_ASIDE, ADDED = "old", ".added.json"
"""Inside a staging folder: the replaced files, and the names of new files."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing, which come without a name."""
_EXCHANGE = 2
"""The flag of the system call that lets two names change places."""
_OPEN_FOLDERS: set[Path] = set()
"""Folders that are being filled now."""
_IS_PRIVATE: ContextVar[bool] = ContextVar("is_private", default=False)
"""Whether files are currently written for their owner only."""


@contextmanager
def private_files(private: bool = True) -> Iterator[None]:
    """Write all files in the block with mode 0600, and folders with 0700, whatever their previous mode.

    It is for writers that call other writers: the output is private in every format. It also sets the
    umask of the process, so that a file made by a plain `open` is private as well; files of other threads
    are then private too. Without `private` nothing changes.
    """
    if not private:
        yield
        return
    token, mask = _IS_PRIVATE.set(True), os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)
        _IS_PRIVATE.reset(token)


@contextmanager
def atomic_write(
    path: Path, *, overwrite: bool = False, inside: Path | None = None, private: bool = False
) -> Iterator[BinaryIO]:
    """Yield a binary stream whose content appears at `path` only if the block succeeds.

    `.gz` and `.zst` are compressed without a time stamp: the same content gives the same bytes. A link is
    followed, but not out of the folder `inside`. Raises BadInput if `path` exists and `overwrite`
    is not set, if it is not a file, or if it leads out of the output folder. A `private`
    file has mode 0600 from its first byte on: only its owner can read it.
    """
    path = to_path(path)
    if isinstance(path, RemotePath):
        with (
            upload_file(path, overwrite, private or _IS_PRIVATE.get()) as raw,
            _compress(raw, path.suffix) as stream,
        ):
            yield stream
        return
    _refuse_escape(path, inside)
    refuse_existing(path, overwrite)
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or pipe"
        raise BadInput(f"is {kind}, not a file", file=path, cure="choose another name")
    place = prepare_place(path)
    with _name_errors(path, place):
        descriptor, name = tempfile.mkstemp(
            prefix=hidden_prefix(place), suffix=PART, dir=place.parent
        )
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as raw:
                try_lock(raw.fileno())
                with _compress(raw, path.suffix) as stream:
                    yield stream
                raw.flush()
                os.fsync(raw.fileno())
                is_private = private or _IS_PRIVATE.get()
                temporary.chmod(0o600 if is_private else 0o666 & ~_umask())
                refuse_existing(path, overwrite)
                temporary.replace(place)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
    sync_folder(place.parent)


@contextmanager
def atomic_folder(
    path: Path, *, overwrite: bool = False, inside: Path | None = None
) -> Iterator[Path]:
    """A folder to fill, which appears at `path` only when the block ends well.

    It replaces all that was there. A link is followed, but not out of the folder `inside`.
    """
    path = to_path(path)
    if isinstance(path, RemotePath):
        private = _IS_PRIVATE.get()
        with (
            upload_folder(path, overwrite=overwrite, private=private) as filled,
            _opened_folder(filled),
        ):
            yield filled
        return
    _refuse_escape(path, inside)
    refuse_existing(path, overwrite)
    place = prepare_place(path)
    refuse_existing(path, overwrite)  # the old one may have been put back
    with _name_errors(path, place):
        temporary = Path(
            tempfile.mkdtemp(prefix=hidden_prefix(place), suffix=PART, dir=place.parent)
        )
        with _locked_folder(temporary):
            try:
                with _opened_folder(temporary):
                    yield temporary
                sync_folder(temporary)
                old_mode = place.stat().st_mode & 0o7777 if place.is_dir() else None
                new_mode = 0o777 & ~_umask() if old_mode is None else old_mode
                temporary.chmod(0o700 if _IS_PRIVATE.get() else new_mode)
                refuse_existing(path, overwrite)
                swap_folders(temporary, place)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
    sync_folder(place.parent)


@contextmanager
def staged_files(folder: Path, old: Iterable[str], last: str) -> Iterator[Path]:
    """Yield a folder to fill; if the block succeeds, its files move into `folder` and replace those
    called `old`.

    The file called `last` moves last, and is removed first: while it is missing, the folder is
    incomplete. If anything fails, all files are put back; if the writer is killed while moving,
    `recover` puts them back.
    """
    folder = to_path(folder)
    if isinstance(folder, RemotePath):
        private = _IS_PRIVATE.get()
        with (
            upload_folder(
                folder, overwrite=True, private=private, replaced=tuple(old), last=last
            ) as filled,
            _opened_folder(filled),
        ):
            yield filled
        return
    replaced = sorted(old, key=lambda name: name != last)
    with _name_errors(folder, folder / STAGING.strip(".")):
        staging = Path(tempfile.mkdtemp(prefix=STAGING, suffix=PART, dir=folder))
        with _locked_folder(staging):
            try:
                with _opened_folder(staging):
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
    """Put back the files that a killed writer had set aside.

    If `last` is in place, the writer had finished. At an address, a reader sees that a writer was killed.
    """
    if isinstance(folder, RemotePath):
        return
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
    """Remove the files that were moved in, put back those that were set aside, and remove the rest."""
    aside, added = staging / SET_ASIDE, staging / ADDED
    if aside.is_dir() and added.is_file():  # else killed while clearing up
        try:
            names = json.loads(added.read_bytes())
        except (ValueError, RecursionError):
            names = []
        # A folder from elsewhere may have such a list, which must not lead out of the folder.
        there = {path.name for path in folder.iterdir() if path.is_file() or path.is_symlink()}
        for name in there.intersection(map(str, names if isinstance(names, list) else ())):
            if not (staging / name).exists():
                (folder / name).unlink(missing_ok=True)
        for path in aside.iterdir():
            path.rename(folder / path.name)
    shutil.rmtree(staging, ignore_errors=True)


def _refuse_escape(path: Path, inside: Path | None) -> None:
    """Raise where `path` leads out of `inside`, or out of a folder being filled that it begins
    with.
    """
    opened = [folder for folder in tuple(_OPEN_FOLDERS) if folder in path.parents]
    for folder in (*opened, *(() if inside is None else (inside,))):
        refuse_outside(path, folder)


@contextmanager
def _opened_folder(folder: Path) -> Iterator[None]:
    _OPEN_FOLDERS.add(folder)
    try:
        yield
    finally:
        _OPEN_FOLDERS.discard(folder)


def refuse_existing(path: Path, overwrite: bool, read: Sequence[Path] = ()) -> None:
    """Raise unless `path` is free or may be replaced; input files (`read`) may never be replaced."""
    path = to_path(path)
    if path.exists() and any(_is_same_file(path, other) for other in read):
        cure = "choose another name for the output"
        raise BadInput("is an input file and would be overwritten", file=path, cure=cure)
    if path.exists() and not overwrite:
        raise BadInput("already exists", file=path, cure="choose another name, or pass --overwrite")


def _is_same_file(path: Path, other: Path) -> bool:
    if isinstance(path, RemotePath) or isinstance(other, RemotePath):
        return path == other
    return other.exists() and path.samefile(other)


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` last."""
    with suppress(OSError):  # not every system can open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def prepare_place(path: Path) -> Path:
    """Return the real path of `path`.

    Creates its parent, and puts back or removes the leftovers of killed writers.
    """
    place = Path(os.path.realpath(path))
    if place.parent == place:
        raise BadInput("is the root folder", file=path, cure="name a file or folder inside it")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        cure = "choose another place"
        raise BadInput("is a file, not a folder", file=path.parent, cure=cure) from None
    pattern = rf"{re.escape(hidden_prefix(place))}\w+(\.old)?{re.escape(PART)}"
    names = [entry.name for entry in os.scandir(place.parent)]
    for name in sorted(name for name in names if re.fullmatch(pattern, name, re.ASCII)):
        put_back = name.endswith(OLD) and not place.exists()
        clear_leftover(place.parent / name, place if put_back else None)
    return place


def hidden_prefix(place: Path) -> str:
    """Return the prefix of temporaries for `place`."""
    name = place.name
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        name = blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return f".{name}."


def clear_leftover(leftover: Path, back: Path | None) -> None:
    """Remove a temporary that no process uses, or put it `back`."""
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
    """Hold the lock of a folder, if the system can open a folder."""
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
    """Move the folder `temporary` to `place` in one step if the system can, and remove the old
    folder.

    Otherwise the old folder is set aside first; if the writer is killed at that moment, the next one puts it
    back.
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
def name_full_disk(path: Path) -> Iterator[None]:
    """Let the error of a full disk, which comes without a name, name the file that is written."""
    try:
        yield
    except OSError as problem:
        if problem.filename is None and problem.errno in _DISK_FULL:
            problem.filename = str(path)
        raise


@contextmanager
def _name_errors(path: Path, place: Path) -> Iterator[None]:
    """Make errors name `path` instead of the temporary file."""
    start = str(place.parent / hidden_prefix(place))

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
