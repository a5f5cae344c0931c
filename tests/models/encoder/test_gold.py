"""Gold that is no answer to its task is told with the example, before anything is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models.encoder.checks import check_gold
from nikawa.records import Kind, Span

CASES: list[tuple[Kind, Any, str]] = [
    ("text", ["good"], "not a label"),
    ("similarity", float("nan"), "not a number"),
    ("similarity", "3", "not a number"),
    ("similarity", True, "not a number"),
    ("similarity", None, "not a number"),
    ("choice", 4, "not one of its 4 choices"),
    ("choice", -100, "not one of its 4 choices"),
    ("choice", 1.5, "not one of its 4 choices"),
    ("reading", "港町", "not a list of answers"),
    ("reading", [{"text": "港町"}], "not inside its context"),
    ("reading", [{"text": "港町", "start": 9999}], "not inside its context"),
    ("reading", [{"start": 0}], "not a list of answers with text and start"),
    ("tagging", None, "not a list of spans"),
    ("tagging", [{"start": 0, "end": 1, "label": "PS"}], "not a list of spans"),
    ("tagging", [Span(3, 3, "PS")], "not inside its text"),
    ("tagging", [Span(0, 9999, "PS")], "not inside its text"),
    ("tree", None, "not a tree of heads and labels"),
    ("tree", {"heads": ["0"], "labels": ["VP"]}, "not a tree of heads and labels"),
    ("dialogue", None, "not a list of domain-slot-value entries"),
]


@pytest.mark.parametrize(("kind", "gold", "told"), CASES)
def test_gold_of_another_shape_is_told(
    kind: Kind, gold: Any, told: str, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented[kind]
    wrong = replace(case.learn[1], gold={case.task.question: gold})
    with pytest.raises(
        BadInput, match=f"example '{wrong.id}' has .*, which is {told}; correct the example"
    ):
        made().fit(case.task, [case.learn[0], wrong])


@pytest.mark.parametrize("kind", sorted(get_args(Kind)))
def test_gold_as_it_should_be_passes(kind: Kind, invented: Mapping[Kind, Any]) -> None:
    check_gold(invented[kind].task, invented[kind].learn)


@pytest.mark.parametrize(
    "choices", [[], ["一つ"], None, "ねこ", [1, 2, 3, 4], ["一つ", None, "三つ", "四つ"]]
)
def test_choices_that_are_none(
    choices: Any, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["choice"], made()
    encoder.fit(case.task, case.learn[:8])
    asked = replace(case.ask[0], inputs={**case.ask[0].inputs, "choices": choices})
    with pytest.raises(BadInput, match="needs a list of two or more choices"):
        encoder.predict(case.task, [asked])


def test_words_that_are_none_and_half_characters(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    tree, text = invented["tree"], invented["text"]
    with pytest.raises(BadInput, match="has a word without a form"):
        made().fit(
            tree.task,
            [
                replace(
                    tree.learn[0],
                    inputs={**tree.learn[0].inputs, "words": ["하나람이", "푸른읍에", "갔다."]},
                )
            ],
        )
    with pytest.raises(BadInput, match="contains half a character"):
        made().fit(text.task, [replace(text.learn[0], inputs={"text": "宿\ud800"})])


def test_a_model_answers_the_kind_and_labels_it_learned(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    text, other, encoder = invented["text"], invented["inference"], made()
    encoder.fit(text.task, text.learn[:8])
    with pytest.raises(BadInput, match="is trained on invented-text, not on invented-inference"):
        encoder.predict(other.task, other.ask)
    turned = replace(text.task, name="another", labels=text.task.labels[::-1])
    assert len(encoder.predict(turned, text.ask)) == len(text.ask)
    with pytest.raises(BadInput, match="not on invented-text"):
        encoder.predict(replace(text.task, labels=("yes", "no")), text.ask)


@pytest.mark.parametrize(
    ("kind", "hidden"), [("reading", "context"), ("tagging", "text"), ("choice", "choices")]
)
def test_an_input_that_is_not_shown_is_told_as_such(
    kind: Kind, hidden: str, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented[kind]
    bare = [
        replace(e, inputs={name: v for name, v in e.inputs.items() if name != hidden})
        for e in case.learn[:4]
    ]
    with pytest.raises(BadInput, match=rf"has no input '{hidden}'|needs a list of two"):
        made().fit(case.task, bare)
