"""Answers without ids, in the order of the split: text lines, run_glue's table, JSON values, NumPy
arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any, cast

import numpy as np

from nikawa.errors import BadInput
from nikawa.io.answers.base import AnswerForm, RawAnswer, Rows, Target
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.limits import read_limits, write_size
from nikawa.io.lines import open_bytes, read_lines

_ROWS = 4096
"""Rows made into lists at a time."""
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
            what = f"the index {index!r} is not a number"
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
    cure = "save it with numpy.save, without objects"
    with open_bytes(path) as stream:
        try:
            version = np.lib.format.read_magic(stream)
            is_short = version == (1, 0)
            read_header = np.lib.format.read_array_header_1_0
            if not is_short:
                read_header = np.lib.format.read_array_header_2_0
            shape, is_fortran, kind = read_header(stream)
            size = math.prod(shape) * kind.itemsize
            limits = read_limits()
            if kind.hasobject:
                raise BadInput("is not a plain array (it holds objects)", file=path, cure=cure)
            if len(shape) not in (1, 2) or kind.kind not in "iuf":
                what = f"is an array of {kind} with {len(shape)} dimensions"
                cure = "save a vector of answers or a matrix of scores"
                raise BadInput(what, file=path, cure=cure)
            if min(shape) < 0 or max(shape) > limits.document or size > limits.document:
                what = f"is an array of shape {shape}, more than {write_size(limits.document)}"
                raise BadInput(what, file=path, cure=limits.cure("document"))
            data = stream.read(size)
            array = np.frombuffer(data, kind).reshape(shape, order="F" if is_fortran else "C")
        except (
            ValueError,
            EOFError,
            TypeError,
            SyntaxError,
            TokenError,
            RecursionError,
        ) as problem:
            # the header is read as Python: what is wrong with it comes in many forms
            reason = str(problem).partition(".")[0].partition("\n")[0]
            raise BadInput(f"is not a plain array ({reason})", file=path, cure=cure) from None
    return enumerate(iterate_rows(array), start=1)


def iterate_rows(array: np.ndarray) -> Iterator[Any]:
    """The rows of an array as numbers or lists, of which few are held at a time."""
    for start in range(0, len(array), _ROWS):
        yield from array[start : start + _ROWS].tolist()


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
