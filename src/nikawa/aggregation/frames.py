"""Judgements that are in memory already: a DataFrame, a mapping of columns, a list of rows, a matrix.

Columns may have our names (`example`, `worker`, `answer`) or crowd-kit's (`task`, `worker`, `label`); other headings
that crowd platforms use are recognised as in a sheet. No library of frames is imported: anything with named columns
is read as one (pandas, polars, pyarrow).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.aggregation.judgements import build_table, open_source
from nikawa.aggregation.spans import holds_spans
from nikawa.aggregation.structures import find_kind
from nikawa.aggregation.table import Column, Table, no_judgements
from nikawa.aggregation.trees import holds_trees
from nikawa.errors import BadInput, list_names, unknown
from nikawa.io.judgements import JudgementOptions
from nikawa.io.judgements.crowd import recognise_columns
from nikawa.io.judgements.remarks import REPORT, is_remark
from nikawa.records import DECISION_KINDS, Judgement, is_person, name_kind

OWN_NAMES = ("example", "worker", "answer")
CROWD_KIT_NAMES = ("task", "worker", "label")
NOT_COUNTED = (*DECISION_KINDS, REPORT, "machine", "simulated")
"""Kinds of judgement that are not counted: only persons' answers are."""
CURE = "name the columns example, worker and answer, or task, worker and label"


@dataclass(frozen=True)
class Columns:
    """Item, worker and answer of each judgement side by side, with what their columns are called."""

    items: Column
    workers: Column
    answers: Column
    questions: Column | None = None
    """The question of each judgement, where the data says it."""
    kinds: Column | None = None
    """The kind of each judgement, where the data says it: decisions and reports are no answers."""
    names: tuple[str, str, str] = OWN_NAMES


def make_table(data: Any, question: str | None = None) -> Table:
    """The table of judgements that are given in any form.

    - A DataFrame, or a mapping of names to columns. Further columns are ignored, except `question`.
    - A list of mappings with the same names, of `Judgement`s, or of tuples (item, worker, answer).
    - A two-dimensional array: one row per worker, one column per item, NaN or None for a missing answer.
    - A path of a file of judgements, or the name of a dataset that publishes its own.

    `question` is needed where the judgements answer several. Null answers are skipped, and so are answers of
    models and simulations. Raises `BadInput` where a column
    is missing, a worker answers twice about an item, or the answers are spans, which have measures of their own.

    >>> make_table([("q1", "ann", "yes"), ("q1", "ben", "no")]).categories
    ('no', 'yes')
    """
    if isinstance(data, Table):
        table = data
    elif isinstance(data, str | Path):
        table = build_table(open_source(str(data), None, JudgementOptions()), question)
    else:
        table = _table_of_columns(read_columns(data), question)
    kind = find_kind(table)
    if kind is not None:
        cure = f"measure {kind.name} with nikawa.agree, aggregate them with nikawa.aggregate"
        raise BadInput(f"the answers to {table.question!r} are {kind.name}", cure=cure)
    if holds_spans(table):
        cure = "measure spans with nikawa.agree, aggregate them with nikawa.aggregate"
        raise BadInput(f"the answers to {table.question!r} are spans", cure=cure)
    if holds_trees(table):
        cure = "measure trees with nikawa.agree, aggregate them with nikawa.aggregate"
        raise BadInput(f"the answers to {table.question!r} are trees", cure=cure)
    return table


def read_columns(data: Any) -> Columns:
    """The columns of judgements that are in memory: see `make_table`."""
    if isinstance(data, np.ndarray):
        return _columns_of_matrix(data)
    names = getattr(data, "column_names", getattr(data, "columns", None))
    if names is None and isinstance(data, Mapping):
        names = list(data)
    if names is not None:
        return _pick_columns([str(name) for name in names], lambda name: _values(data[name]))
    if not isinstance(data, Iterable):
        raise BadInput(f"a {type(data).__name__} contains no judgements", cure=CURE)
    rows = list(data)
    if not rows:
        raise no_judgements()
    if all(isinstance(row, Judgement) for row in rows):
        answers = [row for row in rows if is_person(row) and not is_remark(row)]
        return Columns(
            items=[row.example for row in answers],
            workers=[row.worker for row in answers],
            answers=[row.answer for row in answers],
            questions=[row.question for row in answers],
        )
    if all(isinstance(row, Mapping) for row in rows):
        headings = list(dict.fromkeys(chain.from_iterable(rows)))
        return _pick_columns(headings, lambda name: _values([row.get(name) for row in rows]))
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 3:
            what = f"row {number} is no (item, worker, answer): {row!r:.80}"
            raise BadInput(what, cure="pass tuples of three, mappings, or a DataFrame")
    first, second, third = zip(*rows, strict=True)
    return Columns(first, second, _values(third))


