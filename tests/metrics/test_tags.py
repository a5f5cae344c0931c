"""Answers to KLUE-NER given as tags are scored by these tags, as the official scorer does."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.io.answers.parse import parse_answer
from nikawa.metrics import Items, metrics
from nikawa.metrics.klue_ner import TYPES, tag_codes
from nikawa.records import Example, Span, Tagged, Task

TEXTS = ("미오가 새벽 섬에", "등대 지기 셋", "배가 오늘 밤 온다", " 섬 끝")
TASK = Task(
    name="klue-ner",
    dataset="klue-ner",
    kind="tagging",
    question="spans",
    inputs=("text",),
    labels=TYPES,
    metrics=("char-macro-f1",),
)


def read(tags: list[str], text: str) -> Any:
    answer, why = parse_answer(tags, TASK, Example(id="1", inputs={"text": text}))
    assert why is None
    return answer


def noisy(text: str, seed: int) -> list[str]:
    """Tags without the spaces, I- tags without a B- among them."""
    chance = random.Random(seed)
    return [chance.choice(list(tag_codes(TYPES))) for sign in text if sign != " "]


def values(gold: list[Any], answers: list[Any], mode: Any = "official") -> list[float]:
    items = Items(gold, answers, [{"text": text} for text in TEXTS], TYPES)
    return [
        metrics()[f"{name}-macro-f1"].evaluate(items, mode).value for name in ("entity", "char")
    ]


@pytest.mark.parametrize("seed", range(5))
def test_noisy_tags_get_the_figure_of_the_reference(seed: int) -> None:
    from sklearn.metrics import f1_score

    sides = [
        [noisy(text, 10 * seed + i + 100 * side) for i, text in enumerate(TEXTS)] for side in (0, 1)
    ]
    flat = [[tag for tags in side for tag in ("O", *tags, "O")] for side in sides]
    labels = list(tag_codes(TYPES))
    wanted = f1_score(flat[0], flat[1], labels=labels, average="macro", zero_division=1)
    found = values(
        *([read(tags, text) for tags, text in zip(side, TEXTS, strict=True)] for side in sides)
    )
    assert found[1] == pytest.approx(wanted, abs=1e-12)


def test_a_tag_on_a_space_is_dropped_with_the_space() -> None:
    gold = [[Span(4, 8, "LC")], [Span(0, 5, "PS")], [Span(3, 7, "TI")], [Span(0, 2, "LC")]]
    whole = [["O"] * len(text) for text in TEXTS]
    for tags, spans in zip(whole, gold, strict=True):
        for span in spans:
            tags[span.start : span.end] = [
                f"B-{span.label}",
                *[f"I-{span.label}"] * (span.end - span.start - 1),
            ]
    outside = [
        ["O" if sign == " " else tag for tag, sign in zip(*pair, strict=True)]
        for pair in zip(whole, TEXTS, strict=True)
    ]
    bare = [
        [tag for tag, sign in zip(*pair, strict=True) if sign != " "]
        for pair in zip(whole, TEXTS, strict=True)
    ]
    for given in (whole, outside, bare):
        assert values(gold, [read(t, x) for t, x in zip(given, TEXTS, strict=True)]) == [1.0, 1.0]
    assert (
        values(gold, [read(t, x) for t, x in zip(outside, TEXTS, strict=True)], "documented")[0] < 1
    )
    assert values(gold, [read(t, x) for t, x in zip(whole, TEXTS, strict=True)], "documented") == [
        1.0,
        1.0,
    ]


def test_spans_of_tags_are_what_they_were_and_stand_beside_the_tags() -> None:
    answer = read(["I-PS", "B-PS", "O", "B-LC", "I-LC", "I-LC", "I-PS"], TEXTS[0])
    assert answer == [Span(1, 2, "PS"), Span(4, 8, "LC")]
    assert answer.tags == ("I-PS", "B-PS", "O", "O", "B-LC", "I-LC", "I-LC", "I-LC", "I-PS")


def test_tags_that_do_not_fit_are_refused() -> None:
    items = Items([[]], [Tagged([], ["O", "O"])], [{"text": "섬"}], TYPES)
    with pytest.raises(BadInput, match="2 tags do not fit a text of 1 characters"):
        metrics()["char-macro-f1"].evaluate(items, "official")
    assert parse_answer(["I-XX"], TASK, Example(id="1", inputs={"text": "섬"}))[0] is None


def test_tags_outlive_a_file_of_predictions(tmp_path: Any) -> None:
    from nikawa.io.answers import read_answers
    from nikawa.io.json import encode_json
    from nikawa.runs.store import restore_spans

    examples = [Example(id=str(i), inputs={"text": text}) for i, text in enumerate(TEXTS)]
    lines = [encode_json({"id": e.id, "answer": noisy(e.inputs["text"], 7)}) for e in examples]
    first, second = tmp_path / "tags.jsonl", tmp_path / "predictions.jsonl"
    first.write_bytes(b"\n".join(lines))
    given = read_answers(first, TASK, examples).predictions
    second.write_bytes(b"\n".join(map(encode_json, given.values())))
    again = read_answers(second, TASK, examples).predictions
    assert all(
        isinstance(p.answer, Tagged) and p.answer.tags == given[i].answer.tags
        for i, p in again.items()
    )
    assert restore_spans(again["0"]).answer.tags == given["0"].answer.tags
