"""Answers to every example from models that never saw it, nor any of its group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

from nikawa.errors import BadInput
from nikawa.models.base import Trainable
from nikawa.records import Example, Prediction, Task

FOLDS = 5


def out_of_fold(
    make: Callable[[], Trainable],
    task: Task,
    examples: Sequence[Example],
    groups: Sequence[str],
    *,
    seed: int = 0,
    folds: int = FOLDS,
) -> list[Prediction]:
    """Predictions in the order of the examples, each of a model that learned from the other folds."""
    fold = _folds(groups, seed, folds)
    answers: dict[int, Prediction] = {}
    for held in range(folds):
        asked = [i for i, group in enumerate(groups) if fold[group] == held]
        learned = [examples[i] for i, group in enumerate(groups) if fold[group] != held]
        model = make()
        model.fit(task, learned)
        predicted = model.predict(task, [examples[i] for i in asked])
        answers |= dict(zip(asked, predicted, strict=True))
    return [answers[i] for i in range(len(examples))]


def _folds(groups: Sequence[str], seed: int, folds: int) -> dict[str, int]:
    """Group to fold; as many groups in each as can be."""
    names = sorted(
        set(groups), key=lambda g: blake2b(f"{seed}\0{g}".encode(), digest_size=8).digest()
    )
    if len(names) < folds:
        what = f"{len(names)} groups cannot be parted into {folds} folds"
        raise BadInput(what, cure="add examples, or group by something finer")
    return {name: place % folds for place, name in enumerate(names)}
