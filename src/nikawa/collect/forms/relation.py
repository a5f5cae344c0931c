"""Relation between two marked entities: few candidates first, all on request (KLUE-RE)."""

from __future__ import annotations

from typing import Any

import msgspec

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms import _relations as known
from nikawa.collect.forms._base import FIELDS, MISSING, Asked, Labels, guide, only, span_of
from nikawa.records import Example


class Relation(Asked, frozen=True, kw_only=True):
    """The relations, and which are shown first."""

    question: str = "relation"
    labels: Labels = known.LABELS
    candidates: dict[str, tuple[str, ...]] = msgspec.field(
        default_factory=lambda: dict(known.FIRST)
    )
    """Labels shown first by the types of the entities: `"PER/ORG"`, else `"PER"`; an item's own input
    `candidates` goes before. Without any: those whose prefix is the subject's type (`per:`, `org:`)."""
    always: tuple[str, ...] = ("no_relation",)
    """Labels that are always among the first."""
    quick: bool = False


def first(example: Example, options: Options) -> list[str]:
    """The labels shown first; all where nothing tells."""
    own = example.inputs.get("candidates")
    if isinstance(own, list | tuple) and own:
        return _known(own, options)
    text = str(example.inputs.get("text", ""))
    types = [
        (span_of(example.inputs.get(name), len(text)) or (0, 0, ""))[2]
        for name in ("subject", "object")
    ]
    for key in ("/".join(types), types[0]):
        if key in options.candidates:
            return _known(options.candidates[key], options)
    prefix = f"{types[0].lower()}:"
    return _known(
        [label for label in options.labels if types[0] and label.startswith(prefix)], options
    )


def _known(chosen: Any, options: Options) -> list[str]:
    found = [label for label in options.labels if label in chosen or label in options.always]
    return found if set(found) - set(options.always) else list(options.labels)


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """One of all relations."""
    given = only(answer, options.question)
    if given is MISSING:
        return [Problem(REFUSED)]
    good = isinstance(given, str) and given in options.labels
    return [] if good else [Problem("choose_one", where=options.question)]


def view(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The text with its two entities, and the relations shown first."""
    text = str(example.inputs["text"])
    shown: dict[str, Any] = {"text": text, "candidates": first(example, options)}
    for name in ("subject", "object"):
        start, end, label = span_of(example.inputs[name], len(text)) or (0, 0, "")
        shown[name] = {"start": start, "end": end, "label": label}
    return shown


FORM = Form(
    name="relation",
    title={
        "ja": "二つの語の関係を選ぶ",
        "ko": "두 개체의 관계 고르기",
        "en": "Relation of two entities",
    },
    questions=("relation",),
    inputs=("text", "subject", "object"),
    optional=("candidates",),
    validate=validate,
    template=FIELDS,
    settings=Relation,
    view=view,
    words={
        "ja": {
            "prompt": "「{subject}」から見て「{object}」は何ですか。",
            "input_subject": "主語",
            "input_object": "目的語",
            "show_all": "すべての関係から選ぶ",
            "filter": "関係を探す",
            "filter_count": "{count} 件",
            "key_all": "すべての関係を表示",
            **known.words(1),
        },
        "ko": {
            "prompt": "‘{subject}’에게 ‘{object}’은(는) 무엇입니까?",
            "input_subject": "주어",
            "input_object": "목적어",
            "show_all": "모든 관계에서 고르기",
            "filter": "관계 찾기",
            "filter_count": "{count}건",
            "key_all": "모든 관계 보기",
            **known.words(2),
        },
        "en": {
            "prompt": "How does “{subject}” relate to “{object}”?",
            "input_subject": "Subject",
            "input_object": "Object",
            "show_all": "Choose from all relations",
            "filter": "Find a relation",
            "filter_count": "{count} found",
            "key_all": "Show all relations",
            **known.words(3),
        },
    },
    guideline=guide(
        ja=(
            "印のついた二つの語の関係を、この文に書かれていることだけから選んでください。知っていることは使いません。",
            "過去の関係ではなく、文の時点での関係を答えてください。以前の勤め先は「勤め先・所属」ではありません。",
            "はじめに出ている候補にないときは、すべての関係から選んでください。",
            "印の範囲が間違っているときは、報告してください。",
        ),
        ko=(
            "표시된 두 낱말의 관계를 이 문장에 쓰인 내용만으로 골라 주세요. 알고 있는 지식은 쓰지 않습니다.",
            "과거의 관계가 아니라 문장 시점의 관계를 답해 주세요. 예전 근무처는 ‘근무처·소속’이 아닙니다.",
            "처음에 보이는 후보에 없으면 모든 관계에서 골라 주세요.",
            "표시된 범위가 잘못되었으면 신고해 주세요.",
        ),
        en=(
            "Choose the relation of the two marked words from this sentence alone, not from what you know.",
            "Answer for the time of the sentence: a former employer is not one somebody works for.",
            "Where the first candidates do not hold it, choose from all relations.",
            "Report an item whose marks are in the wrong place.",
        ),
    ),
    sample=Sample(
        inputs={
            "text": "한결출판사의 대표 윤가람은 올봄 새 그림책을 냈다.",
            "subject": {"start": 10, "end": 13, "label": "PER"},
            "object": {"start": 0, "end": 5, "label": "ORG"},
        },
        answer={"relation": "per:employee_of"},
        refused=(
            {},
            {"relation": "per:friend"},
            {"relation": 3},
            {"relation": ["no_relation"]},
            {"label": "no_relation"},
        ),
    ),
)
