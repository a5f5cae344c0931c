"""Relation between two marked entities: few candidates first, all on request (KLUE-RE).

An answer is `{"relation": "per:employee_of"}`. The text comes with the spans `subject` and `object`; their types
choose the few relations that are shown first (`LIKELY_RELATIONS`). The labels are the thirty of KLUE-RE.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from nikawa.collect.form import Form, Options, Sample
from nikawa.collect.forms._base import (
    FormSettings,
    Labels,
    check_label,
    make_guideline,
    offer_labels,
    parse_span,
)
from nikawa.records import Example

RELATIONS_OF_KLUE = (
    ("no_relation", "関係なし", "관계 없음", "no relation"),
    ("org:dissolved", "解散時期", "해산 시기", "dissolved in"),
    ("org:founded", "設立時期", "설립 시기", "founded in"),
    ("org:place_of_headquarters", "本部の所在地", "본부 소재지", "has its headquarters in"),
    ("org:alternate_names", "別名", "별칭", "is also called"),
    ("org:member_of", "上位組織", "상위 조직", "is part of the organisation"),
    ("org:members", "傘下の組織", "산하 조직", "has the member organisation"),
    (
        "org:political/religious_affiliation",
        "政治・宗教的な立場",
        "정치·종교 성향",
        "has the political or religious affiliation",
    ),
    ("org:product", "製品・作品", "제품·작품", "makes the product"),
    ("org:founded_by", "設立者", "설립자", "was founded by"),
    ("org:top_members/employees", "代表者・構成員", "대표자·구성원", "has the head or member"),
    ("org:number_of_employees/members", "構成員数", "구성원 수", "has this number of members"),
    ("per:date_of_birth", "生年月日", "출생일", "was born on"),
    ("per:date_of_death", "死亡日", "사망일", "died on"),
    ("per:place_of_birth", "出生地", "출생지", "was born in"),
    ("per:place_of_death", "死亡地", "사망지", "died in"),
    ("per:place_of_residence", "居住地", "거주지", "lives in"),
    ("per:origin", "出身・国籍", "출신·국적", "comes from, is a national of"),
    ("per:employee_of", "勤め先・所属", "근무처·소속", "works for, belongs to"),
    ("per:schools_attended", "出身校・在学校", "출신·재학 학교", "went to the school"),
    ("per:alternate_names", "別名", "별칭", "is also called"),
    ("per:parents", "親", "부모", "is a child of"),
    ("per:children", "子", "자녀", "is a parent of"),
    ("per:siblings", "兄弟姉妹", "형제자매", "is a brother or sister of"),
    ("per:spouse", "配偶者", "배우자", "is married to"),
    ("per:other_family", "その他の親族", "기타 가족", "is otherwise related to"),
    ("per:colleagues", "同僚・仕事仲間", "동료", "works together with"),
    ("per:product", "製品・作品", "제품·작품", "made the product or work"),
    ("per:religion", "宗教", "종교", "has the religion"),
    ("per:title", "肩書・職業", "직함·직업", "has the title or profession"),
)
RELATION_LABELS = tuple(row[0] for row in RELATIONS_OF_KLUE)

LIKELY_RELATIONS = {
    "PER/PER": (
        "per:alternate_names",
        "per:parents",
        "per:children",
        "per:siblings",
        "per:spouse",
        "per:other_family",
        "per:colleagues",
    ),
    "PER/ORG": (
        "per:employee_of",
        "per:schools_attended",
        "per:origin",
        "per:religion",
        "per:product",
    ),
    "PER/LOC": ("per:place_of_birth", "per:place_of_death", "per:place_of_residence", "per:origin"),
    "PER/DAT": ("per:date_of_birth", "per:date_of_death"),
    "PER/POH": ("per:title", "per:alternate_names", "per:product", "per:religion", "per:origin"),
    "PER/NOH": ("per:title",),
    "ORG/PER": ("org:founded_by", "org:top_members/employees", "org:alternate_names"),
    "ORG/ORG": (
        "org:alternate_names",
        "org:member_of",
        "org:members",
        "org:founded_by",
        "org:political/religious_affiliation",
        "org:product",
    ),
    "ORG/LOC": ("org:place_of_headquarters", "org:member_of", "org:alternate_names"),
    "ORG/DAT": ("org:founded", "org:dissolved"),
    "ORG/POH": ("org:product", "org:political/religious_affiliation", "org:alternate_names"),
    "ORG/NOH": ("org:number_of_employees/members",),
}
"""The relations that can hold between two types of entities, by the types of subject and object."""


def relation_words(column: int) -> dict[str, str]:
    """The messages of the labels in the language of a column: 1 Japanese, 2 Korean, 3 English."""
    return {f"label_{row[0]}": row[column] for row in RELATIONS_OF_KLUE}


class Relation(FormSettings, frozen=True, kw_only=True):
    """The relations, and which are shown first."""

    question: str = "relation"
    labels: Labels = RELATION_LABELS
    candidates: dict[str, tuple[str, ...]] = msgspec.field(
        default_factory=lambda: dict(LIKELY_RELATIONS)
    )
    """Labels shown first by the types of the entities: `"PER/ORG"`, else `"PER"`; an item's own input
    `candidates` goes before. Without any: those whose prefix is the subject's type (`per:`, `org:`)."""
    always: tuple[str, ...] = ("no_relation",)
    """Labels that are always among the first."""
    quick: bool = False
    """Whether a choice is sent at once; it can be undone."""


