"""Choices ranked, spans found, and silence where there is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models import Trainable, model
from nikawa.models.reading import find_candidates, hashed_features, overlap_features
from nikawa.records import Example, Kind, Task


def fitted(name: str, task: Task, examples: Any, **settings: Any) -> Trainable:
    found = model(name, settings=settings)
    assert isinstance(found, Trainable)
    found.fit(task, examples)
    return found


def test_choices_are_learned_wherever_they_stand(invented: Mapping[Kind, Any]) -> None:
    case = invented["choice"]
    found = fitted("nearest-choice", case.task, case.learn, bits=12)
    assert [a.answer for a in found.predict(case.task, case.ask)] == [
        e.gold["choice"] for e in case.ask
    ]
    turned = [
        replace(e, inputs={**e.inputs, "choices": e.inputs["choices"][::-1]}) for e in case.ask
    ]
    assert [a.answer for a in found.predict(case.task, turned)] == [
        3 - e.gold["choice"] for e in case.ask
    ]


def test_choices_without_their_question(invented: Mapping[Kind, Any]) -> None:
    case = invented["choice"]
    task = replace(case.task, inputs=("choices",))
    found = fitted("nearest-choice", task, case.learn, bits=12)
    told = [replace(e, inputs={**e.inputs, "question": "何か"}) for e in case.ask]
    assert found.predict(task, told) == found.predict(task, case.ask)


@pytest.mark.parametrize(
    ("inputs", "gold", "told"),
    [
        ({"question": "何", "choices": ["a", "b"]}, 2, "has no choice 2"),
        ({"question": "何", "choices": ["a", "b"]}, "a", "has no choice 'a'"),
        ({"question": "何", "choices": []}, 0, "no list of choices"),
        ({"question": "何"}, 0, "no list of choices"),
        ({"question": "何", "choices": ["a"]}, 0, "has a single choice"),
        ({"choices": ["a", "b"]}, 0, "has no input 'question'"),
    ],
)
def test_choices_that_cannot_be_used(
    inputs: dict[str, Any], gold: Any, told: str, invented: Any
) -> None:
    with pytest.raises(BadInput, match=told):
        fitted(
            "nearest-choice",
            invented["choice"].task,
            [Example(id="1", inputs=inputs, gold={"choice": gold})],
        )


def test_pieces_begin_and_end_where_the_script_changes() -> None:
    text = find_candidates("城 [SEP] 白い城は1603年に建った。민호가 왔다。")
    found = set(text.texts)
    assert {"白", "白い城", "1603年", "민호", "민호가"} <= found
    assert not any("。" in piece or piece.startswith((" ", "城 [")) for piece in found)
    assert all(s >= text.first for s in text.starts)


@pytest.mark.parametrize(
    "body", ["", "。", "、、", "のに", "A", "[SEP]", "城 [SEP] ", "😀𠮷野家は\n駅前。"]
)
def test_odd_texts_have_an_answer_too(body: str, invented: Mapping[Kind, Any]) -> None:
    case = invented["reading"]
    found = fitted("span-overlap", case.task, case.learn, cues=20)
    asked = Example(id="x", inputs={"title": "", "context": body, "question": ""})
    (answer,) = found.predict(case.task, [asked])
    assert answer.answer is not None
    assert answer.answer in body


def test_every_piece_is_described() -> None:
    import numpy as np

    text = find_candidates("青木は1900年に港町で生まれた。画家となった。")
    rows = overlap_features(text, "青木はどこで生まれたか", {"": 1.0})
    numbers = hashed_features(text, np.array([1, 2, 3]))
    assert len(rows) == len(numbers) == len(text.starts)
    assert np.isfinite(rows).all()


def test_spans_and_silence_are_learned(invented: Mapping[Kind, Any]) -> None:
    case = invented["reading"]
    answers = fitted("span-overlap", case.task, case.learn).predict(case.task, case.ask)
    right = [
        a.answer
        in {g["text"] for g in e.gold["answers"]} | ({""} if not e.gold["answers"] else set())
        for a, e in zip(answers, case.ask, strict=True)
    ]
    assert sum(right) >= 10
    assert any(a.answer == "" for a in answers)


def test_always_an_answer_where_training_had_one(invented: Mapping[Kind, Any]) -> None:
    case = invented["reading"]
    some = [e for e in case.learn if e.gold["answers"]]
    assert all(
        a.answer for a in fitted("span-overlap", case.task, some).predict(case.task, case.ask)
    )


def test_reading_says_what_it_lacks(invented: Mapping[Kind, Any]) -> None:
    case = invented["reading"]
    with pytest.raises(BadInput, match="needs the input question"):
        fitted("span-overlap", replace(case.task, inputs=("context",)), case.learn)
    nowhere = [
        replace(e, gold={"answers": [{"text": "どこにもない", "start": 0}]}) for e in case.learn
    ]
    with pytest.raises(BadInput, match="no gold answer is a span"):
        fitted("span-overlap", case.task, nowhere)


def test_fewer_questions_are_drawn_by_the_seed(invented: Mapping[Kind, Any]) -> None:
    """Which ones does not depend on the order they come in."""
    case = invented["reading"]
    one = fitted("span-overlap", case.task, case.learn, questions=20)
    other = fitted("span-overlap", case.task, case.learn[::-1], questions=20)
    assert one.predict(case.task, case.ask) == other.predict(case.task, case.ask)
