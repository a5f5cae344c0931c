"""The share of gold answers that begin and end at token boundaries: a tagger or reader on these tokens cannot give the others exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nikawa.models.encoder.alignment import make_disjoint
from nikawa.records import Example

Place = tuple[int, int]
Marked = tuple[str, list[Place]]
"""A text and its gold spans."""


def marked(examples: Sequence[Example]) -> list[Marked]:
    """The texts of tagging and reading with their gold; empty for other tasks."""
    made: list[Marked] = []
    for example in examples:
        if "spans" in example.gold:
            made.append((example.inputs["text"], [(s.start, s.end) for s in example.gold["spans"]]))
        elif "answers" in example.gold:
            first = example.gold["answers"][:1]  # what an encoder learns from
            made.append(
                (
                    example.inputs["context"],
                    [(a["start"], a["start"] + len(a["text"])) for a in first],
                )
            )
    return made


def share(tokenizer: Any, texts: Sequence[Marked]) -> float | None:
    """The share of the spans whose two ends are token boundaries; None without spans."""
    held = [(text, places) for text, places in texts if places]
    if not held:
        return None
    found = tokenizer(
        [text for text, _ in held],
        add_special_tokens=False,
        return_offsets_mapping=True,
        verbose=False,
    )
    good = total = 0
    for (text, places), offsets in zip(held, found["offset_mapping"], strict=True):
        pieces = [piece for piece in make_disjoint(text, offsets)[0] if piece[0] < piece[1]]
        starts, ends = {start for start, _ in pieces}, {end for _, end in pieces}
        good += sum(start in starts and end in ends for start, end in places)
        total += len(places)
    return good / total