def _pick_columns(headings: Sequence[str], column: Any) -> Columns:
    """Our names come first, then crowd-kit's, then what a sheet's reader recognises."""
    for names in (OWN_NAMES, CROWD_KIT_NAMES):
        if set(names) <= set(headings):
            break
    else:
        mapping = recognise_columns(headings) or {}
        if not mapping.keys() >= set(OWN_NAMES):
            raise BadInput(f"the columns are {list_names(headings)}", cure=CURE)
        names = (mapping["example"], mapping["worker"], mapping["answer"])
    further = {*headings} - {*names}
    return Columns(
        items=column(names[0]),
        workers=column(names[1]),
        answers=column(names[2]),
        questions=column("question") if "question" in further else None,
        kinds=column("kind") if "kind" in further else None,
        names=names,
    )


def _values(column: Any) -> Column:
    """A column as an array or list of Python's own values; null for each kind of blank."""
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    if hasattr(column, "isna"):  # pandas, whose NA is equal to nothing
        blank = column.isna().to_numpy()
        values = column.to_numpy()
        if blank.any():
            values = values.astype(object)
            values[blank] = None
        return np.asarray(values)
    if hasattr(column, "to_list"):
        return list(column.to_list())
    if isinstance(column, np.ndarray):
        return column
    return [value.item() if isinstance(value, np.generic) else value for value in column]


def _columns_of_matrix(matrix: Any) -> Columns:
    """The answers of a matrix of workers by items, as the package krippendorff takes it."""
    if matrix.ndim != 2:
        what = f"an array of judgements has two dimensions, this one has {matrix.ndim}"
        raise BadInput(what, cure="pass one row per worker and one column per item")
    worker, item = (places.ravel() for places in np.indices(matrix.shape))
    return Columns(item, worker, matrix.ravel())


def _table_of_columns(columns: Columns, question: str | None) -> Table:
    """The table of the judgements that answer one question."""
    items, workers, answers = (
        column.tolist() if isinstance(column, np.ndarray) else list(column)
        for column in (columns.items, columns.workers, columns.answers)
    )
    if not len(items) == len(workers) == len(answers):
        what = f"there are {len(items)} items, {len(workers)} workers and {len(answers)} answers"
        raise BadInput(what, cure="give each judgement an item, a worker and an answer")
    for name, values in zip(columns.names, (items, workers), strict=False):
        if any(is_blank(value) for value in values):
            raise BadInput(
                f"the column {name!r} has empty values", cure="fill them, or drop these rows"
            )
    asked = [True] * len(items)
    if columns.kinds is not None:
        asked = [kind not in NOT_COUNTED for kind in columns.kinds]
    asked = [
        is_asked and name_kind(str(name)) == "person"
        for is_asked, name in zip(asked, workers, strict=True)
    ]
    if columns.questions is not None:
        names = dict.fromkeys(str(name) for name in columns.questions)
        if question is None and len(names) > 1:
            what = f"the judgements answer several questions: {list_names(names)}"
            raise BadInput(what, cure=f"pass one of them: question={next(iter(names))!r}")
        question = question or next(iter(names), None)
        if question not in names:
            raise unknown("question", str(question), names)
        pairs = zip(asked, columns.questions, strict=True)
        asked = [is_asked and str(name) == question for is_asked, name in pairs]
    kept = [
        place for place, is_asked in enumerate(asked) if is_asked and not is_blank(answers[place])
    ]
    if not kept:
        raise no_judgements()
    table = Table.from_columns(
        [items[place] for place in kept],
        [workers[place] for place in kept],
        _compose([answers[place] for place in kept]),
        question or columns.names[2],
    )
    return replace(table, missing=sum(asked) - len(kept))


def is_blank(value: Any) -> bool:
    """Whether a value is missing: null or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _compose(answers: list[Any]) -> list[Any]:
    """Labels in NFC, as files of judgements are read: 긍정 is one label however it was typed."""
    composed: dict[Any, Any] = {}
    for answer in answers:
        if isinstance(answer, str) and not answer.isascii() and answer not in composed:
            composed[answer] = unicodedata.normalize("NFC", answer)
    if not composed:
        return answers
    return [composed.get(each, each) if isinstance(each, str) else each for each in answers]
