"""Run Python objects as models: `nikawa.run` registers them as `object:NAME` for one call.

An object needs a method `predict(task, examples)`. One with a method `fit(task, examples)` or `fit(task, examples, dev)` learns
first. The same object serves all seeds and folds, so `fit` must forget what it learned before.

A stored run cannot know whether an object still answers as before. Each call therefore gives its objects a new digest, and
never reuses a run of an earlier call.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, get_args
from uuid import uuid4

from nikawa.errors import BadInput
from nikawa.models import models
from nikawa.models.base import Model, Predictor, Setup
from nikawa.records import Example, Kind, Prediction, Task

OBJECT = "object"
"""The kind of model that a stored run names: `object:mine`."""


class InMemoryModel:
    """An object that answers."""

    def __init__(self, name: str, target: Any) -> None:
        self.name, self.target = name, target

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """Ask the object; plain answers in the order of the examples become predictions.

        A mapping from id to answer works too. Values of numpy become plain ones: classifiers return arrays of them.
        """
        answers = self.target.predict(task, examples)
        if isinstance(answers, Mapping):
            if missing := [each.id for each in examples if each.id not in answers]:
                what = f"the model {self.name!r} returned no answer for {missing[0]!r}"
                raise BadInput(what, cure="return one answer per example from its predict method")
            answers = [answers[each.id] for each in examples]
        if isinstance(answers, str | bytes) or not isinstance(answers, Iterable):
            what = f"the model {self.name!r} returned {type(answers).__name__!r} instead of answers"
            raise BadInput(
                what, cure="return a list with one answer per example from its predict method"
            )
        answers = [each.tolist() if hasattr(each, "tolist") else each for each in answers]
        if len(answers) != len(examples):
            what = f"the model {self.name!r} returned {len(answers):,} answers for {len(examples):,} examples"
            raise BadInput(what, cure="return one answer per example from its predict method")
        return [
            answer
            if isinstance(answer, Prediction)
            else Prediction(example=example.id, answer=answer)
            for example, answer in zip(examples, answers, strict=True)
        ]


class TrainableInMemoryModel(InMemoryModel):
    """An object that learns, then answers."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Let the object learn; one whose `fit` takes no dev examples gets none."""
        try:
            inspect.signature(self.target.fit).bind(task, examples, dev)
        except TypeError:
            self.target.fit(task, examples)
        else:
            self.target.fit(task, examples, dev)


def wrap_object(name: str, target: Any) -> Predictor:
    """Wrap an object as a model; raise `BadInput` if it has no `predict` method."""
    if isinstance(target, type) or not callable(getattr(target, "predict", None)):
        kind = target.__name__ if isinstance(target, type) else type(target).__name__
        cure = "pass the name of a model, or an object with a method predict(task, examples)"
        raise BadInput(f"cannot use {kind!r} as a model", cure=cure)
    learns = callable(getattr(target, "fit", None))
    return TrainableInMemoryModel(name, target) if learns else InMemoryModel(name, target)


@contextmanager
def lend_objects(objects: Mapping[str, Any]) -> Iterator[list[str]]:
    """Make objects usable as models inside a `with` block; yields their full names (`mine=object:mine`)."""
    wrapped = {name: wrap_object(name, target) for name, target in objects.items()}
    for name in wrapped:
        if "=" in name:
            raise BadInput(
                f"the model name {name!r} has an equals sign", cure="choose another name"
            )
    digests = {name: uuid4().hex for name in wrapped}

    def make(setup: Setup) -> Predictor:
        return wrapped[setup.argument]

    kind = Model(
        OBJECT,
        "a Python object",
        get_args(Kind),
        make,
        argument="NAME",
        home=lambda _name: "",
        shipped_files=lambda _task, _settings: {
            f"{OBJECT}:{name}": digests[name] for name in wrapped
        },
    )
    if not wrapped:
        yield []
        return
    with models().lend(OBJECT, kind):
        yield [f"{name}={OBJECT}:{name}" for name in wrapped]
