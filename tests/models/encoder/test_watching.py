"""Which state is the best: by the task's first metric, or by another of its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models import model
from nikawa.models.encoder import train
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.train import NO_EVALUATION, put_metric_first
from nikawa.records import Kind, Task
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import RunRequest
from nikawa.runs.scores import score_first

FAST = {"batch": 48, "device": "cpu", "learning_rate": 1e-2, "warmup": 0.0}


def _told(values: Mapping[str, list[float]]) -> Callable[..., float]:
    left: dict[str, Iterator[float]] = {name: iter(many) for name, many in values.items()}
    return lambda task, *_: next(left[task.metrics[0]])


@pytest.mark.parametrize(
    ("by", "best"), [("first", 3), ("accuracy", 3), ("macro-f1", 1), ("mcc", 2)]
)
def test_the_state_that_answers_is_the_best_by_the_metric(
    by: str, best: int, tiny: Path, invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    values = {"accuracy": [0.1, 0.2, 0.9], "macro-f1": [0.9, 0.2, 0.1], "mcc": [0.1, 0.9, 0.2]}

    def weights(**settings: Any) -> Any:
        whole = {**FAST, "epochs": 3, **settings}
        found: Any = model(f"encoder:{tiny}", seed=1, settings=whole, score=_told(values))
        states, plain = [], train.TrainingLoop._evaluate

        def after(loop: Any) -> None:
            states.append(found._model.classifier.weight.detach().clone())
            plain(loop)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(train.TrainingLoop, "_evaluate", after)
            found.fit(case.task, case.learn, case.ask)
        return found._model.classifier.weight, states

    kept, states = weights(keep="best", best_by=by)
    assert [bool((kept == state).all()) for state in states] == [i + 1 == best for i in range(3)]


def test_training_stops_by_the_metric(tiny: Path, invented: Mapping[Kind, Any]) -> None:
    case = invented["text"]
    score = _told({"accuracy": [0.1, 0.2, 0.3, 0.4], "mcc": [0.5, 0.4, 0.3, 0.2]})
    found: Any = model(
        f"encoder:{tiny}",
        settings={**FAST, "epochs": 4, "early_stop": 2, "best_by": "mcc"},
        score=score,
    )
    found.fit(case.task, case.learn, case.ask)
    assert [entry["dev"] for entry in found.history if "dev" in entry] == [0.5, 0.4, 0.3]


def _similar(case: Any) -> Task:
    task: Task = case.task
    return replace(task, metrics=("pearson", "spearman", "mse"))


def test_where_less_is_better_the_least_is_best(tiny: Path, invented: Mapping[Kind, Any]) -> None:
    case = invented["similarity"]
    task = _similar(case)
    dev = [replace(e, gold={"score": 0.0}) for e in case.ask]  # learning leads away from it
    settings = {**FAST, "epochs": 5, "keep": "best", "best_by": "mse"}
    found: Any = model(f"encoder:{tiny}", seed=2, settings=settings, score=score_first)
    found.fit(task, case.learn, dev)
    error = float(np.mean([answer.answer**2 for answer in found.predict(task, dev)]))
    looks = [entry["dev"] for entry in found.history if "dev" in entry]
    assert looks == sorted(looks, reverse=True)
    assert looks[0] - looks[-1] > 0.1
    assert -error == pytest.approx(looks[0], abs=1e-6)


def test_a_metric_the_task_does_not_have_is_told_before_anything_is_read(
    invented: Mapping[Kind, Any],
) -> None:
    case = invented["text"]
    found: Any = model("encoder:nowhere", settings={"best_by": "mse", "keep": "best"})
    with pytest.raises(BadInput) as said:
        found.fit(case.task, case.learn, case.ask)
    assert str(said.value) == (
        "invented-text has no metric 'mse'; set best_by to one of: first, accuracy, mcc, macro-f1"
    )


def test_the_task_is_the_same_but_for_its_metrics(invented: Mapping[Kind, Any]) -> None:
    task = _similar(invented["similarity"])
    assert put_metric_first(task, EncoderSettings()) is task
    assert put_metric_first(task, EncoderSettings(best_by="mse")) == replace(
        task, metrics=("mse", "pearson", "spearman")
    )


def test_a_metric_that_nothing_goes_by_is_noted(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["text"], made(best_by="mcc")
    encoder.fit(case.task, case.learn[:8], case.ask)
    assert encoder.about()["notes"] == [NO_EVALUATION]


def test_runs_and_states_are_known_as_before_where_it_is_not_set(tiny: Path) -> None:
    def run(**settings: Any) -> str:
        (family,) = plan_runs(
            RunRequest(("mini-ja-nli",), (f"encoder:{tiny}",), settings=settings)
        ).families
        return family.runs(family.options[0])[0].hash

    assert (
        run(keep="best", best_by="first")
        == run(keep="best")
        != run(keep="best", best_by="accuracy")
    )

    def key(by: str) -> str:
        rows = Rows(tokens={"input_ids": [np.array([2, 7, 3])]}, owner=[0])
        return train.training_key(
            train.TrainingJob(None, rows, lambda *_: None, EncoderSettings(best_by=by), 1, None)
        )

    assert key("first") == "d94b2fa5abc82d47ed331c9450869c6c"
    assert key("first") != key("accuracy")
