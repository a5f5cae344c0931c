"""Answers as files give them, read in the shape the task asks for.

`reader.py` reads the answer itself; here are the short form without the place it was read from, and
the numbers that a file may give for each label or choice: `make_score_reader`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from nikawa.io.answers.base import UnfitAnswer
from nikawa.io.answers.reader import make_label_reader, make_reader
from nikawa.io.answers.scores import to_float
from nikawa.io.answers.structures import Parsed, decode_text
from nikawa.records import Example, Task

Parser = Callable[[Any, Example], Parsed]
"""Gives the answer and None, or None and why it could not be read."""

Scores = dict[str, float]
"""A number by label, or by place of the choice."""


def parse_answer(raw: Any, task: Task, example: Example, *, indices: bool = False) -> Parsed:
    """`raw` in the task's shape and None, or None and the reason.

    For many answers to one task take `make_parser`, which looks at the task once. With `indices` a
    number is a place in the task's labels, and `UnfitAnswer` is raised for one that is outside.
    """
    return make_parser(task, indices=indices)(raw, example)


def make_parser(task: Task, *, indices: bool = False) -> Parser:
    """The parser of a task; with `indices`, numbers are places in its labels, counted from 0."""
    read = make_reader(task, indices=indices)

    def parse(raw: Any, example: Example) -> Parsed:
        reading = read(raw, example)
        return reading.answer, reading.why

    return parse


def make_score_reader(
    task: Task, *, indices: bool = False
) -> Callable[[Any, Example], Scores | None]:
    """A function from scores as given to a number by label (or by place of the choice).

    `UnfitAnswer` where they do not fit.
    """
    read = make_label_reader(task)

    def parse(raw: Any, example: Example) -> Scores | None:
        value = decode_text(raw)
        if value is None or value == "":
            return None
        if isinstance(value, list | tuple):
            value = dict(zip(name_scores(len(value), task, example, indices), value, strict=True))
        if not isinstance(value, Mapping):
            cure = 'write e.g. {"entailment": 0.7, "neutral": 0.3}'
            raise UnfitAnswer("the scores are not numbers by label", cure)
        scores = {}
        for key, number in value.items():
            name = find_score_name(key, task, example, read)
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not is_number or not math.isfinite(to_float(number)):
                raise UnfitAnswer(f"the score of {key!r} is {number!r}", "write a finite number")
            scores[name] = float(number)
        return scores

    return parse


def best_label(scores: Scores) -> str:
    """The name with the highest number, the first of several.

    >>> best_label({"entailment": 0.4, "neutral": 0.4})
    'entailment'
    """
    return max(scores, key=scores.__getitem__)


def name_scores(size: int, task: Task, example: Example, indices: bool) -> tuple[str, ...]:
    """What a list of so many scores is of."""
    names = task.labels if indices else ()
    if task.kind == "choice":
        names = tuple(map(str, range(len(example.inputs.get("choices", ())))))
    if not names:
        cure = "write numbers by label, or pass the form 'indices'"
        raise UnfitAnswer("the scores have no names", cure)
    if len(names) != size:
        what = f"{size} scores for {len(names)} labels"
        raise UnfitAnswer(what, "write one score per label, in the published order")
    return names


def find_score_name(
    key: Any, task: Task, example: Example, read: Callable[[Any], str | None]
) -> str:
    """The label, or the place of the choice, that a name in the scores means."""
    if task.kind == "choice":
        choices = list(example.inputs.get("choices", ()))
        if key in choices:
            return str(choices.index(key))
        if str(key).isdecimal() and int(key) < len(choices):
            return str(int(key))
    label = read(key) if task.labels else str(key)
    if label is None or task.kind == "choice":
        what = f"the scores name {key!r}, which the task does not have"
        raise UnfitAnswer(what, "use the published labels")
    return label
