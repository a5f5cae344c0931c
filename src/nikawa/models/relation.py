"""The relation of two entities by their context: a linear model on hashed features, one against all others.

The seed and the ids make the order of its gradient steps. Scores are the probabilities of each relation, made to sum
to 1; a relation that no example has gets 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from nikawa.errors import BadInput
from nikawa.models._hashed import Linear, matrix
from nikawa.models._relation_features import features
from nikawa.models._structured import check_kind, drawn, visible
from nikawa.models.base import Model, Setup, gold_of, not_fitted, settings_of
from nikawa.records import Example, Kind, Prediction, Span, Task

KINDS: tuple[Kind, ...] = ("relation",)
BLOCK = 4096
"""Examples turned into features at once: what a large file needs stays small."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How the weights are learned."""

    penalty: Annotated[float, msgspec.Meta(gt=0)] = 1e-6
    epochs: Annotated[int, msgspec.Meta(ge=1)] = 10


class Relation:
    """The model; it can be pickled once it has learned."""

    name = "relation-context"

    def __init__(self, settings: Settings, seed: int) -> None:
        self._seed = seed
        self._linear = Linear(settings.penalty, settings.epochs)

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the weights of every relation that has an example."""
        check_kind(self.name, KINDS, task)
        gold = gold_of(task, examples)
        order = sorted(range(len(gold)), key=lambda i: drawn(self._seed, examples[i].id))
        rows = matrix(_named(task, examples[i]) for i in order)
        self._linear.fit(rows, [gold[i] for i in order])

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The likeliest relation, with the probability of each."""
        if not self._linear.names:
            raise not_fitted(self.name, task)
        blocks = (examples[i : i + BLOCK] for i in range(0, len(examples), BLOCK))
        return [answer for block in blocks for answer in self._answers(task, block)]

    def _answers(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        names, unseen = self._linear.names, dict.fromkeys(task.labels, 0.0)
        shares = self._linear.shares(matrix(_named(task, example) for example in examples)).tolist()
        return [
            Prediction(
                example=e.id,
                answer=names[row.index(max(row))],
                scores={**unseen, **dict(zip(names, row, strict=True))},
            )
            for e, row in zip(examples, shares, strict=True)
        ]


def _named(task: Task, example: Example) -> list[str]:
    seen = visible(task, example)
    size = len(seen["text"]) if isinstance(seen.get("text"), str) else None
    for role in ("subject", "object"):
        span = seen.get(role)
        if role in task.inputs and not (isinstance(span, Span) and _within(span, size)):
            what = f"example {example.id!r} has no {role} within its text"
            raise BadInput(what, cure="give the entity as start, end (exclusive) and label")
    return features(seen)


def _within(span: Span, size: int | None) -> bool:
    return 0 <= span.start < span.end and (size is None or span.end <= size)


def _make(setup: Setup) -> Relation:
    return Relation(settings_of(Settings, setup), setup.seed)


MODELS = (
    Model(
        "relation-context",
        "linear on two entities and the text around them",
        KINDS,
        _make,
        Settings,
    ),
)
