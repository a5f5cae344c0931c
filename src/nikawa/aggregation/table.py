"""Judgements of one question as integer codes: what agreement and aggregation compute from.

One entry a judgement in three parallel arrays (item, worker, answer), never a matrix of workers by items: ten
million judgements fit in a few hundred MB. Codes of items and workers number them in order of first appearance,
codes of answers follow the sorted categories.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.records import Judgement

Codes = NDArray[np.int32]
Column = Sequence[Any] | NDArray[Any]

PEEK, FEW_OBJECTS = 4096, 8
"""Entries of a column that are looked at first, and the most objects there that are told by address."""

KINDS = "an answer is a label, a number, or a list of spans as {start, end, label}"


class NotOne(BadInput):
    """An answer that nothing can be counted of; a reader can name its line."""


class Numbering(dict[Any, int]):
    """Names numbered in order of first appearance; looking one up numbers it."""

    def __missing__(self, name: Any) -> int:
        code = self[name] = len(self)
        return code


def factorise(column: Column) -> tuple[Codes | NDArray[np.uint8], list[Any]]:
    """Codes of a column, and the names they stand for; codes of few names may be bytes."""
    if isinstance(column, np.ndarray) and np.issubdtype(column.dtype, np.integer) and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < 4 * len(column) + 1024:
            return _narrow_integers(column, low)
    if isinstance(column, np.ndarray) and column.dtype == object and column.ndim == 1:
        found = _few_objects(column)
        if found is not None:
            return found
    names = column.tolist() if hasattr(column, "tolist") else column
    numbering = Numbering()
    few = _few_codes(numbering, names)
    return (encode(numbering, names, len(names)) if few is None else few), list(numbering)


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


def _few_objects(column: NDArray[Any]) -> tuple[NDArray[np.uint8], list[Any]] | None:
    """Codes of a column that holds the same few objects again and again, as labels read by pandas are.

    Addresses are compared ten times faster than names are looked up; None where there are more objects.
    """
    addresses = np.asarray(_Addresses(column))
    values, first = np.unique(addresses[:PEEK], return_index=True)
    if not 0 < len(values) <= FEW_OBJECTS:
        return None
    order = np.argsort(first)
    numbering, codes, met = Numbering(), np.zeros(len(column), dtype=np.uint8), 0
    for address, place in zip(values[order].tolist(), first[order].tolist(), strict=True):
        same = addresses == address
        met += int(np.count_nonzero(same))
        try:
            codes += same.view(np.uint8) * np.uint8(numbering[column[place]])
        except TypeError:  # a list: refused where names are looked up
            return None
    return (codes, list(numbering)) if met == len(column) else None


def _few_codes(numbering: Numbering, names: Sequence[Any]) -> NDArray[np.uint8] | None:
    """Codes of a column of at most 256 names, as labels are: bytes are made faster than integers."""
    try:
        return np.frombuffer(bytes(map(numbering.__getitem__, names)), dtype=np.uint8)
    except (ValueError, TypeError):
        return None


def _narrow_integers(column: NDArray[Any], low: int) -> tuple[Codes, list[Any]]:
    """Codes of integers in a narrow range, by counting: in the order of the integers."""
    shifted = column - low if low else column
    present = np.bincount(shifted) > 0
    names = (np.flatnonzero(present) + low).tolist()
    if len(names) == len(present):
        return shifted.astype(np.int32), names
    return (np.cumsum(present, dtype=np.int32) - 1)[shifted].astype(np.int32), names


def encode(numbering: Numbering, names: Iterable[Any], size: int) -> Codes:
    """Codes of names, new ones numbered on the way."""
    try:
        return np.fromiter(map(numbering.__getitem__, names), dtype=np.int32, count=size)
    except TypeError:
        raise NotOne("an answer is a list or a mapping", cure=KINDS) from None


__all__ = ["BLOCK", "Codes", "Counts", "Floats", "Table", "Twice", "are_numbers", "category_values"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

CHUNK = 1 << 14
"""Records taken from a stream at a time."""
BLOCK = 1 << 20
"""Judgements taken at a time where memory matters."""
SHOWN = 5
"""Names an error lists."""
FEW = 16
"""Answers an item up to which repeats are looked for side by side."""


@dataclass(frozen=True, eq=False)
class Table:
    """Who answered what about which item, for one question; no worker answers twice about an item."""

    question: str
    item: Codes
    """The code of the item of each judgement: a place in `items`."""
    worker: Codes
    """The code of the worker of each judgement: a place in `workers`."""
    answer: Codes
    """The code of the answer of each judgement: a place in `categories`."""
    items: Sequence[str]
    workers: Sequence[str]
    categories: tuple[Any, ...]
    """The distinct answers, numbers by size, labels by name."""
    seconds: NDArray[np.float32] | None = None
    """Seconds a judgement took, NaN where unsaid; None where none says."""
    missing: int = 0
    """Judgements without an answer (null), which are not in the arrays."""
    each: int | None = None
    """How many answers an item was to get, where that is known."""
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_judgements(cls, judgements: Iterable[Judgement], question: str | None = None) -> Table:
        """The judgements of one question; it may be left out where the records speak of one only."""
        tables = {} if question is None else {question: _Growing(question)}
        for chunk in _chunks(judgements):
            for name in (
                {judgement.question for judgement in chunk} if question is None else (question,)
            ):
                part = [judgement for judgement in chunk if judgement.question == name]
                tables.setdefault(name, _Growing(name)).add(part)
            if len(tables) > 1:
                raise BadInput(
                    f"the judgements answer several questions: {', '.join(sorted(tables)[:SHOWN])}",
                    cure="say which one with --question",
                )
        if not tables:
            raise BadInput("there are no judgements", cure="give a file that holds some")
        return next(iter(tables.values())).table()

    @classmethod
    def from_columns(
        cls, items: Column, workers: Column, answers: Column, question: str = "answer"
    ) -> Table:
        """The same from three parallel columns (lists or arrays), every answer given."""
        item, item_names = factorise(items)
        worker, worker_names = factorise(workers)
        answer, answers_seen = factorise(answers)
        names = (item_names, worker_names, answers_seen)
        whole = (item.astype(np.int32, copy=False), worker.astype(np.int32, copy=False), answer)
        return _checked(question, whole, names)

    def __len__(self) -> int:
        return len(self.item)

    @property
    def numeric(self) -> bool:
        """Whether every answer is a number."""
        return are_numbers(self.categories)

    @property
    def values(self) -> Floats:
        """The number of each category; labels are refused."""
        return category_values(self.categories, self.question)

    @property
    def numbers(self) -> Floats:
        """The numeric answer of each judgement; labels are refused."""
        return self.values[self.answer]

    def per_item(self) -> Counts:
        """How many answers each item has."""
        return self._keep("per_item", self._count_items)

    def counts(self) -> Counts:
        """Items by categories: how many workers gave each answer. Dense: ask `len(categories)` before."""
        return self._keep("counts", self._count)

    def _count_items(self) -> Counts:
        counts = np.zeros(len(self.items), dtype=np.int64)
        for start in range(0, len(self), BLOCK):  # counting makes wide copies of what it counts
            counts += np.bincount(self.item[start : start + BLOCK], minlength=len(counts))
        return counts

    def _count(self) -> Counts:
        wide = len(self.categories)
        cell = self.item.astype(np.int64)
        cell *= wide
        cell += self.answer
        return np.bincount(cell, minlength=len(self.items) * wide).reshape(len(self.items), wide)

    def _keep(self, name: str, make: Callable[[], Counts]) -> Counts:
        if name not in self._kept:
            self._kept[name] = make()
        found: Counts = self._kept[name]
        return found

    def select(self, keep: NDArray[np.bool_]) -> Table:
        """The judgements where `keep` holds; items, workers and categories keep their codes."""
        seconds = None if self.seconds is None else self.seconds[keep]
        return replace(
            self,
            item=self.item[keep],
            worker=self.worker[keep],
            answer=self.answer[keep],
            seconds=seconds,
            _kept={},
        )

    def of_items(self, keep: NDArray[np.bool_]) -> Table:
        """The judgements of the items where `keep` holds, which are numbered anew; workers keep their codes."""
        part = self.select(keep[self.item])
        codes = (np.cumsum(keep, dtype=np.int32) - 1)[part.item].astype(np.int32)
        return replace(
            part, item=codes, items=[self.items[i] for i in np.flatnonzero(keep).tolist()]
        )


def are_numbers(categories: Sequence[Any]) -> bool:
    """Whether every category is a number; a truth value is none."""
    return all(isinstance(c, int | float) and not isinstance(c, bool) for c in categories)


def category_values(categories: Sequence[Any], question: str) -> Floats:
    """Categories as numbers; labels are refused."""
    if not are_numbers(categories):
        odd = next(c for c in categories if not are_numbers([c]))
        raise BadInput(
            f"answers to {question!r} are no numbers (such as {odd!r})",
            cure="take the nominal level",
        )
    return np.array(categories, dtype=np.float64)


def _chunks(judgements: Iterable[Judgement]) -> Iterable[list[Judgement]]:
    stream = iter(judgements)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk


class _Growing:
    """A table under construction."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.numberings = (Numbering(), Numbering(), Numbering())
        self.codes = (array("i"), array("i"), array("i"))
        self.seconds = array("f")
        self.missing = 0

    def add(self, judgements: list[Judgement]) -> None:
        """Take more judgements of this question."""
        given = [judgement for judgement in judgements if judgement.answer is not None]
        self.missing += len(judgements) - len(given)
        columns = ([j.example for j in given], [j.worker for j in given], [j.answer for j in given])
        for numbering, codes, names in zip(self.numberings, self.codes, columns, strict=True):
            codes.frombytes(encode(numbering, names, len(names)).tobytes())
        self._add_seconds([j.seconds for j in given])

    def _add_seconds(self, seconds: list[float | None]) -> None:
        """Kept from the first that is said; those before are filled up."""
        if not self.seconds and not any(given is not None for given in seconds):
            return
        before = len(self.codes[0]) - len(seconds) - len(self.seconds)
        self.seconds.frombytes(np.full(before, np.nan, dtype=np.float32).tobytes())
        self.seconds.extend([math.nan if given is None else given for given in seconds])

    def table(self) -> Table:
        """What was taken, checked."""
        names = tuple(list(numbering) for numbering in self.numberings)
        codes = tuple(np.frombuffer(codes, dtype=np.int32) for codes in self.codes)
        self.numberings = self.codes = ()  # type: ignore[assignment]  # frees memory before the check needs some
        table = _checked(self.question, codes, names)  # type: ignore[arg-type]
        seconds = np.frombuffer(self.seconds, dtype=np.float32) if self.seconds else None
        return replace(table, seconds=seconds, missing=self.missing)


