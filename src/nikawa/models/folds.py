"""Answers to every example from models that never saw it, nor any of its group: k-fold
cross-validation by groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nikawa.errors import BadInput
from nikawa.models.base import Trainable, draw_number
from nikawa.records import Example, Prediction, Task

DEFAULT_FOLDS = 5


def predict_out_of_fold(
    make: Callable[[], Trainable],
    task: Task,
    examples: Sequence[Example],
    groups: Sequence[str],
    *,
    seed: int = 0,
    folds: int = DEFAULT_FOLDS,
) -> list[Prediction]:
    """Predictions in the order of the examples, each of a model that learned from the other folds.

    `groups` names the group of each example; a group is never split. Folds have as equal numbers
    of groups as possible, and which group goes where depends on the seed and the group's name.
    Raises BadInput if there are fewer groups than folds.
    """
    names = sorted(set(groups), key=lambda name: draw_number(seed, name))
    if len(names) < folds:
        what = f"{len(names)} groups cannot be split into {folds} folds"
        raise BadInput(what, cure="add examples, or use smaller groups")
    fold_of = {name: place % folds for place, name in enumerate(names)}
    answers: dict[int, Prediction] = {}
    for fold in range(folds):
        held_out = [i for i, group in enumerate(groups) if fold_of[group] == fold]
        training = [examples[i] for i, group in enumerate(groups) if fold_of[group] != fold]
        model = make()
        model.fit(task, training)
        predictions = model.predict(task, [examples[i] for i in held_out])
        answers |= dict(zip(held_out, predictions, strict=True))
    return [answers[i] for i in range(len(examples))]
