"""From raw text to the two files an encoder learns from: cleaned, without benchmark text, a part held out.

Chunks of lines go through cleaning and the search for benchmark text, here or in other processes; what comes back is
written in order. The same bytes for any number of workers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from zlib import crc32

from nikawa.execute.ordered import map_ordered
from nikawa.io.atomic import atomic_folder
from nikawa.io.json import encode_json
from nikawa.pretrain.accounts import without_accounts
from nikawa.pretrain.contamination import RUN, SHORT, Index, Searcher, Text, build, met
from nikawa.pretrain.corpus import Line, chunks, read
from nikawa.pretrain.personal import guarded, with_placeholders
from nikawa.pretrain.refuse import nothing_left, refuse_others
from nikawa.pretrain.report import CorpusReport, Met, Size, file_report
from nikawa.pretrain.sources import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAIN, HELDOUT, REPORT = "train.txt", "heldout.txt", "corpus.json"
SLOTS = 1 << 22
"""Lines remembered to find repeated ones; a newer one takes the place of an older."""
IDS = 20
"""Examples of a benchmark that the report names."""


class Cleaned(NamedTuple):
    """What cleaning made of some texts."""

    texts: list[str]
    """Each as it is now; empty where it had to go."""
    changed: Counter[str]
    removed: Counter[str]
    """By step, how many texts."""


Clean = Callable[[Sequence[str]], Cleaned]
News = Callable[[str, int, int | None], None]
"""Hears of (what is done, how much of it, of how much in all)."""


@dataclass(frozen=True)
class Preparing:
    """How to prepare a text."""

    language: str
    clean: Clean
    """Must survive the trip to another process."""
    texts: Callable[[], Iterable[Text]] = lambda: ()
    """The benchmarks' texts; asked for twice."""
    seed: int = 0
    share: float = 0.01
    """Of the documents, held out."""
    any_language: bool = False
    workers: int = 1
    news: News = lambda what, done, total: None


class _Part(NamedTuple):
    """What came of a chunk."""

    lines: list[Line]
    keys: list[int]
    changed: Counter[str]
    removed: Counter[str]
    owners: Counter[int]
    hashes: NDArray[np.uint64] | None


@dataclass(frozen=True)
class Worker:
    """Cleans chunks and takes benchmark text out; it can be pickled until it is first used."""

    clean: Clean
    index: Index | None

    @cached_property
    def searcher(self) -> Searcher | None:
        """Finds benchmark text; made once in each process."""
        return None if self.index is None else Searcher(self.index)

    def __call__(self, chunk: list[Line]) -> _Part:
        """One chunk."""
        done = self.clean([guarded(line.text) for line in chunk])
        kept = [
            Line(line.document, text) for line, text in zip(chunk, done.texts, strict=True) if text
        ]
        changed, removed, owners, hashes = (
            Counter(done.changed),
            Counter(done.removed),
            Counter[int](),
            None,
        )
        if self.searcher is not None:
            hits = self.searcher.search([line.text for line in kept])
            for mask in hits.masks.tolist():
                owners.update(bit for bit in range(64) if mask >> bit & 1)
            gone, hashes = set(hits.lines.tolist()), hits.hashes
            removed["benchmark text"] += len(gone)
            kept = [line for place, line in enumerate(kept) if place not in gone]
        hidden = [without_accounts(line.text) for line in kept]
        changed["account"] = sum(text != line.text for text, line in zip(hidden, kept, strict=True))
        lines = [
            Line(line.document, with_placeholders(text))
            for text, line in zip(hidden, kept, strict=True)
        ]
        return _Part(lines, [_key(line.text) for line in lines], changed, removed, owners, hashes)


