"""Write files and folders to addresses, completely or not at all.

A file goes up while it is written, as the parts of an upload that is ended (published) after the last byte. On a store without
such uploads it is kept on this machine until it is whole. What a killed writer leaves has no name.

A folder is filled on this machine. Its long files go up first, as parts. Then a mark (`remote.UNFINISHED`) is put, the replaced
files are removed, all files are published, the card at the end, and the mark is removed. A reader refuses a folder with the mark.

Stores of objects have no locks and no folders that change places: of two writers of one name the last one wins.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from nikawa.errors import BadInput
from nikawa.io.remote import (
    UNFINISHED,
    RemotePath,
    forget_known,
    open_system,
    translate_errors,
)

PARTED = ("s3", "s3a", "gs", "gcs")
"""Protocols whose files go up in parts and are published by one request."""
WHOLE = ("memory", "hf", "az", "abfs", "abfss")
"""Protocols that show a new file only when all of it has arrived."""
PART_BYTES = 48 << 20
"""Bytes of a part. S3 takes 10,000 of them, so that a file may have 500 GB."""
LONG_FILE_BYTES = 8 << 20
"""Files of a folder from this size on go up before the first is published."""
HIDDEN_PLACES = "NIKAWA_HIDDEN_REMOTE"
"""The environment variable that names the address below which hidden labels may be stored."""


class Upload(Protocol):
    """One file on its way to an address."""

    def publish(self) -> None:
        """Let the file appear."""
        ...

    def discard(self) -> None:
        """Forget what has been sent."""
        ...


class PartedUpload(io.RawIOBase):
    """A file that goes up in parts while it is written."""

    def __init__(self, path: RemotePath) -> None:
        self.path, self._size = path, 0
        with translate_errors(path, "written"):
            system, place = open_system(path)
            self._file = system.open(place, "wb", block_size=PART_BYTES, autocommit=False)

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any) -> int:
        """Add bytes."""
        with translate_errors(self.path, "written"):
            count = int(self._file.write(data))
        self._size += count
        return count

    def tell(self) -> int:
        """How many bytes were written."""
        return self._size

    def publish(self) -> None:
        """Send the last part, and let the file appear."""
        with translate_errors(self.path, "written"):
            if not self._file.closed:
                self._file.close()
            self._file.commit()

    def finish(self) -> None:
        """Send the last part."""
        with translate_errors(self.path, "written"):
            self._file.close()

    def discard(self) -> None:
        """Forget the parts that have been sent, on the store too."""
        self._file.closed = True  # or the file would be sent when it is collected
        with suppress(Exception):  # the store may be out of reach: what is there has no name
            self._file.discard()


class KeptUpload:
    """A whole file of this machine that goes up when it is published."""

    def __init__(self, path: RemotePath, kept: Path) -> None:
        self.path, self.kept = path, kept

    def publish(self) -> None:
        """Send the file; where a store shows unfinished files, under another name first."""
        with translate_errors(self.path, "written"):
            system, place = open_system(self.path)
            if self.path.scheme in (*PARTED, *WHOLE):
                system.put_file(str(self.kept), place)
                return
            folder, _, name = place.rpartition("/")
            temporary = f"{folder}/.{name}.{os.urandom(4).hex()}.part"
            system.makedirs(folder, exist_ok=True)
            try:
                system.put_file(str(self.kept), temporary)
                system.mv(temporary, place)
            except BaseException:
                with suppress(Exception):
                    system.rm_file(temporary)
                raise

    def discard(self) -> None:
        """Nothing has been sent."""


@contextmanager
def upload_file(path: RemotePath, overwrite: bool, private: bool) -> Iterator[BinaryIO]:
    """Yield a binary stream whose content appears at an address only if the block succeeds."""
    refuse_hidden(path, private)
    refuse_taken(path, overwrite)
    if path.is_dir():
        raise BadInput("is a folder, not a file", file=path, cure="choose another name")
    with ExitStack() as stack:
        upload: PartedUpload | KeptUpload
        if path.scheme in PARTED:
            upload = PartedUpload(path)
            stream = cast(BinaryIO, upload)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="nikawa-"))
            upload = KeptUpload(path, Path(folder) / "file")
            stream = stack.enter_context(upload.kept.open("wb"))
        try:
            yield stream
            if isinstance(upload, PartedUpload):
                upload.finish()
            else:
                stream.flush()
            refuse_taken(path, overwrite)
            upload.publish()
            forget_known()
        except BaseException:
            upload.discard()
            raise


def staging_folder(path: RemotePath) -> Path:
    """The folder of this machine in which long work for an address goes on, also in a later call."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = blake2b(path.address.encode(), digest_size=8).hexdigest()
    return cache / "nikawa" / "uploads" / digest / path.name