def likely_labels(example: Example, options: Options) -> list[str]:
    """The labels shown first; all labels if the item gives no hint."""
    own = example.inputs.get("candidates")
    if isinstance(own, list | tuple) and own:
        return _with_usual(own, options)
    length = len(str(example.inputs.get("text", "")))
    subject, other = (
        (parse_span(example.inputs.get(name), length) or (0, 0, ""))[2]
        for name in ("subject", "object")
    )
    for types in (f"{subject}/{other}", subject):
        if types in options.candidates:
            return _with_usual(options.candidates[types], options)
    prefix = f"{subject.lower()}:"
    likely = [label for label in options.labels if subject and label.startswith(prefix)]
    return _with_usual(likely, options)


def _with_usual(likely: Collection[str], options: Options) -> list[str]:
    """Likely labels with those that are always among the first; all labels where none of the likely is one."""
    labels = [label for label in options.labels if label in likely or label in options.always]
    return labels if set(labels) - set(options.always) else list(options.labels)


def view(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The text with its two entities, and the relations shown first."""
    text = str(example.inputs["text"])
    shown: dict[str, Any] = {"text": text, "candidates": likely_labels(example, options)}
    for name in ("subject", "object"):
        start, end, label = parse_span(example.inputs[name], len(text)) or (0, 0, "")
        shown[name] = {"start": start, "end": end, "label": label}
    return shown


FORM = Form(
    name="relation",
    title={
        "ja": "二つの固有表現の関係を選ぶ",
        "ko": "두 개체의 관계 고르기",
        "en": "Relation of two entities",
    },
    questions=("relation",),
    inputs=("text", "subject", "object"),
    optional=("candidates",),
    validate=check_label,
    settings=Relation,
    view=view,
    offers=offer_labels,
    reports=("boundary",),
    words={
        "ja": {
            "prompt": "「{subject}」から見た「{object}」の関係を選んでください。",
            "input_subject": "主体",
            "input_object": "対象",
            "show_all": "すべての関係から選ぶ",
            "filter": "関係を検索",
            "filter_count": "{count}件",
            "key_all": "すべての関係を表示",
            **relation_words(1),
        },
        "ko": {
            "prompt": "‘{subject}’ 기준으로 ‘{object}’에 해당하는 관계를 골라 주세요.",
            "input_subject": "주체",
            "input_object": "대상",
            "show_all": "모든 관계에서 고르기",
            "filter": "관계 검색",
            "filter_count": "{count}건",
            "key_all": "모든 관계 보기",
            **relation_words(2),
        },
        "en": {
            "prompt": "How does “{subject}” relate to “{object}”?",
            "input_subject": "Subject",
            "input_object": "Object",
            "show_all": "Choose from all relations",
            "filter": "Find a relation",
            "filter_count": "{count} found",
            "key_all": "Show all relations",
            **relation_words(3),
        },
    },
    guideline=make_guideline(
        ja=(
            "ハイライトされた二つの固有表現の関係を、この文に書かれている内容だけから判断して選んでください。ご自身の知識は使わないでください。",
            "過去の関係ではなく、文が述べている時点での関係を選んでください。以前の勤め先は「勤め先・所属」に含めません。",
            "最初に表示される候補にない場合は、すべての関係から選んでください。",
            "ハイライトの範囲が間違っている場合は、「範囲が間違っている」を選んで報告してください。",
        ),
        ko=(
            "표시된 두 개체의 관계를 이 문장에 쓰인 내용만으로 골라 주세요. 알고 있는 지식은 사용하지 마세요.",
            "과거의 관계가 아니라 문장이 말하는 시점의 관계를 골라 주세요. 예전 근무처는 ‘근무처·소속’에 해당하지 않습니다.",
            "처음에 표시되는 후보에 없으면 모든 관계에서 골라 주세요.",
            "표시된 범위가 잘못되었으면 ‘범위가 잘못됨’으로 신고해 주세요.",
        ),
        en=(
            "Choose the relation of the two marked entities from this sentence alone. Do not use other knowledge.",
            "Answer for the time that the sentence describes. A former employer does not count as “works for”.",
            "If the relation is not among the first candidates, choose from all relations.",
            "If a mark is too long, too short or in the wrong place, report the item with “Wrong entity boundary”.",
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
