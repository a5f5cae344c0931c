"""The most frequent answer, or the mean of scores: the baseline that a model must beat.

Where an answer belongs to its own text it is the most frequent of its parts: no span for tagging
(most characters are in none), the most frequent distance to the head and the most frequent label
for every word of a tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import Model, get_gold, not_fitted_error
from nikawa.records import Example, Kind, Prediction, Task


class Majority:
    """Always the same answer.

    Ties go to the label that comes first in the task, then to the one met first.
    """

    name = "majority"

    def __init__(self) -> None:
        self._learned: tuple[Any, dict[str, float] | None] | None = None
        """The answer (of a tree the usual arc), and the share of each label."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Count the answers."""
        gold = get_gold(task, examples)
        if task.kind == "similarity":
            self._learned = (sum(gold) / len(gold), None)
        elif task.kind == "tree":
            self._learned = (_find_usual_arc(gold), None)
        elif task.kind == "tagging":
            self._learned = ([], None)
        elif task.kind == "reading":
            texts: list[str] = []
            for answers in gold:
                texts += [answer["text"] for answer in answers] or [""]
            self._learned = (Counter(texts).most_common(1)[0][0], None)
        else:
            # answers may be lists, so they are counted as JSON
            counts = Counter(map(msgspec.json.encode, gold))
            labels = [key for key in map(msgspec.json.encode, task.labels) if key in counts]
            best = max([*labels, *counts], key=lambda key: counts[key])
            scores = {}
            for label in task.labels:
                scores[label] = counts[msgspec.json.encode(label)] / len(gold)
            self._learned = (msgspec.json.decode(best), scores or None)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The same for every example."""
        if self._learned is None:
            raise not_fitted_error(self.name, task)
        answer, scores = self._learned
        if task.kind == "tree":
            distance, label = answer
            return [
                Prediction(example=example.id, answer=_make_usual_tree(distance, label, example))
                for example in examples
            ]
        return [
            Prediction(example=example.id, answer=answer, scores=scores) for example in examples
        ]


def _find_usual_arc(trees: Sequence[Any]) -> tuple[int, str]:
    """The most frequent distance from a word to its head, and the most frequent label."""
    distances: Counter[int] = Counter()
    labels: Counter[str] = Counter()
    for tree in trees:
        labels.update(tree["labels"])
        for place, head in enumerate(tree["heads"], start=1):
            if head and head != place:
                distances[head - place] += 1
    distance = distances.most_common(1)[0][0] if distances else 1
    return distance, labels.most_common(1)[0][0]


def _make_usual_tree(distance: int, label: str, example: Example) -> dict[str, Any]:
    """Every word depends on the one at this distance, or on the outermost one, which is the root."""
    words = example.inputs.get("words")
    if not isinstance(words, list):
        raise BadInput(f"example {example.id!r} has no words", cure="choose other inputs")
    count = len(words)
    root = count if distance > 0 else 1
    heads = []
    for place in range(1, count + 1):
        heads.append(0 if place == root else min(max(place + distance, 1), count))
    return {"heads": heads, "labels": [label] * count}


MODELS = (
    Model(
        "majority",
        "the most frequent answer, or the mean score",
        get_args(Kind),
        lambda _: Majority(),
    ),
)
