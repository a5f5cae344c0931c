"""From raw text to the two files an encoder learns from: cleaned, without benchmark text, a part
held out.

Chunks of lines go through cleaning and the search for benchmark text, here or in other processes;
what comes back is written in order. The same bytes for any number of workers. `corpus.json` reports
what every step counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from zlib import crc32

import msgspec

from nikawa.cleaning import Settings, choose_steps
from nikawa.cleaning.engine import Cleaner, Passage
from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.io.atomic import atomic_folder
from nikawa.io.json import encode_json
from nikawa.pretrain.contamination import (
    MIN_TEXT_CHARS,
    RUN_CHARS,
    BenchmarkText,
    Index,
    Searcher,
    build_index,
    find_examples,
)
from nikawa.pretrain.corpus import Line, Source, chunk_lines, refuse_other_languages
from nikawa.pretrain.personal_data import hide_accounts, lower_reserved, put_placeholders
from nikawa.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAIN_FILE, HELDOUT_FILE, REPORT_FILE = "train.txt", "heldout.txt", "corpus.json"
REPEAT_SLOTS = 1 << 22
"""Lines remembered to find repeated ones; a newer one takes the place of an older."""
MAX_IDS_SHOWN = 20
"""Examples of a benchmark that the report names."""
STEPS_LEFT_OUT = ("sentences", "duplicates", "toxicity", "length")
"""Steps of cleaning that choose sentences to be judged by people; an encoder learns from all that
is text."""
CLEANING_MAX_OTHER, CLEANING_MIN_OWN = 200, 0.3
"""Looser than for candidates: hanja and Latin words belong to what an encoder must read."""

OnProgress = Callable[[str, int, int | None], None]
"""Called with (name of the step, amount done, total)."""


class FileReport(Record, frozen=True, kw_only=True):
    """One file as it was read."""

    file: str
    lines: int
    characters: int
    broken: int
    """Lines that are not UTF-8, or not JSON: dropped."""
    broken_at: tuple[str, ...]
    """The first of them."""
    cut: int
    """Places at which overlong lines were cut."""
    outside: int | msgspec.UnsetType = msgspec.UNSET
    """Lines of text that no row of the table of sources covers; absent if zero."""

    @classmethod
    def of(cls, source: Source) -> FileReport:
        """What came of reading one file."""
        return cls(
            file=source.name,
            lines=source.lines,
            characters=source.characters,
            broken=source.broken.count,
            broken_at=tuple(source.broken.places),
            cut=source.cut,
            outside=source.outside or msgspec.UNSET,
        )


class BenchmarkOverlap(Record, frozen=True, kw_only=True):
    """What of one benchmark was found. Never its text."""

    benchmark: str
    texts: int
    lines: int
    """Lines of the corpus that were removed for it."""
    examples: int
    ids: tuple[str, ...]
    """The first of those examples."""


class TextSize(Record, frozen=True, kw_only=True):
    """The size of one of the files."""

    documents: int
    lines: int
    characters: int


class CorpusReport(Record, frozen=True, kw_only=True):
    """Counts of every step: lines = train + held out + all removed."""

    language: str
    seed: int
    files: tuple[FileReport, ...]
    sources: str = ""
    """The table of the places where documents begin."""
    lines: int
    """That could be read, blank ones not counted."""
    characters: int
    changed: dict[str, int]
    """By step of cleaning, lines it changed: those of personal data count what became a
    placeholder."""
    removed: dict[str, int]
    run: int
    short: int
    """Characters of a shared run, and of the shortest text looked for whole."""
    benchmarks: tuple[BenchmarkOverlap, ...]
    train: TextSize
    heldout: TextSize


class CleanedLines(NamedTuple):
    """The result of cleaning some texts."""

    texts: list[str]
    """Each as it is now; empty where it had to go."""
    changed: Counter[str]
    removed: Counter[str]
    """By step, how many texts."""


CleanLines = Callable[[Sequence[str]], CleanedLines]


@dataclass(frozen=True)
class LineCleaner:
    """Lines through the steps of `nikawa clean`, personal data replaced."""

    language: str
    any_language: bool = False

    def __call__(self, texts: Sequence[str]) -> CleanedLines:
        """Each line as it is now; empty where it had to go."""
        settings = Settings(
            language=self.language,
            pii="replace",
            max_other=CLEANING_MAX_OTHER,
            min_own=CLEANING_MIN_OWN,
        )
        left_out = (*STEPS_LEFT_OUT, "script") if self.any_language else STEPS_LEFT_OUT
        cleaner = Cleaner(choose_steps(None, left_out), settings)
        cleaned = []
        for text in texts:
            passages = (p.text for p in cleaner.clean(text) if isinstance(p, Passage))
            cleaned.append(" ".join(" ".join(passages).split()))
        counts = cleaner.tally.counts.items()
        changed = Counter({step: count.changed for step, count in counts if count.changed})
        removed = Counter({step: count.removed for step, count in counts if count.removed})
        return CleanedLines(cleaned, changed, removed)


@dataclass(frozen=True)
class PrepareOptions:
    """How to prepare a text."""

    language: str
    clean: CleanLines
    """Must survive the trip to another process."""
    texts: Callable[[], Iterable[BenchmarkText]] = lambda: ()
    """The benchmarks' texts; called twice."""
    seed: int = 0
    share: float = 0.01
    """Of the documents, held out."""
    any_language: bool = False
    where: ExecuteOptions | int = 1
    """As for `map_in_order`."""
    on_progress: OnProgress = lambda what, done, total: None


