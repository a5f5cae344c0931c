"""By date, with terms the training part never shows (KLUE-TC, 3.1.1).

The newest examples are for evaluation. A share of the evaluation part is older, but holds a term
that no other older example has; those with the most such terms come first.
"""

from __future__ import annotations

from collections import Counter
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
    scale_sizes,
    share_out,
    shuffle,
    training_part,
    unseen_shares,
    value_of,
)


def split_by_date(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """Old to learn from, new to evaluate on; dates as text that sorts (2020-01-31)."""
    field = settings.fields[0] if settings.fields else "date"
    dates = {example.id: str(value_of(example, field)) for example in examples}
    evaluation = evaluation_sizes(sizes)
    rare = round(settings.unseen * sum(evaluation.values()))
    order = sorted(examples, key=lambda e: (dates[e.id], draw(settings.seed, e.id)), reverse=True)
    count = sum(evaluation.values()) - rare
    if settings.after:
        count = sum(date >= settings.after for date in dates.values())
        if count in (0, len(examples)):
            cure = f"the dates run from {min(dates.values())} to {max(dates.values())}"
            raise BadInput(
                f"{count:,} of {len(examples):,} examples are from {settings.after} or later",
                cure=cure,
            )
    newest, older = order[:count], order[count:]
    moved = take_rarest(older, min(rare, len(older) - 1), settings)
    gone = {example.id for example in moved}
    chosen = shuffle([*newest, *moved], settings.seed)
    train = [example for example in older if example.id not in gone]
    return {training_part(sizes): train, **share_out(chosen, scale_sizes(evaluation, len(chosen)))}


def take_rarest(older: Sequence[Example], count: int, settings: SplitterSettings) -> list[Example]:
    """Examples with the most terms that none of the others has."""
    terms = {example.id: terms_of(example, settings) for example in older}
    uses = Counter(term for words in terms.values() for term in words)
    own = {name: sum(uses[term] == 1 for term in words) for name, words in terms.items()}
    ranked = sorted(older, key=lambda e: (-own[e.id], draw(settings.seed, e.id)))
    return [example for example in ranked[: max(count, 0)] if own[example.id]]


def terms_of(example: Example, settings: SplitterSettings) -> set[str]:
    """The words of all its texts."""
    texts = [value for value in example.inputs.values() if isinstance(value, str)]
    return {word for text in texts for word in settings.words(text)}


def measure_unseen(splits: Splits, settings: SplitterSettings) -> dict[str, dict[str, float]]:
    """How many examples of the evaluation parts hold a term that the training part lacks."""
    return unseen_shares(splits, lambda e: terms_of(e, settings), "with unseen terms")


SPLITTERS = (
    Splitter(
        "date",
        "the newest examples, and terms that are not in train, for evaluation (KLUE-TC)",
        split_by_date,
        measure=measure_unseen,
    ),
)
