"""What sentences are made of: words (between blanks), characters or morphemes, as numbers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.text import analyser

Ints = NDArray[Any]
Units = Callable[[Iterable[str]], Iterator[Sequence[str]]]
"""The units of each text, in order."""


def split_words(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """Words separated by blanks."""
    return map(str.split, texts)


def split_characters(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """Every character that is no blank."""
    return ("".join(text.split()) for text in texts)


PLAIN_UNITS: dict[str, Units] = {"words": split_words, "characters": split_characters}
"""Units that take no analyser."""


def morpheme_splitter(name: str) -> Units:
    """The surface forms an analyser finds; `name` as `nikawa.text.analyser` takes it."""
    tool = analyser(name, cache=0)

    def units(texts: Iterable[str]) -> Iterator[Sequence[str]]:
        return ([token.surface for token in tokens] for tokens in tool.analyse_many(texts))

    return units


def find_units(name: str) -> Units:
    """`words`, `characters`, or the name of an analyser (`ja`, `ko`, `ipadic`, …)."""
    return PLAIN_UNITS[name] if name in PLAIN_UNITS else morpheme_splitter(name)


CHUNK_TEXTS = 1_000
"""Texts that a process splits at a time."""


def split_all(
    texts: Iterable[str], name: str, where: ExecuteOptions | None
) -> Iterator[Sequence[str]]:
    """The units of each text, in order. With `where`, other processes find morphemes; to split words or characters takes no
    longer than to send them.
    """
    units = find_units(name)
    if where is None or name in PLAIN_UNITS:
        return units(texts)
    stream = iter(texts)
    chunks = iter(lambda: list(islice(stream, CHUNK_TEXTS)), [])
    return chain.from_iterable(map_in_order(partial(_split_chunk, name=name), chunks, where))


def _split_chunk(texts: list[str], name: str) -> list[Sequence[str]]:
    return list(find_units(name)(texts))


@dataclass(frozen=True)
class CodedSentences:
    """Sentences as numbers: those of sentence i are `ids[starts[i] : starts[i + 1]]`."""

    ids: Ints
    starts: Ints
    size: int
    """How many different numbers there are."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """Units a sentence."""
        return np.diff(self.starts)


def encode(sentences: Iterable[Sequence[str]]) -> CodedSentences:
    """Number the units in the order they are met."""
    known: dict[str, int] = {}
    ids, starts = array("i"), array("q", [0])
    for sentence in sentences:
        ids.extend([known.setdefault(unit, len(known)) for unit in sentence])
        starts.append(len(ids))
    return CodedSentences(np.frombuffer(ids, np.int32), np.frombuffer(starts, np.int64), len(known))


def encode_bigrams(coded: CodedSentences) -> CodedSentences:
    """Neighbouring units as one number."""
    lengths = np.maximum(coded.lengths - 1, 0)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    inside = np.ones(len(coded.ids), dtype=bool)
    inside[coded.starts[1:][coded.lengths > 0] - 1] = False
    first = np.flatnonzero(inside)
    joined = coded.ids[first].astype(np.int64) * coded.size + coded.ids[first + 1]
    kinds, ids = np.unique(joined, return_inverse=True)
    return CodedSentences(ids.astype(np.int32), starts, len(kinds))
