"""Dependency parsers: `right-headed`, the chain that a parser must beat, and `tree-graph`, a
first-order graph parser.

The chain: every word depends on the next one and the last on the root, as is usual in a head-final
language. Labels are the most frequent of the word's tags in the examples; unseen tags fall back on
their last two, on the last one, then on the most frequent label of all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from nikawa.models.base import (
    Model,
    Predictor,
    Setup,
    check_kind,
    not_fitted_error,
    read_settings,
)
from nikawa.models.trees.sentences import KINDS, get_trees, get_words
from nikawa.records import Example, Prediction, Task


class GraphSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How it learns."""

    epochs: Annotated[int, msgspec.Meta(ge=1)] = 4
    """How often it goes through the examples."""
    rate: Annotated[float, msgspec.Meta(gt=0)] = 0.05
    """How far the first step of a weight goes."""


class RightHeaded:
    """The chain, with one label for each sequence of tags in the examples."""

    name = "right-headed"

    def __init__(self) -> None:
        self._labels: dict[tuple[str, ...], str] = {}

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Count the labels of every sequence of tags and of its ends."""
        check_kind(self.name, KINDS, task)
        counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for example, tree in zip(examples, get_trees(task, examples), strict=True):
            for word, label in zip(get_words(task, example), tree["labels"], strict=True):
                for key in _tag_keys(word):
                    counts[key][label] += 1
        self._labels = {
            key: min(labels, key=lambda name: (-labels[name], name))
            for key, labels in counts.items()
        }

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """A chain with one label per word."""
        if not self._labels:
            raise not_fitted_error(self.name, task)
        predictions = []
        for example in examples:
            words = get_words(task, example)
            heads = [*range(2, len(words) + 1), 0] if words else []
            labels = [
                next(self._labels[key] for key in _tag_keys(word) if key in self._labels)
                for word in words
            ]
            answer = {"heads": heads, "labels": labels}
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions


def _tag_keys(word: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """From all its tags to none; keys of different lengths differ in their first part."""
    tags = str(word.get("pos", "")).split("+")
    yield ("all", *tags)
    yield ("two", *tags[-2:])
    yield ("last", tags[-1])
    yield ()


def make_graph_parser(setup: Setup) -> Predictor:
    """Make the parser from a setup; numpy is loaded only here."""
    from nikawa.models.trees.graph import GraphParser

    settings = read_settings(GraphSettings, setup)
    return GraphParser(settings.epochs, settings.rate, setup.seed, setup.progress)


MODELS = (
    Model("tree-graph", "a first-order graph parser", KINDS, make_graph_parser, GraphSettings),
    Model(
        "right-headed",
        "attaches every word to the next one; labels by part of speech",
        KINDS,
        lambda _: RightHeaded(),
    ),
)
