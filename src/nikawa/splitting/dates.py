"""By date, with terms the training part never shows (KLUE-TC, 3.1.1).

The newest examples are for evaluation. A share of the evaluation part is older, but holds a term that no other older
example has; those with the most such terms come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.splitting.base import (
    Options,
    Parts,
    Sizes,
    Splitter,
    draw,
    evaluation,
    learning,
    scaled,
    share_out,
    shuffled,
    value_of,
)


def by_date(examples: Sequence[Example], sizes: Sizes, options: Options) -> Parts:
    """Old to learn from, new to evaluate on; dates as text that sorts (2020-01-31)."""
    field = options.fields[0] if options.fields else "date"
    dates = {example.id: str(value_of(example, field)) for example in examples}
    wanted = evaluation(sizes)
    rare = round(options.unseen * sum(wanted.values()))
    order = sorted(examples, key=lambda e: (dates[e.id], draw(options.seed, e.id)), reverse=True)
    count = sum(wanted.values()) - rare
    if options.after:
        count = sum(date >= options.after for date in dates.values())
        if count in (0, len(examples)):
            cure = f"the dates run from {min(dates.values())} to {max(dates.values())}"
            raise BadInput(
                f"{count:,} of {len(examples):,} examples are from {options.after} or later",
                cure=cure,
            )
    newest, older = order[:count], order[count:]
    moved = _with_rare_terms(older, min(rare, len(older) - 1), options)
    gone = {example.id for example in moved}
    chosen = shuffled([*newest, *moved], options.seed)
    train = [example for example in older if example.id not in gone]
    return {learning(sizes): train, **share_out(chosen, scaled(wanted, len(chosen)))}


def _with_rare_terms(older: Sequence[Example], count: int, options: Options) -> list[Example]:
    """Examples with the most terms that none of the others has."""
    terms = {example.id: terms_of(example, options) for example in older}
    seen = Counter(term for found in terms.values() for term in found)
    own = {name: sum(seen[term] == 1 for term in found) for name, found in terms.items()}
    ranked = sorted(older, key=lambda e: (-own[e.id], draw(options.seed, e.id)))
    return [example for example in ranked[: max(count, 0)] if own[example.id]]


def terms_of(example: Example, options: Options) -> set[str]:
    """The words of all its texts."""
    texts = [value for value in example.inputs.values() if isinstance(value, str)]
    return {word for text in texts for word in options.words(text)}


SPLITTERS = (
    Splitter("date", "the newest, and terms never met before, for evaluation (KLUE-TC)", by_date),
)
