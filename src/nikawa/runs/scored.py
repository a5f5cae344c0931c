"""The scores of a run's answers, from their files; of a diverged training none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from nikawa.datasets.custom import declared_protocol
from nikawa.models.base import Scorer as FirstMetric
from nikawa.records import Example, Prediction, Score, Task
from nikawa.runs.material import Material
from nikawa.runs.store import StoredRun
from nikawa.runs.value import RunSpec, SetScores

ScoreAll = Callable[[Task, Sequence[Example], Mapping[str, Prediction], str], Sequence[Score]]


@dataclass(frozen=True)
class Scoring:
    """How answers are scored; both functions can be pickled."""

    all: ScoreAll
    """Every score of some examples, all of a set or the named part of it."""
    first: FirstMetric
    """The task's first metric alone, for models that stop early."""


def scored(
    spec: RunSpec, material: Material, stored: StoredRun, name: str, score: Scoring
) -> SetScores:
    """The scores of a set, from its file: a run that is scored again gets the same ones."""
    task, every = material.task, material.sets[name]
    given = stored.predictions(name, task, every)
    examples = [example for example in every if not example.hidden]
    found = [answer for example, answer in zip(every, given, strict=True) if not example.hidden]
    answers = {prediction.example: prediction for prediction in found}
    why = Counter(reason(prediction) for prediction in found if prediction.answer is None)
    n, lost = len(examples), dict(sorted(why.items()))
    told = SetScores(
        set=name, n=n, hidden=len(every) - n, answered=n - why.total(), unanswered=lost, scores=()
    )
    if told.diverged and spec.stage == "selection":
        return replace(told, scores=tuple(_no_scores(task, n)))
    scores = list(score.all(task, examples, answers, ""))
    divide = declared_protocol(task.dataset).divide
    for where, part in divide(spec.protocol.train, examples).items() if divide is not None else ():
        scores += score.all(task, part, answers, where) if part else ()
    return replace(told, scores=tuple(scores))


def _no_scores(task: Task, n: int) -> Iterator[Score]:
    """Scores that are no numbers: a diverged training is no poor one, and must not be chosen for want of a better."""
    from nikawa.metrics import metrics

    for name in task.metrics:
        unit = task.unit if metrics()[name].scaled else "fraction"
        yield Score(metric=name, mode="official", value=float("nan"), unit=unit, n=n)


def reason(prediction: Prediction) -> str:
    """The kind of reason: what follows its colon is of one example."""
    return (prediction.why or "").partition(":")[0].strip() or "no reason given"
