"""Lines that hold text of a benchmark: runs of characters shared with it, found by hashes, many lines at a time.

White space means nothing in Japanese and little in Korean, so texts are compared as NFKC, small letters, letters and
digits only. A line goes when it shares a run of `RUN` such characters with a benchmark text, or holds a whole text of
`SHORT` to `RUN` characters. Nothing of a text is kept but hashes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint32]
    Places = NDArray[np.int64]
    Words = NDArray[np.uint64]

RUN, SHORT = 16, 12
"""Characters of a run that is taken for a copy, and of the shortest text looked for as a whole; see docs/pretrain.md."""
BATCH = 5_000
"""Texts looked at together."""
SIEVE = 24
"""Bits by which most hashes are told not to be known."""
_BASE, _SPREAD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
_SKIPPED = re.compile(r"[\W_]+")


class Text(NamedTuple):
    """A text of a benchmark."""

    benchmark: str
    example: str
    """Full reference of the example it belongs to."""
    text: str


class Index(NamedTuple):
    """Hashes of the benchmarks' texts; bit b of a mask is the b-th benchmark."""

    benchmarks: tuple[str, ...]
    runs: Words
    """Sorted hashes of all runs."""
    run_masks: Words
    heads: Words
    """Sorted hashes of the first `SHORT` characters of the short texts."""
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


def folded(text: str) -> str:
    """The text as it is compared."""
    return _SKIPPED.sub("", unicodedata.normalize("NFKC", text).lower())


def build(texts: Iterable[Text]) -> Index:
    """Index the texts of benchmarks."""
    import numpy as np

    names: dict[str, int] = {}
    runs: dict[str, list[str]] = defaultdict(list)
    shorts: dict[str, int] = defaultdict(int)
    for text in texts:
        bit = names.setdefault(text.benchmark, len(names))
        plain = folded(text.text)
        if len(plain) >= RUN:
            runs[text.benchmark].append(plain)
        elif len(plain) >= SHORT:
            shorts[plain] |= 1 << bit % 64
    parts = [(_runs(found), names[name] % 64) for name, found in runs.items()]
    hashes = np.concatenate([part for part, _ in parts]) if parts else np.empty(0, np.uint64)
    masks = np.concatenate(
        [np.full(len(part), 1 << bit, np.uint64) for part, bit in parts] or [np.empty(0, np.uint64)]
    )
    found, owners = _merged(hashes, masks)
    return Index(tuple(names), found, owners, *_short(shorts))


def _runs(texts: Sequence[str]) -> Words:
    import numpy as np

    codes, starts, sizes = _joined(texts)
    found = windows(codes, RUN)
    keep = np.ones(len(codes), bool)
    for back in range(1, RUN):
        keep[starts + sizes - back] = False
    return np.unique(found[keep[: len(found)]])


def _merged(hashes: Words, masks: Words) -> tuple[Words, Words]:
    """Each hash once, sorted, with the masks of its equals joined."""
    import numpy as np

    if not len(hashes):
        return hashes, masks
    order = np.argsort(hashes, kind="stable")
    hashes, masks = hashes[order], masks[order]
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    return hashes[first], np.bitwise_or.reduceat(masks, first)


def _short(shorts: dict[str, int]) -> tuple[Words, Places, Words, Words]:
    import numpy as np

    texts = list(shorts)
    heads = np.array([_hash(_codes(text[:SHORT])) for text in texts], np.uint64)
    sizes = np.array([len(text) for text in texts], np.int64)
    wholes = np.array([_hash(_codes(text)) for text in texts], np.uint64)
    masks = np.array([shorts[text] for text in texts], np.uint64)
    order = np.argsort(heads, kind="stable")
    return heads[order], sizes[order], wholes[order], masks[order]