@contextmanager
def upload_when_done(
    path: RemotePath, *, replaced: Iterable[str], last: str, left_out: str = ""
) -> Iterator[Path]:
    """Yield a folder of this machine for long work; the files in it go to an address when the block succeeds.

    If the block fails or is killed, the folder stays, so that the same call goes on in it. Hidden files and the folder
    `left_out` are not sent. Nothing is sent unless the file `last` is there.
    """
    folder = staging_folder(path)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    yield folder
    if not (folder / last).exists():
        return
    names = [name for name in list_files(folder) if not name.startswith((".", f"{left_out}/"))]
    _send_files(path, {name: folder / name for name in names}, replaced, last)
    shutil.rmtree(folder.parent, ignore_errors=True)


@contextmanager
def upload_folder(
    path: RemotePath,
    *,
    overwrite: bool,
    private: bool,
    replaced: Iterable[str] | None = None,
    last: str = "",
) -> Iterator[Path]:
    """Yield a folder of this machine to fill; its files appear below an address if the block succeeds.

    They take the place of the files called `replaced` (None: of all that are there). The file called `last` appears last.
    """
    refuse_hidden(path, private)
    if replaced is None:
        refuse_taken(path, overwrite)
    with tempfile.TemporaryDirectory(prefix="nikawa-") as temporary:
        folder = Path(temporary) / path.name
        folder.mkdir()
        yield folder
        if replaced is None:
            refuse_taken(path, overwrite)
        _send_files(path, {name: folder / name for name in list_files(folder)}, replaced, last)


def list_files(folder: Path) -> list[str]:
    """The files below a folder of this machine, by their paths in it."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file.relative_to(folder).as_posix() for file in files)


def _send_files(
    path: RemotePath, files: Mapping[str, Path], replaced: Iterable[str] | None, last: str
) -> None:
    """Send the files of a folder: the long ones as parts, then, with the mark in place, all names."""
    uploads: dict[str, Upload] = {}
    try:
        for name, file in files.items():
            target = path / name
            if path.scheme not in PARTED or file.stat().st_size < LONG_FILE_BYTES:
                uploads[name] = KeptUpload(target, file)
                continue
            parted = PartedUpload(target)
            uploads[name] = parted
            with file.open("rb") as stream:
                shutil.copyfileobj(stream, parted, LONG_FILE_BYTES)
            parted.finish()
        _publish_files(path, uploads, replaced, last)
    except BaseException:
        for upload in uploads.values():
            upload.discard()
        raise


def _publish_files(
    path: RemotePath, uploads: Mapping[str, Upload], replaced: Iterable[str] | None, last: str
) -> None:
    """Put the mark, replace the files, and remove the mark."""
    forget_known()
    if path.is_file():
        raise BadInput("is a file, not a folder", file=path, cure="choose another name")
    old = set(path.list_names() if replaced is None else replaced) - {UNFINISHED}
    with translate_errors(path, "written"):
        system, place = open_system(path)
        mark = f"{place}/{UNFINISHED}"
        if path.scheme not in (*PARTED, *WHOLE):  # where it would make a bucket, or has no meaning
            system.makedirs(place, exist_ok=True)
        system.pipe_file(mark, b"nikawa writes this folder\n")
        # the file that makes the folder complete goes first and comes last
        for name in sorted(old, key=lambda name: (name != last, name)):
            if (name == last or name not in uploads) and system.exists(f"{place}/{name}"):
                system.rm_file(f"{place}/{name}")
    for name in sorted(uploads, key=lambda name: (name == last, name)):
        uploads[name].publish()
    with translate_errors(path, "written"):
        system.rm_file(mark)
    forget_known()


def put_object(path: RemotePath, content: bytes) -> None:
    """Write a small file, which replaces what is there."""
    with translate_errors(path, "written"):
        system, place = open_system(path)
        if path.scheme not in (*PARTED, *WHOLE):
            system.makedirs(place.rpartition("/")[0], exist_ok=True)
        system.pipe_file(place, content)
    forget_known()


def remove_objects(folder: RemotePath, names: Iterable[str]) -> None:
    """Remove files of a folder."""
    with translate_errors(folder, "written"):
        system, place = open_system(folder)
        for name in names:
            with suppress(FileNotFoundError):
                system.rm_file(f"{place}/{name}")
    forget_known()


def refuse_taken(path: RemotePath, overwrite: bool) -> None:
    """Raise if something is at an address and may not be replaced."""
    forget_known()
    if not overwrite and path.exists():
        raise BadInput("already exists", file=path, cure="choose another name, or pass --overwrite")


def refuse_hidden(path: RemotePath, private: bool) -> None:
    """Raise if a file with hidden labels would go to an address that the user has not named for them."""
    allowed = os.environ.get(HIDDEN_PLACES, "").rstrip("/")
    if not private or (allowed and path.is_relative_to(RemotePath(allowed))):
        return
    what = "would hold hidden labels, and others may be able to read it"
    cure = f"write to this machine, or name the address for hidden labels: {HIDDEN_PLACES}={path.parent}"
    raise BadInput(what, file=path, cure=cure)
