"""The most frequent answer, or the mean of scores: what a model must beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

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
            return
        counts = Counter(_key(answer) for answer in gold)
        order = [_key(label) for label in task.labels if _key(label) in counts] + list(counts)
        best = max(order, key=lambda key: counts[key])
        scores = {label: counts[_key(label)] / len(gold) for label in task.labels}
        self._learned = (msgspec.json.decode(best), scores or None)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The same for every example."""
        if self._learned is None:
            raise not_fitted(self.name, task)
        answer, scores = self._learned
        return [Prediction(example=example.id, answer=answer, scores=scores) for example in examples]


def _key(answer: Any) -> bytes:
    """Answers may be lists, which cannot be counted."""
    return msgspec.json.encode(answer)


MODELS = (
    Model("majority", "the most frequent answer, or the mean score", get_args(Kind), lambda _: Majority()),
)
