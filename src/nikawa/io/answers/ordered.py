"""Answers without ids, in the order of the split: text lines, run_glue's table, JSON values, NumPy
arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from nikawa.errors import BadInput
from nikawa.io.answers.base import AnswerForm, RawAnswer, Rows, Target
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.lines import open_bytes, read_lines

GLUE_HEADER = ("index", "prediction")
"""How the prediction files of run_glue begin; JGLUE's sentence tasks write them."""


def read_in_order(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """One answer a place; an empty line is an empty answer."""
    for number, value in rows:
        yield RawAnswer(number, None, value, order=number - 1)


def read_glue(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """`index` counts the split from 0."""
    for number, line in rows:
        cells = line.split("\t")
        if number == 1:
            continue
        if len(cells) < 2:
            what, cure = "has no tab", "write the index, a tab, the prediction"
            raise BadInput(what, file=path, line=number, cure=cure)
        index = cells[0]
        if not index.isdecimal():
            what = f"the index {index!r} is no number"
            raise BadInput(what, file=path, line=number, cure="count the split from 0")
        if int(index) >= len(target.examples):
            what = f"index {index} is past the {len(target.examples)} examples of the split"
            raise BadInput(what, file=path, line=number, cure="count from 0, and check the split")
        yield RawAnswer(number, None, cells[1], order=int(index))


def _parse_list(path: Path) -> Rows:
    """One JSON array of answers."""
    return enumerate(read_json(path, cast("type[list[Any]]", list)), start=1)


def parse_numpy(path: Path) -> Rows:
    """A vector of answers, or a matrix with a number for each label or choice, of which the highest
    is the answer.
    """
    with open_bytes(path) as stream:
        try:
            array: Any = np.lib.format.read_array(stream, allow_pickle=False)
        except (ValueError, EOFError) as problem:
            what = f"is not a plain array ({str(problem).partition('.')[0]})"
            cure = "save it with numpy.save, without objects"
            raise BadInput(what, file=path, cure=cure) from None
    if array.ndim not in (1, 2) or array.dtype.kind not in "iuf":
        what = f"is an array of {array.dtype} with {array.ndim} dimensions"
        raise BadInput(what, file=path, cure="save a vector of answers or a matrix of scores")
    return enumerate(array.tolist(), start=1)


def read_numpy(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """A number is an answer, a list of them scores."""
    for number, row in rows:
        answer, scores = (None, row) if isinstance(row, list) else (row, None)
        yield RawAnswer(number, None, answer, scores, order=number - 1)


TEXT = AnswerForm("text", read_lines, read_in_order, ordered=True)
GLUE = AnswerForm("glue", read_lines, read_glue, ordered=True)
VALUES = AnswerForm(
    "values", lambda path: read_json_lines(path, object), read_in_order, ordered=True
)
LIST = AnswerForm("list", _parse_list, read_in_order, "record", ordered=True)
NUMPY = AnswerForm("numpy", parse_numpy, read_numpy, "row", ordered=True)
