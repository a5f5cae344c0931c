"""What the looks at dev go by: the metric that tells which state of a training is the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from nikawa.errors import BadInput, listed
from nikawa.models.base import Scorer
from nikawa.models.encoder.settings import FIRST, EncoderSettings
from nikawa.records import Example, Prediction, Task

NO_DEV = "there was no dev set to look at: the last state answers, and nothing stops early"
NO_LOOK = "best_by was not used: it goes with keep=best or early_stop"


def watches(settings: EncoderSettings) -> bool:
    """Whether a training with these settings looks at dev at all."""
    return settings.keep == "best" or settings.early_stop > 0


def judged(task: Task, settings: EncoderSettings) -> Task:
    """The task as states are judged by it: with the metric in front that `best_by` names, as scorers take the first."""
    name = settings.best_by
    if name == FIRST:
        return task
    if name not in task.metrics:
        cure = f"set best_by to one of: {listed((FIRST, *task.metrics))}"
        raise BadInput(f"{task.name} has no metric {name!r}", cure=cure)
    return replace(task, metrics=(name, *(other for other in task.metrics if other != name)))


def watch(
    score: Scorer,
    task: Task,
    dev: Sequence[Example],
    answer: Callable[[Sequence[Example]], list[Prediction]],
) -> Callable[[], float]:
    """How good the answers to dev are now; no number where some are none, which no state is the best by."""
    asked = [replace(example, gold={}) for example in dev]

    def look() -> float:
        answers = answer(asked)
        return (
            score(task, dev, answers)
            if all(a.answer is not None for a in answers)
            else float("nan")
        )

    return look


def notes(settings: EncoderSettings, watched: bool) -> list[str]:
    """What to tell of looks that were asked for and not taken."""
    told = [NO_DEV] if watches(settings) and not watched else []
    return told if watches(settings) or settings.best_by == FIRST else [*told, NO_LOOK]
