"""Numbers a file gives for each label or choice, under the task's own names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from nikawa.io.answers.fields import Unfit
from nikawa.io.answers.parse import as_float, label_reader
from nikawa.io.answers.structures import decoded
from nikawa.records import Example, Task

Scores = dict[str, float]


def score_reader(task: Task, *, indices: bool = False) -> Callable[[Any, Example], Scores | None]:
    """A function from scores as given to a number by label (or by place of the choice); `Unfit` where they do not fit."""
    read = label_reader(task)

    def parse(raw: Any, example: Example) -> Scores | None:
        value = decoded(raw)
        if value is None or value == "":
            return None
        if isinstance(value, list | tuple):
            value = dict(zip(_names(len(value), task, example, indices), value, strict=True))
        if not isinstance(value, Mapping):
            raise Unfit(
                "the scores are not a number by label",
                'write e.g. {"entailment": 0.7, "neutral": 0.3}',
            )
        return {
            _name(key, task, example, read): _number(key, number) for key, number in value.items()
        }

    return parse


def best(scores: Scores) -> str:
    """The name with the highest number, the first of several."""
    return max(scores, key=scores.__getitem__)


def _names(size: int, task: Task, example: Example, indices: bool) -> tuple[str, ...]:
    names = task.labels if indices else ()
    if task.kind == "choice":
        names = tuple(map(str, range(len(example.inputs.get("choices", ())))))
    if not names:
        raise Unfit(
            "the scores have no names", "write a number by label, or name the form 'indices'"
        )
    if len(names) != size:
        raise Unfit(
            f"{size} scores for {len(names)} labels", "give one for each, in the published order"
        )
    return names


def _name(key: Any, task: Task, example: Example, read: Callable[[Any], str | None]) -> str:
    if task.kind == "choice":
        choices = list(example.inputs.get("choices", ()))
        if key in choices:
            return str(choices.index(key))
        if str(key).isdecimal() and int(key) < len(choices):
            return str(int(key))
    label = read(key) if task.labels else str(key)
    if label is None or task.kind == "choice":
        raise Unfit(
            f"the scores name {key!r}, which the task does not have", "use the published labels"
        )
    return label


def _number(key: Any, value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(as_float(value))
    ):
        raise Unfit(f"the score of {key!r} is {value!r}", "write a finite number")
    return float(value)
