"""An answer that is marked in a passage: `{text, start}`, or no answer, and how much two of them share."""

from __future__ import annotations

from typing import Any

NO_ANSWER = {"text": "", "start": -1}
"""The answer that the passage has none."""
Place = tuple[int, int]
"""Start and end, the end exclusive."""


def is_marked(value: Any) -> bool:
    """Whether a value has the shape of such an answer.

    >>> is_marked({"text": "", "start": -1}), is_marked({"start": 0, "end": 3})
    (True, False)
    """
    return isinstance(value, dict) and value.keys() == NO_ANSWER.keys()


def find_place(value: Any) -> Place | None:
    """Where an answer is; None for no answer, and for what is not one.

    >>> find_place({"text": "석유등", "start": 25})
    (25, 28)
    """
    text, start = (value.get("text"), value.get("start")) if isinstance(value, dict) else ("", -1)
    if not isinstance(text, str) or type(start) is not int or not text or start < 0:
        return None
    return start, start + len(text)


def overlap_f1(one: Place | None, other: Place | None) -> float:
    """F1 of the characters of two answers, by their places; two that find no answer are equal.

    >>> overlap_f1((25, 28), (25, 31)), overlap_f1(None, (25, 28)), overlap_f1(None, None)
    (0.6666666666666666, 0.0, 1.0)
    """
    if one is None or other is None:
        return float(one is other)
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return 2 * shared / (one[1] - one[0] + other[1] - other[0])
