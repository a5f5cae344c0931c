"""Clean source text: read documents, run the early steps in parallel and the late ones in order,
write candidates.

The early steps look at one text at a time (`nikawa.cleaning.engine`), the late ones at many
sentences in their order: toxicity, then near-duplicates. The output has the same bytes for any
number of workers: the text is cut into chunks by its content alone, and the results are put
together in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from nikawa.cleaning import Removed, Settings, Step, choose_steps
from nikawa.cleaning.documents import (
    Document,
    ReadOptions,
    SourceFile,
    inspect_files,
    read_selected,
)
from nikawa.cleaning.duplicates import Duplicates, make_tables
from nikawa.cleaning.engine import Cleaner, Passage, Rejection, StepCount, Tally
from nikawa.cleaning.minhash import Signatures, compute_signatures
from nikawa.cleaning.toxicity import Scorer
from nikawa.cleaning.toxicity_review import (
    REMOVED,
    REMOVED_SHARDS,
    Screen,
    ToxicityOptions,
    ToxicityReport,
    finish_review,
    open_screen,
    refuse_unworkable_folder,
)
from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import choose_place, keep_states, map_in_order
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.chunks import by_characters
from nikawa.io.growing import can_grow
from nikawa.io.json import encode_json
from nikawa.io.pipes import input_path
from nikawa.io.remote import real_path
from nikawa.io.shards import list_files
from nikawa.records import Example, Record
from nikawa.tables import ShownAsTables

__all__ = ["CleanOptions", "CleanReport", "ReadOptions", "StepReport", "clean"]

CHUNK_CHARS = 100_000
"""Minimum number of characters of a full chunk."""

OnProgress = Callable[[int, int], None]
"""Is called with the numbers of documents and characters read so far."""


class CleanOptions(Record, frozen=True, kw_only=True):
    """What to clean with; see `nikawa clean --help`."""

    settings: Settings = Settings()
    steps: tuple[str, ...] | None = None
    """Names of the steps to run; None: those on by default."""
    without: tuple[str, ...] = ()
    """Names of steps to leave out."""
    reading: ReadOptions = ReadOptions()
    removed: Path | None = None
    """Where to write the sentences that were removed."""
    workers: int = 1
    """Number of processes; the result does not depend on it."""
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""
    overwrite: bool = False
    shards: bool = False
    """Whether `out` and `removed` are folders, with a file for each input file; see `nikawa.cleaning.shards`."""
    toxicity: ToxicityOptions = ToxicityOptions()
    """What scores toxicity, if no function does, from which score a sentence goes, and who decides."""


class StepReport(Record, frozen=True, kw_only=True):
    """The effect of one step."""

    step: str
    title: str
    changed: int
    """Texts it changed."""
    removed: int
    """Sentences it removed, or texts of which it left nothing."""
    examples: tuple[str, ...]


class CleanReport(ShownAsTables, Record, frozen=True, kw_only=True, omit_defaults=True):
    """What was read, kept and removed: sentences = kept + all removed."""

    main_table: ClassVar[str] = "steps"

    language: str
    files: tuple[SourceFile, ...]
    documents: int
    characters: int
    unselected: int
    """Documents skipped because the selection does not name them."""
    sentences: int
    kept: int
    steps: tuple[StepReport, ...]
    toxicity: ToxicityReport | None = None
    """The threshold and what waits for a decision, where toxicity was scored; left out of the JSON elsewhere."""


def clean(
    texts: Sequence[Path],
    out: Path,
    options: CleanOptions | None = None,
    *,
    scorer: Scorer | None = None,
    on_progress: OnProgress = lambda documents, characters: None,
) -> CleanReport:
    """Clean the files (`-`: the standard input) into candidate sentences, written to `out` whole or
    not at all; a later call goes on where one was killed. With `shards`, `out` is a folder.

    Toxicity is one of the steps just when there is a `scorer` or the options name a model for it, whatever steps they name.
    """
    options = options or CleanOptions()
    place = choose_place(options)
    texts = list_files([input_path(text) for text in texts])
    flagged = options.toxicity.flagged
    if flagged is not None and options.removed is None:
        name = REMOVED_SHARDS if options.shards else REMOVED
        options = msgspec.structs.replace(options, removed=flagged / name)
    refuse_unworkable_folder(options.toxicity, overwrite=options.overwrite)
    refuse_unworkable(texts, out, options)
    files = inspect_files(texts, options.reading, options.settings.language)
    languages = {file.language for file in files}
    if len(languages) > 1:
        cure = "clean each language separately, or pass --language"
        raise BadInput("the files have different languages", cure=cure)
    settings = msgspec.structs.replace(options.settings, language=languages.pop())
    names, without = options.steps, options.without
    if scorer is None and not options.toxicity.model:
        without = (*without, "toxicity")
    elif names is not None:
        names = (*names, "toxicity")
    steps = choose_steps(names, without)
    is_left_out = "toxicity" in options.without
    screen = None
    if not is_left_out:
        screen = open_screen(options.toxicity, scorer, settings.toxic, settings.language)
    if screen is not None:
        settings = msgspec.structs.replace(settings, toxic=screen.threshold.value)
    report = _clean_files(files, out, options, steps, settings, screen, place, on_progress)
    if screen is None:
        return report
    review = finish_review(
        screen, options.toxicity, options.removed, settings.language, overwrite=options.overwrite
    )
    return msgspec.structs.replace(report, toxicity=review)


def _clean_files(
    files: Sequence[SourceFile],
    out: Path,
    options: CleanOptions,
    steps: Sequence[Step],
    settings: Settings,
    screen: Screen | None,
    place: ExecuteOptions,
    on_progress: OnProgress,
) -> CleanReport:
    """Clean into shards, into files that grow, or into addresses that cannot."""
    from nikawa.cleaning.resume import clean_resumably
    from nikawa.cleaning.shards import clean_shards

    if options.shards:
        return clean_shards(files, out, options, steps, settings, screen, place, on_progress)
    targets = [out, *([options.removed] if options.removed else [])]
    work = partial(
        clean_chunk,
        steps=tuple(step.name for step in steps),
        settings=settings,
        writes_removed=options.removed is not None,
    )
    if can_grow(targets):
        return clean_resumably(files, targets, options, steps, settings, screen, place, on_progress)
    with ExitStack() as stack:
        streams = [
            stack.enter_context(atomic_write(target, overwrite=options.overwrite))
            for target in targets
        ]
        output = Output()
        documents = output.count(read_selected(files, options.reading, output.count_unselected))
        results = map_in_order(work, cut_chunks(documents), place)
        for result in run_late_steps(results, steps, settings, screen, place):
            output.add_result(result)
            for stream, lines in zip(streams, (result.kept, result.removed or []), strict=False):
                stream.write(b"".join(lines))  # a compressed stream has no writelines
            on_progress(output.documents, output.characters)
    return output.report(steps, settings.language, files)


def refuse_unworkable(texts: Sequence[Path], out: Path, options: CleanOptions) -> None:
    """Check everything that could fail at the end before the work starts."""
    if not texts:
        raise BadInput("no file was given", cure="pass at least one file")
    for path in filter(None, (out, options.removed)):
        if not options.shards:
            refuse_existing(path, options.overwrite)
        if real_path(path) in map(real_path, texts):
            cure = "choose another output file"
            raise BadInput("is both input and output", file=path, cure=cure)
    if options.removed and real_path(options.removed) == real_path(out):
        cure = "choose another name for --removed"
        raise BadInput("is given twice as an output file", file=out, cure=cure)
    least, most = options.settings.min_length, options.settings.max_length
    if least > most:
        what = f"no length is between {least} and {most}"
        raise BadInput(what, cure="set --min-length to at most --max-length")


class Sentence(msgspec.Struct, frozen=True):
    """A sentence and its place in its document."""

    document: Document
    start: int
    end: int
    text: str

    @classmethod
    def of(cls, document: Document, passage: Passage) -> Sentence:
        """The sentence that a passage of the document is."""
        start, end = passage.locate()
        return cls(document, document.base + start, document.base + end, passage.text)

    @classmethod
    def from_line(cls, line: bytes) -> Sentence:
        """The sentence of a candidate that was written as a line; of its document, the name and the line."""
        example = msgspec.json.decode(line, type=Example)
        name = example.id.rpartition(":")[0]
        document = Document(name, int(name.rpartition(":")[2]), "")
        return cls(document, example.meta["start"], example.meta["end"], example.inputs["text"])

    def to_example(self) -> Example:
        """A candidate: its text, and its position, document and source."""
        name = self.document.id or self.document.name
        meta: dict[str, Any] = {"document": name, "start": self.start, "end": self.end}
        meta |= dict(self.document.meta)
        if self.document.source:
            meta["source"] = self.document.source
        if self.document.licence:
            meta["licence"] = self.document.licence
        example_id = f"{self.document.name}:{self.start}"
        group = self.document.group or name
        return Example(id=example_id, inputs={"text": self.text}, meta=meta, group=group)

    def to_removed(self, step: str, why: str) -> Removed:
        """The record of a sentence that did not become a candidate."""
        return Removed(
            document=self.document.name,
            line=self.document.line,
            start=self.start,
            end=self.end,
            text=self.text,
            step=step,
            why=why,
        )


@dataclass
class ChunkResult:
    """What came of a chunk, as the lines to write: encoding them is work that need not be in order."""

    kept: list[bytes]
    removed: list[bytes] | None
    """None where they are not written."""
    tally: Tally
    sentences: int = 0
    """How many were found, kept or not."""
    signatures: Signatures | None = None
    """Of the kept sentences, where near-duplicates are looked for."""
    shard: int = 0
    """The place of its file, where each file has an output of its own."""

    def add_removed(self, sentence: Sentence, step: str, why: str) -> None:
        """Add the line of a removed sentence, where it is wanted."""
        if self.removed is not None:
            self.removed.append(encode_json(sentence.to_removed(step, why)) + b"\n")

    def drop(self, step: str, reasons: Sequence[str]) -> None:
        """Take out the kept sentences that have a reason to go."""
        if not any(reasons):
            return
        kept = []
        for line, why in zip(self.kept, reasons, strict=True):
            if why:
                sentence = Sentence.from_line(line)
                self.add_removed(sentence, step, why)
                self.tally.count_removal(step, sentence.text)
            else:
                kept.append(line)
        self.kept = kept
        if self.signatures is not None:
            stays = [not why for why in reasons]
            values, bands = self.signatures
            self.signatures = Signatures(values[stays], bands[stays])


def cut_chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in chunks, by their content alone."""
    return by_characters(documents, CHUNK_CHARS)


