"""Held-out entities (KLUE-NER, 3.4.1): every evaluation example holds an entity that the parts
before it lack.

Entities are taken by chance; with one go all the examples that hold it. The last part is filled
first, so an entity held out for test is neither in dev nor in train.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    training_part,
    unseen_shares,
)


def split_by_entity(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """Examples of held-out entities for evaluation; those without any entity are to learn from."""
    remaining = {example.id: entities_of(example) for example in examples}
    if not any(remaining.values()):
        raise BadInput(
            "no example contains an entity",
            cure="add gold `spans`, or the inputs subject and object",
        )
    part_of: dict[str, str] = {}
    for part, size in reversed(list(evaluation_sizes(sizes).items())):
        for name in draw_examples(remaining, size, settings.seed):
            part_of[name] = part
            del remaining[name]
    parts: Parts = {name: [] for name in sizes}
    for example in examples:
        parts[part_of.get(example.id, training_part(sizes))].append(example)
    return parts


def draw_examples(remaining: dict[str, frozenset[str]], size: int, seed: int) -> list[str]:
    """Examples of entities drawn until there are so many.

    An entity too frequent for what is lacking is passed over.
    """
    holders: dict[str, list[str]] = {}
    for name, entities in remaining.items():
        for entity in entities:
            holders.setdefault(entity, []).append(name)
    taken: dict[str, None] = {}
    for entity in sorted(holders, key=lambda entity: (draw(seed, entity), entity)):
        new = [name for name in holders[entity] if name not in taken]
        if len(taken) + len(new) <= size:
            taken |= dict.fromkeys(new)
        if len(taken) == size:
            break
    return list(taken)


def entities_of(example: Example) -> frozenset[str]:
    """The entities of an example, as written in its text."""
    text = str(example.inputs.get("text", ""))
    spans = [
        *example.gold.get("spans", ()),
        *(example.inputs[n] for n in ("subject", "object") if n in example.inputs),
    ]
    return frozenset(text[span.start : span.end].strip() for span in spans) - {""}


def measure_unseen(splits: Splits, settings: SplitterSettings) -> dict[str, dict[str, float]]:
    """How many examples of the evaluation parts hold an entity that the training part lacks."""
    return unseen_shares(splits, entities_of, "with unseen entities")


SPLITTERS = (
    Splitter(
        "entities",
        "entities that are not in train, for evaluation (KLUE-NER)",
        split_by_entity,
        needs_gold=lambda example: "subject" not in example.inputs,
        measure=measure_unseen,
    ),
)