def prepare(
    sources: Sequence[Source], out: Path, options: PrepareOptions, *, overwrite: bool = False
) -> CorpusReport:
    """Write `train.txt`, `heldout.txt` and `corpus.json` into the folder `out`, all or none."""
    if not options.any_language:
        refuse_other_languages(sources, options.language)
    options.on_progress("reading benchmarks", 0, None)
    text_counts: Counter[str] = Counter()

    def count_texts() -> Iterator[BenchmarkText]:
        for text in options.texts():
            text_counts[text.benchmark] += 1
            yield text

    index = build_index(count_texts())
    with atomic_folder(out, overwrite=overwrite) as folder:
        with (
            (folder / TRAIN_FILE).open("wb") as train,
            (folder / HELDOUT_FILE).open("wb") as heldout,
        ):
            output = _Output(train, heldout, options)
            lines = output.count(line for source in sources for line in source.read())
            preparer = ChunkPreparer(options.clean, index if index.benchmarks else None)
            for result in map_in_order(preparer, chunk_lines(lines), options.where):
                output.write(result)
                options.on_progress("preparing text, characters", output.characters, None)
        report = output.report(sources, index, text_counts)
        if not report.train.lines:
            raise _nothing_left_error(sources, report)
        (folder / REPORT_FILE).write_bytes(encode_json(report) + b"\n")
    return report


def _nothing_left_error(sources: Sequence[Source], report: CorpusReport) -> BadInput:
    """The error for a text of which nothing can be learned."""
    file = sources[0].path if len(sources) == 1 else sources[0].path.parent
    if report.heldout.lines:
        cure = "pass more text, with a blank line between documents, or another --seed"
        return BadInput("the whole text was held out", file=file, cure=cure)
    what = "no text is left"
    if steps := ", ".join(f"{step} {count:,}" for step, count in report.removed.items() if count):
        what += f", lines removed: {steps}"
    return BadInput(what, file=file, cure="pass another text")


class ChunkResult(NamedTuple):
    """What came of a chunk."""

    lines: list[Line]
    keys: list[int]
    """A hash of each line, by which repeated ones are found."""
    changed: Counter[str]
    removed: Counter[str]
    benchmark_lines: Counter[int]
    """By bit of a benchmark in the index, lines that were removed for it."""
    hashes: NDArray[np.uint64] | None
    """Of the benchmark text that was met."""


