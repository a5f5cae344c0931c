"""How runs are scored: the official numbers with intervals, by the code of `nikawa score`.

Scores are computed from the stored answers, never from a model's memory: a run that is
scored again gets the same numbers. Items whose labels are hidden are answered, but not scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from nikawa.datasets.task_lookup import declared_protocol
from nikawa.metrics import metrics
from nikawa.records import Example, Prediction, Score, Task
from nikawa.runs.records import RunSpec, SetScores
from nikawa.scoring.score import (
    AnsweredTask,
    ScoreOptions,
    choose_metrics,
    score_examples,
)


def score_all(
    task: Task, examples: Sequence[Example], answers: Mapping[str, Prediction], where: str
) -> list[Score]:
    """Every metric of the task, in every mode; items whose labels are hidden are never scored.

    A model without any answer has still run: a metric that cannot be computed is NaN. `where` names the part
    of the set that `examples` are; empty: all of it.
    """
    shown = [example for example in examples if not example.hidden]
    return list(score_examples(task, shown, answers, ScoreOptions(lenient=True), where))


def score_first(task: Task, examples: Sequence[Example], answers: Sequence[Prediction]) -> float:
    """The task's first metric as a number to maximise, without an interval: for models that stop
    early.
    """
    by_example = {prediction.example: prediction for prediction in answers}
    part = AnsweredTask.pair(task, examples, by_example)
    metric = choose_metrics(task, task.metrics[:1], part.items)[0]
    value = float(part.evaluate(metric, "official")[0].value * metric.scale(task))
    return -value if metric.better == "lower" else value


def score_set(
    spec: RunSpec,
    task: Task,
    name: str,
    examples: Sequence[Example],
    predictions: Iterable[Prediction],
) -> SetScores:
    """The scores of the set `name` of a run, from its stored answers."""
    answers = {prediction.example: prediction for prediction in predictions}
    shown = [example for example in examples if not example.hidden]
    unanswered = Counter(
        unanswered_reason(answers[example.id])
        for example in shown
        if answers[example.id].answer is None
    )
    n = len(shown)
    set_scores = SetScores(
        set=name,
        n=n,
        hidden=len(examples) - n,
        answered=n - unanswered.total(),
        unanswered=dict(sorted(unanswered.items())),
        scores=(),
    )
    if set_scores.diverged and spec.stage == "selection":
        # A diverged training is not a weak one: without a number it can never be chosen.
        undefined = [
            Score(
                metric=metric,
                mode="official",
                value=float("nan"),
                unit=metrics()[metric].unit(task),
                n=n,
            )
            for metric in task.metrics
        ]
        return replace(set_scores, scores=tuple(undefined))
    scores = score_all(task, shown, answers, "")
    divide = declared_protocol(task.dataset).divide
    parts = divide(spec.protocol.train, shown) if divide is not None else {}
    for where, part in parts.items():
        if part:
            scores += score_all(task, part, answers, where)
    return replace(set_scores, scores=tuple(scores))


def unanswered_reason(prediction: Prediction) -> str:
    """The kind of reason of a missing answer; the text after the colon describes one example."""
    return (prediction.why or "").partition(":")[0].strip() or "no reason given"
