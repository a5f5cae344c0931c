from __future__ import annotations

from typing import Any

import pytest

from nikawa.checks.schema import NOTES, find_faults, schema_findings
from nikawa.records import Example, Kind, Span, Task

CONTEXT = "梟 [SEP] 梟が砂を数える。"
INPUTS: dict[str, dict[str, Any]] = {
    "text": {"text": "猫が雲を編む。"},
    "inference": {"premise": "猫が雲を編む。", "hypothesis": "猫が編む。"},
    "similarity": {"sentence1": "猫が雲を編む。", "sentence2": "猫が編む。"},
    "choice": {"question": "飛ぶのは？", "choices": ["梟", "犬"]},
    "reading": {"context": CONTEXT, "question": "何を数える？"},
    "tagging": {"text": "猫が雲を編む。"},
    "relation": {"text": "猫が雲を編む。", "subject": Span(0, 1), "object": Span(2, 3)},
    "tree": {"text": "梟が 数える", "words": [{"form": "梟が"}, {"form": "数える"}]},
    "dialogue": {"turns": [{"role": "user", "text": "北の宿は？"}]},
}
QUESTION = {
    "text": "label",
    "inference": "label",
    "similarity": "score",
    "choice": "choice",
    "reading": "answers",
    "tagging": "spans",
    "relation": "relation",
    "tree": "tree",
    "dialogue": "state",
}
LABELS: dict[str, tuple[str, ...]] = {
    "text": ("good", "bad"),
    "inference": ("entailment", "neutral"),
    "tagging": ("PS",),
    "relation": ("alias",),
    "tree": ("NP", "VP"),
}


def task(kind: Kind) -> Task:
    return Task(
        name=f"zoo-{kind}",
        dataset="zoo",
        kind=kind,
        question=QUESTION[kind],
        inputs=tuple(INPUTS[kind]),
        labels=LABELS.get(kind, ()),
        metrics=("accuracy",),
        scale=(0.0, 5.0) if kind == "similarity" else None,
    )


def example(kind: Kind, gold: Any, **inputs: Any) -> Example:
    return Example(id="1", inputs=INPUTS[kind] | inputs, gold={QUESTION[kind]: gold})


@pytest.mark.parametrize(
    ("kind", "gold"),
    [
        ("text", "good"),
        ("inference", "neutral"),
        ("similarity", 5.0),
        ("choice", 1),
        ("reading", [{"text": "砂", "start": CONTEXT.index("砂")}]),
        ("reading", []),
        ("tagging", [Span(0, 1, "PS")]),
        ("relation", "alias"),
        ("tree", {"heads": [2, 0], "labels": ["NP", "VP"]}),
        ("dialogue", ["宿-地域-北"]),
        ("dialogue", []),
    ],
)
def test_a_sound_example_has_no_fault(kind: Kind, gold: Any) -> None:
    assert list(find_faults([task(kind)], example(kind, gold))) == []


@pytest.mark.parametrize(
    ("kind", "gold", "check"),
    [
        ("text", "ugly", "label-outside"),
        ("text", 1, "wrong-type"),
        ("inference", "maybe", "label-outside"),
        ("similarity", 5.1, "score-outside"),
        ("similarity", -0.1, "score-outside"),
        ("similarity", "3", "wrong-type"),
        ("choice", 2, "choice-outside"),
        ("choice", -1, "choice-outside"),
        ("choice", True, "wrong-type"),
        ("reading", [{"text": "砂", "start": 0}], "answer-offset"),
        ("reading", [{"text": "砂", "start": -3}], "answer-offset"),
        ("reading", [{"text": "", "start": 0}], "answer-empty"),
        ("reading", ["砂"], "wrong-type"),
        ("tagging", [Span(0, 99, "PS")], "span-outside"),
        ("tagging", [Span(-1, 1, "PS")], "span-outside"),
        ("tagging", [Span(1, 1, "PS")], "span-empty"),
        ("tagging", [Span(0, 1, "XX")], "label-outside"),
        ("tagging", [Span(2, 4, "PS"), Span(0, 3, "PS")], "span-overlap"),
        ("relation", "cousin", "label-outside"),
        ("tree", {"heads": [3, 0], "labels": ["NP", "VP"]}, "head-outside"),
        ("tree", {"heads": [2, 0], "labels": ["NP"]}, "tree-length"),
        ("tree", {"heads": [0, 0], "labels": ["NP", "VP"]}, "tree-root"),
        ("tree", {"heads": [2, 0], "labels": ["NP", "XX"]}, "label-outside"),
        ("tree", {"labels": []}, "wrong-type"),
        ("dialogue", ["宿-北"], "state-format"),
        ("dialogue", ["宿--北"], "state-format"),
    ],
)
def test_each_fault_is_found(kind: Kind, gold: Any, check: str) -> None:
    assert list(find_faults([task(kind)], example(kind, gold))) == [check]