class Searcher:
    """An index ready to be searched."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._runs, self._heads = _sieve(index.runs), _sieve(index.heads)

    def search(self, lines: Sequence[str]) -> Hits:
        """The lines that hold text of a benchmark."""
        import numpy as np

        index = self.index
        codes, starts, sizes = _joined([folded(line) for line in lines])
        at, place = _found(windows(codes, RUN), index.runs, self._runs)
        line = np.searchsorted(starts, at, side="right") - 1
        inside = at + RUN <= starts[line] + sizes[line]
        masks, hashes = index.run_masks[place[inside]], index.runs[place[inside]]
        more = self._short(codes, starts, sizes)
        found, back = np.unique(np.concatenate((line[inside], more.lines)), return_inverse=True)
        joined = np.zeros(len(found), np.uint64)
        np.bitwise_or.at(joined, back, np.concatenate((masks, more.masks)))
        return Hits(found, joined, np.unique(np.concatenate((hashes, more.hashes))))

    def _short(self, codes: Codes, starts: Places, sizes: Places) -> Hits:
        """Lines that hold a whole short text: its head is looked up, and the few that have it are hashed whole."""
        import numpy as np

        index = self.index
        found: list[tuple[int, int]] = []
        for position, first in zip(
            *_found(windows(codes, SHORT), index.heads, self._heads), strict=True
        ):
            line = int(np.searchsorted(starts, position, side="right")) - 1
            last = np.searchsorted(index.heads, index.heads[first], side="right")
            for entry in range(first, last):
                stop = position + index.sizes[entry]
                fits = stop <= starts[line] + sizes[line]
                if fits and _hash(codes[position:stop]) == index.wholes[entry]:
                    found.append((line, entry))
        lines = np.array([line for line, _ in found], np.int64)
        entries = np.array([entry for _, entry in found], np.int64)
        return Hits(lines, index.short_masks[entries], index.wholes[entries])


def _sieve(known: Words) -> NDArray[np.bool_]:
    """Whether any hash begins with these bits: tells most that are not known at a fraction of a search's price."""
    import numpy as np

    sieve = np.zeros(1 << SIEVE, bool)
    sieve[known >> np.uint64(64 - SIEVE)] = True
    return sieve


def _found(hashes: Words, known: Words, sieve: NDArray[np.bool_]) -> tuple[Places, Places]:
    """(Where in `hashes`, where first in `known`) of those that are known."""
    import numpy as np

    maybe = np.flatnonzero(sieve[hashes >> np.uint64(64 - SIEVE)])
    if not len(maybe):
        return maybe, maybe
    place = np.minimum(np.searchsorted(known, hashes[maybe]), len(known) - 1)
    same = known[place] == hashes[maybe]
    return maybe[same], place[same]


def _joined(texts: Sequence[str]) -> tuple[Codes, Places, Places]:
    """All characters one after the other, and where each text begins and how long it is."""
    import numpy as np

    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    return _codes("".join(texts)), np.cumsum(sizes) - sizes, sizes


def windows(codes: Codes, size: int) -> Words:
    """The hash of each run of `size` characters: the sum of h(c_j) B^(size-1-j) modulo 2^64, by doubling, then mixed."""
    import numpy as np

    if len(codes) < size:
        return np.empty(0, np.uint64)
    single = _mixed((codes.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE))
    total, length = single, 1
    for bit in bin(size)[3:]:
        total = total[:-length] * _power(length) + total[length:]
        length *= 2
        if bit == "1":
            total = total[:-1] * _power(1) + single[length:]
            length += 1
    return _mixed(total)


def _power(exponent: int) -> np.uint64:
    import numpy as np

    return np.uint64(pow(_BASE, exponent, 1 << 64))


def _mixed(values: Words) -> Words:
    import numpy as np

    values = (values ^ (values >> np.uint64(31))) * np.uint64(_SPREAD)
    return values ^ (values >> np.uint64(29))


def _hash(codes: Codes) -> int:
    return int(windows(codes, len(codes))[0])


def _codes(text: str) -> Codes:
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def met(texts: Iterable[Text], hashes: Words) -> dict[str, list[str]]:
    """By benchmark, the examples one of whose runs or short texts is among `hashes`, in their order."""
    found: dict[str, dict[str, None]] = {}
    stream = iter(texts)
    while batch := list(islice(stream, BATCH)):
        folds = [folded(text.text) for text in batch]
        hit = _among(folds, hashes)
        for place, text in enumerate(batch):
            examples = found.setdefault(text.benchmark, {})
            if place in hit:
                examples[text.example] = None
    return {benchmark: list(examples) for benchmark, examples in found.items()}


def _among(folds: Sequence[str], hashes: Words) -> set[int]:
    """Which of the texts have a run, or are a short text, among `hashes`."""
    import numpy as np

    codes, starts, sizes = _joined(folds)
    at = np.flatnonzero(np.isin(windows(codes, RUN), hashes))
    line = np.searchsorted(starts, at, side="right") - 1
    hit = set(line[at + RUN <= starts[line] + sizes[line]].tolist())
    for size in range(SHORT, RUN):
        places = np.flatnonzero(sizes == size)
        whole = windows(_codes("".join(folds[place] for place in places.tolist())), size)[::size]
        hit.update(places[np.isin(whole, hashes)].tolist())
    return hit