@dataclass(frozen=True)
class ChunkPreparer:
    """Cleans chunks and takes benchmark text out; it can be pickled until it is first used."""

    clean: CleanLines
    index: Index | None

    @cached_property
    def searcher(self) -> Searcher | None:
        """Finds benchmark text; made once in each process."""
        return None if self.index is None else Searcher(self.index)

    def __call__(self, chunk: list[Line]) -> ChunkResult:
        """Prepare one chunk."""
        cleaned = self.clean([lower_reserved(line.text) for line in chunk])
        changed, removed = Counter(cleaned.changed), Counter(cleaned.removed)
        kept = [
            Line(line.document, text)
            for line, text in zip(chunk, cleaned.texts, strict=True)
            if text
        ]
        benchmark_lines = Counter[int]()
        hashes = None
        if self.searcher is not None:
            hits = self.searcher.search([line.text for line in kept])
            for mask in hits.masks.tolist():
                benchmark_lines.update(bit for bit in range(64) if mask >> bit & 1)
            hit_lines, hashes = set(hits.lines.tolist()), hits.hashes
            removed["benchmark text"] += len(hit_lines)
            kept = [line for place, line in enumerate(kept) if place not in hit_lines]
        lines, keys = [], []
        for line in kept:
            hidden = hide_accounts(line.text)
            changed["account"] += hidden != line.text
            text = put_placeholders(hidden)
            lines.append(Line(line.document, text))
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            keys.append(int.from_bytes(digest, "little"))
        return ChunkResult(lines, keys, changed, removed, benchmark_lines, hashes)


class _TextFile:
    """One of the two files, with a blank line between documents."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._last_document = stream, ""
        self.documents = self.lines = self.characters = 0

    def write(self, line: Line) -> None:
        """Add a line, after a blank one where its document is another."""
        if line.document != self._last_document:
            self._stream.write(b"\n" if self._last_document else b"")
            self.documents, self._last_document = self.documents + 1, line.document
        self.lines += 1
        self.characters += len(line.text)
        self._stream.write(line.text.encode() + b"\n")

    def size(self) -> TextSize:
        return TextSize(documents=self.documents, lines=self.lines, characters=self.characters)


class _Output:
    """What one preparation writes and counts."""

    def __init__(self, train: BinaryIO, heldout: BinaryIO, options: PrepareOptions) -> None:
        import numpy as np

        self.options = options
        self.lines = self.characters = 0
        self._train, self._heldout = _TextFile(train), _TextFile(heldout)
        self._changed, self._removed = Counter[str](), Counter[str]()
        self._benchmark_lines, self._hashes = Counter[int](), [np.empty(0, np.uint64)]
        self._seen = np.zeros(REPEAT_SLOTS, np.uint64)

    def count(self, lines: Iterable[Line]) -> Iterator[Line]:
        """The same lines, counted as they pass."""
        for line in lines:
            self.lines += 1
            self.characters += len(line.text)
            yield line

    def write(self, result: ChunkResult) -> None:
        """Write the lines of a chunk and add its counts."""
        self._changed += result.changed
        self._removed += result.removed
        self._benchmark_lines += result.benchmark_lines
        if result.hashes is not None:
            self._hashes.append(result.hashes)
        for line, key in zip(result.lines, result.keys, strict=True):
            slot = key % REPEAT_SLOTS
            if self._seen[slot] == key:
                self._removed["repeated lines"] += 1
                continue
            self._seen[slot] = key
            draw = crc32(f"{self.options.seed}\0{line.document}".encode())
            is_held_out = draw < self.options.share * 2**32
            (self._heldout if is_held_out else self._train).write(line)

    def report(
        self, sources: Sequence[Source], index: Index, text_counts: Counter[str]
    ) -> CorpusReport:
        """The counts of the whole preparation, once all is written.

        The benchmarks' texts are read again if any of them was met.
        """
        import numpy as np

        examples: dict[str, list[str]] = {}
        if index.benchmarks:
            hashes = np.unique(np.concatenate(self._hashes))
            if len(hashes):
                examples = find_examples(self.options.texts(), hashes)
        overlaps = []
        for bit, name in enumerate(index.benchmarks):
            ids = examples.get(name, [])
            overlap = BenchmarkOverlap(
                benchmark=name,
                texts=text_counts[name],
                lines=self._benchmark_lines[bit % 64],
                examples=len(ids),
                ids=tuple(ids[:MAX_IDS_SHOWN]),
            )
            overlaps.append(overlap)
        return CorpusReport(
            language=self.options.language,
            seed=self.options.seed,
            files=tuple(FileReport.of(source) for source in sources),
            sources=sources[0].table,
            lines=self.lines,
            characters=self.characters,
            changed=dict(sorted(self._changed.items())),
            removed=dict(sorted(self._removed.items())),
            run=RUN_CHARS,
            short=MIN_TEXT_CHARS,
            benchmarks=tuple(overlaps),
            train=self._train.size(),
            heldout=self._heldout.size(),
        )
