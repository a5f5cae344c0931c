"""How runs are scored: the official numbers with intervals, by the code of `nikawa score`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nikawa.records import Example, Prediction, Score, Task
from nikawa.runs.work import Scoring
from nikawa.scoring.score import Options, Part, chosen, evaluate, items_of


def score_all(
    task: Task, examples: Sequence[Example], answers: Mapping[str, Prediction], where: str
) -> Sequence[Score]:
    """Every metric of the task, in every mode; items whose labels are hidden are never scored.

    A model that answers nothing has been run all the same: where a metric has nothing to go by, it is no number.
    """
    shown = [example for example in examples if not example.hidden]
    return list(evaluate(task, shown, answers, Options(lenient=True), where))


def score_first(task: Task, examples: Sequence[Example], answers: Sequence[Prediction]) -> float:
    """The task's first metric as a number to maximise, without an interval."""
    found = {prediction.example: prediction for prediction in answers}
    part = Part(task, examples, items_of(task, examples, found))
    metric = chosen(task, task.metrics[:1], part.items)[0]
    value = float(part.under(metric, "official")[0].value * metric.scale(task))
    return -value if metric.better == "lower" else value


SCORING = Scoring(score_all, score_first)
