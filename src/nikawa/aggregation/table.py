"""Judgements of one question as integer codes: what agreement and aggregation compute from.

One entry per judgement in three parallel arrays (item, worker, answer), never a matrix of workers by items: ten
million judgements fit in a few hundred MB. Codes of items and workers number them in order of first appearance,
codes of answers follow the sorted categories.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput, list_names
from nikawa.io.coding import CodedColumn, Codes, Column, Numbering, encode, factorise
from nikawa.io.judgements.plain import PlainJudgements
from nikawa.records import Judgement

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

CHUNK_SIZE = 1 << 14
"""Records taken from a stream at a time."""
BLOCK_SIZE = 1 << 20
"""Judgements taken at a time where memory matters."""
MAX_ANSWERS_SIDE_BY_SIDE = 16
"""Maximum number of answers per item for which repeats are found by direct comparison."""


class RepeatedAnswer(BadInput):
    """A worker answered twice about an item; knows which, so that a reader can name the lines."""

    def __init__(self, table: Table, item: int, worker: int, more: int) -> None:
        self.question = table.question
        self.item = table.items[item]
        self.worker = table.workers[worker]
        super().__init__(
            f"worker {self.worker} answers {self.question!r} twice about {self.item}"
            + (f" ({more:,} extra answers in total)" if more > 1 else ""),
            cure="keep one answer per worker and item",
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Survive the trip back from a worker process as the plain error."""
        return BadInput, (self.what,)


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
    """The names of the items, by code."""
    workers: Sequence[str]
    """The names of the workers, by code."""
    categories: tuple[Any, ...]
    """The distinct answers, numbers by size, labels by name."""
    seconds: NDArray[np.float32] | None = None
    """Seconds a judgement took, NaN where that is not known; None where no judgement says it."""
    missing: int = 0
    """Judgements without an answer (null), which are not in the arrays."""
    each: int | None = None
    """The number of answers planned per item, if known."""

    @classmethod
    def from_judgements(cls, judgements: Iterable[Judgement], question: str | None = None) -> Table:
        """The judgements of one question; it may be left out where the records speak of one only."""
        builders = {} if question is None else {question: TableBuilder(question)}
        for chunk in chunks_of(judgements):
            given = {judgement.question for judgement in chunk}
            names = given if question is None else {question}
            if (
                len(names | builders.keys()) > 1
            ):  # before any is counted: another one may hold what cannot be
                raise several_questions(dict.fromkeys((*builders, *sorted(names))))
            for name in names:
                builder = builders.setdefault(name, TableBuilder(name))
                is_alone = given == {name}
                builder.add(chunk if is_alone else [row for row in chunk if row.question == name])
        if not builders:
            raise no_judgements()
        return next(iter(builders.values())).table()

    @classmethod
    def from_codes(
        cls,
        items: CodedColumn,
        workers: CodedColumn,
        answers: CodedColumn,
        question: str = "answer",
        missing: int = 0,
    ) -> Table:
        """The same from columns that are codes already; every name occurs."""
        return _make_table(
            question,
            codes=(items.codes, workers.codes, answers.codes),
            names=(items.names, workers.names, answers.names),
            missing=missing,
        )

    @classmethod
    def from_plain(cls, columns: PlainJudgements, question: str | None = None) -> Table:
        """The same from the columns of a plain file; it is refused as the judgements one by one would be."""
        questions, answers = columns.questions, columns.answers
        if question is None and len(questions.names) > 1:
            raise several_questions(questions.names)
        name = questions.names[0] if question is None else question
        asked = questions.where(lambda other: other == name)
        is_answered = asked & answers.where(lambda answer: answer is not None)
        parts, seconds = (columns.items, columns.workers, answers), columns.seconds
        if not is_answered.all():
            items, workers, answers = (part[is_answered] for part in parts)
            seconds = None if seconds is None else seconds[is_answered]
            parts = items, workers, answers
        if seconds is not None and np.isnan(seconds).all():
            seconds = None
        items, workers, answers = parts
        if len(set(answers.names)) < len(answers.names):
            answers = answers.rename(answers.names)
        codes = (items.codes, workers.codes, answers.codes)
        names = (items.names, workers.names, answers.names)
        missing = int(asked.sum()) - len(items)
        return _make_table(name, codes, names, missing, seconds)

    @classmethod
    def from_columns(
        cls, items: Column, workers: Column, answers: Column, question: str = "answer"
    ) -> Table:
        """The same from three parallel columns (lists or arrays), every answer given.

        >>> table = Table.from_columns(["a", "a", "b"], ["w1", "w2", "w1"], ["yes", "no", "yes"])
        >>> table.categories, table.counts().tolist()
        (('no', 'yes'), [[1, 1], [0, 1]])
        """
        item, item_names = factorise(items)
        worker, worker_names = factorise(workers)
        answer, answer_names = factorise(answers)
        item_codes = item.astype(np.int32, copy=False)
        worker_codes = worker.astype(np.int32, copy=False)
        return _make_table(
            question,
            codes=(item_codes, worker_codes, answer),
            names=(item_names, worker_names, answer_names),
        )

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
        return self._per_item

    def counts(self) -> Counts:
        """Items by categories: how many workers gave each answer. Dense: look at `len(categories)` before."""
        return self._counts

    @cached_property
    def _is_sorted(self) -> bool:
        """Whether judgements come item by item, in the order of the items."""
        return bool((self.item[1:] >= self.item[:-1]).all())

    @cached_property
    def _per_item(self) -> Counts:
        counts = np.zeros(len(self.items), dtype=np.int64)
        if len(self) and self._is_sorted:
            starts = np.flatnonzero(np.r_[True, self.item[1:] != self.item[:-1]])
            counts[self.item[starts]] = np.diff(starts, append=len(self))
            return counts
        # A block at a time: counting makes wide copies of what it counts.
        for start in range(0, len(self), BLOCK_SIZE):
            part = self.item[start : start + BLOCK_SIZE]
            counts += np.bincount(part, minlength=len(counts))
        return counts

    @cached_property
    def _counts(self) -> Counts:
        width = len(self.categories)
        cell = self.item.astype(np.int64)
        cell *= width
        cell += self.answer
        shape = (len(self.items), width)
        return np.bincount(cell, minlength=len(self.items) * width).reshape(shape)

    def per_worker(self) -> Counts:
        """How many answers each worker gave."""
        return np.bincount(self.worker, minlength=len(self.workers))

    def per_category(self) -> Counts:
        """How often each answer was given."""
        return np.bincount(self.answer, minlength=len(self.categories))

    def paired(self) -> NDArray[np.bool_]:
        """Which items have two answers or more, and so can be agreed on."""
        return self._per_item > 1

    def sum_by_item(self, values: NDArray[Any]) -> Floats:
        """Sum over the answers about each item; `values` has one a judgement."""
        return sum_weights(self.item, values, len(self.items))

    def by_item(self) -> tuple[Codes, Codes, Codes]:
        """Item, worker and answer of each judgement, with those about one item next to each other."""
        order = np.argsort(self.item, kind="stable")
        return self.item[order], self.worker[order], self.answer[order]

    def select(self, keep: NDArray[np.bool_]) -> Table:
        """The judgements where `keep` holds; items, workers and categories keep their codes."""
        return replace(
            self,
            item=self.item[keep],
            worker=self.worker[keep],
            answer=self.answer[keep],
            seconds=None if self.seconds is None else self.seconds[keep],
        )

    def of_items(self, keep: NDArray[np.bool_]) -> Table:
        """The judgements of the items where `keep` holds, which are renumbered; workers keep their codes."""
        part = self.select(keep[self.item])
        new_code = np.cumsum(keep, dtype=np.int32) - 1
        return replace(
            part,
            item=new_code[part.item].astype(np.int32),
            items=[self.items[i] for i in np.flatnonzero(keep).tolist()],
        )


