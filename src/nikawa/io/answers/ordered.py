"""Answers without ids, in the order of the split: text lines, run_glue's table, JSON values, NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from nikawa.errors import BadInput
from nikawa.io.answers.base import Ask, Form, Given, Rows, fault
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.lines import open_bytes, read_lines

HEADER = ("index", "prediction")
"""How the prediction files of run_glue begin; JGLUE's sentence tasks write them."""


def _read_in_order(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    """One answer a place; an empty line is an empty answer."""
    for number, value in rows:
        yield Given(number, None, value, order=number - 1)


def _read_glue(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    """`index` counts the split from 0."""
    for number, line in rows:
        cells = line.split("\t")
        if number == 1:
            continue
        if len(cells) < 2:
            raise fault(
                path, "line", number, "has no tab", "write the index, a tab, the prediction"
            )
        if not cells[0].isdecimal():
            raise fault(
                path,
                "line",
                number,
                f"the index {cells[0]!r} is no number",
                "count the split from 0",
            )
        if int(cells[0]) >= len(ask.examples):
            what = f"index {cells[0]} is past the {len(ask.examples)} examples of the split"
            raise fault(path, "line", number, what, "count from 0, and check the split")
        yield Given(number, None, cells[1], order=int(cells[0]))


def _parse_values(path: Path) -> Rows:
    """One JSON value a line."""
    return read_json_lines(path, object)


def _parse_list(path: Path) -> Rows:
    """One JSON array of answers."""
    return enumerate(read_json(path, cast("type[list[Any]]", list)), start=1)


def _parse_numpy(path: Path) -> Rows:
    """A vector of answers, or a matrix with a number for each label or choice, of which the highest is the answer."""
    array = _load(path)
    if array.ndim not in (1, 2) or array.dtype.kind not in "iuf":
        what = f"is an array of {array.dtype} with {array.ndim} dimensions"
        raise BadInput(what, file=path, cure="save a vector of answers or a matrix of scores")
    return enumerate(array.tolist(), start=1)


def _read_numpy(rows: Rows, ask: Ask, path: Path) -> Iterator[Given]:
    for number, row in rows:
        answer, scores = (None, row) if isinstance(row, list) else (row, None)
        yield Given(number, None, answer, scores, order=number - 1)


def _load(path: Path) -> np.ndarray[Any, Any]:
    with open_bytes(path) as stream:
        try:
            return cast(
                "np.ndarray[Any, Any]", np.lib.format.read_array(stream, allow_pickle=False)
            )
        except (ValueError, EOFError) as problem:
            said = str(problem).partition(".")[0]
            raise BadInput(
                f"is not a plain array ({said})",
                file=path,
                cure="save it with numpy.save, without objects",
            ) from None


TEXT = Form("text", read_lines, _read_in_order, ordered=True)
GLUE = Form("glue", read_lines, _read_glue, ordered=True)
VALUES = Form("values", _parse_values, _read_in_order, ordered=True)
LIST = Form("list", _parse_list, _read_in_order, "record", ordered=True)
NUMPY = Form("numpy", _parse_numpy, _read_numpy, "row", ordered=True)
