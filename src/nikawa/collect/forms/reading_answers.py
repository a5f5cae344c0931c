"""Mark the answer to a question in its passage, or say that the passage has none (KLUE-MRC, JSQuAD).

An answer is `{"answers": {"text": "…", "start": 25}}`, counted in characters; without an answer in the passage it is
`{"answers": {"text": "", "start": -1}}`. A control item is right where it marks nearly the same characters as one of its
gold answers, or says that it has no answer where the gold is the empty list. Two workers disagree where only one of them
finds an answer, and where the places they marked share nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any

from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms._base import FormSettings, make_guideline, only_answer, show_inputs
from nikawa.collect.forms._rules import check_marked
from nikawa.records import Example
from nikawa.text.marked import NO_ANSWER, Place, find_place, overlap_f1


class ReadingAnswers(FormSettings, frozen=True, kw_only=True):
    """The question of its judgements, and how near a control item must come to its gold."""

    question: str = "answers"
    longest: Annotated[int, Meta(ge=1, le=1000)] = 100
    """Most characters of an answer."""
    share: Annotated[float, Meta(ge=0, le=1)] = 0.6
    """The F1 of the marked characters from which a control item counts as right."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """A stretch of the passage, or none."""
    value = only_answer(answer, options.question)
    if value is None:
        return [Problem("answer_missing", where="answer-0")]
    if not isinstance(value, dict) or value.keys() != NO_ANSWER.keys():
        return [Problem(REFUSED)]
    text, start = value["text"], value["start"]
    if not isinstance(text, str) or type(start) is not int:
        return [Problem(REFUSED)]
    if value == NO_ANSWER:
        return []
    context = str(example.inputs.get("context", ""))
    return check_marked(text, start, context, options.longest, "answer-0")


def list_golds(gold: Mapping[str, Any], options: Options) -> list[Place] | None:
    """The places of the gold answers, none where the question has no answer; None for gold of another shape."""
    known = gold.get(options.question)
    if isinstance(known, dict):
        known = [] if known == NO_ANSWER else [known]
    if not isinstance(known, list | tuple):
        return None
    places = [find_place(row) for row in known]
    return None if None in places else [place for place in places if place is not None]


def is_near_gold(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether an answer marks nearly what one of the gold answers does, or says rightly that there is no answer."""
    rights = list_golds(gold, options)
    mine = find_place(answer.get(options.question))
    if rights is None:
        return False
    if not rights or mine is None:
        return not rights and mine is None
    best = max(overlap_f1(mine, right) for right in rights)
    return bool(best >= options.share - 1e-9)


def are_apart(answers: Sequence[Answer], options: Options) -> bool:
    """Whether only some find an answer, or two mark places that share nothing."""
    places = [find_place(answer.get(options.question)) for answer in answers]
    return any(overlap_f1(one, other) == 0 for one, other in combinations(places, 2))


def mark_another(
    gold: Mapping[str, Any], example: Example, options: Options, chance: float
) -> Answer | None:
    """No answer where there is one; where there is no answer, some word of the passage."""
    rights = list_golds(gold, options)
    context = str(example.inputs.get("context", ""))
    if rights is None or not context.strip():
        return None
    if rights:
        return {options.question: dict(NO_ANSWER)}
    starts = [place for place, char in enumerate(context) if char.isalnum()]
    if not starts:
        return None
    start = starts[int(chance * len(starts))]
    text = context[start : start + 4].split(maxsplit=1)[0]
    return {options.question: {"text": text, "start": start}}


FORM = Form(
    name="reading-answers",
    title={
        "ja": "質問の答えを段落から選ぶ（答えなしを含む）",
        "ko": "문단에서 질문의 답 고르기(답 없음 포함)",
        "en": "Mark the answer to a question, or choose “No answer”",
    },
    questions=("answers",),
    inputs=("context", "question"),
    optional=("title",),
    validate=validate,
    settings=ReadingAnswers,
    gold_matches=is_near_gold,
    differ=are_apart,
    mislead=mark_another,
    view=show_inputs,
    words={
        "ja": {
            "prompt": "質問の答えを段落から選択してください。段落に答えがなければ「答えなし」を選んでください。",
            "answer_field": "答え",
            "answer_none": "段落内の答えをドラッグして選択してください",
            "answer_missing": "段落から答えを選択するか、「答えなし」を選んでください",
            "answer_absent": "答えが段落内にありません",
            "no_answer": "答えなし",
            "key_none": "答えなし",
        },
        "ko": {
            "prompt": "질문의 답을 문단에서 선택해 주세요. 문단에 답이 없으면 ‘답 없음’을 골라 주세요.",
            "answer_field": "답",
            "answer_none": "문단에서 답을 드래그하여 선택해 주세요",
            "answer_missing": "문단에서 답을 선택하거나 ‘답 없음’을 골라 주세요",
            "answer_absent": "답이 문단에 없습니다",
            "no_answer": "답 없음",
            "key_none": "답 없음",
        },
        "en": {
            "prompt": "Mark the answer in the paragraph. If the paragraph does not answer the question, choose “No answer”.",
            "answer_field": "Answer",
            "answer_none": "Mark the answer in the paragraph",
            "answer_missing": "Mark the answer in the paragraph, or choose “No answer”",
            "answer_absent": "The answer is not in the paragraph",
            "no_answer": "No answer",
            "key_none": "No answer",
        },
    },
    guideline=make_guideline(
        ja=(
            "質問の答えになる箇所を、段落からできるだけ短く、過不足なく選択してください。",
            "段落に書かれている内容だけで判断してください。ご自身の知識は使わないでください。",
            "答えのように見える箇所があっても、質問に答えていなければ「答えなし」を選んでください。",
        ),
        ko=(
            "질문의 답이 되는 부분을 문단에서 가능한 한 짧게, 그러나 필요한 내용이 빠지지 않도록 선택해 주세요.",
            "문단에 쓰인 내용만으로 판단해 주세요. 알고 있는 지식은 사용하지 마세요.",
            "답처럼 보이는 부분이 있어도 질문에 대한 답이 아니면 ‘답 없음’을 골라 주세요.",
        ),
        en=(
            "Mark the answer to the question. Keep it as short as possible, but complete.",
            "Judge only by the paragraph. Do not use other knowledge.",
            "If something looks like an answer but does not answer the question, choose “No answer”.",
        ),
    ),
    sample=Sample(
        inputs={
            "title": "등대",
            "context": "섬의 등대는 백 년 전에 세워졌다. 처음에는 석유등을 썼고 나중에 전등으로 바뀌었다.",
            "question": "처음에 쓰던 불은 무엇인가?",
        },
        answer={"answers": {"text": "석유등", "start": 25}},
        refused=(
            {},
            {"answers": {"text": "", "start": 0}},
            {"answers": {"text": "촛불", "start": 25}},
            {"answers": {"text": "석유등", "start": 1}},
            {"answers": {"text": "석유등", "start": "25"}},
            {"answers": {"text": "석유등"}},
            {"answers": "석유등"},
            {"answers": {"text": "석유등", "start": 25}, "more": 1},
        ),
    ),
)
