"""Tag stretches of characters, starting from labels made before (KLUE-NER).

An answer is `{"spans": [{"start": 0, "end": 3, "label": "PS"}]}`, counted in characters, the end exclusive; spans do
not overlap. A control item is right where the F1 with its gold reaches the setting `share`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms._base import FormSettings, make_guideline, only_answer, parse_span
from nikawa.records import Example

Spans = list[tuple[int, int, str]]
"""Start, end and label of each."""


class SpanTagging(FormSettings, frozen=True, kw_only=True):
    """The labels, and how near a control item must come to its gold."""

    question: str = "spans"
    labels: Annotated[tuple[str, ...], Meta(min_length=1, max_length=60)] = (
        "PS",
        "LC",
        "OG",
        "DT",
        "TI",
        "QT",
    )
    """The labels of the palette; the default are the six of KLUE-NER."""
    share: Annotated[float, Meta(ge=0, le=1)] = 0.8
    """The F1 of the spans from which a control item counts as right."""


def parse_spans(value: Any, text: str) -> Spans | None:
    """Spans in order; None where one is none, or two overlap."""
    if not isinstance(value, list | tuple):
        return None
    spans: Spans = []
    for part in value:
        span = parse_span(part, len(text))
        if span is None:
            return None
        spans.append(span)
    spans.sort()
    are_apart = all(before[1] <= after[0] for before, after in pairwise(spans))
    return spans if are_apart else None


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """Spans that do not overlap, each with a label and something to read in it; none at all is an answer too."""
    text = str(example.inputs.get("text", ""))
    spans = parse_spans(only_answer(answer, options.question), text)
    if spans is None:
        return [Problem(REFUSED)]
    for start, end, label in spans:
        if label not in options.labels or not text[start:end].strip():
            return [Problem(REFUSED, where=options.question)]
    return []


def is_near_gold(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the F1 of the spans reaches the share asked for."""
    spans = _as_set(answer[options.question])
    right = _as_set(gold.get(options.question) or [])
    shared = len(spans & right)
    return bool(2 * shared >= options.share * (len(spans) + len(right)) - 1e-9)


def tags_differ(answers: Sequence[Answer], options: Options) -> bool:
    """Whether two answers tag other stretches, or with other labels; their order does not matter."""
    return len({_as_set(answer.get(options.question) or ()) for answer in answers}) > 1


def _as_set(spans: Iterable[Mapping[str, Any]]) -> frozenset[tuple[int, int, str | None]]:
    return frozenset((span["start"], span["end"], span.get("label")) for span in spans)


def view(_form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """The text, and the labels made before where there are any: the input `spans`."""
    text = str(example.inputs["text"])
    before = parse_spans(example.inputs.get("spans", []), text) or []
    return {
        "text": text,
        "spans": [{"start": start, "end": end, "label": label} for start, end, label in before],
    }


FORM = Form(
    name="span-tagging",
    title={
        "ja": "文字の範囲に印をつける",
        "ko": "글자 범위에 표시하기",
        "en": "Tag stretches of text",
    },
    questions=("spans",),
    inputs=("text",),
    optional=("spans",),
    validate=validate,
    settings=SpanTagging,
    gold_matches=is_near_gold,
    differ=tags_differ,
    view=view,
    words={
        "ja": {
            "prompt": "あてはまるところを選び、種類をつけてください。なければそのまま送信してください。",
            "labels": "種類",
            "tags": "つけた印",
            "tags_none": "印はありません",
            "tag_remove": "「{text}」の印を消す",
            "tag_added": "「{text}」に{label}をつけました",
            "tag_removed": "「{text}」の印を消しました",
            "select_first": "先に文字を選んでください",
            "label_PS": "人名",
            "label_LC": "地名",
            "label_OG": "組織",
            "label_DT": "日付",
            "label_TI": "時刻",
            "label_QT": "数量",
        },
        "ko": {
            "prompt": "해당하는 곳을 골라 종류를 붙여 주세요. 없으면 그대로 제출해 주세요.",
            "labels": "종류",
            "tags": "붙인 표시",
            "tags_none": "표시가 없습니다",
            "tag_remove": "‘{text}’ 표시 지우기",
            "tag_added": "‘{text}’에 {label} 표시를 붙였습니다",
            "tag_removed": "‘{text}’ 표시를 지웠습니다",
            "select_first": "먼저 글자를 골라 주세요",
            "label_PS": "사람",
            "label_LC": "장소",
            "label_OG": "기관",
            "label_DT": "날짜",
            "label_TI": "시간",
            "label_QT": "수량",
        },
        "en": {
            "prompt": "Select what fits and give it a kind. Where there is nothing, submit as it is.",
            "labels": "Kinds",
            "tags": "Tags",
            "tags_none": "No tags",
            "tag_remove": "Remove the tag of “{text}”",
            "tag_added": "“{text}” is tagged {label}",
            "tag_removed": "The tag of “{text}” is removed",
            "select_first": "Select some text first",
            "label_PS": "Person",
            "label_LC": "Place",
            "label_OG": "Organisation",
            "label_DT": "Date",
            "label_TI": "Time",
            "label_QT": "Quantity",
        },
    },
    guideline=make_guideline(
        ja=(
            "固有名や日付などを、助詞を含めずに過不足なく選び、種類をつけてください。",
            "はじめからついている印は機械がつけたものです。間違っていれば直し、足りなければ足してください。",
            "種類の名前を押すとつけ替え、もう一度押すと消えます。",
        ),
        ko=(
            "이름이나 날짜 등을 조사 없이 모자라거나 남지 않게 골라 종류를 붙여 주세요.",
            "처음부터 있는 표시는 기계가 붙인 것입니다. 틀리면 고치고 모자라면 더해 주세요.",
            "종류를 누르면 바뀌고 같은 종류를 다시 누르면 지워집니다.",
        ),
        en=(
            "Select names, dates and the like, whole and without particles, and give them a kind.",
            "Tags that are there from the beginning were made by a machine: correct them and add what is missing.",
            "A kind replaces another; the same kind again removes the tag.",
        ),
    ),
    sample=Sample(
        inputs={
            "text": "윤가람은 3월 2일 한결시에서 강연했다.",
            "spans": [{"start": 0, "end": 3, "label": "PS"}, {"start": 5, "end": 7, "label": "DT"}],
        },
        answer={
            "spans": [
                {"start": 0, "end": 3, "label": "PS"},
                {"start": 5, "end": 10, "label": "DT"},
                {"start": 11, "end": 14, "label": "LC"},
            ]
        },
        refused=(
            {},
            {"spans": None},
            {"spans": [{"start": 0, "end": 3, "label": "XX"}]},
            {"spans": [{"start": 0, "end": 3}]},
            {"spans": [{"start": 3, "end": 3, "label": "PS"}]},
            {"spans": [{"start": 0, "end": 99, "label": "PS"}]},
            {
                "spans": [
                    {"start": 0, "end": 3, "label": "PS"},
                    {"start": 2, "end": 5, "label": "LC"},
                ]
            },
            {"spans": [{"start": "0", "end": 3, "label": "PS"}]},
            {"spans": [{"start": 4, "end": 5, "label": "PS"}]},
        ),
    ),
)
