"""Tag spans of characters, starting from existing labels (KLUE-NER).

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
    """Spans in order; None if one is invalid or two overlap."""
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


def relabel(
    gold: Mapping[str, Any], example: Example, options: Options, chance: float
) -> Answer | None:
    """The spans of the gold with other labels; of a single label the first span is left out. None where the gold has no spans."""
    spans = parse_spans(gold.get(options.question), str(example.inputs.get("text", ""))) or []
    labels = options.labels
    if not spans:
        return None
    if len(labels) == 1:
        wrong = spans[1:]
    else:
        step = 1 + int(chance * (len(labels) - 1))
        places = {label: place for place, label in enumerate(labels)}
        wrong = [
            (start, end, labels[(places.get(label, 0) + step) % len(labels)])
            for start, end, label in spans
        ]
    rows = [{"start": start, "end": end, "label": label} for start, end, label in wrong]
    return {options.question: rows}


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
        "ja": "文字の範囲にラベルを付ける",
        "ko": "텍스트 범위에 레이블 지정하기",
        "en": "Tag spans of text",
    },
    questions=("spans",),
    inputs=("text",),
    optional=("spans",),
    validate=validate,
    settings=SpanTagging,
    gold_matches=is_near_gold,
    differ=tags_differ,
    mislead=relabel,
    view=view,
    words={
        "ja": {
            "prompt": "該当する箇所を選択し、ラベルを付けてください。該当する箇所がなければ、そのまま送信してください。",
            "labels": "ラベル",
            "tags": "付けたタグ",
            "tags_none": "タグはありません",
            "tag_remove": "「{text}」のタグを削除",
            "tag_added": "「{text}」に「{label}」を付けました",
            "tag_removed": "「{text}」のタグを削除しました",
            "select_first": "先に文字を選択してください",
            "label_PS": "人名",
            "label_LC": "地名",
            "label_OG": "組織名",
            "label_DT": "日付",
            "label_TI": "時間",
            "label_QT": "数量",
        },
        "ko": {
            "prompt": "해당하는 부분을 선택하고 레이블을 지정해 주세요. 없으면 그대로 제출해 주세요.",
            "labels": "레이블",
            "tags": "지정한 태그",
            "tags_none": "태그가 없습니다",
            "tag_remove": "‘{text}’ 태그 삭제",
            "tag_added": "‘{text}’에 ‘{label}’ 레이블을 지정했습니다",
            "tag_removed": "‘{text}’ 태그를 삭제했습니다",
            "select_first": "먼저 텍스트를 선택해 주세요",
            "label_PS": "사람",
            "label_LC": "장소",
            "label_OG": "기관",
            "label_DT": "날짜",
            "label_TI": "시간",
            "label_QT": "수량",
        },
        "en": {
            "prompt": "Select the matching text and assign a label. If nothing matches, submit without tags.",
            "labels": "Labels",
            "tags": "Tags",
            "tags_none": "No tags",
            "tag_remove": "Remove the tag from “{text}”",
            "tag_added": "“{text}” is tagged {label}",
            "tag_removed": "The tag was removed from “{text}”",
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
            "固有名詞や日付などを、助詞を含めずに過不足なく選択し、ラベルを付けてください。",
            "最初から付いているタグは自動で付けたものです。誤りがあれば修正し、足りないものは追加してください。",
            "別のラベルを押すと付け替わり、同じラベルをもう一度押すと削除されます。",
        ),
        ko=(
            "이름이나 날짜 등을 조사를 제외하고 빠짐없이, 필요한 부분만 골라 레이블을 지정해 주세요.",
            "처음부터 있는 태그는 자동으로 지정된 것입니다. 틀렸으면 고치고 빠진 것은 추가해 주세요.",
            "다른 레이블을 누르면 바뀌고, 같은 레이블을 다시 누르면 삭제됩니다.",
        ),
        en=(
            "Select whole names, dates and other entities, without particles, and assign a label to each.",
            "The tags you see at the start were made automatically. Correct wrong tags and add missing ones.",
            "Another label replaces the tag. The same label removes it.",
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
