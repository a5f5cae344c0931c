"""Clean a corpus of many files, shards in and shards out: one file of candidates per input file, in one folder.

`nikawa.io.shards` writes the folder. Of the shards that were finished before, only the signatures of their kept sentences are
computed again, because near-duplicates are looked for across all shards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from nikawa.cleaning import Settings, Step
from nikawa.cleaning.documents import Document, ReadOptions, SourceFile, read_selected
from nikawa.cleaning.engine import StepCount, Tally
from nikawa.cleaning.job import (
    ChunkResult,
    CleanOptions,
    CleanReport,
    OnProgress,
    Output,
    Sentence,
    clean_chunk,
    cut_chunks,
    run_late_steps,
)
from nikawa.cleaning.minhash import compute_signatures
from nikawa.cleaning.toxicity_review import Screen
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.io.remote import to_path
from nikawa.io.shards import PlannedShard, ShardFolder, hash_file, name_shard, open_shards
from nikawa.records import Record

CHUNK_LINES = 2000
"""Candidates of a finished shard whose signatures are computed at a time."""


class _Counts(Record, frozen=True, kw_only=True):
    """What was read of a shard and kept of it."""

    documents: int
    characters: int
    unselected: int
    sentences: int
    kept: int
    steps: dict[str, StepCount]


class Chunk(NamedTuple):
    """Documents to clean, or the candidates of what was cleaned before."""

    shard: int
    """Its number; where there are no shards, that of another part of the work."""
    documents: list[Document]
    candidates: list[bytes]


def clean_shards(
    files: Sequence[SourceFile],
    out: Path,
    options: CleanOptions,
    steps: Sequence[Step],
    settings: Settings,
    screen: Screen | None,
    place: ExecuteOptions,
    on_progress: OnProgress,
) -> CleanReport:
    """Clean each file into a file of the folder `out`, and what is removed into one of the folder `options.removed`."""
    paths = [to_path(file.path) for file in files]
    planned = [PlannedShard(name=name_shard(path), source=path) for path in paths]
    folders = [out] if options.removed is None else [out, options.removed]
    key = describe_settings(files, options, steps, settings, screen)
    total = Output()
    with open_shards(folders, planned, key, overwrite=options.overwrite) as target:
        reader = _ShardReader(files, options.reading, target)
        work = partial(
            clean_or_remember,
            steps=tuple(step.name for step in steps),
            settings=settings,
            writes_removed=options.removed is not None,
        )
        results = map_in_order(work, reader.read_chunks(), place)
        late = run_late_steps(results, steps, settings, screen, place)

        def write(
            shard: int, results: Iterator[ChunkResult], streams: Sequence[BinaryIO]
        ) -> _Counts:
            writer = Output()
            for result in results:
                writer.add_result(result)
                for stream, lines in zip(
                    streams, (result.kept, result.removed or []), strict=False
                ):
                    stream.writelines(lines)
                on_progress(*reader.progress)
            read = reader.counts[shard]
            return _Counts(
                documents=read.documents,
                characters=read.characters,
                unselected=read.unselected,
                sentences=writer.sentences,
                kept=writer.kept,
                steps=writer.tally.counts,
            )

        target.write_all(((result.shard, result) for result in late), write)
        for shard in target.shards:
            _add_counts(total, msgspec.json.decode(shard.counts, type=_Counts))
        target.close()
    return total.report(steps, settings.language, files)


def _add_counts(output: Output, counts: _Counts) -> None:
    output.add(counts.documents, counts.characters, counts.unselected, counts.sentences)
    output.add_kept(counts.kept, counts.steps)


def describe_settings(
    files: Sequence[SourceFile],
    options: CleanOptions,
    steps: Sequence[Step],
    settings: Settings,
    screen: Screen | None,
) -> dict[str, Any]:
    """All that decides what is kept, but for the content of the files."""
    reading = options.reading
    lists = [hash_file(path) for path in (reading.only, reading.sources) if path is not None]
    return {
        "steps": [step.name for step in steps],
        "options of the steps": settings,
        "toxicity scorer": "" if screen is None else screen.describe(),
        "reading": (reading.encoding, reading.field, reading.licence, reading.source, lists),
        "encodings of the files": [(file.name, file.encoding) for file in files],
        "whether removed sentences are written": options.removed is not None,
    }


class _ShardReader:
    """Reads chunks, none of which spans two shards, and counts what it read of each."""

    def __init__(
        self, files: Sequence[SourceFile], reading: ReadOptions, target: ShardFolder
    ) -> None:
        self.files, self.reading, self.target = files, reading, target
        self.counts = [Output() for _ in files]
        self.done = len(target.shards)
        for count, shard in zip(self.counts, target.shards, strict=False):
            _add_counts(count, msgspec.json.decode(shard.counts, type=_Counts))

    @property
    def progress(self) -> tuple[int, int]:
        """Documents and characters read so far."""
        documents = sum(count.documents for count in self.counts)
        return documents, sum(count.characters for count in self.counts)

    def read_chunks(self) -> Iterator[Chunk]:
        """The candidates of the finished shards, then the documents of the others."""
        for shard, file in enumerate(self.files):
            if shard < self.done:
                lines = self.target.read_lines(shard)
                while batch := list(islice(lines, CHUNK_LINES)):
                    yield Chunk(shard, [], batch)
                continue
            count = self.counts[shard]
            selected = read_selected([file], self.reading, count.count_unselected)
            for documents in cut_chunks(count.count(selected)):
                yield Chunk(shard, documents, [])


def clean_or_remember(
    chunk: Chunk, steps: tuple[str, ...], settings: Settings, *, writes_removed: bool
) -> ChunkResult:
    """Clean the documents of a chunk; of candidates, compute only the signatures."""
    if chunk.candidates:
        texts = [Sentence.from_line(line).text for line in chunk.candidates]
        signatures = compute_signatures(texts) if "duplicates" in steps else None
        return ChunkResult([], None, Tally(), signatures=signatures, shard=chunk.shard)
    result = clean_chunk(chunk.documents, steps, settings, writes_removed=writes_removed)
    result.shard = chunk.shard
    return result