def _key(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def prepare(
    sources: Sequence[Source], out: Path, how: Preparing, *, overwrite: bool = False
) -> CorpusReport:
    """Write `train.txt`, `heldout.txt` and `corpus.json` into the folder `out`, all or none."""
    if not how.any_language:
        refuse_others(sources, how.language)
    how.news("reading benchmarks", 0, None)
    counts: Counter[str] = Counter()
    index = build(_counted(how.texts(), counts))
    run = _Run(how, bool(index.benchmarks))
    with atomic_folder(out, overwrite=overwrite) as folder:
        with (folder / TRAIN).open("wb") as train, (folder / HELDOUT).open("wb") as heldout:
            run.outputs = [_Output(train), _Output(heldout)]
            lines = (line for source in sources for line in read(source))
            worker = Worker(how.clean, index if index.benchmarks else None)
            for part in map_ordered(worker, chunks(run.counted(lines)), how.workers):
                run.take(part)
        report = run.report(sources, index, counts)
        if not report.train.lines:
            raise nothing_left(sources, report)
        (folder / REPORT).write_bytes(encode_json(report) + b"\n")
    return report


def _counted(texts: Iterable[Text], counts: Counter[str]) -> Iterator[Text]:
    for text in texts:
        counts[text.benchmark] += 1
        yield text


class _Output:
    """One of the two files, with a blank line between documents."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.last = stream, ""
        self.documents = self.lines = self.characters = 0

    def write(self, line: Line) -> None:
        if line.document != self.last:
            self.stream.write(b"\n" if self.last else b"")
            self.documents, self.last = self.documents + 1, line.document
        self.lines += 1
        self.characters += len(line.text)
        self.stream.write(line.text.encode() + b"\n")

    def size(self) -> Size:
        return Size(documents=self.documents, lines=self.lines, characters=self.characters)


@dataclass
class _Run:
    """The state of one preparation."""

    how: Preparing
    compared: bool
    outputs: list[_Output] = field(default_factory=list)
    lines: int = 0
    characters: int = 0

    def __post_init__(self) -> None:
        import numpy as np

        self.changed, self.removed = Counter[str](), Counter[str]()
        self.owners, self.hashes = Counter[int](), [np.empty(0, np.uint64)]
        self.seen = np.zeros(SLOTS, np.uint64)

    def counted(self, lines: Iterable[Line]) -> Iterator[Line]:
        for line in lines:
            self.lines += 1
            self.characters += len(line.text)
            yield line

    def take(self, part: _Part) -> None:
        """Write a part and add its counts."""
        self.changed += part.changed
        self.removed += part.removed
        self.owners += part.owners
        if part.hashes is not None:
            self.hashes.append(part.hashes)
        for line, key in zip(part.lines, part.keys, strict=True):
            slot = key % SLOTS
            if self.seen[slot] == key:
                self.removed["repeated lines"] += 1
                continue
            self.seen[slot] = key
            self.outputs[self._held_out(line.document)].write(line)
        self.how.news("preparing text, characters", self.characters, None)

    def _held_out(self, document: str) -> bool:
        return crc32(f"{self.how.seed}\0{document}".encode()) < self.how.share * 2**32

    def report(self, sources: Sequence[Source], index: Index, counts: Counter[str]) -> CorpusReport:
        import numpy as np

        examples = (
            met(self.how.texts(), np.unique(np.concatenate(self.hashes))) if self.compared else {}
        )
        benchmarks = [
            Met(
                benchmark=name,
                texts=counts[name],
                lines=self.owners[bit % 64],
                examples=len(examples.get(name, [])),
                ids=tuple(islice(examples.get(name, []), IDS)),
            )
            for bit, name in enumerate(index.benchmarks)
        ]
        return CorpusReport(
            language=self.how.language,
            seed=self.how.seed,
            files=tuple(map(file_report, sources)),
            sources=sources[0].table,
            lines=self.lines,
            characters=self.characters,
            changed=dict(sorted(self.changed.items())),
            removed=dict(sorted(self.removed.items())),
            run=RUN,
            short=SHORT,
            benchmarks=tuple(benchmarks),
            train=self.outputs[0].size(),
            heldout=self.outputs[1].size(),
        )
