"""Files that grow for a long time, hidden next to their final names, and go on where a killed command stopped.

A journal says how far they are. Every few seconds the files are synced to the disk and the journal is brought up to date; what a
killed command wrote after that is cut off. At the end the files get their names. A growing file is never packed: `.gz` and `.zst` are
packed at the end.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, TypeVar

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import (
    atomic_write,
    hidden_prefix,
    name_full_disk,
    prepare_place,
    refuse_existing,
    sync_folder,
)
from nikawa.io.json import encode_json
from nikawa.io.locks import lock_file
from nikawa.io.remote import UNFINISHED, RemotePath, to_path
from nikawa.io.shards import compare_settings, hash_settings
from nikawa.records import Record

GROWING, JOURNAL = "unfinished", "unfinished.json"
"""How the names of growing files and of their journal end."""
SAVE_SECONDS = 2.0
"""Seconds of work that a kill may cost."""
PACKED = (".gz", ".zst")

State = TypeVar("State", bound=Record)


class _Journal(Record, frozen=True, kw_only=True):
    """How far the files are."""

    settings: dict[str, str]
    sizes: tuple[int, ...]
    state: msgspec.Raw


def open_at(path: Path, size: int) -> BinaryIO:
    """Open a file for writing from a place on, and cut off what follows."""
    stream = path.open("r+b" if size else "wb")
    stream.truncate(size)
    stream.seek(size)
    return stream


def sync_stream(stream: BinaryIO) -> int:
    """Bring what is written to the disk; how many bytes there are."""
    stream.flush()
    os.fsync(stream.fileno())
    return stream.tell()


class GrowingFiles:
    """The files of one command."""

    def __init__(self, paths: Sequence[Path], settings: dict[str, str]) -> None:
        self.paths, self.settings = paths, settings
        self.growing = [prepare_growing(path) for path in paths]
        self.streams: list[BinaryIO] = []
        self.sizes: tuple[int, ...] = (0,) * len(paths)
        """Bytes that the journal knows of."""
        self._state = b""
        self._saved_at = monotonic()

    @property
    def journal(self) -> Path:
        """The file that says how far they are."""
        return self.growing[0].with_name(f"{hidden_prefix(self.paths[0].resolve())}{JOURNAL}")

    def open(self, overwrite: bool) -> None:
        """Go on with what is there, or begin."""
        journal = self._read_journal()
        if journal is not None and not overwrite:
            compare_settings(journal.settings, self.settings, self.paths[0])
        sizes = [path.stat().st_size if path.exists() else 0 for path in self.growing]
        is_usable = (
            journal is not None
            and journal.settings == self.settings
            and len(journal.sizes) == len(sizes)
            and all(there >= size for there, size in zip(sizes, journal.sizes, strict=True))
        )
        if journal is not None and is_usable:
            self.sizes, self._state = journal.sizes, bytes(journal.state)
        self.streams = [
            open_at(path, size) for path, size in zip(self.growing, self.sizes, strict=True)
        ]

    def _read_journal(self) -> _Journal | None:
        with suppress(FileNotFoundError, msgspec.DecodeError):
            return msgspec.json.decode(self.journal.read_bytes(), type=_Journal)
        return None

    def read_state(self, kind: type[State]) -> State | None:
        """What the command noted when it saved; None at the beginning."""
        return msgspec.json.decode(self._state, type=kind) if self._state else None

    def read_lines(self, number: int) -> Iterator[bytes]:
        """The lines of a file as far as they were saved."""
        left = self.sizes[number]
        if left:
            with self.growing[number].open("rb") as stream:
                for line in stream:
                    left -= len(line)
                    if left < 0:
                        break
                    yield line

    def write(self, number: int, data: bytes) -> None:
        """Write to a file."""
        with name_full_disk(self.paths[number]):
            self.streams[number].write(data)

    def save(self, describe_state: Callable[[], Record]) -> None:
        """Bring the journal up to date, if the last time is some seconds ago."""
        if monotonic() - self._saved_at < SAVE_SECONDS:
            return
        with name_full_disk(self.paths[0]):
            sizes = tuple(map(sync_stream, self.streams))
            state = encode_json(describe_state())
            journal = _Journal(settings=self.settings, sizes=sizes, state=msgspec.Raw(state))
            with atomic_write(self.journal, overwrite=True) as stream:
                stream.write(msgspec.json.encode(journal) + b"\n")
        self.sizes, self._state, self._saved_at = sizes, state, monotonic()

    def publish(self, overwrite: bool) -> None:
        """Give the files their names, the first one at the end."""
        for stream in self.streams:
            with name_full_disk(self.paths[0]):
                sync_stream(stream)
        for path, growing in reversed(list(zip(self.paths, self.growing, strict=True))):
            if path.suffix in PACKED:
                with (
                    growing.open("rb") as source,
                    atomic_write(path, overwrite=overwrite) as packed,
                ):
                    shutil.copyfileobj(source, packed, 1 << 20)
            else:
                refuse_existing(path, overwrite)
                growing.replace(path.resolve())
                sync_folder(growing.parent)

    def close(self, *, keep: bool) -> None:
        """Close the files; remove them and the journal, unless a later command may go on with them."""
        for stream in self.streams:
            with suppress(OSError):  # what is not written yet finds no room
                stream.close()
        if not keep:
            for path in (self.journal, *self.growing):
                path.unlink(missing_ok=True)


def prepare_growing(path: Path) -> Path:
    """Where a file grows; its folder is made."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or pipe"
        raise BadInput(f"is {kind}, not a file", file=path, cure="choose another name")
    place = prepare_place(path)
    return place.with_name(f"{hidden_prefix(place)}{GROWING}")


def discard_growing(paths: Sequence[Path]) -> None:
    """Remove what an unfinished command left for these files."""
    GrowingFiles(paths, {}).close(keep=False)


def is_unfinished(out: Path) -> bool:
    """Whether a command that writes a file or a folder of shards left something to go on with."""
    if (out / UNFINISHED).exists():
        return True
    return can_grow([out]) and not out.is_dir() and GrowingFiles([out], {}).journal.exists()


def can_grow(paths: Sequence[Path]) -> bool:
    """Whether files can grow in place: those at an address cannot."""
    return not any(isinstance(to_path(path), RemotePath) for path in paths)


@contextmanager
def grow_files(
    paths: Sequence[Path], settings: Mapping[str, Any], *, overwrite: bool
) -> Iterator[GrowingFiles]:
    """Files to write, which appear when the block succeeds; if it does not, the next call goes on with what was saved.

    `settings` is everything that decides their content. An unfinished file of other settings is refused with their names, or begun again
    if `overwrite` is set.
    """
    files = GrowingFiles(paths, hash_settings(settings))
    with ExitStack() as stack:
        for path, growing in zip(paths, files.growing, strict=True):
            busy = BadInput("is written by another command", file=path, cure="wait until it ends")
            try:
                stack.enter_context(lock_file(growing, busy=busy))
            except OSError as problem:
                problem.filename = str(path)
                raise
        keep = False
        try:
            files.open(overwrite)
            yield files
            files.publish(overwrite)
        except BaseException:
            keep = files.journal.exists()
            raise
        finally:
            files.close(keep=keep)
