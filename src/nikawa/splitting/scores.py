"""Flat over the scores, against word overlap (KLUE-STS, 3.2.1).

The scale is cut into bins (51: every tenth from 0 to 5); the evaluation part takes as even a number
from each as can be. Within a bin the pairs come first whose words say the opposite of their score:
the least overlap from 3 on, the most below. Sources keep the ratio they have in the whole, in the
evaluation part and in each half of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nikawa.datasets.subsets import draw
from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.splitting.base import (
    Parts,
    Sizes,
    Splits,
    Splitter,
    SplitterSettings,
    evaluation_sizes,
    find_question,
    kind_of,
    quotas,
    scale_sizes,
    training_part,
)


class Scored(NamedTuple):
    """An example and what decides about it."""

    example: Example
    bin: int
    """The step of the scale that contains its score."""
    source: str
    """The values of the named fields, whose ratio is kept."""
    rank: tuple[float, int]
    """Low ones first."""


def split_by_score(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """As many of each score in the evaluation parts as can be."""
    question = find_question(examples, settings)
    items = [rate_example(example, question, settings) for example in examples]
    evaluation = evaluation_sizes(sizes)
    chosen = _choose(items, sum(evaluation.values()))
    taken = {item.example.id for item in chosen}
    parts: Parts = {training_part(sizes): [e for e in examples if e.id not in taken]}
    left = [
        item._replace(rank=(0.0, draw(settings.seed, "part", item.example.id))) for item in chosen
    ]
    counts = scale_sizes(evaluation, len(left))
    for name in counts:
        picked = left if name == list(counts)[-1] else _choose(left, counts[name])
        gone = {item.example.id for item in picked}
        left = [item for item in left if item.example.id not in gone]
        parts[name] = [item.example for item in picked]
    return parts


def _choose(items: Sequence[Scored], wanted: int) -> list[Scored]:
    """So many, flat over the bins, the sources as in the whole, the first by rank."""
    bins: dict[int, dict[str, list[Scored]]] = {}
    for item in sorted(items, key=lambda item: item.rank):
        bins.setdefault(item.bin, {}).setdefault(item.source, []).append(item)
    available = {key: sum(map(len, bins[key].values())) for key in sorted(bins)}
    order = sorted(available, key=lambda key: (available[key], -key))
    share = Counter(item.source for item in items)
    due = {source: count * wanted / max(len(items), 1) for source, count in sorted(share.items())}
    # In an order that does not favour one end when the last few places are dealt out.
    spread = sorted(available, key=lambda key: (draw(0, str(key)), key))
    counts = quotas({key: available[key] for key in spread}, wanted)
    return [item for key in order for item in take_from_bin(bins[key], counts[key], due)]


def take_from_bin(
    sources: Mapping[str, list[Scored]], count: int, due: dict[str, float]
) -> list[Scored]:
    """So many of one bin, each from the source that lacks the most; `due` is counted down."""
    picked: list[Scored] = []
    queues = {source: iter(members) for source, members in sources.items()}
    while len(picked) < count:
        source = max(sorted(queues), key=lambda name: due[name])
        item = next(queues[source], None)
        if item is None:
            del queues[source]
        else:
            picked.append(item)
            due[source] -= 1
    return picked


def rate_example(example: Example, question: str, settings: SplitterSettings) -> Scored:
    """The example with its bin, its source and its rank within the bin."""
    score = example.gold[question]
    low, high = settings.scale
    if not isinstance(score, int | float) or not low <= score <= high:
        what = f"example {example.id!r} has the score {score!r}, not one from {low:g} to {high:g}"
        raise BadInput(what, cure="pass the lowest and the highest score with --scale")
    place = int((score - low) / (high - low) * (settings.bins - 1) + 0.5 + 1e-9)
    source, shared = kind_of(example, settings), overlap(example, settings)
    rank = shared if score >= settings.turn else -shared
    return Scored(example, place, source, (rank, draw(settings.seed, example.id)))


def overlap(example: Example, settings: SplitterSettings) -> float:
    """Jaccard: words that both texts have among all they have."""
    texts = [value for value in example.inputs.values() if isinstance(value, str)]
    if len(texts) != 2:
        raise BadInput(
            f"example {example.id!r} is not a pair of texts", cure="use a flat split only for pairs"
        )
    first, second = (set(settings.words(text)) for text in texts)
    return len(first & second) / max(len(first | second), 1)


def measure_overlap(splits: Splits, settings: SplitterSettings) -> dict[str, dict[str, float]]:
    """The mean word overlap of each part."""
    means = {}
    for name, part in splits.items():
        overlaps = [overlap(example, settings) for example in part]
        means[name] = {"mean word overlap": sum(overlaps) / max(len(overlaps), 1)}
    return means


SPLITTERS = (
    Splitter(
        "flat",
        "equal numbers of each score, balanced against word overlap (KLUE-STS)",
        split_by_score,
        needs_gold=lambda example: True,
        measure=measure_overlap,
    ),
)
