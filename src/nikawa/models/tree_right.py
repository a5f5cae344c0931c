"""Every word hangs on the next one and the last on the root: what a parser of a head-final language must beat.

Labels are the most frequent of the word's tags in the examples; unseen tags fall back on their last two, on the last
one, then on the most frequent label of all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nikawa.models._structured import check_kind
from nikawa.models._trees import trees_of, words_of
from nikawa.models.base import Model, not_fitted
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("tree",)


class RightHeaded:
    """The model: one label for each sequence of tags it met."""

    name = "right-headed"

    def __init__(self) -> None:
        self._label: dict[tuple[str, ...], str] = {}

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Count the labels of every sequence of tags and of its ends."""
        check_kind(self.name, KINDS, task)
        counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for example, tree in zip(examples, trees_of(task, examples), strict=True):
            for word, label in zip(words_of(task, example), tree["labels"], strict=True):
                for key in _keys(word):
                    counts[key][label] += 1
        self._label = {
            key: min(found, key=lambda name: (-found[name], name)) for key, found in counts.items()
        }

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """A chain with a label a word."""
        if not self._label:
            raise not_fitted(self.name, task)
        return [Prediction(example=e.id, answer=self._tree(words_of(task, e))) for e in examples]

    def _tree(self, words: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        heads = [*range(2, len(words) + 1), 0] if words else []
        labels = [
            next(self._label[key] for key in _keys(word) if key in self._label) for word in words
        ]
        return {"heads": heads, "labels": labels}


def _keys(word: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """From all its tags to none; no two words share a key of different lengths by chance."""
    tags = str(word.get("pos", "")).split("+")
    yield ("all", *tags)
    yield ("two", *tags[-2:])
    yield ("last", tags[-1])
    yield ()


MODELS = (
    Model(
        "right-headed",
        "every word hangs on the next; labels by tags",
        KINDS,
        lambda _: RightHeaded(),
    ),
)
