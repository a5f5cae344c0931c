"""Plots that are taller than a sheet of paper, in parts of whole rows: a browser cuts no picture between rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
SHEET = 720.0
"""Pixels of rows that fit on a sheet, A4 or letter, beside a heading and a legend."""


def in_parts(
    rows: Sequence[T], tall: Callable[[Sequence[T]], float], tallest: float, step: float
) -> list[Sequence[T]]:
    """The rows in as few parts as can be, of about the same height, none taller than `tallest` but a single row.

    `tall` is the height of some rows together; `step` how finely heights are tried.
    """
    count = len(list(_filled(rows, tall, tallest)))
    if count < 2:
        return [rows]
    height = tall(rows) / count
    while len(found := list(_filled(rows, tall, min(height, tallest)))) > count:
        height += step
    return found


def _filled(
    rows: Sequence[T], tall: Callable[[Sequence[T]], float], tallest: float
) -> Iterator[Sequence[T]]:
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or tall(rows[start : end + 1]) > tallest:
            yield rows[start:end]
            start = end