def _checked(
    question: str,
    codes: tuple[Codes, Codes, Codes | NDArray[np.uint8]],
    names: tuple[list[Any], list[Any], list[Any]],
) -> Table:
    item, worker, answer = codes
    if not len(item):
        raise BadInput(f"there is no answer to {question!r}", cure="check the name of the question")
    categories, order = _sorted_categories(names[2], question)
    table = Table(question, item, worker, _recoded(answer, order), names[0], names[1], categories)
    _refuse_twice(table)
    return table


def _recoded(answer: Codes | NDArray[np.uint8], order: Codes) -> Codes:
    """The places of answers among the sorted categories; integers are changed in place, to save memory."""
    if answer.dtype != np.int32:
        return order[answer]
    for start in range(0, len(answer), BLOCK):
        answer[start : start + BLOCK] = order[answer[start : start + BLOCK]]
    return answer.astype(np.int32, copy=False)


def _sorted_categories(answers: list[Any], question: str) -> tuple[tuple[Any, ...], Codes]:
    """The categories in order, and the place of each answer among them."""
    odd = next((a for a in answers if isinstance(a, float) and not math.isfinite(a)), None)
    if odd is not None:
        raise BadInput(
            f"an answer to {question!r} is {odd}", cure="leave the answer out where there is none"
        )
    sequence = sorted(
        range(len(answers)), key=lambda i: (isinstance(answers[i], str), *_sortable(answers[i]))
    )
    place = np.empty(len(answers), dtype=np.int32)
    place[sequence] = np.arange(len(answers), dtype=np.int32)
    return tuple(answers[i] for i in sequence), place


