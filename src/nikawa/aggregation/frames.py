"""Judgements that are in memory already: a DataFrame, a mapping of columns, a list of rows, a matrix.

Columns may have our names (`example`, `worker`, `answer`) or crowd-kit's (`task`, `worker`, `label`); other headings
that crowd platforms use are recognised as in a sheet. No library of frames is imported: anything with named columns
is read as one (pandas, polars, pyarrow).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.judgements import build_table, open_source
from nikawa.aggregation.spans import holds_spans
from nikawa.aggregation.structures import find_kind
from nikawa.aggregation.table import Table, no_judgements
from nikawa.aggregation.trees import holds_trees
from nikawa.errors import BadInput, list_names, unknown
from nikawa.io.coding import CodedColumn, Column, HeldNames, code_texts
from nikawa.io.judgements import JudgementOptions
from nikawa.io.judgements.crowd import recognise_columns
from nikawa.io.judgements.remarks import REPORT, is_remark, is_reserved
from nikawa.records import DECISION_KINDS, Judgement, is_person, name_kind

OWN_NAMES = ("example", "worker", "answer")
CROWD_KIT_NAMES = ("task", "worker", "label")
NOT_COUNTED = (*DECISION_KINDS, REPORT, "machine", "simulated")
"""Kinds of judgement that are not counted: only persons' answers are."""
CURE = "name the columns example, worker and answer, or task, worker and label"


@dataclass(frozen=True)
class Columns:
    """Item, worker and answer of each judgement side by side, with what their columns are called."""

    items: Column | CodedColumn
    workers: Column | CodedColumn
    answers: Column | CodedColumn
    questions: Column | CodedColumn | None = None
    """The question of each judgement, where the data says it."""
    kinds: Column | CodedColumn | None = None
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
    rows = data if isinstance(data, list) else list(data)
    if not rows:
        raise no_judgements()
    types = set(map(type, rows))
    if all(issubclass(kind, Judgement) for kind in types):
        return _columns_of_judgements(rows)
    if all(issubclass(kind, Mapping) for kind in types):
        headings = list(dict.fromkeys(chain.from_iterable(rows)))
        return _pick_columns(headings, lambda name: _values([row.get(name) for row in rows]))
    if types != {tuple} or set(map(len, rows)) != {3}:
        for number, row in enumerate(rows):
            if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 3:
                what = f"row {number} is no (item, worker, answer): {row!r:.80}"
                raise BadInput(what, cure="pass tuples of three, mappings, or a DataFrame")
    return Columns(
        items=[row[0] for row in rows],
        workers=[row[1] for row in rows],
        answers=_values([row[2] for row in rows]),
    )


def _columns_of_judgements(rows: list[Judgement]) -> Columns:
    """The columns of the answers that persons gave."""
    workers = CodedColumn.of([row.worker for row in rows])
    are_answers = {row.kind for row in rows} == {"person"} and not any(
        is_reserved(name) for name in workers.names
    )
    if not are_answers:
        rows = [row for row in rows if is_person(row) and not is_remark(row)]
        workers = CodedColumn.of([row.worker for row in rows])
    return Columns(
        items=[row.example for row in rows],
        workers=workers,
        answers=[row.answer for row in rows],
        questions=_code_questions(rows),
    )


def _code_questions(rows: list[Judgement]) -> Column | CodedColumn:
    """The column of questions, which is mostly one."""
    names = {row.question for row in rows}
    if len(names) == 1:
        return CodedColumn(np.zeros(len(rows), dtype=np.int32), list(names))
    return [row.question for row in rows]


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


def _values(column: Any) -> Column | CodedColumn:
    """A column as an array or list of Python's own values; null for each kind of blank. Texts of a frame come coded."""
    if hasattr(column, "__arrow_c_stream__") and (texts := code_texts(column)) is not None:
        return texts
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
    values = list(column)
    if not any(issubclass(kind, np.generic) for kind in set(map(type, values))):
        return values
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _columns_of_matrix(matrix: Any) -> Columns:
    """The answers of a matrix of workers by items, as the package krippendorff takes it."""
    if matrix.ndim != 2:
        what = f"an array of judgements has two dimensions, this one has {matrix.ndim}"
        raise BadInput(what, cure="pass one row per worker and one column per item")
    worker, item = (places.ravel() for places in np.indices(matrix.shape))
    return Columns(item, worker, matrix.ravel())


def _table_of_columns(columns: Columns, question: str | None) -> Table:
    """The table of the judgements that answer one question."""
    sizes = [len(column) for column in (columns.items, columns.workers, columns.answers)]
    if len(set(sizes)) > 1:
        what = "there are {} items, {} workers and {} answers".format(*sizes)
        raise BadInput(what, cure="give each judgement an item, a worker and an answer")
    items, workers = CodedColumn.of(columns.items), CodedColumn.of(columns.workers)
    for name, column in zip(columns.names, (items, workers), strict=False):
        if has_blank(column.names):
            raise BadInput(
                f"the column {name!r} has empty values", cure="fill them, or drop these rows"
            )
    asked = workers.where(lambda name: name_kind(str(name)) == "person")
    if columns.kinds is not None:
        asked &= CodedColumn.of(columns.kinds).where(lambda kind: kind not in NOT_COUNTED)
    if columns.questions is not None:
        questions = CodedColumn.of(columns.questions)
        names = dict.fromkeys(map(str, questions.names))
        if not names:
            raise no_judgements()
        if question is None and len(names) > 1:
            what = f"the judgements answer several questions: {list_names(names)}"
            raise BadInput(what, cure=f"pass one of them: question={next(iter(names))!r}")
        question = question or next(iter(names), None)
        if question not in names:
            raise unknown("question", str(question), names)
        asked &= questions.where(lambda name: str(name) == question)
    answers, is_answered = _code_answers(columns.answers, asked)
    if not len(answers):
        raise no_judgements()
    if not is_answered.all():
        items, workers = items[is_answered], workers[is_answered]
    missing = int(asked.sum()) - len(answers)
    return Table.from_codes(items, workers, answers, question or columns.names[2], missing)


def has_blank(values: Sequence[Any]) -> bool:
    """Whether any value is missing. Values are mostly texts, whose type alone tells."""
    if isinstance(values, HeldNames):
        return False
    return not {str, int}.issuperset(map(type, values)) and any(map(is_blank, values))


def _code_answers(
    column: Column | CodedColumn, asked: NDArray[np.bool_]
) -> tuple[CodedColumn, NDArray[np.bool_]]:
    """The answers of the judgements that are `asked` for, coded, and where there is one.

    Labels are in NFC, as files of judgements are read: 긍정 is one label however it was typed.
    """
    if asked.all():
        answers = CodedColumn.of(column)
    elif isinstance(column, CodedColumn | np.ndarray):
        answers = CodedColumn.of(column[asked])
    else:  # an answer to another question may be one that cannot be coded
        answers = CodedColumn.of([column[place] for place in np.flatnonzero(asked).tolist()])
    is_answered = asked.copy()
    if has_blank(answers.names):
        is_blank_answer = answers.where(is_blank)
        is_answered[asked] = ~is_blank_answer
        answers = answers[~is_blank_answer]
    if all(not isinstance(name, str) or name.isascii() for name in answers.names):
        return answers, is_answered
    composed = (
        unicodedata.normalize("NFC", name) if isinstance(name, str) else name
        for name in answers.names
    )
    return answers.rename(composed), is_answered


def is_blank(value: Any) -> bool:
    """Whether a value is missing: null or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))
