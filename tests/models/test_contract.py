"""Every model over every kind of task it says it answers."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from math import isnan
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.io.jsonl import check_record
from nikawa.metrics import Items, metrics
from nikawa.models import Model, Trainable, model, models
from nikawa.records import Kind, Prediction

EMBEDDED = [m for m in models().values() if not m.argument and isinstance(model(m.name), Trainable)]
PAIRS = [pytest.param(m, kind, id=f"{m.name}-{kind}") for m in EMBEDDED for kind in m.kinds]

Learned = tuple[Any, Trainable, list[Prediction]]


@pytest.fixture(scope="module")
def learned(invented: Mapping[Kind, Any]) -> Any:
    """A model of each name and kind that learned, once, with its answers."""
    known: dict[tuple[str, Kind], Learned] = {}

    def get(name: str, kind: Kind) -> Learned:
        if (name, kind) not in known:
            case, found = invented[kind], model(name, seed=1)
            assert isinstance(found, Trainable)
            found.fit(case.task, case.learn)
            known[name, kind] = (case, found, found.predict(case.task, case.ask))
        return known[name, kind]

    return get


@pytest.mark.parametrize(("found", "kind"), PAIRS)
def test_one_answer_each_in_order_without_gold(found: Model, kind: Kind, learned: Any) -> None:
    case, fitted, answers = learned(found.name, kind)
    assert fitted.name == found.name
    assert [a.example for a in answers] == [e.id for e in case.ask]
    assert all(a.answer is not None or a.why for a in answers)
    assert fitted.predict(case.task, [replace(e, gold={}) for e in case.ask]) == answers
    assert fitted.predict(case.task, []) == []
    turned = fitted.predict(case.task, case.ask[::-1])
    assert [(a.example, a.answer) for a in turned[::-1]] == [(a.example, a.answer) for a in answers]


@pytest.mark.parametrize(("found", "kind"), PAIRS)
def test_it_sees_the_inputs_of_the_task_only(found: Model, kind: Kind, learned: Any) -> None:
    case, fitted, answers = learned(found.name, kind)
    told = [
        replace(e, inputs={**e.inputs, "other": "x"}, meta={"hint": e.gold}, tags=frozenset({"t"}))
        for e in case.ask
    ]
    assert fitted.predict(case.task, told) == answers


@pytest.mark.parametrize(("found", "kind"), PAIRS)
def test_the_same_seed_makes_the_same_model_and_it_can_be_kept(
    found: Model, kind: Kind, learned: Any
) -> None:
    case, fitted, answers = learned(found.name, kind)
    again = model(found.name, seed=1)
    assert isinstance(again, Trainable)
    again.fit(case.task, case.learn[::2])
    again.fit(case.task, case.learn)  # what it knew is forgotten
    assert again.predict(case.task, case.ask) == answers
    assert pickle.loads(pickle.dumps(fitted)).predict(case.task, case.ask) == answers


@pytest.mark.parametrize(("found", "kind"), PAIRS)
def test_the_metrics_can_score_what_it_answers(found: Model, kind: Kind, learned: Any) -> None:
    case, _, answers = learned(found.name, kind)
    for answer in answers:
        check_record(answer)
    gold = [e.gold[case.task.question] for e in case.ask]
    items = Items(
        gold,
        [a.answer for a in answers],
        [e.inputs for e in case.ask],
        case.task.labels,
        [a.scores for a in answers],
    )
    for name in case.task.metrics:
        assert not isnan(metrics()[name].evaluate(items, "official").value)
    assert all(
        set(a.scores) <= set(case.task.labels) for a in answers if a.scores and case.task.labels
    )


@pytest.mark.parametrize("found", [pytest.param(m, id=m.name) for m in EMBEDDED])
def test_it_says_what_it_lacks(found: Model, invented: Mapping[Kind, Any]) -> None:
    case = invented[found.kinds[0]]
    fresh = model(found.name)
    assert isinstance(fresh, Trainable)
    with pytest.raises(BadInput, match="is not trained on"):
        fresh.predict(case.task, case.ask)
    with pytest.raises(BadInput, match="no examples to train"):
        fresh.fit(case.task, [])
    with pytest.raises(BadInput, match="has no gold label for"):
        fresh.fit(case.task, [replace(case.learn[0], gold={})])