def are_numbers(categories: Sequence[Any]) -> bool:
    """Whether every category is a number; a truth value is not."""
    return all(isinstance(c, int | float) and not isinstance(c, bool) for c in categories)


def category_values(categories: Sequence[Any], question: str) -> Floats:
    """Categories as numbers; labels are refused."""
    if not are_numbers(categories):
        odd = next(c for c in categories if not are_numbers([c]))
        raise BadInput(
            f"answers to {question!r} are not numbers (such as {odd!r})",
            cure="for labels, use the nominal level or a rule such as majority",
        )
    return np.array(categories, dtype=np.float64)


# Arithmetic on codes


def sum_weights(places: NDArray[Any], weights: NDArray[Any], size: int) -> Floats:
    """Sum of the weights that fall on each of `size` places."""
    sums: Any = np.bincount(places, weights, size)  # numpy's stubs speak of counts only
    return np.asarray(sums, dtype=np.float64)


def group_medians(values: Floats, group: Codes, groups: int) -> Floats:
    """The median of the values of each group; NaN where a group has none.

    >>> group_medians(np.array([1.0, 4.0, 2.0]), np.array([0, 0, 2]), 3).tolist()
    [2.5, nan, 2.0]
    """
    ordered = values[np.lexsort((values, group))]
    n = np.bincount(group, minlength=groups)
    some = np.flatnonzero(n)
    start = (np.cumsum(n) - n)[some]
    low = start + (n[some] - 1) // 2
    high = start + n[some] // 2
    medians = np.full(groups, np.nan)
    medians[some] = (ordered[low] + ordered[high]) / 2
    return medians