def clean_chunk(
    chunk: list[Document], steps: tuple[str, ...], settings: Settings, *, writes_removed: bool
) -> ChunkResult:
    """Run the early ones of the named steps over a chunk."""
    cleaner = Cleaner(choose_steps(steps), settings)
    result = ChunkResult([], [] if writes_removed else None, cleaner.tally)
    texts = []
    for document in chunk:
        for passage in cleaner.clean(document.text):
            result.sentences += 1
            if isinstance(passage, Rejection):
                sentence = Sentence.of(document, passage.passage)
                result.add_removed(sentence, passage.step, passage.why)
            else:
                texts.append(passage.text)
                result.kept.append(encode_json(Sentence.of(document, passage).to_example()) + b"\n")
    if "duplicates" in steps:
        result.signatures = compute_signatures(texts)
    return result


def run_late_steps(
    results: Iterator[ChunkResult],
    steps: Sequence[Step],
    settings: Settings,
    screen: Screen | None,
    place: ExecuteOptions,
) -> Iterator[ChunkResult]:
    """The results without what the late steps remove."""
    names = {step.name for step in steps}
    if screen is not None and "toxicity" in names:
        results = drop_toxic(results, screen)
    if "duplicates" not in names:
        yield from results
        return
    with keep_states(make_tables(settings.window), place) as tables:
        seen = Duplicates(settings.similar, settings.window, tables)
        for result in results:
            assert result.signatures is not None
            twins = seen.find_twins(result.signatures)
            reasons = [f"repeats candidate {twin}" if twin else "" for twin in twins]
            result.drop("duplicates", reasons)
            yield result