def test_overlapping_spans_of_ones_own_data_are_found() -> None:
    assert list(find_faults([], example("tagging", [Span(0, 2, "A"), Span(1, 3, "B")]))) == [
        "span-overlap"
    ]
    assert list(find_faults([], example("tagging", [Span(0, 2, "A"), Span(2, 3, "B")]))) == []


def test_spans_among_the_inputs_are_checked() -> None:
    wrong = example("relation", "alias", subject=Span(5, 50))
    assert list(find_faults([task("relation")], wrong)) == ["span-outside"]


def test_missing_input_and_missing_gold() -> None:
    bare = Example(id="1", inputs={"premise": "猫が雲を編む。"}, gold={"label": "neutral"})
    assert list(find_faults([task("inference")], bare)) == ["missing-input"]
    other = Example(id="1", inputs=INPUTS["inference"], gold={"relatedness": 3.0})
    assert list(find_faults([task("inference")], other)) == ["missing-gold"]
    hidden = Example(id="1", inputs=INPUTS["inference"])
    assert list(find_faults([task("inference")], hidden)) == []


def test_findings_name_the_examples_once() -> None:
    twice = [Span(-1, 1, "PS"), Span(2, 99, "PS")]
    (finding,) = schema_findings("zoo", [task("tagging")], "dev", [example("tagging", twice)])
    assert (finding.check, finding.where, finding.count) == ("span-outside", "dev", 1)
    assert finding.ids == ("zoo:dev/1",)
    assert finding.note == NOTES["span-outside"]


@pytest.mark.parametrize(
    ("kind", "gold", "inputs"),
    [
        ("text", "good", {"text": 3}),
        ("inference", "neutral", {"premise": None}),
        ("similarity", 1.0, {"sentence2": 2.5}),
        ("choice", 1, {"choices": ["梟", 4]}),
        ("choice", 1, {"choices": "梟犬"}),
        ("relation", "alias", {"subject": "猫"}),
        ("dialogue", [], {"turns": ["北の宿は？"]}),
    ],
)
def test_an_input_of_another_type_is_told_once(
    kind: Kind, gold: Any, inputs: dict[str, Any]
) -> None:
    assert list(find_faults([task(kind)], example(kind, gold, **inputs))) == ["wrong-type"]


@pytest.mark.parametrize(
    "wrong", [float("nan"), float("inf"), [1.0, float("nan")], {"a": float("nan")}, None]
)
@pytest.mark.parametrize("question", ["score", "mine"])
def test_gold_that_cannot_be_compared(question: str, wrong: Any) -> None:
    odd = Example(id="1", inputs=INPUTS["similarity"], gold={question: wrong})
    assert list(find_faults((), odd)) == ["wrong-type"]


def test_names_of_ones_own_may_hold_anything() -> None:
    own = Example(
        id="1",
        inputs={"picture": None, "boxes": [{"x": 1}]},
        gold={"label": 1, "mine": {"a": [True]}},
    )
    assert list(find_faults((), own)) == []


def test_spans_are_checked_where_no_task_is_known() -> None:
    empty = Example(id="1", inputs={"text": "猫が雲を編む。", "subject": Span(1, 1)})
    (finding,) = schema_findings("mine", (), "dev", [empty])
    assert (finding.check, finding.ids) == ("span-empty", ("mine:dev/1",))


def test_a_dataset_may_ask_different_things_of_different_examples() -> None:
    both = [task("text"), task("choice")]
    assert list(find_faults(both, example("choice", 1))) == []
    assert list(find_faults(both, example("choice", 9))) == ["choice-outside"]
    assert list(find_faults(both, Example(id="1", inputs={"picture": "a.png"}))) == [
        "missing-input"
    ]
