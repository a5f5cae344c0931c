"""Random, stratified by label, by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from nikawa.datasets.subsets import draw, group_by
from nikawa.records import Example
from nikawa.splitting.base import (
    Parts,
    Sizes,
    Splitter,
    SplitterSettings,
    cut,
    groups_of,
    shuffle,
)


def split_randomly(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """Every example by chance."""
    return cut(shuffle(examples, settings.seed), sizes)


def split_by_label(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """Every part with the labels in the ratio of the whole, to within one example per label.

    The k-th of n examples of a label is placed at (k + u) / n, with u between 0 and 1 by chance, so
    that labels too rare for every part are not always lacking in the same one; all labels are lined
    up by that and cut.
    """

    def stratum_of(example: Example) -> str:
        question = settings.question
        gold = {question: example.gold.get(question)} if question else example.gold
        return "\0".join(f"{name}={label_text(value)}" for name, value in sorted(gold.items()))

    positions: dict[str, tuple[float, int]] = {}
    strata = group_by(shuffle(examples, settings.seed), stratum_of)
    for label, members in strata.items():
        offset = draw(settings.seed, "offset", label) / 2**64
        for place, example in enumerate(members):
            position = (place + offset) / len(members)
            positions[example.id] = (position, draw(settings.seed, label, example.id))
    return cut(sorted(examples, key=lambda example: positions[example.id]), sizes)


def label_text(value: Any) -> str:
    """The text of a gold value to stratify by: scores count as the whole number below them.

    Answers that are no labels (lists, spans) all have the same empty text.
    """
    if isinstance(value, float):
        return str(int(value // 1))
    return normalize("NFC", str(value)) if isinstance(value, str | int) else ""


def split_by_group(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """Groups whole, the largest first, each to the part that lacks the most."""
    groups: dict[str, list[Example]] = {}
    for name, example in zip(groups_of(examples, settings), examples, strict=True):
        groups.setdefault(name, []).append(example)
    parts: Parts = {name: [] for name in sizes}
    order = sorted(groups, key=lambda name: (-len(groups[name]), draw(settings.seed, name), name))
    for name in order:
        part = max(parts, key=lambda p: sizes[p] - len(parts[p]))
        parts[part] += groups[name]
    return parts


SPLITTERS = (
    Splitter("random", "every example at random", split_randomly),
    Splitter(
        "stratified",
        "the same share of each label in every part",
        split_by_label,
        needs_gold=lambda example: True,
    ),
    Splitter(
        "group", "examples of a group stay together (--field)", split_by_group, keeps_groups=True
    ),
)
