"""The most frequent answer, or the mean of scores: what a model must beat.

Where an answer belongs to its own text it is the most frequent of its parts: no span for tagging (most characters are
in none), the most frequent distance to the head and the most frequent label for every word of a tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import Model, gold_of, not_fitted
from nikawa.records import Example, Kind, Prediction, Task


class Majority:
    """Always the same answer; ties go to the label that comes first in the task, then to the one met first."""

    name = "majority"

    def __init__(self) -> None:
        self._learned: tuple[Any, dict[str, float] | None] | None = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Count the answers."""
        gold = gold_of(task, examples)
        if task.kind == "similarity":
            self._learned = (sum(gold) / len(gold), None)
        elif task.kind == "tree":
            self._learned = (_usual_arc(gold), None)
        elif task.kind == "tagging":
            self._learned = ([], None)
        elif task.kind == "reading":
            self._learned = (_most(text for answers in gold for text in _texts(answers)), None)
        else:
            self._learned = _counted(task, gold)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The same for every example."""
        if self._learned is None:
            raise not_fitted(self.name, task)
        answer, scores = self._learned
        if task.kind == "tree":
            return [
                Prediction(example=e.id, answer=_chain(answer[0], answer[1], _words(e)))
                for e in examples
            ]
        return [
            Prediction(example=example.id, answer=answer, scores=scores) for example in examples
        ]


def _counted(task: Task, gold: Sequence[Any]) -> tuple[Any, dict[str, float] | None]:
    """The most frequent answer and the share of each label; answers may be lists, so they are counted as JSON."""
    counts = Counter(map(msgspec.json.encode, gold))
    first = [key for key in map(msgspec.json.encode, task.labels) if key in counts]
    best = max([*first, *counts], key=lambda key: counts[key])
    scores = {label: counts[msgspec.json.encode(label)] / len(gold) for label in task.labels}
    return msgspec.json.decode(best), scores or None


def _texts(answers: Sequence[Any]) -> Iterable[str]:
    return [answer["text"] for answer in answers] or [""]


def _most(values: Iterable[Any]) -> Any:
    return Counter(values).most_common(1)[0][0]


def _usual_arc(trees: Sequence[Any]) -> tuple[int, str]:
    """The most frequent distance from a word to its head, and the most frequent label."""
    away = (
        head - place
        for tree in trees
        for place, head in enumerate(tree["heads"], start=1)
        if head and head != place
    )
    distance = Counter(away).most_common(1)
    return distance[0][0] if distance else 1, _most(
        label for tree in trees for label in tree["labels"]
    )


def _words(example: Example) -> int:
    words = example.inputs.get("words")
    if not isinstance(words, list):
        raise BadInput(f"example {example.id!r} has no words", cure="name other inputs")
    return len(words)


def _chain(distance: int, label: str, words: int) -> dict[str, Any]:
    """Every word hangs on the one at this distance, or on the outermost one, which is the root."""
    root = words if distance > 0 else 1
    places = range(1, words + 1)
    heads = [0 if place == root else min(max(place + distance, 1), words) for place in places]
    return {"heads": heads, "labels": [label] * words}


MODELS = (
    Model(
        "majority",
        "the most frequent answer, or the mean score",
        get_args(Kind),
        lambda _: Majority(),
    ),
)
