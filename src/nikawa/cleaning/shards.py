"""Clean a corpus of many files, shards in and shards out: one file of candidates per input file, in one folder.

A mark in the folder (`remote.UNFINISHED`) is also the journal: its first line names the settings, each further line a shard that
is finished, with its counts and the hashes of its input and output. It is replaced by `shards.json` at the end. Readers refuse
files next to the mark. A cleaning that was killed takes up the finished shards: only the signatures of their kept sentences are
computed again, because near-duplicates are looked for across all shards.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from nikawa.cleaning import Settings, Step
from nikawa.cleaning.documents import Document, ReadOptions, SourceFile, read_selected
from nikawa.cleaning.engine import StepCount, Tally
from nikawa.cleaning.job import (
    CHUNK_CHARS,
    ChunkResult,
    CleanOptions,
    CleanReport,
    OnProgress,
    Output,
    Sentence,
    clean_chunk,
    run_late_steps,
)
from nikawa.cleaning.minhash import compute_signatures
from nikawa.cleaning.toxicity import Scorer
from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.io.atomic import atomic_write, sync_folder
from nikawa.io.chunks import by_characters
from nikawa.io.file_names import check_file_names
from nikawa.io.json import encode_json, read_json
from nikawa.io.lines import describe_unfinished, open_packed
from nikawa.io.locks import lock_folder
from nikawa.io.pipes import is_piped
from nikawa.io.remote import UNFINISHED, RemotePath, require_local, to_path
from nikawa.records import Record
from nikawa.version import __version__

MANIFEST = "shards.json"
"""The list of the shards of a finished folder."""
SUFFIXES = (".gz", ".zst", ".xz", ".txt", ".jsonl", ".json")
"""What the name of a shard loses before it gets `.jsonl`."""
CHUNK_LINES = 2000
"""Candidates of a finished shard whose signatures are computed at a time."""


class ShardEntry(Record, frozen=True, kw_only=True):
    """A finished shard."""

    name: str
    source: str
    """The input file by its name in the report."""
    source_hash: str
    content_hash: str
    removed_hash: str = ""
    documents: int
    characters: int
    unselected: int
    sentences: int
    kept: int
    steps: dict[str, StepCount]


class _Beginning(Record, frozen=True, kw_only=True):
    """The first line of the journal."""

    settings: str


class _Manifest(Record, frozen=True, kw_only=True):
    settings: str
    shards: tuple[ShardEntry, ...]


class _Chunk(NamedTuple):
    """Documents of a shard, or the candidates of a finished one."""

    shard: int
    documents: list[Document]
    candidates: list[bytes]


def clean_shards(
    files: Sequence[SourceFile],
    out: Path,
    options: CleanOptions,
    steps: Sequence[Step],
    settings: Settings,
    scorer: Scorer | None,
    place: ExecuteOptions,
    on_progress: OnProgress,
) -> CleanReport:
    """Clean each file into a file of the folder `out`, and what is removed into one of the folder `options.removed`."""
    names = name_shards(files)
    folders = [out] if options.removed is None else [out, options.removed]
    with ExitStack() as stack:
        for folder in folders:
            require_local(folder, "shards that can be taken up again")
            if folder.resolve() in {Path(file.path).resolve().parent for file in files}:
                raise BadInput("holds an input file", file=folder, cure="choose another folder")
            busy = BadInput("is in use by another command", file=folder, cure="wait until it ends")
            misplaced = BadInput("is a file, not a folder", file=folder, cure="name a folder")
            stack.enter_context(lock_folder(folder, busy=busy, misplaced=misplaced))
        key = _hash_settings(files, options, steps, settings)
        target = _ShardFolder(folders, names, files, key)
        done = target.open(options.overwrite)
        reader = _ShardReader(files, options.reading, target, done)
        work = partial(
            _clean_chunk_of_shard,
            steps=tuple(step.name for step in steps),
            settings=settings,
            writes_removed=options.removed is not None,
        )
        total = Output()
        results = map_in_order(work, reader.read_chunks(), place)
        late = run_late_steps(results, steps, settings, scorer, place)
        entries = list(done)
        for entry in done:
            total.add(entry.documents, entry.characters, entry.unselected, entry.sentences)
            total.add_kept(entry.kept, entry.steps)

        def finish(shard: int, group: Iterator[ChunkResult]) -> None:
            entry = target.write(shard, group, reader, lambda: on_progress(*reader.progress))
            entries.append(entry)
            total.add(entry.documents, entry.characters, entry.unselected, entry.sentences)
            total.add_kept(entry.kept, entry.steps)

        for shard, group in groupby(late, key=lambda result: result.shard):
            if shard < len(done):
                deque(group, maxlen=0)  # near-duplicates of them are known now
                continue
            for empty in range(len(entries), shard):
                finish(empty, iter(()))
            finish(shard, group)
        for empty in range(len(entries), len(files)):
            finish(empty, iter(()))
        target.close(entries)
        return total.report(steps, settings.language, files)


def list_folder_files(paths: Sequence[Path]) -> list[Path]:
    """Replace each folder of this machine by its files, in the order of their names; hidden ones and the manifest are left out."""
    listed = []
    for path in paths:
        if isinstance(path, RemotePath) or not path.is_dir():
            listed.append(path)
            continue
        if (path / UNFINISHED).exists():
            raise describe_unfinished(path)
        files = [file for file in sorted(path.iterdir()) if file.is_file()]
        files = [file for file in files if not file.name.startswith(".") and file.name != MANIFEST]
        if not files:
            raise BadInput("holds no file", file=path, cure="check the path")
        listed += files
    return listed


def name_shards(files: Sequence[SourceFile]) -> list[str]:
    """The name of the output of each file: its own, with `.jsonl` for the `SUFFIXES`. Two equal ones are refused."""
    names: list[str] = []
    for file in files:
        path = to_path(file.path)
        if is_piped(path):
            raise BadInput("a pipe is not a shard", file=file.path, cure="name a file")
        name = path.name
        while name.endswith(SUFFIXES) and Path(name).stem != name:
            name = Path(name).stem
        name += ".jsonl"
        if name in names:
            what = f"would be written to {name}, as {files[names.index(name)].path} is"
            raise BadInput(what, file=file.path, cure="rename one of them")
        names.append(name)
    check_file_names(names, "shard")
    return names


def _hash_settings(
    files: Sequence[SourceFile], options: CleanOptions, steps: Sequence[Step], settings: Settings
) -> str:
    """A hash of all that decides what is kept, but for the content of the shards."""
    reading = options.reading
    lists = [hash_file(path) for path in (reading.only, reading.sources) if path is not None]
    value = (
        __version__,
        [step.name for step in steps],
        settings,
        (reading.encoding, reading.field, reading.licence, reading.source, lists),
        [(file.name, file.encoding) for file in files],
        options.removed is not None,
    )
    return hashlib.sha256(encode_json(value)).hexdigest()


def hash_file(path: Path) -> str:
    """SHA-256 of the bytes of a file, packed as they are."""
    with open_packed(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _hash_output(path: Path) -> str:
    """The same for a file next to a mark, which other readers refuse; empty if the file is missing."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


