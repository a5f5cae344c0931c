"""Lines that contain text of a benchmark: runs of characters shared with it, found by hashes, many
lines at a time.

White space means nothing in Japanese and little in Korean, so texts are compared as NFKC, small
letters, letters and digits only. A line goes when it shares a run of `RUN_CHARS` such characters
with a benchmark text, or contains a whole text of `MIN_TEXT_CHARS` to `RUN_CHARS` characters. Nothing
of a text is kept but hashes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nikawa.datasets import benchmarks
from nikawa.datasets.load import load
from nikawa.datasets.locate import files_here
from nikawa.datasets.names import find_benchmark
from nikawa.errors import BadInput
from nikawa.io.lines import read_lines
from nikawa.io.remote import to_path
from nikawa.pretrain.stages import fingerprint
from nikawa.records import Dataset, reference, texts_inside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint32]
    Places = NDArray[np.int64]
    Words = NDArray[np.uint64]

RUN_CHARS, MIN_TEXT_CHARS = 16, 12
"""Characters of a run that is taken for a copy, and of the shortest text looked for as a whole; see
docs/pretrain.md."""
BATCH_TEXTS = 5_000
"""Texts looked at together."""
SIEVE_BITS = 24
"""Leading bits of a hash that are looked up first: most that are not known are sieved out."""
_BASE, _SPREAD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
_SKIPPED = re.compile(r"[\W_]+")


class BenchmarkText(NamedTuple):
    """A text of a benchmark."""

    benchmark: str
    example: str
    """Full reference of the example it belongs to."""
    text: str


@dataclass(frozen=True)
class BenchmarkTexts:
    """Every text of every available benchmark, and of further files.

    A call yields them, dataset by dataset.
    """

    data: Path | None = None
    against: tuple[str, ...] = ()
    """Datasets, records files or plain text files in addition to those found."""

    def has_published(self) -> bool:
        """Whether the data folder contains a benchmark, in addition to those that come with the package."""
        published = [benchmark for benchmark in benchmarks().values() if benchmark.repository]
        return any(files_here(benchmark, self.data) for benchmark in published)

    def names(self) -> list[str]:
        """The identity of the texts: names of the available benchmarks and of further datasets,
        fingerprints of further files.
        """
        names = [b.name for b in benchmarks().values() if files_here(b, self.data)]
        for spec in self.against:
            is_file = find_benchmark(spec) is None and to_path(spec).is_file()
            names.append(fingerprint(to_path(spec)) if is_file else spec)
        return names

    def __call__(self) -> Iterator[BenchmarkText]:
        """The texts, dataset by dataset."""
        for benchmark in benchmarks().values():
            if files_here(benchmark, self.data):
                yield from dataset_texts(load(benchmark.name, data=self.data))
        for spec in self.against:
            is_empty = True
            for text in self._read_further(spec):
                is_empty = False
                yield text
            if is_empty:
                cure = "pass another one with --against, or leave the option out"
                raise BadInput("contains no text to compare with", file=spec, cure=cure)

    def _read_further(self, spec: str) -> Iterator[BenchmarkText]:
        """The texts of a dataset, or the lines of a plain text file, that `against` names."""
        path = to_path(spec)
        if ".txt" not in path.suffixes:
            yield from dataset_texts(load(spec, data=self.data))
            return
        for number, line in read_lines(path):
            if line.strip():
                yield BenchmarkText(path.name, f"{path.name}:{number}", line)

    def by_benchmark(self, language: str) -> Iterator[tuple[str, list[str]]]:
        """The distinct texts of each available benchmark of a language."""
        for benchmark in benchmarks().values():
            if benchmark.language == language and files_here(benchmark, self.data):
                texts = dataset_texts(load(benchmark.name, data=self.data))
                yield benchmark.name, list(dict.fromkeys(text.text for text in texts))


def dataset_texts(dataset: Dataset) -> Iterator[BenchmarkText]:
    """Every text of a dataset with the example it belongs to."""
    for split, examples in dataset.splits.items():
        for example in examples:
            name = reference(dataset.name, split, example.id)
            for text in texts_inside(example.inputs):
                yield BenchmarkText(dataset.name, name, text)


class Index(NamedTuple):
    """Hashes of the benchmarks' texts; bit b of a mask is the b-th benchmark."""

    benchmarks: tuple[str, ...]
    runs: Words
    """Sorted hashes of all runs."""
    run_masks: Words
    heads: Words
    """Sorted hashes of the first `MIN_TEXT_CHARS` characters of the short texts."""
    sizes: Places
    wholes: Words
    """Hash of each whole short text."""
    short_masks: Words


