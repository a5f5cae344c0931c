"""Columns of names as integer codes, as fast as their kind allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput

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
