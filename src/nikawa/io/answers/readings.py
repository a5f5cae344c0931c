"""What reading an answer gives: the answer or a reason, and where in the text it was.

`reader.py` makes the readers; `statements.py`, `scores.py` and `words.py` have their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nikawa.errors import clip
from nikawa.io.answers.base import ShownReading
from nikawa.records import Example

WHOLE, JSON, BOXED, CUE, VERDICT, LINE, LEAD, SENTENCE = (
    "whole",
    "json",
    "boxed",
    "cue",
    "verdict",
    "line",
    "lead",
    "sentence",
)
"""The patterns, as `--show-reading` names them."""


class Reading(NamedTuple):
    """What was read from a text, and where."""

    answer: Any = None
    why: str | None = None
    """Why there is no answer."""
    start: int = 0
    end: int = 0
    """The characters of the text that were read; none where there is no answer."""
    pattern: str = WHOLE


Reader = Callable[[Any, Example], Reading]
"""Reads the answer to an example."""

CHARS_AROUND, MAX_SHOWN_CHARS = 30, 120
"""Characters shown on each side of what was read, and in all."""


def show_reading(example: str, raw: Any, reading: Reading) -> ShownReading:
    """A reading with the text around it, short enough for a table."""
    text = raw if isinstance(raw, str) else repr(raw)
    start = max(0, reading.start - CHARS_AROUND)
    end = min(len(text), max(reading.end, start) + CHARS_AROUND)
    if reading.why is not None:
        start, end = 0, len(text)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shown = clip(f"{before}{' '.join(text[start:end].split())}{after}", MAX_SHOWN_CHARS)
    pattern = "" if reading.why is not None else reading.pattern
    return ShownReading(
        example=example, text=shown, reading=reading.answer, pattern=pattern, why=reading.why
    )


@dataclass(frozen=True)
class Offer:
    """What a prompt offered, for replies to it; a file of answers does not say."""

    keys: tuple[str, ...] = ()
    """The letters, in the order of the labels or choices."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The words that labels were shown by."""
    scale: tuple[float, float] | None = None
    """The ends of the scale: a number outside is no answer."""
    no_answer: str = ""
    """The word that says there is no answer in the text; empty: it was not offered."""
    slots: tuple[str, ...] = ()
    """The slots of a dialogue; empty: any."""


def make_offer(offer: Mapping[str, Any]) -> Offer:
    """The options of a prompt, from the JSON in an exported task or in the log of its run."""
    scale = offer.get("scale")
    return Offer(
        keys=tuple(offer.get("keys", ())),
        words=offer.get("words", {}),
        scale=(scale[0], scale[1]) if scale else None,
        no_answer=offer.get("no_answer", ""),
        slots=tuple(offer.get("slots", ())),
    )
