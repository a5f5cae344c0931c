"""Files of a generation under way: each grows in place and is renamed when all are whole.

A journal says how far they are. Chunks are written; every few seconds they are synced to the disk
and the journal is brought up to date. What a killed run wrote after that is cut off, so that the
next run goes on with the very bytes the first would have written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, name_full_disk, sync_folder
from nikawa.io.file_names import refuse_outside
from nikawa.io.folders import CARD, split_files
from nikawa.io.growing import SAVE_SECONDS, open_at, sync_stream
from nikawa.io.json import read_json
from nikawa.records import Record

JOURNAL = ".generate.json"
"""The journal's name in the folder of the dataset."""
UNFINISHED = ".unfinished"
"""How the names of growing files end."""
Text = bytes | memoryview


class UnusableRun(BadInput):
    """An unfinished run that cannot be gone on with."""


class Journal(Record, frozen=True, kw_only=True):
    """How far a run has come."""

    settings: str
    """A hash of the settings of the run."""
    attempt: int = 0
    failed: tuple[tuple[str, ...], ...] = ()
    """For each attempt that did not pass the gate, what was over the line."""
    chunks: int = 0
    """Chunks that are in the files."""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    """Split to the bytes of its file."""


def unfinished_path(folder: Path, split: str) -> Path:
    """Where the file of a split grows."""
    return folder / f".{split}.jsonl{UNFINISHED}"


def final_path(folder: Path, split: str) -> Path:
    """Where it lies when it is done."""
    return folder / f"{split}.jsonl"


def start_journal(folder: Path, settings: str, overwrite: bool) -> Journal:
    """The journal to go on from: that of an unfinished run of the same settings, else a new one.

    Raises `BadInput` where the folder holds something that would be replaced, unless `overwrite` is
    true.
    """
    path = folder / JOURNAL
    if overwrite:
        clear_folder(folder)
        return Journal(settings=settings)
    choose_another = "choose another folder, or pass --overwrite"
    if (folder / CARD).exists():
        raise BadInput("already contains a dataset", file=folder, cure=choose_another)
    if path.exists():
        try:
            journal = read_json(path, Journal)
        except BadInput as error:
            what = f"the journal of an unfinished run cannot be read ({error.what})"
            cure = "pass --overwrite to begin again, or choose another folder"
            raise UnusableRun(what, file=path, cure=cure) from None
        if journal.settings == settings:
            return journal
        what = "holds an unfinished run with other settings"
        cure = f"repeat the command that began it, {choose_another}"
        raise UnusableRun(what, file=folder, cure=cure)
    if folder.is_dir() and split_files(folder):
        raise BadInput("holds splits already", file=folder, cure=choose_another)
    clear_folder(folder)
    return Journal(settings=settings)


def clear_folder(folder: Path) -> None:
    """Remove a dataset and all that unfinished runs left; other files stay."""
    if folder.is_dir():
        (folder / CARD).unlink(missing_ok=True)
        unfinished = folder.glob(f".*{UNFINISHED}")
        for file in (*split_files(folder).values(), *unfinished, folder / JOURNAL):
            file.unlink(missing_ok=True)


class GrowingFiles:
    """The growing files of one run."""

    def __init__(self, folder: Path, splits: Iterable[str], journal: Journal) -> None:
        self.folder, self.journal = folder, journal
        folder.mkdir(parents=True, exist_ok=True)
        self._streams: dict[str, BinaryIO | None] = {}
        self._chunks, self._saved_at = journal.chunks, monotonic()
        self._remove_chunks()
        try:
            for split in splits:
                self._streams[split] = self._open(split)
        except BaseException:
            self.abandon()
            raise

    def _open(self, split: str) -> BinaryIO | None:
        """The file cut to the size that the journal says; None where it was whole and renamed
        already.
        """
        path, size = unfinished_path(self.folder, split), self.journal.sizes.get(split, 0)
        refuse_outside(path, self.folder)
        if os.path.lexists(final := final_path(self.folder, split)):
            if not self.journal.chunks or path.exists():  # it is not of this run, which ends by it
                cure = "move it away, choose another folder, or pass --overwrite"
                raise UnusableRun("already exists", file=final, cure=cure)
            return None
        if size and (not path.exists() or path.stat().st_size < size):
            what = f"{path.name} is shorter than the journal says"
            raise UnusableRun(what, file=self.folder, cure="pass --overwrite to begin again")
        return open_at(path, size)

    def add(self, texts: Iterable[tuple[str, Text]]) -> None:
        """Write a chunk: texts with their splits, in order; now and then, save the journal."""
        for split, text in texts:
            stream = self._streams[split]
            if stream is None:  # the file was put there by somebody else while the run was away
                cure = "move it away, or pass --overwrite to begin again"
                raise UnusableRun("already exists", file=final_path(self.folder, split), cure=cure)
            with name_full_disk(final_path(self.folder, split)):
                stream.write(text)
        self._chunks += 1
        if monotonic() - self._saved_at >= SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Sync what is written to the disk, and write to the journal how far it goes."""
        sizes = {}
        for split, stream in self._streams.items():
            if stream is not None:
                with name_full_disk(final_path(self.folder, split)):
                    sizes[split] = sync_stream(stream)
        journal = replace(self.journal, chunks=self._chunks, sizes=sizes)
        path = self.folder / JOURNAL
        with atomic_write(path, overwrite=True, inside=self.folder) as out:
            out.write(msgspec.json.encode(journal) + b"\n")
        self.journal, self._saved_at = journal, monotonic()

    def abandon(self) -> None:
        """Close the files of a run that cannot go on.

        They stay where a journal says how far they are, for the next run to go on; else they go.
        """
        for split, stream in self._streams.items():
            if stream is not None:
                with suppress(OSError):  # what is not written yet finds no room
                    stream.close()
                if not self.journal.chunks:
                    unfinished_path(self.folder, split).unlink(missing_ok=True)
        self._remove_chunks()

    def finish(self) -> None:
        """Give every file its name."""
        self.save()
        for split, stream in self._streams.items():
            if stream is not None:
                stream.close()
                unfinished_path(self.folder, split).replace(final_path(self.folder, split))
        self._remove_chunks()
        sync_folder(self.folder)

    def _remove_chunks(self) -> None:
        """Remove what the workers of a run left that were killed."""
        for stale in self.folder.glob(f".chunk-*{UNFINISHED}"):
            stale.unlink(missing_ok=True)