def _sortable(answer: Any) -> tuple[float, str]:
    return (answer, "") if isinstance(answer, int | float) else (0.0, str(answer))


def _refuse_twice(table: Table) -> None:
    """Refuse a worker who answers twice about an item."""
    few = int(table.per_item().max()) <= FEW and bool((table.item[1:] >= table.item[:-1]).all())
    if few and not _repeat_nearby(table):
        return
    keys = table.item * np.int64(len(table.workers)) + table.worker
    keys.sort()
    same = keys[1:] == keys[:-1]
    if same.any():
        item, worker = divmod(int(keys[1:][same][0]), len(table.workers))
        raise Twice(table, item, worker, int(same.sum()))


def _repeat_nearby(table: Table) -> bool:
    """Whether a worker repeats within an item, for judgements that come item by item: several times faster."""
    for gap in range(1, int(table.per_item().max())):
        same = table.worker[gap:] == table.worker[:-gap]
        if (same & (table.item[gap:] == table.item[:-gap])).any():
            return True
    return False


class Twice(BadInput):
    """A worker answered twice about an item; knows which, so that a reader can name the lines."""

    def __init__(self, table: Table, item: int, worker: int, more: int) -> None:
        self.question, self.item, self.worker = (
            table.question,
            table.items[item],
            table.workers[worker],
        )
        super().__init__(
            f"worker {self.worker} answers {self.question!r} twice about {self.item}"
            + (f" ({more:,} answers too many in all)" if more > 1 else ""),
            cure="keep one answer a worker and item",
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Survive the trip back from a worker process as the plain error."""
        return BadInput, (self.what,)
