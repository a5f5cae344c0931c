"""Columns of names as integer codes, as fast as their kind allows: by counting, by address, by Arrow's or Python's hash tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput

Codes = NDArray[np.int32]
Column = Sequence[Any] | NDArray[Any]

PEEKED_ENTRIES, MAX_OBJECTS = 4096, 8
"""Entries of a column that are looked at first, and the most objects there that are compared by address."""
MIN_NAMES_HELD_BACK = 1 << 14
"""Distinct entries of a column from which on they stay in their array until one is asked for."""
MAX_SHARE_OF_RUNS, MAX_SHARE_OF_NEW_RUNS = 0.1, 0.5
"""Share of the first texts that differ from the one before, above which each text is looked up, not each run of one. Where
most runs are of a new text, as of items, looking up is slower, and the second share counts."""
PEEKED_ENTRIES_PER_NAME = 4
"""First texts for each of their names from which on most names are among them, as labels and workers are."""
MAX_BYTES_OF_RUNS = 1 << 30
"""Bytes of texts up to which runs are looked for: these are put into one array, of which Arrow holds 2 GB."""
MAX_BYTES_HELD = 1 << 24
"""Bytes of the texts of a column that are coded together: each lot has its own dictionary first."""
ENTRIES_PER_NAME = 16
"""Entries for each name among which the first appearances of all names are looked for before all entries are."""
MIN_TEXTS_FOR_ARROW = 1 << 10
"""Shortest column of texts that pyarrow codes, where it is loaded."""
ANSWER_KINDS = "an answer is a label, a number, or a list of spans as {start, end, label}"


class UncountableAnswer(BadInput):
    """An answer that nothing can be counted of; a reader can name its line."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column as codes of its names."""

    codes: Codes
    """A place in `names` for each entry."""
    names: Sequence[Any]
    """The distinct entries."""

    @classmethod
    def of(cls, column: Column | CodedColumn) -> CodedColumn:
        """A column coded in order of first appearance, each text looked up once."""
        if isinstance(column, CodedColumn):
            return column
        codes, names = factorise(column)
        return cls(codes.astype(np.int32, copy=False), names).in_order()

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, places: NDArray[Any]) -> CodedColumn:
        """Some of the entries, in order of first appearance."""
        return CodedColumn(self.codes[places], self.names).in_order()

    def in_order(self) -> CodedColumn:
        """The same with names that occur only, numbered in order of first appearance."""
        steps = self.codes[1:] - self.codes[:-1]
        is_whole = len(self) and self.codes[0] == 0 and self.codes[-1] == len(self.names) - 1
        if is_whole and steps.min(initial=0) >= 0 and steps.max(initial=0) <= 1:  # sorted
            return self
        first = _find_first_places(self.codes, len(self.names))
        if (first[1:] > first[:-1]).all() and (first < len(self.codes)).all():
            return self
        order = np.argsort(first, kind="stable")[: int((first < len(self.codes)).sum())]
        place = np.zeros(len(self.names), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return CodedColumn(place[self.codes], take_names(self.names, order))

    def where(self, holds: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Which entries fulfil a condition, which is asked once for each name."""
        fits = np.fromiter(map(holds, self.names), dtype=np.bool_, count=len(self.names))
        return np.ones(len(self), dtype=np.bool_) if fits.all() else fits[self.codes]

    def rename(self, names: Iterable[Any]) -> CodedColumn:
        """The same with other names, of which several may be one."""
        numbering = Numbering()
        codes = encode(numbering, names, len(self.names))
        return CodedColumn(codes[self.codes], list(numbering))


def _find_first_places(codes: Codes, count: int) -> Codes:
    """The place of the first entry of each of `count` codes; the number of entries for a code that does not occur."""
    size = len(codes)
    for part in (codes[: max(PEEKED_ENTRIES, ENTRIES_PER_NAME * count)], codes):
        first = np.full(count, size, dtype=np.int32)
        places = np.arange(len(part) - 1, -1, -1, dtype=np.int32)
        first[part[::-1]] = places  # the last one written stays, and is the first entry
        if len(part) == size or (first < size).all():
            break
    return first


class Numbering(dict[Any, int]):
    """Names numbered in order of first appearance; looking one up numbers it."""

    def __missing__(self, name: Any) -> int:
        code = self[name] = len(self)
        return code


def encode(numbering: Numbering, names: Iterable[Any], size: int) -> Codes:
    """Codes of names, new ones numbered on the way."""
    try:
        return np.fromiter(map(numbering.__getitem__, names), dtype=np.int32, count=size)
    except TypeError:
        raise UncountableAnswer("an answer is a list or a mapping", cure=ANSWER_KINDS) from None


def factorise(column: Column) -> tuple[Codes | NDArray[np.uint8], Sequence[Any]]:
    """Codes of a column, and the names they stand for; codes of few names may be bytes."""
    if isinstance(column, np.ndarray):
        if np.issubdtype(column.dtype, np.integer) and len(column):
            low = int(column.min())
            high = int(column.max())
            if high - low < 4 * len(column) + 1024:
                return _factorise_integers(column, low)
        if column.dtype == object and column.ndim == 1:
            codes_and_names = _factorise_objects(column)
            if codes_and_names is not None:
                return codes_and_names
    texts = code_texts(column)
    if texts is not None:
        return texts.codes, texts.names
    names = column.tolist() if hasattr(column, "tolist") else column
    numbering = Numbering()
    try:  # at most 256 names, as labels are: bytes are made faster than integers
        codes = np.frombuffer(bytes(map(numbering.__getitem__, names)), dtype=np.uint8)
    except (ValueError, TypeError):
        return encode(numbering, names, len(names)), list(numbering)
    return codes, list(numbering)


def code_texts(column: Any) -> CodedColumn | None:
    """Codes of a column of texts without blanks, by pyarrow where it is loaded; None for any other column.

    Columns that Arrow holds already, as those of pandas and polars, are not copied.
    """
    pa = sys.modules.get("pyarrow")
    if pa is None or len(column) < MIN_TEXTS_FOR_ARROW:
        return None
    if getattr(column, "dtype", None) == np.dtype(object) and hasattr(column, "to_numpy"):
        column = column.to_numpy()  # of pandas: its cells are Python's, as those of a list
    if is_constant(column):
        return CodedColumn(np.zeros(len(column), dtype=np.int32), [str(column[0])])  # not of numpy
    try:
        if hasattr(column, "__arrow_c_stream__"):
            texts = pa.chunked_array(column)
        elif isinstance(column[0], str):
            texts = pa.array(column)  # refuses what is no text, and infers the type of the rest
        else:
            return None
    except (pa.ArrowException, TypeError, ValueError, LookupError):  # half of a surrogate pair too
        return None
    types = pa.types
    if not (types.is_string(texts.type) or types.is_large_string(texts.type)) or texts.null_count:
        return None
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    codes, distinct = _code_arrow([chunk for chunk in chunks if len(chunk)])
    return CodedColumn(codes, hold_names(distinct))


def is_constant(column: Any) -> bool:
    """Whether a list or an array of objects holds one text throughout, as a column of questions mostly does."""
    for part in (column[:PEEKED_ENTRIES], column):
        cells = part.tolist() if isinstance(part, np.ndarray) else part
        if not isinstance(cells, list) or not isinstance(cells[0], str):
            return False
        if cells.count(cells[0]) < len(cells):
            return False
    return True


def _code_arrow(texts: Sequence[Any]) -> tuple[Codes, Any]:
    """The codes of text arrays of Arrow, which follow the first appearance, and the distinct texts."""
    pa = import_module("pyarrow")
    compute = import_module("pyarrow.compute")
    whole = pa.chunked_array(texts)
    peeked = compute.run_end_encode(texts[0].slice(0, PEEKED_ENTRIES))
    names = peeked.values.unique()
    new = len(names)
    if new == 1 and compute.all(compute.equal(whole, names[0])).as_py():
        return np.zeros(len(whole), dtype=np.int32), names
    share = MAX_SHARE_OF_NEW_RUNS if 2 * new > len(peeked.values) else MAX_SHARE_OF_RUNS
    if len(peeked.values) > share * len(peeked) or whole.nbytes > MAX_BYTES_OF_RUNS:
        if len(peeked) >= PEEKED_ENTRIES_PER_NAME * new:
            return _look_up(whole, whole.slice(0, ENTRIES_PER_NAME * new).unique())
        coded = whole.dictionary_encode().chunks  # of one dictionary
        return np.concatenate([part.indices.to_numpy() for part in coded]), coded[-1].dictionary
    runs = compute.run_end_encode(whole.combine_chunks())
    lengths = np.diff(runs.run_ends.to_numpy(), prepend=0)
    if new == len(peeked.values) and _have_distinct_ends(runs.values):
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths), runs.values
    coded = runs.values.dictionary_encode()
    return np.repeat(coded.indices.to_numpy(), lengths), coded.dictionary


def _look_up(texts: Any, names: Any) -> tuple[Codes, Any]:
    """The same for texts of which most are among the names of the first ones: quicker than a dictionary that may grow."""
    places = import_module("pyarrow.compute").index_in(texts, names)
    codes = np.concatenate([part.to_numpy() for part in places.fill_null(-1).chunks])
    if not places.null_count:
        return codes, names
    late = texts.filter(places.is_null()).dictionary_encode().chunks
    late_codes = np.concatenate([part.indices.to_numpy() for part in late])
    codes[codes < 0] = len(names) + late_codes
    return codes, import_module("pyarrow").concat_arrays([names, late[-1].dictionary])


def _have_distinct_ends(texts: Any) -> bool:
    """Whether all texts differ in their last bytes, as names of items mostly do; False where they may differ otherwise only.

    Sorting these as numbers is quicker than looking up every text.
    """
    pa = import_module("pyarrow")
    _, offsets, data = texts.buffers()
    wide = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    ends = np.frombuffer(offsets, dtype=wide)[texts.offset : texts.offset + len(texts) + 1]
    if np.diff(ends).min() < np.dtype(np.uint64).itemsize:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, dtype=np.uint8), 8)
    last = windows[ends[1:] - 8].view(np.uint64).ravel()
    last.sort()
    return bool((last[1:] != last[:-1]).all())


class ArrowCoder:
    """Codes a column of texts that comes in arrays of Arrow."""

    def __init__(self) -> None:
        self._texts: list[Any] = []
        self._held = 0
        self._coded: list[Any] = []

    def add(self, texts: Any) -> None:
        """Take more texts, coded already or not."""
        if hasattr(texts, "dictionary"):
            self._coded.append(texts)
        elif len(texts):
            self._texts.append(texts)
            self._held += texts.nbytes
            if self._held > MAX_BYTES_HELD:
                self._code()

    def _code(self) -> None:
        pa = import_module("pyarrow")
        codes, distinct = _code_arrow(self._texts)
        self._coded.append(pa.DictionaryArray.from_arrays(codes, distinct, safe=False))
        self._texts, self._held = [], 0

    def finish(self) -> tuple[Codes, Any]:
        """The codes of all texts, and the distinct ones as an array of Arrow."""
        if self._texts:
            self._code()
        parts = import_module("pyarrow").chunked_array(self._coded)
        self._coded = []
        whole = parts.combine_chunks() if parts.num_chunks > 1 else parts.chunk(0)
        codes = whole.indices.to_numpy().astype(np.int32, copy=False)
        return codes, whole.dictionary


def hold_names(distinct: Any) -> Sequence[Any]:
    """Distinct entries, an array of Arrow or numpy, as a list; very many, as those of items, only once one is asked for."""
    names: list[Any] = distinct.tolist() if len(distinct) < MIN_NAMES_HELD_BACK else []
    return names or HeldNames(distinct)


def take_names(names: Sequence[Any], places: NDArray[Any]) -> Sequence[Any]:
    """Some of the names; those that an array holds stay there."""
    if isinstance(names, HeldNames):
        return names.take(places)
    return [names[place] for place in places.tolist()]


class HeldNames(Sequence[Any]):
    """The distinct texts or integers of a column that an array holds, which become Python's when one is asked for."""

    def __init__(self, distinct: Any) -> None:
        self._array = distinct

    @cached_property
    def _names(self) -> list[Any]:
        names: list[Any] = self._array.tolist()
        return names

    def take(self, places: NDArray[Any]) -> HeldNames:
        """Some of them, held as these are."""
        return HeldNames(self._array.take(places))

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        return self._names[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __eq__(self, other: object) -> bool:
        return self._names == (other._names if isinstance(other, HeldNames) else other)

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._names,)


def _factorise_integers(column: NDArray[Any], low: int) -> tuple[Codes, Sequence[Any]]:
    """Codes of integers in a narrow range, by counting: in the order of the integers."""
    wide = column if column.dtype.itemsize == 8 else column.astype(np.int64)  # for the difference
    shifted = (wide - low if low else wide).astype(np.int64, copy=False)
    present = np.bincount(shifted) > 0
    names = hold_names(np.flatnonzero(present).astype(wide.dtype, copy=False) + low)
    if len(names) == len(present):
        return shifted.astype(np.int32), names
    codes = np.cumsum(present, dtype=np.int32) - 1
    return codes[shifted].astype(np.int32), names


def _factorise_objects(column: NDArray[Any]) -> tuple[NDArray[np.uint8], list[Any]] | None:
    """Codes of a column that holds the same few objects again and again, as labels read by pandas are.

    Addresses are compared ten times faster than names are looked up; None where there are more objects.
    """
    addresses = np.asarray(_Addresses(column))
    values, first = np.unique(addresses[:PEEKED_ENTRIES], return_index=True)
    if not 0 < len(values) <= MAX_OBJECTS:
        return None
    order = np.argsort(first)
    numbering = Numbering()
    codes = np.zeros(len(column), dtype=np.uint8)
    coded = 0
    for address, place in zip(values[order].tolist(), first[order].tolist(), strict=True):
        same = addresses == address
        coded += int(np.count_nonzero(same))
        try:
            codes += same.view(np.uint8) * np.uint8(numbering[column[place]])
        except TypeError:  # a list: refused where names are looked up
            return None
    return (codes, list(numbering)) if coded == len(column) else None


class _Addresses:
    """An array of objects seen as the addresses it holds; numpy's own protocol, nothing is copied."""

    def __init__(self, column: NDArray[Any]) -> None:
        place = column.__array_interface__["data"][0]
        self.__array_interface__ = {
            "data": (place, True),
            "shape": column.shape,
            "strides": column.strides,
            "typestr": np.dtype(np.intp).str,
            "version": 3,
        }