@dataclass
class _ShardFolder:
    """The folders of the candidates and of what was removed, with the journal in the first one."""

    folders: list[Path]
    names: list[str]
    files: Sequence[SourceFile]
    key: str

    @property
    def journal(self) -> Path:
        """The mark of a folder that is not finished."""
        return self.folders[0] / UNFINISHED

    def open(self, overwrite: bool) -> list[ShardEntry]:
        """Begin, or take up what is there; the shards that are finished."""
        out = self.folders[0]
        done: list[ShardEntry] = []
        if self.journal.exists() and not overwrite:
            done = self._read_journal()
        else:
            for folder in self.folders:
                self._clear(folder, overwrite)
        for folder in self.folders[1:]:
            (folder / UNFINISHED).touch()
        lines = [encode_json(each) + b"\n" for each in (_Beginning(settings=self.key), *done)]
        with atomic_write(self.journal, overwrite=True) as stream:
            stream.writelines(lines)
        (out / MANIFEST).unlink(missing_ok=True)
        return done

    def _clear(self, folder: Path, overwrite: bool) -> None:
        """Remove old shards, or refuse a folder with anything in it."""
        if not any(folder.iterdir()):
            return
        if not overwrite:
            cure = "choose another folder, or pass --overwrite to replace its shards"
            raise BadInput("is not empty", file=folder, cure=cure)
        for name in self.names:
            (folder / name).unlink(missing_ok=True)
        if (folder / MANIFEST).exists():
            for entry in read_json(folder / MANIFEST, _Manifest).shards:
                (folder / Path(entry.name).name).unlink(missing_ok=True)

    def _read_journal(self) -> list[ShardEntry]:
        """The finished shards that are as they were, up to the first that is not."""
        done: list[ShardEntry] = []
        first, *lines = self.journal.read_bytes().split(b"\n")
        try:
            begun = msgspec.json.decode(first, type=_Beginning).settings
        except msgspec.DecodeError:
            begun = ""
        if begun != self.key:
            cure = "use the same files and options, or pass --overwrite to begin again"
            what = "was begun with other files or options, or another version"
            raise BadInput(what, file=self.folders[0], cure=cure)
        for line, name, file in zip(lines, self.names, self.files, strict=False):
            try:  # the last line may have been cut
                entry = msgspec.json.decode(line, type=ShardEntry)
            except msgspec.DecodeError:
                break
            hashes = [_hash_output(folder / name) for folder in self.folders]
            if hashes != [entry.content_hash, entry.removed_hash][: len(hashes)]:
                break
            if entry.source_hash != hash_file(to_path(file.path)):
                break
            done.append(entry)
        return done

    def write(
        self,
        shard: int,
        results: Iterator[ChunkResult],
        reader: _ShardReader,
        tell: Callable[[], None],
    ) -> ShardEntry:
        """Write a shard, then its line in the journal."""
        name, file = self.names[shard], self.files[shard]
        with ExitStack() as stack:
            streams = [
                stack.enter_context(atomic_write(folder / name, overwrite=True))
                for folder in self.folders
            ]
            writer = Output()
            for result in results:
                writer.write(result, streams[0], streams[1] if len(streams) > 1 else None)
                tell()
        read = reader.counts[shard]
        entry = ShardEntry(
            name=name,
            source=file.name,
            source_hash=hash_file(to_path(file.path)),
            content_hash=_hash_output(self.folders[0] / name),
            removed_hash=_hash_output(self.folders[1] / name) if len(self.folders) > 1 else "",
            documents=read.documents,
            characters=read.characters,
            unselected=read.unselected,
            sentences=writer.sentences,
            kept=writer.kept,
            steps=writer.tally.counts,
        )
        with self.journal.open("ab") as journal:
            journal.write(encode_json(entry) + b"\n")
            journal.flush()
            os.fsync(journal.fileno())
        return entry

    def close(self, entries: Sequence[ShardEntry]) -> None:
        """Write the manifest and remove the mark."""
        manifest = _Manifest(settings=self.key, shards=tuple(entries))
        with atomic_write(self.folders[0] / MANIFEST, overwrite=True) as stream:
            stream.write(encode_json(manifest) + b"\n")
        for folder in reversed(self.folders):
            (folder / UNFINISHED).unlink(missing_ok=True)
            sync_folder(folder)