class Hits(NamedTuple):
    """What a search found."""

    lines: Places
    """Numbers of the lines, ascending, each once."""
    masks: Words
    """The benchmarks each of them shares text with."""
    hashes: Words
    """Hashes of the runs and short texts that were met."""


def fold_text(text: str) -> str:
    """The text as it is compared.

    >>> fold_text("ＡＢＣ、 テスト 1")
    'abcテスト1'
    """
    return _SKIPPED.sub("", unicodedata.normalize("NFKC", text).lower())


def build_index(texts: Iterable[BenchmarkText]) -> Index:
    """Index the texts of benchmarks: the runs of long ones, the whole of short ones.

    Shorter ones are left out.
    """
    import numpy as np

    bits: dict[str, int] = {}
    long_texts: dict[str, list[str]] = defaultdict(list)
    short_texts: dict[str, int] = defaultdict(int)
    for text in texts:
        bit = bits.setdefault(text.benchmark, len(bits))
        folded = fold_text(text.text)
        if len(folded) >= RUN_CHARS:
            long_texts[text.benchmark].append(folded)
        elif len(folded) >= MIN_TEXT_CHARS:
            short_texts[folded] |= 1 << bit % 64
    hashes = [np.empty(0, np.uint64)]
    masks = [np.empty(0, np.uint64)]
    for benchmark, folded_texts in long_texts.items():
        own_hashes = _hash_texts(folded_texts)
        hashes.append(own_hashes)
        masks.append(np.full(len(own_hashes), 1 << bits[benchmark] % 64, np.uint64))
    runs, run_masks = _merge_masks(np.concatenate(hashes), np.concatenate(masks))
    shorts = list(short_texts)
    heads = np.array([_hash(text[:MIN_TEXT_CHARS]) for text in shorts], np.uint64)
    order = np.argsort(heads, kind="stable")
    return Index(
        benchmarks=tuple(bits),
        runs=runs,
        run_masks=run_masks,
        heads=heads[order],
        sizes=np.array([len(text) for text in shorts], np.int64)[order],
        wholes=np.array([_hash(text) for text in shorts], np.uint64)[order],
        short_masks=np.array([short_texts[text] for text in shorts], np.uint64)[order],
    )


def _hash_texts(texts: Sequence[str]) -> Words:
    """The hashes of all runs inside one of the texts, each once."""
    import numpy as np

    codes, starts, sizes = _join_texts(texts)
    hashes = hash_runs(codes, RUN_CHARS)
    is_inside = np.ones(len(codes), bool)
    for back in range(1, RUN_CHARS):
        is_inside[starts + sizes - back] = False
    return np.unique(hashes[is_inside[: len(hashes)]])


def _merge_masks(hashes: Words, masks: Words) -> tuple[Words, Words]:
    """Each hash once, sorted, with the masks of its equals joined."""
    import numpy as np

    if not len(hashes):
        return hashes, masks
    order = np.argsort(hashes, kind="stable")
    hashes, masks = hashes[order], masks[order]
    is_first = np.concatenate(([True], hashes[1:] != hashes[:-1]))
    first = np.flatnonzero(is_first)
    return hashes[first], np.bitwise_or.reduceat(masks, first)


