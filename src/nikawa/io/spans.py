"""Convert the spans of examples back to `Span`s and check them against their text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from nikawa.io.json import plain_fault
from nikawa.records import SPAN_INPUTS, SPAN_LISTS, Example, Span, revive

# written out, because this runs for every example
(_LIST,) = SPAN_LISTS
_FIRST, _SECOND = SPAN_INPUTS


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
    if not isinstance(text, str):
        return example
    spans = [span for name in SPAN_LISTS for span in example.gold.get(name, ())]
    spans += [example.inputs[name] for name in SPAN_INPUTS if name in example.inputs]
    for span in spans:
        if isinstance(span, Span) and not 0 <= span.start <= span.end <= len(text):
            where = f"span {span.start}-{span.end}"
            raise ValueError(f"{where} is outside the text of {len(text)} characters")
    return example


def share_characters(spans: Iterable[Span]) -> bool:
    """Whether any two spans have a character in common.

    >>> share_characters([Span(0, 3), Span(2, 5)]), share_characters([Span(0, 3), Span(3, 5)])
    (True, False)
    """
    places = sorted((span.start, span.end) for span in spans)
    return any(after[0] < before[1] for before, after in pairwise(places))