class _ShardReader:
    """Reads chunks, none of which spans two shards, and counts what it read of each."""

    def __init__(
        self,
        files: Sequence[SourceFile],
        reading: ReadOptions,
        folder: _ShardFolder,
        done: Sequence[ShardEntry],
    ) -> None:
        self.files, self.reading, self.folder, self.done = files, reading, folder, done
        self.counts = [Output() for _ in files]
        for count, entry in zip(self.counts, done, strict=False):
            count.add(entry.documents, entry.characters, entry.unselected, entry.sentences)

    @property
    def progress(self) -> tuple[int, int]:
        """Documents and characters read so far."""
        documents = sum(count.documents for count in self.counts)
        return documents, sum(count.characters for count in self.counts)

    def read_chunks(self) -> Iterator[_Chunk]:
        """The candidates of the finished shards, then the documents of the others."""
        for shard, file in enumerate(self.files):
            if shard < len(self.done):
                with (self.folder.folders[0] / self.folder.names[shard]).open("rb") as lines:
                    while batch := list(islice(lines, CHUNK_LINES)):
                        yield _Chunk(shard, [], batch)
                continue
            count = self.counts[shard]
            selected = read_selected([file], self.reading, count.count_unselected)
            for documents in by_characters(count.count(selected), CHUNK_CHARS):
                yield _Chunk(shard, documents, [])


def _clean_chunk_of_shard(
    chunk: _Chunk, steps: tuple[str, ...], settings: Settings, *, writes_removed: bool
) -> ChunkResult:
    """Clean the documents of a chunk; of candidates, compute only the signatures."""
    if chunk.candidates:
        texts = [Sentence.from_line(line).text for line in chunk.candidates]
        signatures = compute_signatures(texts) if "duplicates" in steps else None
        return ChunkResult([], None, Tally(), signatures=signatures, shard=chunk.shard)
    result = clean_chunk(chunk.documents, steps, settings, writes_removed=writes_removed)
    result.shard = chunk.shard
    return result
