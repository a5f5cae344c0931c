"""Random, stratified by label, by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from nikawa.records import Example
from nikawa.splitting.base import Options, Parts, Sizes, Splitter, cut, draw, groups_of, shuffled


def at_random(examples: Sequence[Example], sizes: Sizes, options: Options) -> Parts:
    """Every example by chance."""
    return cut(shuffled(examples, options.seed), sizes)


def stratified(examples: Sequence[Example], sizes: Sizes, options: Options) -> Parts:
    """Every part with the labels in the ratio of the whole, to within one example a label.

    The k-th of n examples of a label stands at (k + u) / n, with u between 0 and 1 by chance, so that labels too rare for
    every part are not always lacking in the same one; all labels are lined up by that and cut.
    """
    by_label: dict[str, list[Example]] = {}
    for example in shuffled(examples, options.seed):
        by_label.setdefault(_stratum(example, options.question), []).append(example)
    placed = [
        (
            (place + offset(options.seed, label)) / len(members),
            draw(options.seed, label, example.id),
            example,
        )
        for label, members in by_label.items()
        for place, example in enumerate(members)
    ]
    return cut([example for *_, example in sorted(placed, key=lambda item: item[:2])], sizes)


def offset(seed: int, name: str) -> float:
    """A number from 0 up to 1 that depends on the name and the seed alone."""
    return int.from_bytes(draw(seed, "offset", name)) / 2**64


def _stratum(example: Example, question: str) -> str:
    """The labels of the question, or of all there are; scores count as the whole number below."""
    found = {question: example.gold.get(question)} if question else example.gold
    return "\0".join(f"{name}={_label(value)}" for name, value in sorted(found.items()))


def _label(value: Any) -> str:
    """Answers that are no labels (texts, spans) make no strata."""
    if isinstance(value, float):
        return str(int(value // 1))
    return normalize("NFC", str(value)) if isinstance(value, str | int) else ""


def by_group(examples: Sequence[Example], sizes: Sizes, options: Options) -> Parts:
    """Groups whole, the largest first, each to the part that lacks the most."""
    groups: dict[str, list[Example]] = {}
    for name, example in zip(groups_of(examples, options), examples, strict=True):
        groups.setdefault(name, []).append(example)
    parts: Parts = {name: [] for name in sizes}
    order = sorted(groups, key=lambda name: (-len(groups[name]), draw(options.seed, name), name))
    for name in order:
        part = max(parts, key=lambda p: sizes[p] - len(parts[p]))
        parts[part] += groups[name]
    return parts


SPLITTERS = (
    Splitter("random", "every example by chance", at_random),
    Splitter("stratified", "the same share of each label in every part", stratified),
    Splitter("group", "what belongs together stays together (--field)", by_group),
)
