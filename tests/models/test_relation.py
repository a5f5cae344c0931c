"""Relations by context: what is seen of two entities, and what is learned from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.models import Trainable, model
from nikawa.models.relation import relation_features
from nikawa.records import Example, Kind, Span

TEXT = "푸른읍에서 태어난 하나람은 가수다."


def fitted(task: Any, examples: Sequence[Example]) -> Trainable:
    found = model("relation-context")
    assert isinstance(found, Trainable)
    found.fit(task, examples)
    return found


def test_order_types_and_the_text_between_are_seen() -> None:
    seen = {"text": TEXT, "subject": Span(10, 13, "PER"), "object": Span(0, 3, "LOC")}
    found = relation_features(seen)
    assert {
        "pair=PER|LOC",
        "order=>|PER|LOC",
        "midword=태어난",
        "subject:after=은",
        "object:is=푸른읍",
    } <= set(found)
    turned = relation_features({**seen, "subject": seen["object"], "object": seen["subject"]})
    assert {"order=<|LOC|PER", "subject:is=푸른읍"} <= set(turned)
    assert not any("하나람" in name for name in found if name.startswith("all="))


def test_long_distances_and_overlaps_do_no_harm() -> None:
    far = relation_features(
        {"text": "가" * 500, "subject": Span(0, 1, "A"), "object": Span(499, 500, "B")}
    )
    assert "far=far|A|B" in far
    assert relation_features({"text": TEXT, "subject": Span(0, 5, "A"), "object": Span(2, 3, "B")})


def test_contexts_are_told_apart_with_names_never_met(invented: Mapping[Kind, Any]) -> None:
    case = invented["relation"]
    found = fitted(case.task, case.learn)
    text = "새터말에서 태어난 가온누리은 가수다."
    asked = Example(
        id="new", inputs={"text": text, "subject": Span(10, 14, "PER"), "object": Span(0, 3, "LOC")}
    )
    answer = found.predict(case.task, [asked])[0]
    assert answer.answer == "per:origin"
    assert sum((answer.scores or {}).values()) == pytest.approx(1)
    assert [a.answer for a in found.predict(case.task, case.ask)] == [
        e.gold["relation"] for e in case.ask
    ]


def test_fewer_inputs_and_a_single_relation_are_answered(invented: Mapping[Kind, Any]) -> None:
    case = invented["relation"]
    types = replace(case.task, inputs=("subject", "object"))
    assert (
        fitted(types, case.learn).predict(types, case.ask)[2].answer == "org:place_of_headquarters"
    )
    alone = fitted(case.task, case.learn[::3]).predict(case.task, case.ask[:1])[0]
    assert (alone.answer, alone.scores) == (
        "no_relation",
        {"no_relation": 1.0, "per:origin": 0.0, "org:place_of_headquarters": 0.0},
    )


def test_entities_outside_the_text_are_refused(invented: Mapping[Kind, Any]) -> None:
    case = invented["relation"]
    broken = replace(case.learn[0], inputs={**case.learn[0].inputs, "subject": Span(0, 99, "PER")})
    with pytest.raises(BadInput, match="has no subject within its text"):
        fitted(case.task, [broken, *case.learn[1:]])
