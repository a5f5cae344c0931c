"""Random, stratified by label, by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from nikawa.records import Example
from nikawa.splitting.base import (
    Parts,
    Sizes,
    Splitter,
    SplitterSettings,
    cut,
    draw,
    groups_of,
    shuffle,
)


def split_randomly(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """Every example by chance."""
    return cut(shuffle(examples, settings.seed), sizes)


def split_by_label(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """Every part with the labels in the ratio of the whole, to within one example a label.

    The k-th of n examples of a label stands at (k + u) / n, with u between 0 and 1 by chance, so that labels too rare for
    every part are not always lacking in the same one; all labels are lined up by that and cut.
    """
    by_label: dict[str, list[Example]] = {}
    for example in shuffle(examples, settings.seed):
        question = settings.question
        gold = {question: example.gold.get(question)} if question else example.gold
        label = "\0".join(f"{name}={_label_text(value)}" for name, value in sorted(gold.items()))
        by_label.setdefault(label, []).append(example)
    positions: dict[str, tuple[float, bytes]] = {}
    for label, members in by_label.items():
        offset = int.from_bytes(draw(settings.seed, "offset", label)) / 2**64
        for place, example in enumerate(members):
            position = (place + offset) / len(members)
            positions[example.id] = (position, draw(settings.seed, label, example.id))
    return cut(sorted(examples, key=lambda example: positions[example.id]), sizes)


def _label_text(value: Any) -> str:
    """Scores count as the whole number below; answers that are no labels (texts, spans) make no strata."""
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
    Splitter("random", "every example by chance", split_randomly),
    Splitter("stratified", "the same share of each label in every part", split_by_label),
    Splitter(
        "group", "what belongs together stays together (--field)", split_by_group, keeps_groups=True
    ),
)
