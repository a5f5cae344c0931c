"""What a model is: something that answers the examples of a task, and perhaps learns from others first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from nikawa.errors import BadInput
from nikawa.records import Example, Prediction, Task


@runtime_checkable
class Predictor(Protocol):
    """Answers in the order of the examples, one each; it sees the inputs the task names and nothing else."""

    name: str

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """One prediction an example."""
        ...


@runtime_checkable
class Trainable(Predictor, Protocol):
    """A model that learns; the same examples in the same order make the same model."""

    def fit(self, task: Task, examples: Sequence[Example]) -> None:
        """Learn from examples with gold; what was learned before is forgotten."""
        ...


def gold_of(task: Task, examples: Sequence[Example]) -> list[Any]:
    """What the examples answer to the task's question; none may be without."""
    for example in examples:
        if task.question not in example.gold:
            what = f"example {example.id!r} has no gold for {task.question!r}"
            raise BadInput(what, cure="learn from a split whose gold is published")
    if not examples:
        raise BadInput(f"there is nothing to learn {task.name} from", cure="name a split with examples")
    return [example.gold[task.question] for example in examples]


def not_fitted(name: str, task: Task) -> BadInput:
    """The error for a model that is asked before it learned."""
    return BadInput(f"the model {name} has not learned {task.name}", cure="call fit first")