def drop_toxic(results: Iterator[ChunkResult], screen: Screen) -> Iterator[ChunkResult]:
    """The results without toxic sentences; the scorer gets the sentences of several at a time."""

    def score(batch: list[ChunkResult]) -> Iterator[ChunkResult]:
        texts = [Sentence.from_line(line).text for result in batch for line in result.kept]
        reasons = iter(screen.find_reasons(texts) if texts else [])
        for result in batch:
            result.drop("toxicity", [next(reasons) for _ in result.kept])
            yield result

    batch: list[ChunkResult] = []
    for result in results:
        batch.append(result)
        if sum(len(waiting.kept) for waiting in batch) >= screen.batch:
            yield from score(batch)
            batch = []
    yield from score(batch)


class Output:
    """What one cleaning writes and counts."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.documents = self.characters = self.unselected = self.sentences = self.kept = 0

    def count_unselected(self) -> None:
        self.unselected += 1

    def count(self, documents: Iterator[Document]) -> Iterator[Document]:
        """The same documents, counted as they pass."""
        for document in documents:
            self.documents += document.base == 0
            self.characters += len(document.text)
            yield document

    def add(self, documents: int, characters: int, unselected: int, sentences: int) -> None:
        """Add the counts of a finished part."""
        self.documents += documents
        self.characters += characters
        self.unselected += unselected
        self.sentences += sentences

    def add_kept(self, kept: int, steps: dict[str, StepCount]) -> None:
        """Add what a finished part kept, and what the steps did."""
        self.kept += kept
        part = Tally()
        part.counts = steps
        self.tally.add(part)

    def add_result(self, result: ChunkResult) -> None:
        """Add the counts of a chunk."""
        self.tally.add(result.tally)
        self.sentences += result.sentences
        self.kept += len(result.kept)

    def report(
        self, steps: Sequence[Step], language: str, files: Sequence[SourceFile]
    ) -> CleanReport:
        step_reports = []
        for step in steps:
            count = self.tally.of(step.name)
            step_report = StepReport(
                step=step.name,
                title=step.title,
                changed=count.changed,
                removed=count.removed,
                examples=tuple(count.examples),
            )
            step_reports.append(step_report)
        return CleanReport(
            language=language,
            files=tuple(files),
            documents=self.documents,
            characters=self.characters,
            unselected=self.unselected,
            sentences=self.sentences,
            kept=self.kept,
            steps=tuple(step_reports),
        )