@dataclass(frozen=True, eq=False)
class AnswerPairs:
    """Every two answers about one item, once; of two workers the one with the lower code comes first."""

    item: Codes
    """The code of the item."""
    first: Counts
    """The code of the first worker of each pair."""
    second: Counts
    first_answer: Counts
    """The code of the first worker's answer."""
    second_answer: Counts


def pair_answers(table: Table) -> AnswerPairs:
    """All pairs of answers about the same item, from judgements that are `gap` apart once sorted by item."""
    item, worker, answer = table.by_item()
    columns: list[list[NDArray[Any]]] = [[np.zeros(0, dtype=np.int32)]]
    columns += [[np.zeros(0, dtype=np.int64)] for _ in range(4)]
    most = int(table.per_item().max(initial=1))
    for gap in range(1, most):
        left = np.flatnonzero(item[gap:] == item[:-gap])
        right = left + gap
        first = np.where(worker[left] < worker[right], left, right)
        second = left + right - first
        part = (item[left], worker[first], worker[second], answer[first], answer[second])
        for column, values in zip(columns, part, strict=True):
            column.append(values)
    return AnswerPairs(*(np.concatenate(column) for column in columns))


# Making a table


def chunks_of(judgements: Iterable[Judgement]) -> Iterable[list[Judgement]]:
    """A stream of judgements, a few thousand at a time."""
    stream = iter(judgements)
    while chunk := list(islice(stream, CHUNK_SIZE)):
        yield chunk


def several_questions(questions: Iterable[str]) -> BadInput:
    """The error for judgements of several questions where one was to be named."""
    names = list_names(sorted(questions))
    return BadInput(
        f"the judgements answer several questions: {names}", cure="choose one with --question"
    )


def no_judgements() -> BadInput:
    """The error for an empty list of judgements."""
    return BadInput("there are no judgements", cure="pass a file that contains judgements")