class Searcher:
    """An index ready to be searched."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._run_sieve, self._head_sieve = _make_sieve(index.runs), _make_sieve(index.heads)

    def search(self, lines: Sequence[str]) -> Hits:
        """The lines that contain text of a benchmark."""
        import numpy as np

        index = self.index
        codes, starts, sizes = _join_texts([fold_text(line) for line in lines])
        at, place = _look_up(hash_runs(codes, RUN_CHARS), index.runs, self._run_sieve)
        line = np.searchsorted(starts, at, side="right") - 1
        is_inside = at + RUN_CHARS <= starts[line] + sizes[line]
        short = self._find_short_texts(codes, starts, sizes)
        hit_lines = np.concatenate((line[is_inside], short.lines))
        hit_masks = np.concatenate((index.run_masks[place[is_inside]], short.masks))
        hit_hashes = np.concatenate((index.runs[place[is_inside]], short.hashes))
        distinct, back = np.unique(hit_lines, return_inverse=True)
        masks = np.zeros(len(distinct), np.uint64)
        np.bitwise_or.at(masks, back, hit_masks)
        return Hits(distinct, masks, np.unique(hit_hashes))

    def _find_short_texts(self, codes: Codes, starts: Places, sizes: Places) -> Hits:
        """Lines that contain a whole short text: its head is looked up, and the few that have it are
        hashed whole.
        """
        import numpy as np

        index = self.index
        hits: list[tuple[int, int]] = []
        heads = hash_runs(codes, MIN_TEXT_CHARS)
        for at, first in zip(*_look_up(heads, index.heads, self._head_sieve), strict=True):
            line = int(np.searchsorted(starts, at, side="right")) - 1
            last = np.searchsorted(index.heads, index.heads[first], side="right")
            for entry in range(first, last):
                size = index.sizes[entry]
                fits = at + size <= starts[line] + sizes[line]
                if fits and hash_runs(codes[at : at + size], size)[0] == index.wholes[entry]:
                    hits.append((line, entry))
        lines = np.array([line for line, _ in hits], np.int64)
        entries = np.array([entry for _, entry in hits], np.int64)
        return Hits(lines, index.short_masks[entries], index.wholes[entries])


def _make_sieve(known: Words) -> NDArray[np.bool_]:
    """Whether any hash begins with these bits: sieves out most that are not known at a fraction of
    a search's price.
    """
    import numpy as np

    sieve = np.zeros(1 << SIEVE_BITS, bool)
    sieve[known >> np.uint64(64 - SIEVE_BITS)] = True
    return sieve


def _look_up(hashes: Words, known: Words, sieve: NDArray[np.bool_]) -> tuple[Places, Places]:
    """(Where in `hashes`, where first in `known`) of those that are known."""
    import numpy as np

    maybe = np.flatnonzero(sieve[hashes >> np.uint64(64 - SIEVE_BITS)])
    if not len(maybe):
        return maybe, maybe
    place = np.minimum(np.searchsorted(known, hashes[maybe]), len(known) - 1)
    is_known = known[place] == hashes[maybe]
    return maybe[is_known], place[is_known]


def find_examples(texts: Iterable[BenchmarkText], hashes: Words) -> dict[str, list[str]]:
    """By benchmark, the examples one of whose runs or short texts is among `hashes`, in their
    order.
    """
    examples: dict[str, dict[str, None]] = {}
    stream = iter(texts)
    while batch := list(islice(stream, BATCH_TEXTS)):
        places = find_texts([fold_text(text.text) for text in batch], hashes)
        for place, text in enumerate(batch):
            of_benchmark = examples.setdefault(text.benchmark, {})
            if place in places:
                of_benchmark[text.example] = None
    return {benchmark: list(of_benchmark) for benchmark, of_benchmark in examples.items()}


def find_texts(folded_texts: Sequence[str], hashes: Words) -> set[int]:
    """Which of the texts have a run, or are a short text, among `hashes`."""
    import numpy as np

    codes, starts, sizes = _join_texts(folded_texts)
    at = np.flatnonzero(np.isin(hash_runs(codes, RUN_CHARS), hashes))
    line = np.searchsorted(starts, at, side="right") - 1
    is_inside = at + RUN_CHARS <= starts[line] + sizes[line]
    hits = set(line[is_inside].tolist())
    for size in range(MIN_TEXT_CHARS, RUN_CHARS):
        places = np.flatnonzero(sizes == size)
        joined = "".join(folded_texts[place] for place in places.tolist())
        wholes = hash_runs(_to_codes(joined), size)[::size]
        hits.update(places[np.isin(wholes, hashes)].tolist())
    return hits


def _join_texts(texts: Sequence[str]) -> tuple[Codes, Places, Places]:
    """All characters one after the other, and where each text begins and how long it is."""
    import numpy as np

    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    return _to_codes("".join(texts)), np.cumsum(sizes) - sizes, sizes


def hash_runs(codes: Codes, size: int) -> Words:
    """The hash of each run of `size` characters: the sum of h(c_j) B^(size-1-j) modulo 2^64, by
    doubling, then mixed.
    """
    import numpy as np

    if len(codes) < size:
        return np.empty(0, np.uint64)

    def power(exponent: int) -> np.uint64:
        return np.uint64(pow(_BASE, exponent, 1 << 64))

    numbers = codes.astype(np.uint64) + np.uint64(1)
    single = _mix(numbers * np.uint64(_BASE))
    total, length = single, 1
    for bit in bin(size)[3:]:
        total = total[:-length] * power(length) + total[length:]
        length *= 2
        if bit == "1":
            total = total[:-1] * power(1) + single[length:]
            length += 1
    return _mix(total)


def _mix(values: Words) -> Words:
    """Spread every bit of the values over all others."""
    import numpy as np

    values = (values ^ (values >> np.uint64(31))) * np.uint64(_SPREAD)
    return values ^ (values >> np.uint64(29))


def _hash(text: str) -> int:
    """The hash of a whole text."""
    return int(hash_runs(_to_codes(text), len(text))[0])


def _to_codes(text: str) -> Codes:
    """The code points of a text."""
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
