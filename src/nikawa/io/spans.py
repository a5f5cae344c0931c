"""Spans of examples just read: turned back into `Span`s and held against the text they count."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from nikawa.io.json import plain_fault
from nikawa.records import SPAN_INPUTS, SPAN_LISTS, Example, Span, revive

(_LIST,), (_FIRST, _SECOND) = (
    SPAN_LISTS,
    SPAN_INPUTS,
)  # spelt out: this is asked of every example read


def has_spans(example: Example) -> bool:
    """Whether any field of `example` holds spans."""
    inputs = example.inputs
    return _LIST in example.gold or _FIRST in inputs or _SECOND in inputs


def check_spans(example: Example) -> Example:
    """`example` with its spans revived; a `ValueError` says in words what is wrong with them."""
    try:
        revive(example)
    except msgspec.ValidationError as problem:
        raise ValueError(f"a span cannot be read: {plain_fault(str(problem))}") from None
    text = example.inputs.get("text")
    for span in _spans(example):
        if isinstance(text, str) and not 0 <= span.start <= span.end <= len(text):
            raise ValueError(
                f"span {span.start}-{span.end} is outside the text of {len(text)} characters"
            )
    return example


def share_characters(spans: Iterable[Span]) -> bool:
    """Whether any two spans have a character in common."""
    found = sorted((span.start, span.end) for span in spans)
    return any(after[0] < before[1] for before, after in pairwise(found))


def _spans(example: Example) -> list[Span]:
    listed = [span for name in SPAN_LISTS for span in example.gold.get(name, ())]
    single = [
        example.inputs[name] for name in SPAN_INPUTS if isinstance(example.inputs.get(name), Span)
    ]
    return [*listed, *single]