class TableBuilder:
    """A table under construction: takes judgements of one question in chunks, and holds codes only."""

    def __init__(self, question: str) -> None:
        self.question = question
        self._numberings = (Numbering(), Numbering(), Numbering())
        self._codes = (array("i"), array("i"), array("i"))
        self._seconds = array("f")
        self._missing = 0

    def add(self, judgements: list[Judgement]) -> None:
        """Take more judgements of this question."""
        answers = [judgement.answer for judgement in judgements]
        if NoneType in set(map(type, answers)):  # an array among them would not compare
            answered = [judgement for judgement in judgements if judgement.answer is not None]
            self._missing += len(judgements) - len(answered)
            judgements, answers = answered, [judgement.answer for judgement in answered]
        columns = (
            [judgement.example for judgement in judgements],
            [judgement.worker for judgement in judgements],
            answers,
        )
        for numbering, codes, names in zip(self._numberings, self._codes, columns, strict=True):
            codes.frombytes(encode(numbering, names, len(names)).tobytes())
        self._add_seconds([judgement.seconds for judgement in judgements])

    def _add_seconds(self, seconds: list[float | None]) -> None:
        """Times are kept from the first judgement that has one; those before are filled up."""
        if not self._seconds and seconds.count(None) == len(seconds):
            return
        before = len(self._codes[0]) - len(seconds) - len(self._seconds)
        unknown = np.full(before, np.nan, dtype=np.float32)
        self._seconds.frombytes(unknown.tobytes())
        self._seconds.extend([math.nan if value is None else value for value in seconds])

    def table(self) -> Table:
        """What was taken, checked. The builder is empty afterwards: the check needs the memory."""
        items, workers, answers = (list(numbering) for numbering in self._numberings)
        item, worker, answer = (np.frombuffer(codes, dtype=np.int32) for codes in self._codes)
        self._numberings = (Numbering(), Numbering(), Numbering())
        self._codes = (array("i"), array("i"), array("i"))
        seconds = np.frombuffer(self._seconds, dtype=np.float32) if self._seconds else None
        codes, names = (item, worker, answer), (items, workers, answers)
        return _make_table(self.question, codes, names, self._missing, seconds)


def _make_table(
    question: str,
    codes: tuple[Codes, Codes, Codes | NDArray[np.uint8]],
    names: tuple[Sequence[Any], Sequence[Any], Sequence[Any]],
    missing: int = 0,
    seconds: NDArray[np.float32] | None = None,
) -> Table:
    """The table of codes and of the names they stand for, of items, workers and answers; repeats are refused."""
    (item, worker, answer), (items, workers, answers) = codes, names
    if not len(item):
        raise BadInput(f"there is no answer to {question!r}", cure="check the name of the question")
    categories, order = sort_categories(answers, question)
    if answer.dtype != np.int32 or not answer.flags.writeable:
        answer = order.take(answer)
    else:  # in place, to save memory
        for start in range(0, len(answer), BLOCK_SIZE):
            part = slice(start, start + BLOCK_SIZE)
            answer[part] = order[answer[part]]
    coded = answer.astype(np.int32, copy=False)
    table = Table(question, item, worker, coded, items, workers, categories, seconds, missing)
    refuse_repeats(table)
    return table


def sort_categories(answers: Sequence[Any], question: str) -> tuple[tuple[Any, ...], Codes]:
    """The categories in order (numbers by size, then labels by name), and the place of each answer among them."""
    for answer in answers:
        if isinstance(answer, float) and not math.isfinite(answer):
            cure = "omit the answer if it is missing"
            raise BadInput(f"an answer to {question!r} is {answer}", cure=cure)

    def sort_key(place: int) -> tuple[bool, float, str]:
        answer = answers[place]
        if isinstance(answer, int | float):
            return False, answer, ""
        return isinstance(answer, str), 0.0, str(answer)

    sequence = sorted(range(len(answers)), key=sort_key)
    place = np.empty(len(answers), dtype=np.int32)
    place[sequence] = np.arange(len(answers), dtype=np.int32)
    return tuple(answers[i] for i in sequence), place


def refuse_repeats(table: Table) -> None:
    """Refuse a worker who answers twice about an item."""
    item, worker = table.item, table.worker
    most = int(table.per_item().max())
    if table._is_sorted and most <= MAX_ANSWERS_SIDE_BY_SIDE:
        # judgements that come item by item: looking at neighbours is several times faster
        for gap in range(1, most):
            same_worker = worker[gap:] == worker[:-gap]
            same_item = item[gap:] == item[:-gap]
            if (same_worker & same_item).any():
                break
        else:
            return
    keys = item * np.int64(len(table.workers)) + worker
    keys.sort()
    same = keys[1:] == keys[:-1]
    if same.any():
        first = int(keys[1:][same][0])
        item_code, worker_code = divmod(first, len(table.workers))
        raise RepeatedAnswer(table, item_code, worker_code, int(same.sum()))
