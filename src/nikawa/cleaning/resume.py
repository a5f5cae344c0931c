"""Clean into one file, and go on where a killed command stopped.

The text is read again from the beginning, which costs little, and its hash is compared with that of the first time. What was cleaned is not
cleaned again: only the signatures of the kept sentences are computed, as for shards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from nikawa.cleaning import Settings, Step
from nikawa.cleaning.documents import SourceFile, read_selected
from nikawa.cleaning.engine import StepCount
from nikawa.cleaning.job import (
    CleanOptions,
    CleanReport,
    OnProgress,
    Output,
    cut_chunks,
    run_late_steps,
)
from nikawa.cleaning.shards import CHUNK_LINES, Chunk, clean_or_remember, describe_settings
from nikawa.cleaning.toxicity_review import Screen
from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.io.growing import GrowingFiles, discard_growing, grow_files
from nikawa.io.json import encode_json
from nikawa.records import Record

REMEMBERED, NEW = 0, 1
"""The numbers of the two parts: what was cleaned before, and what was not."""


class _State(Record, frozen=True, kw_only=True):
    """What was cleaned."""

    chunks: int
    text: str
    """A hash of the text of these chunks."""
    sentences: int
    kept: int
    steps: dict[str, StepCount]


def clean_resumably(
    files: Sequence[SourceFile],
    targets: Sequence[Path],
    options: CleanOptions,
    steps: Sequence[Step],
    settings: Settings,
    screen: Screen | None,
    place: ExecuteOptions,
    on_progress: OnProgress,
) -> CleanReport:
    """Clean the files into the first of the `targets`, and what is removed into the second."""
    arguments = (files, targets, options, steps, settings, screen, place, on_progress)
    try:
        return _clean(*arguments)
    except _TextChanged:
        if not options.overwrite:
            raise
        discard_growing(targets)
        return _clean(*arguments)


class _TextChanged(BadInput):
    """An input file is not what it was when the work was begun."""


def _clean(
    files: Sequence[SourceFile],
    targets: Sequence[Path],
    options: CleanOptions,
    steps: Sequence[Step],
    settings: Settings,
    screen: Screen | None,
    place: ExecuteOptions,
    on_progress: OnProgress,
) -> CleanReport:
    key = describe_settings(files, options, steps, settings, screen)
    with grow_files(targets, key, overwrite=options.overwrite) as growing:
        output = Output()
        reader = _Reader(files, targets, options, growing, output, on_progress)
        work = partial(
            clean_or_remember,
            steps=tuple(step.name for step in steps),
            settings=settings,
            writes_removed=options.removed is not None,
        )
        results = map_in_order(work, reader.read_chunks(), place)
        for result in run_late_steps(results, steps, settings, screen, place):
            if result.shard == REMEMBERED:
                continue
            output.add_result(result)
            for number, lines in enumerate((result.kept, result.removed or [])[: len(targets)]):
                growing.write(number, b"".join(lines))
            reader.finish_chunk()
            growing.save(reader.describe_state)
            on_progress(output.documents, output.characters)
    return output.report(steps, settings.language, files)


class _Reader:
    """Reads the chunks that are not cleaned yet, after the candidates of those that are."""

    def __init__(
        self,
        files: Sequence[SourceFile],
        targets: Sequence[Path],
        options: CleanOptions,
        growing: GrowingFiles,
        output: Output,
        on_progress: OnProgress,
    ) -> None:
        self.files, self.targets, self.options = files, targets, options
        self.growing, self.output, self.on_progress = growing, output, on_progress
        self.state = growing.read_state(_State)
        self.done = self.state.chunks if self.state is not None else 0
        self._hashes: deque[str] = deque()
        """Of the text up to the end of each chunk that is read and not finished."""
        self._hash = self.state.text if self.state is not None else ""
        if self.state is not None:
            output.add(0, 0, 0, self.state.sentences)
            output.add_kept(self.state.kept, self.state.steps)

    def read_chunks(self) -> Iterator[Chunk]:
        """Candidates, then documents."""
        lines = self.growing.read_lines(0)
        while batch := list(islice(lines, CHUNK_LINES)):
            yield Chunk(REMEMBERED, [], batch)
        output, digest = self.output, blake2b(digest_size=16)
        selected = read_selected(self.files, self.options.reading, output.count_unselected)
        number = 0
        for documents in cut_chunks(output.count(selected)):
            digest.update(encode_json(documents))
            number += 1
            if self.state is not None and number <= self.state.chunks:
                self.on_progress(output.documents, output.characters)
                if number == self.state.chunks and digest.hexdigest() != self.state.text:
                    raise self._describe_change()
                continue
            self._hashes.append(digest.hexdigest())
            yield Chunk(NEW, documents, [])
        if self.state is not None and number < self.state.chunks:
            raise self._describe_change()

    def _describe_change(self) -> _TextChanged:
        what = "was begun with other text: an input file has changed since"
        return _TextChanged(what, file=self.targets[0], cure="pass --overwrite to begin again")

    def finish_chunk(self) -> None:
        """The oldest chunk that is read is written."""
        self.done += 1
        self._hash = self._hashes.popleft()

    def describe_state(self) -> _State:
        """What is written so far."""
        output = self.output
        return _State(
            chunks=self.done,
            text=self._hash,
            sentences=output.sentences,
            kept=output.kept,
            steps=output.tally.counts,
        )
