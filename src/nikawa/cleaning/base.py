"""Cleaning steps: small pure functions that edit a text, or say why a sentence is removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from nikawa.records import Record

Edit = tuple[int, int, str]
"""Characters `start` to `end` and the text that replaces them."""
Edits = Callable[[str, str], list[Edit]]
"""(text, language) -> edits from left to right, none overlapping."""
Pii = Literal["drop", "replace"]


class Settings(Record, frozen=True, kw_only=True):
    """Numbers the steps go by."""

    language: str = ""
    """ja or ko; empty: detected from the text."""
    min_length: int = 20
    max_length: int = 90
    """Minimum and maximum number of characters of a sentence."""
    max_other: int = 10
    """Characters of the neighbours' scripts a sentence may have (KLUE: 10 Chinese or Japanese
    ones)."""
    min_own: float = 0.5
    """Share of the letters that must be of the language's own script."""
    pii: Pii = "drop"
    """Whether a sentence with personal data is removed, or the data is replaced by its type."""
    similar: float = 0.8
    """Estimated Jaccard similarity of character trigrams from which a sentence is a near-duplicate.
    """
    window: int = 1 << 20
    """How many kept sentences near-duplicates are looked for in."""
    toxic: float = 0.5
    """Score from which the toxicity scorer's sentences go."""


class Step(NamedTuple):
    """One cleaning step; exactly one of `edits`, `fault` and `late` says what it does."""

    name: str
    title: str
    place: int
    """Steps run in this order, whatever order they are asked for in."""
    edits: Edits | None = None
    """Changes a text; of a step with `pii`, the personal data it finds."""
    fault: Callable[[str, Settings], str] | None = None
    """Why a sentence must go; empty where it may stay."""
    pii: bool = False
    late: bool = False
    """Whether it looks at many sentences together, in order: it runs after the others."""
    default: bool = True


class Removed(Record, frozen=True, kw_only=True):
    """A sentence or text that did not become a candidate."""

    document: str
    line: int
    start: int
    end: int
    text: str
    """As it was when the step met it."""
    step: str
    why: str
