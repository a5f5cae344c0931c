"""What the report of a split says beside sizes: how new its evaluation parts are, or how much words give away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nikawa.records import Example
from nikawa.splitting.base import Options, Words
from nikawa.splitting.dates import terms_of
from nikawa.splitting.entities import entities_of
from nikawa.splitting.scores import overlap
from nikawa.text import analyser

Splits = Mapping[str, Sequence[Example]]


def word_function(name: str) -> Words:
    """How texts are cut into words: by an analyser, or at blanks."""
    if not name:
        return str.split
    tool = analyser(name)
    return lambda text: [token.surface for token in tool.analyse(text)]


def shares(by: str, splits: Splits, options: Options) -> dict[str, dict[str, float]]:
    """Part to the figures that matter for this way of splitting."""
    if by == "date":
        return _unseen(splits, lambda example: terms_of(example, options), "with unseen terms")
    if by == "entities":
        return _unseen(splits, entities_of, "with unseen entities")
    if by == "flat":
        means = {name: [overlap(e, options) for e in part] for name, part in splits.items()}
        return {
            name: {"mean word overlap": sum(found) / max(len(found), 1)}
            for name, found in means.items()
        }
    return {}


def _unseen(
    splits: Splits, things: Callable[[Example], set[str] | frozenset[str]], what: str
) -> dict[str, dict[str, float]]:
    """Share of a part's examples that hold something the first part lacks."""
    first, *others = splits
    known = {thing for example in splits[first] for thing in things(example)}
    return {
        name: {what: sum(bool(things(e) - known) for e in splits[name]) / max(len(splits[name]), 1)}
        for name in others
    }
