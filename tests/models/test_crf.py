"""Character tagging: from spans to tags and back, what is seen of a character, and what is learned."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.datasets import load, tasks
from nikawa.errors import BadInput, MissingExtra
from nikawa.metrics import Items, metrics
from nikawa.models import Trainable, model
from nikawa.models.crf import (
    character_features,
    spans_to_tags,
    tagged_positions,
    tags_to_spans,
)
from nikawa.models.text_features import script_of, script_shape
from nikawa.records import Example, Kind, Span

TEXT = "어제 5월 3일 밤 하나람이 왔다."


def read_spans(text: str, tags: Sequence[str]) -> list[Span]:
    """The spans of tags of all characters but spaces."""
    return tags_to_spans(tags, [(i, i + 1) for i in tagged_positions(text)])


def test_spans_over_spaces_come_back_as_they_were() -> None:
    spans = [Span(3, 8, "DT"), Span(9, 10, "TI"), Span(11, 14, "PS")]
    assert TEXT[3:8] == "5월 3일"
    tags = spans_to_tags(TEXT, spans, "x")
    assert (
        len(tags)
        == len(TEXT.replace(" ", ""))
        == len(tagged_positions(TEXT))
        == len(character_features(TEXT))
    )
    assert tags[2:6] == ["B-DT", "I-DT", "I-DT", "I-DT"]
    assert read_spans(TEXT, tags) == spans


def test_spaces_at_the_ends_of_a_span_are_left_out() -> None:
    assert read_spans("가 나 다", spans_to_tags("가 나 다", [Span(1, 4, "A")], "x")) == [
        Span(2, 3, "A")
    ]


def test_neighbours_of_one_type_stay_apart() -> None:
    spans = [Span(0, 2, "A"), Span(2, 3, "A"), Span(3, 4, "B")]
    assert read_spans("가나다라", spans_to_tags("가나다라", spans, "x")) == spans
    assert read_spans("가나", ["I-A", "I-B"]) == [Span(0, 1, "A"), Span(1, 2, "B")]


def test_spans_outside_the_text_are_refused() -> None:
    with pytest.raises(BadInput, match="'x': span 2-9 is outside its text"):
        spans_to_tags("가나다", [Span(2, 9, "A")], "x")


def test_scripts_and_word_edges_are_seen() -> None:
    assert [script_of(c) for c in "가ㅋ漢あアAa1.½"] == [
        "H",
        "J",
        "K",
        "R",
        "T",
        "A",
        "a",
        "n",
        "p",
        "n",
    ]
    assert script_shape("제12회") == "HnH"
    first = character_features("봄 여름은")[1]
    assert {"w=여름은", "w-=봄", "e1=은", "l=여", "r=여름은", "-1=▁"} <= set(first)
    assert character_features("  ") == []


def test_it_learns_to_tag_words_it_never_met(invented: Mapping[Kind, Any]) -> None:
    case = invented["tagging"]
    found = model("crf")
    assert isinstance(found, Trainable)
    found.fit(case.task, case.learn)
    asked = [
        Example(id="new", inputs={"text": "가온누리은 어제 새터말에 갔다."}),
        Example(id="no", inputs={"text": ""}),
    ]
    assert [a.answer for a in found.predict(case.task, asked)] == [
        [Span(0, 4, "PS"), Span(9, 12, "LC")],
        [],
    ]


def test_wrong_kinds_and_missing_packages_are_told(
    invented: Mapping[Kind, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    case, found = invented["tagging"], model("crf")
    assert isinstance(found, Trainable)
    with pytest.raises(BadInput, match="crf does not answer text tasks"):
        found.fit(replace(case.task, kind="text"), case.learn)
    with pytest.raises(BadInput, match="a setting is invalid"):
        model("crf", settings={"iterations": 0})
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    with pytest.raises(MissingExtra, match=r"install .*\[models\]'"):
        found.fit(case.task, case.learn)


@pytest.mark.slow
def test_entities_of_klue(shared_data: Path) -> None:
    """400 sentences and few steps; the whole of it is in the table of models."""
    examples = load("klue-ner:dev", data=shared_data).splits["dev"]
    task, found = tasks()["klue-ner"], model("crf", settings={"iterations": 20})
    assert isinstance(found, Trainable)
    found.fit(task, examples[:400])
    asked = examples[4000:4200]
    answers = [a.answer for a in found.predict(task, asked)]
    items = Items([e.gold["spans"] for e in asked], answers, [e.inputs for e in asked], task.labels)
    assert metrics()["entity-macro-f1"].evaluate(items, "official").value > 0.3
